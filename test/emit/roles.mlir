// What a GPU runs is read from roles: of functions that are split for it, and of those that are written so.

// RUN: %evt show --target cuda --stage roles --graph written %s | FileCheck %s --check-prefix=WRITTEN --match-full-lines
//      WRITTEN:loads_itself: streams
// WRITTEN-NEXT:  loader    w: 1 stages of 8192 bytes a task
//      WRITTEN:by_compute: streams
// WRITTEN-NEXT:  loader    w: 1 stages of 8192 bytes a task

// The same kernel as from the function that nobody has split.
// RUN: %evt show --target cuda --stage source --graph one %s | sed s/whole/F/g > %t.whole
// RUN: %evt show --target cuda --stage source --graph two %s | sed 's/loads_itself/F/g; s/@two/@one/' | diff %t.whole -
// RUN: %evt show --target cuda --stage source --graph three %s | sed 's/by_compute/F/g; s/@three/@one/' | diff %t.whole -

// Roles that find their places themselves: the same numbers, each where it is used.
// RUN: %evt show --target cuda --stage source --graph four %s | FileCheck %s --check-prefix=INDICES
// INDICES-LABEL: void feed_with_indices(
// INDICES: [[ROW:v[0-9]+]] = (a4 * 8);
// INDICES: evt::packed(a1, {[[ROW]], k})
// INDICES-LABEL: void rows_with_indices(
// INDICES: [[TOKEN:v[0-9]+]] = (a3 * 8);
// INDICES: const evt::Row row(a0, {[[TOKEN]] + g, 0}, true);
// INDICES-LABEL: void finish_with_indices(
// INDICES: evt::store_pair(a2, {(int)(v0 + g), (int)(v1 + col + 0)}

// Where the rows are, is found in the loop: before it, nobody knows.
// RUN: sed '/evt.device @whole/,/^}/{s/^  .token = .*//;s/^    .a16 = .*/    %%token = affine.apply affine_map<(d0) -> (d0 * 8)>(%%t)\n&/;s/%y\[.token,/%y[%%c0,/}' %s > %t.inside.mlir
// RUN: %evt show --target cuda --stage source --graph one --no-verify %t.inside.mlir | FileCheck %s --check-prefix=INSIDE
// INSIDE-LABEL: void rows_whole(
// INSIDE: const int64_t k = 0 + s * 512;
// INSIDE: [[INSIDE:v[0-9]+]] = (a3 * 8);
// INSIDE: const evt::Row row(a0, {[[INSIDE]] + g, 0}, false);

// A function of which another call reads the weights otherwise is there twice.
// RUN: %evt show --target cuda --stage events --graph both %s | FileCheck %s --check-prefix=BOTH
// BOTH: evt.device @whole(
// BOTH-NOT: evt.role
// BOTH: evt.device @whole_in_roles(
// BOTH: evt.role "loader"
// BOTH: evt.graph @both
// BOTH: evt.call @whole_in_roles(%x, %w, %y)
// BOTH: evt.call @whole(%x, %u, %z)
// RUN: %evt show --target cuda --stage roles --graph both %s | FileCheck %s --check-prefix=REASON --match-full-lines
//      REASON:whole_in_roles: streams
//      REASON:whole: run by the compute warps, tiles in shared memory; it does not stream: its weights are read in another way too

// Functions that other graphs of the module call stay as they are, under another name.
// RUN: %evt show --target cuda --stage events --graph one %s | FileCheck %s --check-prefix=OTHER
// OTHER: evt.device @whole_whole(
// OTHER: evt.device @whole(
// OTHER: evt.role "loader"
// OTHER: evt.graph @one
// OTHER: evt.call @whole(
// OTHER: evt.graph @both
// OTHER: evt.call @whole_whole(
// OTHER: evt.call @whole_whole(

