// What attention promises to be settled is checked. Two tokens are appended at positions 4 and 5, and events order attention
// behind both, in whole and in parts; but what is promised to be settled may be read before them.
//
// DEFINE: %{run} = %evt run %t.evt --in 'new=random(2x16)' --in new_squares=random --in 'keys=random(1x1x16x16)' --in values=random --in squares=random --in 'pages=iota(1x2)' --workers 2 --check
// RUN: %evt compile %s -o %t.evt
// RUN: %{run} --in settled=4 --in settled_parts=4 | FileCheck %s --check-prefix=KEPT
// KEPT: checked 6 tasks, 97 accesses and 1 event elements: no defect
//
// RUN: %exits 1 %{run} --in settled=5 --in settled_parts=4 2>&1 | FileCheck %s --check-prefix=WHOLE --match-full-lines --implicit-check-not=promised
// WHOLE: keys[0, 0, 4, 0:16] was promised to be settled, so attend(t=0) may read it before its waits, but append(t=0) writes it
// WHOLE-NEXT: keys[0, 0, 4, 0:16] was promised to be settled, so attend(t=1) may read it before its waits, but append(t=0) writes it
// WHOLE-NEXT: values[0, 0, 4, 0:16] was promised to be settled, so attend(t=0) may read it before its waits, but append(t=0) writes it
// WHOLE-NEXT: values[0, 0, 4, 0:16] was promised to be settled, so attend(t=1) may read it before its waits, but append(t=0) writes it
// WHOLE-NEXT: checked 6 tasks, 97 accesses and 1 event elements: 4 defects
// WHOLE-NEXT: evt: error: the check found 4 defects
//
// In parts, sums of squares of keys are read from there on only: nothing is promised of them.
// RUN: %exits 1 %{run} --in settled=4 --in settled_parts=6 2>&1 | FileCheck %s --check-prefix=PARTS --match-full-lines --implicit-check-not=promised
// PARTS: keys[0, 0, 4, 0:16] was promised to be settled, so attend_parts(t=0) may read it before its waits, but append(t=0) writes it
// PARTS-NEXT: keys[0, 0, 4, 0:16] was promised to be settled, so attend_parts(t=1) may read it before its waits, but append(t=0) writes it
// PARTS-NEXT: keys[0, 0, 5, 0:16] was promised to be settled, so attend_parts(t=1) may read it before its waits, but append(t=1) writes it
// PARTS-NEXT: values[0, 0, 4, 0:16] was promised to be settled, so attend_parts(t=0) may read it before its waits, but append(t=0) writes it
// PARTS-NEXT: values[0, 0, 4, 0:16] was promised to be settled, so attend_parts(t=1) may read it before its waits, but append(t=0) writes it
// PARTS-NEXT: values[0, 0, 5, 0:16] was promised to be settled, so attend_parts(t=1) may read it before its waits, but append(t=1) writes it
// PARTS-NEXT: checked 6 tasks, 94 accesses and 1 event elements: 6 defects
// PARTS-NEXT: evt: error: the check found 6 defects

