// A product whose sum is spread over ranks, and the reduce-scatter that follows it, tile by tile.
//
// Each rank holds a slice of the sum's dimension: x[rank] and w[rank]. The product's rows are divided among the ranks
// as well: owner o keeps rows x[·, o]. So every rank computes, for every owner, a partial product and leaves it in
// the owner's inbox; the owner adds what the ranks sent. An output tile is added as soon as its R partial tiles have
// arrived, while products of other tiles are still being computed; the order of the addition is the ranks' order.
//
//   y[o] = sum over ranks of x[rank, o] w[rank]
//
// The ranks are virtual: coordinates of one kernel. All sizes, the number of ranks too, are known only at run time.

evt.device @partial(%x: memref<?x?x?x?xf32>, %w: memref<?x?x?xf32>, %inbox: memref<?x?x?x?xf32>)
    grid(%rank, %owner, %i, %j) {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %chunk = arith.constant 32 : index
  %row = affine.apply affine_map<(d0) -> (d0 * 16)>(%i)
  %col = affine.apply affine_map<(d0) -> (d0 * 32)>(%j)
  %depth = memref.dim %x, %c3 : memref<?x?x?x?xf32>
  %zero = arith.constant dense<0.0> : tensor<16x32xf32>
  %sum = scf.for %k = %c0 to %depth step %chunk iter_args(%acc = %zero) -> (tensor<16x32xf32>) {
    %a = evt.load %x[%rank, %owner, %row, %k] : memref<?x?x?x?xf32> -> tensor<16x32xf32>
    %b = evt.load %w[%rank, %k, %col] : memref<?x?x?xf32> -> tensor<32x32xf32>
    %next = linalg.matmul ins(%a, %b : tensor<16x32xf32>, tensor<32x32xf32>) outs(%acc : tensor<16x32xf32>)
        -> tensor<16x32xf32>
    scf.yield %next : tensor<16x32xf32>
  }
  evt.store %sum, %inbox[%owner, %rank, %row, %col] : tensor<16x32xf32> -> memref<?x?x?x?xf32>
}

evt.device @reduce(%inbox: memref<?x?x?x?xf32>, %y: memref<?x?x?xf32>) grid(%owner, %i, %j) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %row = affine.apply affine_map<(d0) -> (d0 * 16)>(%i)
  %col = affine.apply affine_map<(d0) -> (d0 * 32)>(%j)
  %ranks = memref.dim %inbox, %c1 : memref<?x?x?x?xf32>
  %zero = arith.constant dense<0.0> : tensor<16x32xf32>
  %sum = scf.for %rank = %c0 to %ranks step %c1 iter_args(%acc = %zero) -> (tensor<16x32xf32>) {
    %part = evt.load %inbox[%owner, %rank, %row, %col] : memref<?x?x?x?xf32> -> tensor<16x32xf32>
    %next = arith.addf %acc, %part : tensor<16x32xf32>
    scf.yield %next : tensor<16x32xf32>
  }
  evt.store %sum, %y[%owner, %row, %col] : tensor<16x32xf32> -> memref<?x?x?xf32>
}

evt.graph @gemm_reduce_scatter(%x: memref<?x?x?x?xf32> {evt.immutable}, %w: memref<?x?x?xf32> {evt.immutable},
                               %y: memref<?x?x?xf32>) {
  %r = evt.symbol "r" (%x[0], %x[1], %w[0], %y[0])
    : memref<?x?x?x?xf32>, memref<?x?x?x?xf32>, memref<?x?x?xf32>, memref<?x?x?xf32>
  %m = evt.symbol "m" (%x[2], %y[1]) : memref<?x?x?x?xf32>, memref<?x?x?xf32>
  %k = evt.symbol "k" (%x[3], %w[1]) : memref<?x?x?x?xf32>, memref<?x?x?xf32>
  %n = evt.symbol "n" (%w[2], %y[2]) : memref<?x?x?xf32>, memref<?x?x?xf32>
  %rows = affine.apply affine_map<()[s0] -> (s0 ceildiv 16)>()[%m]
  %cols = affine.apply affine_map<()[s0] -> (s0 ceildiv 32)>()[%n]

  %inbox = evt.alloc(%r, %r, %m, %n) : memref<?x?x?x?xf32>
  // Every rank has sent its part of the owner's tile (i, j).
  %arrived = evt.event(%r, %rows, %cols) count(%r) : !evt.event<?x?x?>
  evt.call @partial(%x, %w, %inbox) grid(%r, %r, %rows, %cols)
    notify(%arrived[(rank, owner, i, j) -> (owner, i, j)])
    : (memref<?x?x?x?xf32>, memref<?x?x?xf32>, memref<?x?x?x?xf32>)
  evt.call @reduce(%inbox, %y) grid(%r, %rows, %cols) wait(%arrived[(owner, i, j) -> (owner, i, j)])
    : (memref<?x?x?x?xf32>, memref<?x?x?xf32>)
}
