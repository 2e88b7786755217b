// Tokens in long runs and tokens in short ones are other rows: nothing has to order those who write them.
// RUN: %evt-opt %s -split-input-file -evt-verify -verify-diagnostics

evt.device @long(%q: memref<?x64xbf16>, %o: memref<?x64xbf16>, %k: memref<1x1x?x32xbf16>, %p: memref<?x?xi32>,
                 %r: memref<?xi32>, %at: memref<?xi32>) grid(%t) {
  %c0 = arith.constant 0 : index
  %first = affine.apply affine_map<(d0) -> (d0 * 8)>(%t)
  evt.attend_tokens %q[%first, %c0] into %o tokens 8 of %r, %at runs of 4 over %k, %k[%c0] through %p of 16 group 2 scale 0.125
    : memref<?x64xbf16>, memref<?xi32>, memref<1x1x?x32xbf16>, memref<?x?xi32>
}
evt.device @short(%o: memref<?x64xbf16>, %r: memref<?xi32>, %at: memref<?xi32>) grid(%t) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %row = arith.constant dense<1.0> : tensor<1x64xbf16>
  %n = evt.short_tokens %r, %at[%t] count 1 runs of 4 : memref<?xi32>
  scf.for %i = %c0 to %n step %c1 {
    evt.store %row, %o[%t, %c0] : tensor<1x64xbf16> -> memref<?x64xbf16>
  }
}
// expected-remark @below {{'both' is proved}}
evt.graph @both(%q: memref<?x64xbf16> {evt.immutable}, %o: memref<?x64xbf16>, %k: memref<1x1x?x32xbf16> {evt.immutable},
                %p: memref<?x?xi32> {evt.immutable}, %r: memref<?xi32> {evt.immutable}, %at: memref<?xi32> {evt.immutable}) {
  %n = evt.symbol "n" (%q[0], %o[0], %r[0], %at[0]) range(1, 4096) : memref<?x64xbf16>, memref<?x64xbf16>, memref<?xi32>, memref<?xi32>
  %tiles = affine.apply affine_map<()[s0] -> (s0 ceildiv 8)>()[%n]
  evt.call @long(%q, %o, %k, %p, %r, %at) grid(%tiles)
    : (memref<?x64xbf16>, memref<?x64xbf16>, memref<1x1x?x32xbf16>, memref<?x?xi32>, memref<?xi32>, memref<?xi32>)
  evt.call @short(%o, %r, %at) grid(%n) : (memref<?x64xbf16>, memref<?xi32>, memref<?xi32>)
}

// -----

// The two disagree about what a long run is.
evt.device @long(%q: memref<?x64xbf16>, %o: memref<?x64xbf16>, %k: memref<1x1x?x32xbf16>, %p: memref<?x?xi32>,
                 %r: memref<?xi32>, %at: memref<?xi32>) grid(%t) {
  %c0 = arith.constant 0 : index
  %first = affine.apply affine_map<(d0) -> (d0 * 8)>(%t)
  evt.attend_tokens %q[%first, %c0] into %o tokens 8 of %r, %at runs of 4 over %k, %k[%c0] through %p of 16 group 2 scale 0.125
    : memref<?x64xbf16>, memref<?xi32>, memref<1x1x?x32xbf16>, memref<?x?xi32>
}
evt.device @short(%o: memref<?x64xbf16>, %r: memref<?xi32>, %at: memref<?xi32>) grid(%t) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %row = arith.constant dense<1.0> : tensor<1x64xbf16>
  %n = evt.short_tokens %r, %at[%t] count 1 runs of 5 : memref<?xi32>
  scf.for %i = %c0 to %n step %c1 {
    // expected-remark @below {{obligation order:long->short:o: the tasks of short that touch an element of o come after those of long}}
    evt.store %row, %o[%t, %c0] : tensor<1x64xbf16> -> memref<?x64xbf16>
  }
}
// expected-remark @below {{'both' is proved but for 1 obligation}}
evt.graph @both(%q: memref<?x64xbf16> {evt.immutable}, %o: memref<?x64xbf16>, %k: memref<1x1x?x32xbf16> {evt.immutable},
                %p: memref<?x?xi32> {evt.immutable}, %r: memref<?xi32> {evt.immutable}, %at: memref<?xi32> {evt.immutable}) {
  %n = evt.symbol "n" (%q[0], %o[0], %r[0], %at[0]) range(1, 4096) : memref<?x64xbf16>, memref<?x64xbf16>, memref<?xi32>, memref<?xi32>
  %tiles = affine.apply affine_map<()[s0] -> (s0 ceildiv 8)>()[%n]
  evt.call @long(%q, %o, %k, %p, %r, %at) grid(%tiles)
    : (memref<?x64xbf16>, memref<?x64xbf16>, memref<1x1x?x32xbf16>, memref<?x?xi32>, memref<?xi32>, memref<?xi32>)
  evt.call @short(%o, %r, %at) grid(%n) : (memref<?x64xbf16>, memref<?xi32>, memref<?xi32>)
}