// What was split and printed gives the same kernel when it is read again, and what is proved is what is run.
// RUN: %evt show --target cuda --stage events %examples/decode_chain/decode_chain.mlir > %t.split.mlir
// RUN: grep -c 'evt.role "loader"' %t.split.mlir | FileCheck %s --check-prefix=COUNT
// COUNT: {{^}}11{{$}}
// RUN: %evt check %t.split.mlir
// RUN: %evt show --target cuda --stage source %examples/decode_chain/decode_chain.mlir > %t.chain.cu
// RUN: %evt show --target cuda --stage source %t.split.mlir | diff %t.chain.cu -
// RUN: %evt show --target cuda --stage manifest %examples/decode_chain/decode_chain.mlir > %t.chain.json
// RUN: %evt show --target cuda --stage manifest %t.split.mlir | diff %t.chain.json -

// The same with a loop whose length is known only at run time.
// RUN: %evt show --target cuda --stage events %examples/causal_mixing/causal_mixing.mlir > %t.mixing.mlir
// RUN: FileCheck %s --check-prefix=MIXING --input-file=%t.mixing.mlir
// MIXING: evt.device @mix(
// MIXING: %[[END:[0-9a-z]+]] = affine.apply {{.*}}d0 * 128 + 128{{.*}}(%i)
// MIXING: evt.ring "m" stages(4) ahead
// MIXING: evt.ring "v" stages(4) :
// MIXING: evt.role "loader" {
// MIXING-NEXT: scf.for %{{.*}} = %c0 to %[[END]] step
// MIXING-NEXT: evt.load %m
// MIXING: evt.role "rows" {
// MIXING-NEXT: scf.for %{{.*}} = %c0 to %[[END]] step
// MIXING-NEXT: evt.load %v
// RUN: %evt check %t.mixing.mlir
// RUN: %evt show --target cuda --stage source %examples/causal_mixing/causal_mixing.mlir > %t.mixing.cu
// RUN: %evt show --target cuda --stage source %t.mixing.mlir | diff %t.mixing.cu -

// Weights that tasks write are fetched behind the events of their task.
// RUN: %evt show --target cuda --stage source %examples/causal_mixing/causal_mixing.mlir | FileCheck %s --check-prefix=BEHIND
// BEHIND: void load_weights_0(
// BEHIND: #ifdef EVT_NO_RUN_AHEAD
// BEHIND-NEXT: evt::pass_ahead<dynamic>(w, task, [&](auto &ahead) { return waits_0(
// BEHIND-NEXT: #endif
// BEHIND: void load_weights_1(
// BEHIND-NOT: #ifdef
// BEHIND: evt::pass_ahead<dynamic>(w, task, [&](auto &ahead) { return waits_beside_1(
// BEHIND-NEXT: auto along = evt::waits_along<dynamic>(w, task, 64, [&](auto &ahead, int64_t from, int64_t to) { return waits_along_1(
// BEHIND-NOT: #ifdef
// BEHIND: fetch_weights_mix(

// What follows a product may use its values many times: here each twice, 200 deep.
// RUN: /usr/bin/python3 -c "import sys; s = open('%s').read(); chain = ''.join('  %%d{} = arith.addf %%{}, %%{} : tensor<8x8xf32>\n'.format(i, 'd{}'.format(i - 1) if i else 'sum', 'd{}'.format(i - 1) if i else 'sum') for i in range(200)); sys.stdout.write(s.replace('  evt.store %%sum, ', chain + '  evt.store %%d199, ', 1))" > %t.deep.mlir
// RUN: %evt show --target cuda --stage source --graph one %t.deep.mlir | FileCheck %s --check-prefix=DEEP
// DEEP: void finish_whole(
// DEEP: const float v401 =
// DEEP: evt::store_pair(

evt.device @whole(%x: memref<?x512xbf16>, %w: memref<64x512xbf16>, %y: memref<?x64xf32>) grid(%t, %j) {
  %c0 = arith.constant 0 : index
  %depth = arith.constant 512 : index
  %step = arith.constant 256 : index
  %token = affine.apply affine_map<(d0) -> (d0 * 8)>(%t)
  %row = affine.apply affine_map<(d0) -> (d0 * 8)>(%j)
  %zero = arith.constant dense<0.0> : tensor<8x8xf32>
  %sum = scf.for %k = %c0 to %depth step %step iter_args(%in = %zero) -> (tensor<8x8xf32>) {
    %a16 = evt.load %x[%token, %k] : memref<?x512xbf16> -> tensor<8x256xbf16>
    %a = arith.extf %a16 : tensor<8x256xbf16> to tensor<8x256xf32>
    %w16 = evt.load %w[%row, %k] : memref<64x512xbf16> -> tensor<8x256xbf16>
    %b = arith.extf %w16 : tensor<8x256xbf16> to tensor<8x256xf32>
    %out = linalg.matmul_transpose_b ins(%a, %b : tensor<8x256xf32>, tensor<8x256xf32>) outs(%in : tensor<8x8xf32>) -> tensor<8x8xf32>
    scf.yield %out : tensor<8x8xf32>
  }
  evt.store %sum, %y[%token, %row] : tensor<8x8xf32> -> memref<?x64xf32>
}

