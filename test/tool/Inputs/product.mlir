// One product, along a K of four steps: y = x w^T. Rows of x may end anywhere.
evt.device @product(%x: memref<?x256xbf16>, %w: memref<64x256xbf16>, %y: memref<?x64xf32>) grid(%i, %j) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c256 = arith.constant 256 : index
  %row = affine.apply affine_map<(d0) -> (d0 * 16)>(%i)
  %column = affine.apply affine_map<(d0) -> (d0 * 16)>(%j)
  %zero = arith.constant dense<0.0> : tensor<16x16xf32>
  %acc = scf.for %k = %c0 to %c256 step %c64 iter_args(%in = %zero) -> (tensor<16x16xf32>) {
    %a16 = evt.load %x[%row, %k] : memref<?x256xbf16> -> tensor<16x64xbf16>
    %b16 = evt.load %w[%column, %k] : memref<64x256xbf16> -> tensor<16x64xbf16>
    %a = arith.extf %a16 : tensor<16x64xbf16> to tensor<16x64xf32>
    %b = arith.extf %b16 : tensor<16x64xbf16> to tensor<16x64xf32>
    %out = linalg.matmul_transpose_b ins(%a, %b : tensor<16x64xf32>, tensor<16x64xf32>)
        outs(%in : tensor<16x16xf32>) -> tensor<16x16xf32>
    scf.yield %out : tensor<16x16xf32>
  }
  evt.store %acc, %y[%row, %column] : tensor<16x16xf32> -> memref<?x64xf32>
}
// Reads what the product wrote.
evt.device @twice(%y: memref<?x64xf32>, %z: memref<?x64xf32>) grid(%i) {
  %c0 = arith.constant 0 : index
  %row = affine.apply affine_map<(d0) -> (d0 * 16)>(%i)
  %t = evt.load %y[%row, %c0] : memref<?x64xf32> -> tensor<16x64xf32>
  %s = arith.addf %t, %t : tensor<16x64xf32>
  evt.store %s, %z[%row, %c0] : tensor<16x64xf32> -> memref<?x64xf32>
}
evt.graph @products(%x: memref<?x256xbf16>, %w: memref<64x256xbf16> {evt.immutable}, %z: memref<?x64xf32>) {
  %n = evt.symbol "n" (%x[0], %z[0]) range(1, 1048576) : memref<?x256xbf16>, memref<?x64xf32>
  %c4 = arith.constant 4 : index
  %tiles = affine.apply affine_map<()[s0] -> (s0 ceildiv 16)>()[%n]
  %y = evt.alloc(%n) : memref<?x64xf32>
  %done = evt.event(%tiles) count(4) : !evt.event<?>
  evt.call @product(%x, %w, %y) grid(%tiles, %c4) notify(%done[(i, j) -> (i)]) : (memref<?x256xbf16>, memref<64x256xbf16>, memref<?x64xf32>)
  evt.call @twice(%y, %z) grid(%tiles) wait(%done[(i) -> (i)]) : (memref<?x64xf32>, memref<?x64xf32>)
}
