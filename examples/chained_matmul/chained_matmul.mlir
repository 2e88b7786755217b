// d = (a b) c. All four sizes are known only at run time.
//
// A task computes one tile of 32 rows and 64 columns of a product. A tile of the second product needs one row of tiles
// of the first: it waits for them one by one, chunk by chunk of its own sum, so it can start while the rest of the
// first product is still being computed. There is no barrier between the two products.

// One tile of z = x y, the sum taken in chunks of 64.
evt.device @product(%x: memref<?x?xf32>, %y: memref<?x?xf32>, %z: memref<?x?xf32>) grid(%i, %j) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %chunk = arith.constant 64 : index
  %row = affine.apply affine_map<(d0) -> (d0 * 32)>(%i)
  %col = affine.apply affine_map<(d0) -> (d0 * 64)>(%j)
  %depth = memref.dim %x, %c1 : memref<?x?xf32>
  %zero = arith.constant dense<0.0> : tensor<32x64xf32>
  // Outside the matrices loads give 0, so ragged edges add nothing; the store drops what lies outside.
  %sum = scf.for %k = %c0 to %depth step %chunk iter_args(%acc = %zero) -> (tensor<32x64xf32>) {
    %a = evt.load %x[%row, %k] : memref<?x?xf32> -> tensor<32x64xf32>
    %b = evt.load %y[%k, %col] : memref<?x?xf32> -> tensor<64x64xf32>
    %next = linalg.matmul ins(%a, %b : tensor<32x64xf32>, tensor<64x64xf32>) outs(%acc : tensor<32x64xf32>)
        -> tensor<32x64xf32>
    scf.yield %next : tensor<32x64xf32>
  }
  evt.store %sum, %z[%row, %col] : tensor<32x64xf32> -> memref<?x?xf32>
}

evt.graph @chained_matmul(%a: memref<?x?xf32> {evt.immutable}, %b: memref<?x?xf32> {evt.immutable},
                          %c: memref<?x?xf32> {evt.immutable}, %d: memref<?x?xf32>) {
  %m = evt.symbol "m" (%a[0], %d[0]) : memref<?x?xf32>, memref<?x?xf32>
  %k = evt.symbol "k" (%a[1], %b[0]) : memref<?x?xf32>, memref<?x?xf32>
  %n = evt.symbol "n" (%b[1], %c[0]) : memref<?x?xf32>, memref<?x?xf32>
  %p = evt.symbol "p" (%c[1], %d[1]) : memref<?x?xf32>, memref<?x?xf32>
  %rows = affine.apply affine_map<()[s0] -> (s0 ceildiv 32)>()[%m]
  %chunks = affine.apply affine_map<()[s0] -> (s0 ceildiv 64)>()[%n]
  %cols = affine.apply affine_map<()[s0] -> (s0 ceildiv 64)>()[%p]

  %t = evt.alloc(%m, %n) : memref<?x?xf32>
  // Tile (i, j) of t is written: the j-th chunk of every sum in tile row i of d may be added.
  %ready = evt.event(%rows, %chunks) count(1) : !evt.event<?x?>
  evt.call @product(%a, %b, %t) grid(%rows, %chunks) notify(%ready[(i, j) -> (i, j)])
    : (memref<?x?xf32>, memref<?x?xf32>, memref<?x?xf32>)
  evt.call @product(%t, %c, %d) grid(%rows, %cols) wait(%ready[(i, j) -> (i, *)])
    : (memref<?x?xf32>, memref<?x?xf32>, memref<?x?xf32>)
}
