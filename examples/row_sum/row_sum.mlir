// Row sums; n is known only at run time. Four tasks sum a quarter of a row, one task adds the quarters.
evt.device @partial(%x: memref<?x4096xf32>, %p: memref<?x4xf32>) grid(%i, %j) {
  %k = affine.apply affine_map<(d0) -> (d0 * 1024)>(%j)
  %t = evt.load %x[%i, %k] : memref<?x4096xf32> -> tensor<1024xf32>
  %zero = arith.constant dense<0.0> : tensor<f32>
  %s = linalg.reduce { arith.addf } ins(%t : tensor<1024xf32>) outs(%zero : tensor<f32>) dimensions = [0]
  evt.store %s, %p[%i, %j] : tensor<f32> -> memref<?x4xf32>
}

evt.device @total(%p: memref<?x4xf32>, %y: memref<?xf32>) grid(%i) {
  %c0 = arith.constant 0 : index
  %t = evt.load %p[%i, %c0] : memref<?x4xf32> -> tensor<4xf32>
  %zero = arith.constant dense<0.0> : tensor<f32>
  %s = linalg.reduce { arith.addf } ins(%t : tensor<4xf32>) outs(%zero : tensor<f32>) dimensions = [0]
  evt.store %s, %y[%i] : tensor<f32> -> memref<?xf32>
}

evt.graph @row_sum(%x: memref<?x4096xf32> {evt.immutable}, %y: memref<?xf32>) {
  %n = evt.symbol "n" (%x[0], %y[0]) : memref<?x4096xf32>, memref<?xf32>
  %c4 = arith.constant 4 : index
  %p = evt.alloc(%n) : memref<?x4xf32>
  %done = evt.event(%n) count(4) : !evt.event<?>
  evt.call @partial(%x, %p) grid(%n, %c4) notify(%done[(i, j) -> (i)]) : (memref<?x4096xf32>, memref<?x4xf32>)
  evt.call @total(%p, %y) grid(%n) wait(%done[(i) -> (i)]) : (memref<?x4xf32>, memref<?xf32>)
}
