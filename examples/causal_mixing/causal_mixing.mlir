// Tokens mixed along their sequence: y = tril(m) v with v = x w', for windows of 456 tokens. A token takes from all
// tokens of its own block of 128 and of those before it. Both products are of tiles; the second one's depth is known only
// from its task's coordinates, and what it multiplies m with was written by other tasks.

// v, transposed: 128 features of 64 tokens.
evt.device @project(%w: memref<?x136xbf16>, %x: memref<?x456x136xbf16>, %v: memref<?x?x456xbf16>) grid(%s, %i, %j) {
  %c0 = arith.constant 0 : index
  %depth = arith.constant 136 : index
  %step = arith.constant 64 : index
  %feature = affine.apply affine_map<(d0) -> (d0 * 128)>(%i)
  %token = affine.apply affine_map<(d0) -> (d0 * 64)>(%j)
  %zero = arith.constant dense<0.0> : tensor<128x64xf32>
  %sum = scf.for %k = %c0 to %depth step %step iter_args(%in = %zero) -> (tensor<128x64xf32>) {
    %a16 = evt.load %w[%feature, %k] : memref<?x136xbf16> -> tensor<128x64xbf16>
    %b16 = evt.load %x[%s, %token, %k] : memref<?x456x136xbf16> -> tensor<64x64xbf16>
    %a = arith.extf %a16 : tensor<128x64xbf16> to tensor<128x64xf32>
    %b = arith.extf %b16 : tensor<64x64xbf16> to tensor<64x64xf32>
    %next = linalg.matmul_transpose_b ins(%a, %b : tensor<128x64xf32>, tensor<64x64xf32>) outs(%in : tensor<128x64xf32>)
        -> tensor<128x64xf32>
    scf.yield %next : tensor<128x64xf32>
  }
  %narrow = arith.truncf %sum : tensor<128x64xf32> to tensor<128x64xbf16>
  evt.store %narrow, %v[%s, %feature, %token] : tensor<128x64xbf16> -> memref<?x?x456xbf16>
}

// 128 tokens of y, 40 of their features. Tiles of m above its blocks on the diagonal are not read.
evt.device @mix(%m: memref<456x456xbf16>, %v: memref<?x?x456xbf16>, %y: memref<?x456x?xf32>) grid(%s, %i, %j) {
  %c0 = arith.constant 0 : index
  %step = arith.constant 64 : index
  %token = affine.apply affine_map<(d0) -> (d0 * 128)>(%i)
  %feature = affine.apply affine_map<(d0) -> (d0 * 40)>(%j)
  %end = affine.apply affine_map<(d0) -> (d0 * 128 + 128)>(%i)
  %zero = arith.constant dense<0.0> : tensor<128x40xf32>
  %sum = scf.for %k = %c0 to %end step %step iter_args(%in = %zero) -> (tensor<128x40xf32>) {
    %a16 = evt.load %m[%token, %k] : memref<456x456xbf16> -> tensor<128x64xbf16>
    %b16 = evt.load %v[%s, %feature, %k] : memref<?x?x456xbf16> -> tensor<40x64xbf16>
    %a = arith.extf %a16 : tensor<128x64xbf16> to tensor<128x64xf32>
    %b = arith.extf %b16 : tensor<40x64xbf16> to tensor<40x64xf32>
    %next = linalg.matmul_transpose_b ins(%a, %b : tensor<128x64xf32>, tensor<40x64xf32>) outs(%in : tensor<128x40xf32>)
        -> tensor<128x40xf32>
    scf.yield %next : tensor<128x40xf32>
  }
  evt.store %sum, %y[%s, %token, %feature] : tensor<128x40xf32> -> memref<?x456x?xf32>
}

evt.graph @causal_mixing(%x: memref<?x456x136xbf16> {evt.immutable}, %w: memref<?x136xbf16> {evt.immutable},
                         %m: memref<456x456xbf16> {evt.immutable}, %y: memref<?x456x?xf32>) {
  %sequences = evt.symbol "sequences" (%x[0], %y[0]) : memref<?x456x136xbf16>, memref<?x456x?xf32>
  %features = evt.symbol "features" (%w[0], %y[2]) range(1, 65536) : memref<?x136xbf16>, memref<?x456x?xf32>
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %tall = affine.apply affine_map<()[s0] -> (s0 ceildiv 128)>()[%features]
  %narrow = affine.apply affine_map<()[s0] -> (s0 ceildiv 40)>()[%features]
  %v = evt.alloc(%sequences, %features) : memref<?x?x456xbf16>
  // 64 tokens of v, all tiles of features.
  %projected = evt.event(%sequences, %c8) count(%tall) : !evt.event<?x?>
  evt.call @project(%w, %x, %v) grid(%sequences, %tall, %c8) notify(%projected[(s, i, j) -> (s, j)])
    : (memref<?x136xbf16>, memref<?x456x136xbf16>, memref<?x?x456xbf16>)
  evt.call @mix(%m, %v, %y) grid(%sequences, %c4, %narrow) wait(%projected[(s, i, j) -> (s, 0 to 2 * i + 2)])
    : (memref<456x456xbf16>, memref<?x?x456xbf16>, memref<?x456x?xf32>)
}
