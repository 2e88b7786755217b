// A call of more coordinates than a task on its way to the compute warps has room for.
evt.device @d(%x: memref<1xf32>) grid(%a, %b, %c, %d, %e, %f, %g, %h, %i) {
  %zero = arith.constant dense<0.0> : tensor<1xf32>
  evt.store %zero, %x[%a] : tensor<1xf32> -> memref<1xf32>
}
evt.graph @g(%x: memref<1xf32>) {
  %c1 = arith.constant 1 : index
  evt.call @d(%x) grid(%c1, %c1, %c1, %c1, %c1, %c1, %c1, %c1, %c1) : (memref<1xf32>)
}