// Compute loads its rows itself.
evt.device @loads_itself(%x: memref<?x512xbf16>, %w: memref<64x512xbf16>, %y: memref<?x64xf32>) grid(%t, %j) {
  %c0 = arith.constant 0 : index
  %depth = arith.constant 512 : index
  %step = arith.constant 256 : index
  %token = affine.apply affine_map<(d0) -> (d0 * 8)>(%t)
  %row = affine.apply affine_map<(d0) -> (d0 * 8)>(%j)
  %zero = arith.constant dense<0.0> : tensor<8x8xf32>
  %weights = evt.ring "weights" stages(7) ahead : !evt.ring<tensor<8x256xbf16>>
  %sums = evt.ring "sums" stages(1) : !evt.ring<tensor<8x8xf32>>
  evt.role "one" {
    scf.for %k = %c0 to %depth step %step {
      %w16 = evt.load %w[%row, %k] : memref<64x512xbf16> -> tensor<8x256xbf16>
      evt.put %w16, %weights : !evt.ring<tensor<8x256xbf16>>
    }
  }
  evt.role "two" {
    %sum = scf.for %k = %c0 to %depth step %step iter_args(%in = %zero) -> (tensor<8x8xf32>) {
      %a16 = evt.load %x[%token, %k] : memref<?x512xbf16> -> tensor<8x256xbf16>
      %a = arith.extf %a16 : tensor<8x256xbf16> to tensor<8x256xf32>
      %w16 = evt.get %weights : !evt.ring<tensor<8x256xbf16>>
      %b = arith.extf %w16 : tensor<8x256xbf16> to tensor<8x256xf32>
      %out = linalg.matmul_transpose_b ins(%a, %b : tensor<8x256xf32>, tensor<8x256xf32>) outs(%in : tensor<8x8xf32>) -> tensor<8x8xf32>
      scf.yield %out : tensor<8x8xf32>
    }
    evt.put %sum, %sums : !evt.ring<tensor<8x8xf32>>
  }
  evt.role "three" {
    %sum = evt.get %sums : !evt.ring<tensor<8x8xf32>>
    evt.store %sum, %y[%token, %row] : tensor<8x8xf32> -> memref<?x64xf32>
  }
}

// Roles have their own indices.
evt.device @with_indices(%x: memref<?x512xbf16>, %w: memref<64x512xbf16>, %y: memref<?x64xf32>) grid(%t, %j) {
  %c0 = arith.constant 0 : index
  %depth = arith.constant 512 : index
  %step = arith.constant 256 : index
  %zero = arith.constant dense<0.0> : tensor<8x8xf32>
  %weights = evt.ring "weights" stages(7) ahead : !evt.ring<tensor<8x256xbf16>>
  %sums = evt.ring "sums" stages(1) : !evt.ring<tensor<8x8xf32>>
  evt.role "one" {
    %row = affine.apply affine_map<(d0) -> (d0 * 8)>(%j)
    scf.for %k = %c0 to %depth step %step {
      %w16 = evt.load %w[%row, %k] : memref<64x512xbf16> -> tensor<8x256xbf16>
      evt.put %w16, %weights : !evt.ring<tensor<8x256xbf16>>
    }
  }
  evt.role "two" {
    %token = affine.apply affine_map<(d0) -> (d0 * 8)>(%t)
    %sum = scf.for %k = %c0 to %depth step %step iter_args(%in = %zero) -> (tensor<8x8xf32>) {
      %a16 = evt.load %x[%token, %k] : memref<?x512xbf16> -> tensor<8x256xbf16>
      %a = arith.extf %a16 : tensor<8x256xbf16> to tensor<8x256xf32>
      %w16 = evt.get %weights : !evt.ring<tensor<8x256xbf16>>
      %b = arith.extf %w16 : tensor<8x256xbf16> to tensor<8x256xf32>
      %out = linalg.matmul_transpose_b ins(%a, %b : tensor<8x256xf32>, tensor<8x256xf32>) outs(%in : tensor<8x8xf32>) -> tensor<8x8xf32>
      scf.yield %out : tensor<8x8xf32>
    }
    evt.put %sum, %sums : !evt.ring<tensor<8x8xf32>>
  }
  evt.role "three" {
    %token = affine.apply affine_map<(d0) -> (d0 * 8)>(%t)
    %row = affine.apply affine_map<(d0) -> (d0 * 8)>(%j)
    %sum = evt.get %sums : !evt.ring<tensor<8x8xf32>>
    evt.store %sum, %y[%token, %row] : tensor<8x8xf32> -> memref<?x64xf32>
  }
}

