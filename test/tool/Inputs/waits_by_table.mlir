// Each task of copy waits for an element that a table names: who waits for an element is not known from the element.
evt.device @fill(%x: memref<?xf32>) grid(%i) {
  %t = arith.constant dense<1.0> : tensor<1xf32>
  evt.store %t, %x[%i] : tensor<1xf32> -> memref<?xf32>
}
evt.device @copy(%x: memref<?xf32>, %of: memref<?xi32>, %y: memref<?xf32>) grid(%i) {
  %t = evt.load %x[%of[%i]] : memref<?xf32>, memref<?xi32> -> tensor<1xf32>
  evt.store %t, %y[%i] : tensor<1xf32> -> memref<?xf32>
}
evt.graph @table(%of: memref<?xi32> {evt.immutable}, %y: memref<?xf32>) {
  %n = evt.symbol "n" (%of[0], %y[0]) range(1, 1024) : memref<?xi32>, memref<?xf32>
  %x = evt.alloc(%n) : memref<?xf32>
  %done = evt.event(%n) count(1) : !evt.event<?>
  evt.call @fill(%x) grid(%n) notify(%done[(i) -> (i)]) : (memref<?xf32>)
  evt.call @copy(%x, %of, %y) grid(%i to %n) : (memref<?xf32>, memref<?xi32>, memref<?xf32>) {
    %e = evt.read %of[%i] : memref<?xi32>
    evt.wait %done[%e]
  }
}
