evt.device @f(%x: memref<4xf32>, %y: memref<f32>) grid() {
  %c0 = arith.constant 0 : index
  %t = evt.load %x[%c0] : memref<4xf32> -> tensor<4xf32>
  %zero = arith.constant dense<0.0> : tensor<f32>
  %s = linalg.reduce { arith.addf } ins(%t : tensor<4xf32>) outs(%zero : tensor<f32>) dimensions = [0> ]
}
