evt.device @f(%x: memref<4xf32>, %y: memref<f32>) grid() {
  %a = tensor.empty() : tensor<2x4x4xf32>
  %c = tensor.empty() : tensor<2x4x4xcomplex<i1>>
  %v = linalg.batch_matmul ins(%a, %c : tensor<2x4x4xf32>, tensor<2x4x4xcomplex<i1>>) outs(%c : tensor<2x4x4xcomplex<i1>>)
      -> tensor<2x4x4xcomplex<i1>>
}
