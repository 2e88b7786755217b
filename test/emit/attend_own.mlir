// Loaders run ahead of a task, so they feed nothing that the task itself writes, like this key.
// RUN: %evt show --target cuda --stage source %s | FileCheck %s
// CHECK-NOT: feed_
// CHECK: evt::tile::attend<4, 64, 16, 1>(w
// CHECK-NOT: feed_

evt.device @attends(%q: memref<?x4x64xbf16>, %new: memref<?x64xbf16>, %scales: memref<4xf32>, %keys: memref<1x2x?x64xbf16>,
                    %values: memref<1x2x?x64xbf16>, %pages: memref<?x?xi32>, %o: memref<?x2x4x64xf32>) grid(%t, %h) {
  %c0 = arith.constant 0 : index
  %c9 = arith.constant 9 : index
  %key = evt.load %new[%t, %c0] : memref<?x64xbf16> -> tensor<64xbf16>
  evt.store %key, %keys[%c0, %h, %t, %c0] : tensor<64xbf16> -> memref<1x2x?x64xbf16>
  %query = evt.load %q[%t, %c0, %c0] : memref<?x4x64xbf16> -> tensor<4x64xbf16>
  %scale = evt.load %scales[%c0] : memref<4xf32> -> tensor<4xf32>
  %m, %sum, %acc = evt.attend %query scaled %scale over %keys, %values[%c0, %h, %pages[%t]] from %c0 to %c9 pages of 16
    : tensor<4x64xbf16>, memref<1x2x?x64xbf16>, memref<?x?xi32> -> tensor<4x64xf32>
  evt.store %acc, %o[%t, %h, %c0, %c0] : tensor<4x64xf32> -> memref<?x2x4x64xf32>
}
evt.graph @attention(%q: memref<?x4x64xbf16> {evt.immutable}, %new: memref<?x64xbf16> {evt.immutable},
                     %scales: memref<4xf32> {evt.immutable}, %keys: memref<1x2x?x64xbf16>,
                     %values: memref<1x2x?x64xbf16> {evt.immutable}, %pages: memref<?x?xi32> {evt.immutable},
                     %o: memref<?x2x4x64xf32>) {
  %c1 = arith.constant 1 : index
  evt.call @attends(%q, %new, %scales, %keys, %values, %pages, %o) grid(%c1, %c1)
    : (memref<?x4x64xbf16>, memref<?x64xbf16>, memref<4xf32>, memref<1x2x?x64xbf16>, memref<1x2x?x64xbf16>, memref<?x?xi32>, memref<?x2x4x64xf32>)
}
