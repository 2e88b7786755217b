// A function with roles, called for groups of rows that a table gives.
evt.device @copy(%x: memref<?x64xf32>, %y: memref<?x?x64xf32>) grid(%group, %tile) {
  %c0 = arith.constant 0 : index
  %rows = evt.ring "rows" stages(1) : !evt.ring<tensor<1x64xf32>>
  evt.role "loader" {
    %t = evt.load %x[%group, %c0] : memref<?x64xf32> -> tensor<1x64xf32>
    evt.put %t, %rows : !evt.ring<tensor<1x64xf32>>
  }
  evt.role "last" {
    %t = evt.get %rows : !evt.ring<tensor<1x64xf32>>
    evt.store %t, %y[%group, %tile, %c0] : tensor<1x64xf32> -> memref<?x?x64xf32>
  }
}
evt.graph @ragged(%indptr: memref<9xi32> {evt.immutable}, %x: memref<?x64xf32> {evt.immutable}, %y: memref<?x?x64xf32>, %n: index {evt.min = 0, evt.max = 64}) {
  evt.call @copy(%x, %y) grid(ragged(%indptr by 16 bound %n : memref<9xi32>)) : (memref<?x64xf32>, memref<?x?x64xf32>)
}
