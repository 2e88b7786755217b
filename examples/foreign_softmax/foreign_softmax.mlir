// y = softmax(x w) v, row by row; n is known only at run time. The products are tile programs, the softmax between them is
// written by hand in softmax.h.
evt.device @score(%x: memref<?x64xf32>, %w: memref<64x256xf32>, %s: memref<?x256xf32>) grid(%i, %j) {
  %c0 = arith.constant 0 : index
  %row = affine.apply affine_map<(d0) -> (d0 * 8)>(%i)
  %col = affine.apply affine_map<(d0) -> (d0 * 64)>(%j)
  %a = evt.load %x[%row, %c0] : memref<?x64xf32> -> tensor<8x64xf32>
  %b = evt.load %w[%c0, %col] : memref<64x256xf32> -> tensor<64x64xf32>
  %zero = arith.constant dense<0.0> : tensor<8x64xf32>
  %p = linalg.matmul ins(%a, %b : tensor<8x64xf32>, tensor<64x64xf32>) outs(%zero : tensor<8x64xf32>) -> tensor<8x64xf32>
  evt.store %p, %s[%row, %col] : tensor<8x64xf32> -> memref<?x256xf32>
}

// What a task reads and writes is all that is said here. The 1024 bytes hold the parts of eight rows' maxima and sums.
evt.device @softmax(%s: memref<?x256xf32>, %p: memref<?x256xf32>) grid(%i)
    foreign("softmax.h", "softmax::rows") shared(1024) {
  %c0 = arith.constant 0 : index
  %row = affine.apply affine_map<(d0) -> (d0 * 8)>(%i)
  evt.reads %s[%row, %c0] sizes [8, 256] : memref<?x256xf32>
  evt.writes %p[%row, %c0] sizes [8, 256] : memref<?x256xf32>
}

evt.device @combine(%p: memref<?x256xf32>, %v: memref<256x64xf32>, %y: memref<?x64xf32>) grid(%i) {
  %c0 = arith.constant 0 : index
  %row = affine.apply affine_map<(d0) -> (d0 * 8)>(%i)
  %a = evt.load %p[%row, %c0] : memref<?x256xf32> -> tensor<8x256xf32>
  %b = evt.load %v[%c0, %c0] : memref<256x64xf32> -> tensor<256x64xf32>
  %zero = arith.constant dense<0.0> : tensor<8x64xf32>
  %o = linalg.matmul ins(%a, %b : tensor<8x256xf32>, tensor<256x64xf32>) outs(%zero : tensor<8x64xf32>) -> tensor<8x64xf32>
  evt.store %o, %y[%row, %c0] : tensor<8x64xf32> -> memref<?x64xf32>
}

evt.graph @foreign_softmax(%x: memref<?x64xf32> {evt.immutable}, %w: memref<64x256xf32> {evt.immutable},
                           %v: memref<256x64xf32> {evt.immutable}, %y: memref<?x64xf32>) {
  %n = evt.symbol "n" (%x[0], %y[0]) : memref<?x64xf32>, memref<?x64xf32>
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %blocks = arith.ceildivsi %n, %c8 : index
  %s = evt.alloc(%n) : memref<?x256xf32>
  %p = evt.alloc(%n) : memref<?x256xf32>
  %scored = evt.event(%blocks) count(4) : !evt.event<?>
  %normal = evt.event(%blocks) count(1) : !evt.event<?>
  evt.call @score(%x, %w, %s) grid(%blocks, %c4) notify(%scored[(i, j) -> (i)])
    : (memref<?x64xf32>, memref<64x256xf32>, memref<?x256xf32>)
  evt.call @softmax(%s, %p) grid(%blocks) wait(%scored[(i) -> (i)]) notify(%normal[(i) -> (i)])
    : (memref<?x256xf32>, memref<?x256xf32>)
  evt.call @combine(%p, %v, %y) grid(%blocks) wait(%normal[(i) -> (i)])
    : (memref<?x256xf32>, memref<256x64xf32>, memref<?x64xf32>)
}