evt.device @append(%new: memref<?x16xbf16>, %keys: memref<1x1x?x16xbf16>, %values: memref<1x1x?x16xbf16>,
                   %squares: memref<1x1x?x1xf32>) grid(%t) {
  %c0 = arith.constant 0 : index
  %slot = affine.apply affine_map<(d0) -> (d0 + 4)>(%t)
  %row = evt.load %new[%t, %c0] : memref<?x16xbf16> -> tensor<1x16xbf16>
  %head = tensor.expand_shape %row [[0, 1, 2], [3]] output_shape [1, 1, 1, 16]
    : tensor<1x16xbf16> into tensor<1x1x1x16xbf16>
  %one = arith.constant dense<1.0> : tensor<1x1x1x1xf32>
  evt.store %head, %keys[%c0, %c0, %slot, %c0] : tensor<1x1x1x16xbf16> -> memref<1x1x?x16xbf16>
  evt.store %head, %values[%c0, %c0, %slot, %c0] : tensor<1x1x1x16xbf16> -> memref<1x1x?x16xbf16>
  evt.store %one, %squares[%c0, %c0, %slot, %c0] : tensor<1x1x1x1xf32> -> memref<1x1x?x1xf32>
}
evt.device @attend(%new: memref<?x16xbf16>, %keys: memref<1x1x?x16xbf16>, %values: memref<1x1x?x16xbf16>,
                   %pages: memref<1x?xi32>, %o: memref<?x16xf32>, %settled: index) grid(%t) {
  %c0 = arith.constant 0 : index
  %end = affine.apply affine_map<(d0) -> (d0 + 5)>(%t)
  %query = evt.load %new[%t, %c0] : memref<?x16xbf16> -> tensor<1x16xbf16>
  %scales = arith.constant dense<0.25> : tensor<1xf32>
  %m, %sum, %acc = evt.attend %query scaled %scales over %keys, %values[%c0, %c0, %pages[%c0]] from %c0 to %end
    settled %settled pages of 8 : tensor<1x16xbf16>, memref<1x1x?x16xbf16>, memref<1x?xi32> -> tensor<1x16xf32>
  evt.store %acc, %o[%t, %c0] : tensor<1x16xf32> -> memref<?x16xf32>
}
evt.device @attend_parts(%new: memref<?x16xbf16>, %keys: memref<1x1x?x16xbf16>, %values: memref<1x1x?x16xbf16>,
                         %squares: memref<1x1x?x1xf32>, %new_squares: memref<?x1xf32>, %pages: memref<1x?xi32>,
                         %m: memref<?x1x1x2x1xf32>, %sum: memref<?x1x1x2x1xf32>, %acc: memref<?x1x1x2x1x16xf32>,
                         %settled: index) grid(%t) {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %end = affine.apply affine_map<(d0) -> (d0 + 5)>(%t)
  evt.attend_parts %new[%t, %c0] over %keys, %values[%c0, %c0, %pages[%c0]] from %c0 to %end parts of %c3 settled %settled
    into %m, %sum, %acc[%t, %c0, %c0] rows 1 pages of 8 scaled 0.25 normed %new_squares[%c0], %squares epsilon 1.0e-6
    : memref<?x16xbf16>, memref<1x1x?x16xbf16>, memref<1x?xi32>, memref<?x1x1x2x1xf32>, memref<?x1x1x2x1x16xf32>,
      memref<?x1xf32>, memref<1x1x?x1xf32>
}
evt.graph @step(%new: memref<?x16xbf16> {evt.immutable}, %new_squares: memref<?x1xf32> {evt.immutable},
                %keys: memref<1x1x?x16xbf16>, %values: memref<1x1x?x16xbf16>, %squares: memref<1x1x?x1xf32>,
                %pages: memref<1x?xi32> {evt.immutable}, %o: memref<?x16xf32>, %m: memref<?x1x1x2x1xf32>,
                %sum: memref<?x1x1x2x1xf32>, %acc: memref<?x1x1x2x1x16xf32>, %settled: index {evt.min = 0, evt.max = 64},
                %settled_parts: index {evt.min = 0, evt.max = 64}) {
  %n = evt.symbol "n" (%new[0], %new_squares[0], %o[0], %m[0], %sum[0], %acc[0]) range(0, 64)
    : memref<?x16xbf16>, memref<?x1xf32>, memref<?x16xf32>, memref<?x1x1x2x1xf32>, memref<?x1x1x2x1xf32>,
      memref<?x1x1x2x1x16xf32>
  %slots = evt.symbol "slots" (%keys[2], %values[2], %squares[2]) range(0, 64)
    : memref<1x1x?x16xbf16>, memref<1x1x?x16xbf16>, memref<1x1x?x1xf32>
  %done = evt.event() count(%n) : !evt.event<>
  evt.call @append(%new, %keys, %values, %squares) grid(%n) notify(%done[(t) -> ()])
    : (memref<?x16xbf16>, memref<1x1x?x16xbf16>, memref<1x1x?x16xbf16>, memref<1x1x?x1xf32>)
  evt.call @attend(%new, %keys, %values, %pages, %o, %settled) grid(%n) wait(%done[(t) -> ()])
    : (memref<?x16xbf16>, memref<1x1x?x16xbf16>, memref<1x1x?x16xbf16>, memref<1x?xi32>, memref<?x16xf32>, index)
  evt.call @attend_parts(%new, %keys, %values, %squares, %new_squares, %pages, %m, %sum, %acc, %settled_parts) grid(%n)
    wait(%done[(t) -> ()])
    : (memref<?x16xbf16>, memref<1x1x?x16xbf16>, memref<1x1x?x16xbf16>, memref<1x1x?x1xf32>, memref<?x1xf32>,
       memref<1x?xi32>, memref<?x1x1x2x1xf32>, memref<?x1x1x2x1xf32>, memref<?x1x1x2x1x16xf32>, index)
}
