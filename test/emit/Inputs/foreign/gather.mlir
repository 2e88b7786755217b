// z[i] = 2 (x[rows[2 i]] + x[rows[2 i + 1]]); rows that the table or the memory does not have count as 0.
evt.device @gather(%x: memref<?x5xf32>, %rows: memref<?xi32>, %y: memref<?x5xf32>) grid(%i)
    foreign("tiles/gather.h", "tiles::gather") shared(64) {
  %c0 = arith.constant 0 : index
  %at = affine.apply affine_map<(d0) -> (d0 * 2)>(%i)
  evt.reads %x[%rows[%at], %c0] sizes [2, 5] : memref<?x5xf32>, memref<?xi32>
  evt.writes %y[%i, %c0] sizes [1, 5] : memref<?x5xf32>
}
evt.device @add(%y: memref<?x5xf32>, %z: memref<?x5xf32>) grid(%i) {
  %c0 = arith.constant 0 : index
  %t = evt.load %y[%i, %c0] : memref<?x5xf32> -> tensor<5xf32>
  %s = arith.addf %t, %t : tensor<5xf32>
  evt.store %s, %z[%i, %c0] : tensor<5xf32> -> memref<?x5xf32>
}
evt.graph @gathered(%x: memref<?x5xf32> {evt.immutable}, %rows: memref<?xi32> {evt.immutable}, %z: memref<?x5xf32>) {
  %n = evt.symbol "n" (%z[0]) : memref<?x5xf32>
  %y = evt.alloc(%n) : memref<?x5xf32>
  %ready = evt.event(%n) count(1) : !evt.event<?>
  evt.call @gather(%x, %rows, %y) grid(%n) notify(%ready[(i) -> (i)]) : (memref<?x5xf32>, memref<?xi32>, memref<?x5xf32>)
  evt.call @add(%y, %z) grid(%n) wait(%ready[(i) -> (i)]) : (memref<?x5xf32>, memref<?x5xf32>)
}