// The role that multiplies is the last one.
evt.device @by_compute(%x: memref<?x512xbf16>, %w: memref<64x512xbf16>, %y: memref<?x64xf32>) grid(%t, %j) {
  %c0 = arith.constant 0 : index
  %depth = arith.constant 512 : index
  %step = arith.constant 256 : index
  %token = affine.apply affine_map<(d0) -> (d0 * 8)>(%t)
  %row = affine.apply affine_map<(d0) -> (d0 * 8)>(%j)
  %zero = arith.constant dense<0.0> : tensor<8x8xf32>
  %weights = evt.ring "weights" stages(2) ahead : !evt.ring<tensor<8x256xbf16>>
  %rows = evt.ring "rows" stages(1) : !evt.ring<tensor<8x256xbf16>>
  evt.role "weights" {
    scf.for %k = %c0 to %depth step %step {
      %w16 = evt.load %w[%row, %k] : memref<64x512xbf16> -> tensor<8x256xbf16>
      evt.put %w16, %weights : !evt.ring<tensor<8x256xbf16>>
    }
  }
  evt.role "rows" {
    scf.for %k = %c0 to %depth step %step {
      %a16 = evt.load %x[%token, %k] : memref<?x512xbf16> -> tensor<8x256xbf16>
      evt.put %a16, %rows : !evt.ring<tensor<8x256xbf16>>
    }
  }
  evt.role "rest" {
    %sum = scf.for %k = %c0 to %depth step %step iter_args(%in = %zero) -> (tensor<8x8xf32>) {
      %a16 = evt.get %rows : !evt.ring<tensor<8x256xbf16>>
      %a = arith.extf %a16 : tensor<8x256xbf16> to tensor<8x256xf32>
      %w16 = evt.get %weights : !evt.ring<tensor<8x256xbf16>>
      %b = arith.extf %w16 : tensor<8x256xbf16> to tensor<8x256xf32>
      %out = linalg.matmul_transpose_b ins(%a, %b : tensor<8x256xf32>, tensor<8x256xf32>) outs(%in : tensor<8x8xf32>) -> tensor<8x8xf32>
      scf.yield %out : tensor<8x8xf32>
    }
    evt.store %sum, %y[%token, %row] : tensor<8x8xf32> -> memref<?x64xf32>
  }
}

evt.device @copy(%u: memref<64x512xbf16>, %v: memref<64x512xbf16>) grid(%i) {
  %c0 = arith.constant 0 : index
  %row = affine.apply affine_map<(d0) -> (d0 * 8)>(%i)
  %tile = evt.load %u[%row, %c0] : memref<64x512xbf16> -> tensor<8x512xbf16>
  evt.store %tile, %v[%row, %c0] : tensor<8x512xbf16> -> memref<64x512xbf16>
}

evt.graph @one(%x: memref<?x512xbf16> {evt.immutable}, %w: memref<64x512xbf16> {evt.immutable}, %y: memref<?x64xf32>) {
  %n = evt.symbol "n" (%x[0], %y[0]) range(1, 8) : memref<?x512xbf16>, memref<?x64xf32>
  %tiles = affine.apply affine_map<()[s0] -> (s0 ceildiv 8)>()[%n]
  %columns = arith.constant 8 : index
  evt.call @whole(%x, %w, %y) grid(%tiles, %columns) : (memref<?x512xbf16>, memref<64x512xbf16>, memref<?x64xf32>)
}

