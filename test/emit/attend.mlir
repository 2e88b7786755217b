// Attention on a GPU fetches keys and values by 16 bytes, so a launch asks that they begin there.
// RUN: %evt show --target cuda --stage manifest %s > %t.json
// RUN: /usr/bin/python3 -c "import json; m = json.load(open('%t.json')); align = {a['name']: a['align'] for a in m['arguments']}; assert align['keys'] == align['values'] == 16 and align['scales'] == 4, align"
// Loaders know which positions are attended to, and feed them where there is a ring of tiles with room for them.
// RUN: %evt show --target cuda --stage source %s | FileCheck %s
// CHECK: evt::tile::attend<4, 64, 16, 1, Kernel::layout.tile_stages()>(w
// CHECK: void feed_attends(evt::TileRing &ring, evt::TileLoader part, Waits &waits, evt::Worker &w,
// CHECK-NEXT: evt::tile::feed_attention<4, 64, 16, 1, Kernel::layout.tile_stages()>(ring, part, waits, a2, a3, a4, {INT64_C(0), a6, a7}, INT64_C(0), INT64_C(9), 0);
// CHECK-NEXT: }
// Two heads: half of the rows are of each. What is settled may be fed before the task's events have come.
// CHECK: evt::tile::attend<4, 64, 16, 2, Kernel::layout.tile_stages()>(w
// CHECK: void feed_attends_pairs(
// CHECK: evt::tile::feed_attention<4, 64, 16, 2, Kernel::layout.tile_stages()>(ring, part, waits, a2, a3, a4, {INT64_C(0), a6, INT64_C(0)}, INT64_C(0), INT64_C(9), INT64_C(5));

evt.device @attends(%q: memref<?x4x64xbf16>, %scales: memref<4xf32>, %keys: memref<1x2x?x64xbf16>,
                    %values: memref<1x2x?x64xbf16>, %pages: memref<?x?xi32>, %o: memref<?x2x4x64xf32>) grid(%t, %h) {
  %c0 = arith.constant 0 : index
  %c9 = arith.constant 9 : index
  %query = evt.load %q[%t, %c0, %c0] : memref<?x4x64xbf16> -> tensor<4x64xbf16>
  %scale = evt.load %scales[%c0] : memref<4xf32> -> tensor<4xf32>
  %m, %sum, %acc = evt.attend %query scaled %scale over %keys, %values[%c0, %h, %pages[%t]] from %c0 to %c9 pages of 16
    : tensor<4x64xbf16>, memref<1x2x?x64xbf16>, memref<?x?xi32> -> tensor<4x64xf32>
  evt.store %acc, %o[%t, %h, %c0, %c0] : tensor<4x64xf32> -> memref<?x2x4x64xf32>
}
evt.device @attends_pairs(%q: memref<?x8x64xbf16>, %scales: memref<8xf32>, %keys: memref<1x2x?x64xbf16>,
                          %values: memref<1x2x?x64xbf16>, %pages: memref<?x?xi32>, %o: memref<?x8x64xf32>) grid(%t) {
  %c0 = arith.constant 0 : index
  %c5 = arith.constant 5 : index
  %c9 = arith.constant 9 : index
  %query = evt.load %q[%t, %c0, %c0] : memref<?x8x64xbf16> -> tensor<8x64xbf16>
  %scale = evt.load %scales[%c0] : memref<8xf32> -> tensor<8xf32>
  %m, %sum, %acc = evt.attend %query scaled %scale over %keys, %values[%c0, %c0, %pages[%t]] from %c0 to %c9 settled %c5
    pages of 16 heads 2 : tensor<8x64xbf16>, memref<1x2x?x64xbf16>, memref<?x?xi32> -> tensor<8x64xf32>
  evt.store %acc, %o[%t, %c0, %c0] : tensor<8x64xf32> -> memref<?x8x64xf32>
}
evt.graph @attention(%q: memref<?x4x64xbf16> {evt.immutable}, %scales: memref<4xf32> {evt.immutable},
                     %keys: memref<1x2x?x64xbf16> {evt.immutable}, %values: memref<1x2x?x64xbf16> {evt.immutable},
                     %pages: memref<?x?xi32> {evt.immutable}, %o: memref<?x2x4x64xf32>,
                     %q2: memref<?x8x64xbf16> {evt.immutable}, %scales2: memref<8xf32> {evt.immutable},
                     %o2: memref<?x8x64xf32>) {
  %n = evt.symbol "n" (%q[0], %pages[0], %o[0], %q2[0], %o2[0])
    : memref<?x4x64xbf16>, memref<?x?xi32>, memref<?x2x4x64xf32>, memref<?x8x64xbf16>, memref<?x8x64xf32>
  %c2 = arith.constant 2 : index
  evt.call @attends(%q, %scales, %keys, %values, %pages, %o) grid(%n, %c2)
    : (memref<?x4x64xbf16>, memref<4xf32>, memref<1x2x?x64xbf16>, memref<1x2x?x64xbf16>, memref<?x?xi32>, memref<?x2x4x64xf32>)
  evt.call @attends_pairs(%q2, %scales2, %keys, %values, %pages, %o2) grid(%n)
    : (memref<?x8x64xbf16>, memref<8xf32>, memref<1x2x?x64xbf16>, memref<1x2x?x64xbf16>, memref<?x?xi32>, memref<?x8x64xf32>)
}
