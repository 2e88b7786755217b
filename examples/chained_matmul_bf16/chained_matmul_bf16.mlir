// d = (a b) c with bf16 in memory: operands, the product in between and the result are bf16, sums are f32.
// All four sizes are known only at run time; tiles and events are those of chained_matmul.

// One tile of z = x y, the sum taken in chunks of 64 and rounded once, when it is stored.
evt.device @product(%x: memref<?x?xbf16>, %y: memref<?x?xbf16>, %z: memref<?x?xbf16>) grid(%i, %j) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %chunk = arith.constant 64 : index
  %row = affine.apply affine_map<(d0) -> (d0 * 32)>(%i)
  %col = affine.apply affine_map<(d0) -> (d0 * 64)>(%j)
  %depth = memref.dim %x, %c1 : memref<?x?xbf16>
  %zero = arith.constant dense<0.0> : tensor<32x64xf32>
  %sum = scf.for %k = %c0 to %depth step %chunk iter_args(%acc = %zero) -> (tensor<32x64xf32>) {
    %a16 = evt.load %x[%row, %k] : memref<?x?xbf16> -> tensor<32x64xbf16>
    %b16 = evt.load %y[%k, %col] : memref<?x?xbf16> -> tensor<64x64xbf16>
    %a = arith.extf %a16 : tensor<32x64xbf16> to tensor<32x64xf32>
    %b = arith.extf %b16 : tensor<64x64xbf16> to tensor<64x64xf32>
    %next = linalg.matmul ins(%a, %b : tensor<32x64xf32>, tensor<64x64xf32>) outs(%acc : tensor<32x64xf32>)
        -> tensor<32x64xf32>
    scf.yield %next : tensor<32x64xf32>
  }
  %rounded = arith.truncf %sum : tensor<32x64xf32> to tensor<32x64xbf16>
  evt.store %rounded, %z[%row, %col] : tensor<32x64xbf16> -> memref<?x?xbf16>
}

evt.graph @chained_matmul_bf16(%a: memref<?x?xbf16> {evt.immutable}, %b: memref<?x?xbf16> {evt.immutable},
                               %c: memref<?x?xbf16> {evt.immutable}, %d: memref<?x?xbf16>) {
  %m = evt.symbol "m" (%a[0], %d[0]) : memref<?x?xbf16>, memref<?x?xbf16>
  %k = evt.symbol "k" (%a[1], %b[0]) : memref<?x?xbf16>, memref<?x?xbf16>
  %n = evt.symbol "n" (%b[1], %c[0]) : memref<?x?xbf16>, memref<?x?xbf16>
  %p = evt.symbol "p" (%c[1], %d[1]) : memref<?x?xbf16>, memref<?x?xbf16>
  %rows = affine.apply affine_map<()[s0] -> (s0 ceildiv 32)>()[%m]
  %chunks = affine.apply affine_map<()[s0] -> (s0 ceildiv 64)>()[%n]
  %cols = affine.apply affine_map<()[s0] -> (s0 ceildiv 64)>()[%p]

  %t = evt.alloc(%m, %n) : memref<?x?xbf16>
  %ready = evt.event(%rows, %chunks) count(1) : !evt.event<?x?>
  evt.call @product(%a, %b, %t) grid(%rows, %chunks) notify(%ready[(i, j) -> (i, j)])
    : (memref<?x?xbf16>, memref<?x?xbf16>, memref<?x?xbf16>)
  evt.call @product(%t, %c, %d) grid(%rows, %cols) wait(%ready[(i, j) -> (i, *)])
    : (memref<?x?xbf16>, memref<?x?xbf16>, memref<?x?xbf16>)
}