evt.graph @two(%x: memref<?x512xbf16> {evt.immutable}, %w: memref<64x512xbf16> {evt.immutable}, %y: memref<?x64xf32>) {
  %n = evt.symbol "n" (%x[0], %y[0]) range(1, 8) : memref<?x512xbf16>, memref<?x64xf32>
  %tiles = affine.apply affine_map<()[s0] -> (s0 ceildiv 8)>()[%n]
  %columns = arith.constant 8 : index
  evt.call @loads_itself(%x, %w, %y) grid(%tiles, %columns) : (memref<?x512xbf16>, memref<64x512xbf16>, memref<?x64xf32>)
}

evt.graph @four(%x: memref<?x512xbf16> {evt.immutable}, %w: memref<64x512xbf16> {evt.immutable}, %y: memref<?x64xf32>) {
  %n = evt.symbol "n" (%x[0], %y[0]) range(1, 8) : memref<?x512xbf16>, memref<?x64xf32>
  %tiles = affine.apply affine_map<()[s0] -> (s0 ceildiv 8)>()[%n]
  %columns = arith.constant 8 : index
  evt.call @with_indices(%x, %w, %y) grid(%tiles, %columns) : (memref<?x512xbf16>, memref<64x512xbf16>, memref<?x64xf32>)
}

evt.graph @three(%x: memref<?x512xbf16> {evt.immutable}, %w: memref<64x512xbf16> {evt.immutable}, %y: memref<?x64xf32>) {
  %n = evt.symbol "n" (%x[0], %y[0]) range(1, 8) : memref<?x512xbf16>, memref<?x64xf32>
  %tiles = affine.apply affine_map<()[s0] -> (s0 ceildiv 8)>()[%n]
  %columns = arith.constant 8 : index
  evt.call @by_compute(%x, %w, %y) grid(%tiles, %columns) : (memref<?x512xbf16>, memref<64x512xbf16>, memref<?x64xf32>)
}

evt.graph @written(%x: memref<?x512xbf16> {evt.immutable}, %w: memref<64x512xbf16> {evt.immutable}, %y: memref<?x64xf32>, %z: memref<?x64xf32>) {
  %n = evt.symbol "n" (%x[0], %y[0], %z[0]) range(1, 8) : memref<?x512xbf16>, memref<?x64xf32>, memref<?x64xf32>
  %tiles = affine.apply affine_map<()[s0] -> (s0 ceildiv 8)>()[%n]
  %columns = arith.constant 8 : index
  evt.call @loads_itself(%x, %w, %y) grid(%tiles, %columns) : (memref<?x512xbf16>, memref<64x512xbf16>, memref<?x64xf32>)
  evt.call @by_compute(%x, %w, %z) grid(%tiles, %columns) : (memref<?x512xbf16>, memref<64x512xbf16>, memref<?x64xf32>)
}

evt.graph @both(%x: memref<?x512xbf16> {evt.immutable}, %w: memref<64x512xbf16> {evt.immutable}, %u: memref<64x512xbf16> {evt.immutable},
                %y: memref<?x64xf32>, %z: memref<?x64xf32>, %v: memref<64x512xbf16>) {
  %n = evt.symbol "n" (%x[0], %y[0], %z[0]) range(1, 8) : memref<?x512xbf16>, memref<?x64xf32>, memref<?x64xf32>
  %tiles = affine.apply affine_map<()[s0] -> (s0 ceildiv 8)>()[%n]
  %columns = arith.constant 8 : index
  evt.call @whole(%x, %w, %y) grid(%tiles, %columns) : (memref<?x512xbf16>, memref<64x512xbf16>, memref<?x64xf32>)
  evt.call @whole(%x, %u, %z) grid(%tiles, %columns) : (memref<?x512xbf16>, memref<64x512xbf16>, memref<?x64xf32>)
  evt.call @copy(%u, %v) grid(%columns) : (memref<64x512xbf16>, memref<64x512xbf16>)
}
