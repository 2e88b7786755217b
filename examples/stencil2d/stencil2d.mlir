// Steps of a five-point stencil on a plane; what lies outside the plane is 0. Height, width and the number of steps are
// known only at run time.
//
//   u[t+1][i][j] = 0.5 u[t][i][j] + 0.125 (u[t][i-1][j] + u[t][i+1][j] + u[t][i][j-1] + u[t][i][j+1])
//
// The plane is cut into blocks of 16 by 16. A block's step waits for the previous step of itself and of the four blocks
// beside it, nothing else: blocks far apart may be many steps apart. Two planes take turns. Overwriting the older
// one is safe for the same reason as reading the newer one: whoever still reads the old values of a block is one of
// the blocks beside it, and has been waited for.

evt.device @begin(%x: memref<?x?xf32>, %u: memref<2x?x?xf32>) grid(%i, %j) {
  %c0 = arith.constant 0 : index
  %row = affine.apply affine_map<(d0) -> (d0 * 16)>(%i)
  %col = affine.apply affine_map<(d0) -> (d0 * 16)>(%j)
  %block = evt.load %x[%row, %col] : memref<?x?xf32> -> tensor<16x16xf32>
  evt.store %block, %u[%c0, %row, %col] : tensor<16x16xf32> -> memref<2x?x?xf32>
}

evt.device @step(%u: memref<2x?x?xf32>) grid(%t, %i, %j) {
  %from = affine.apply affine_map<(d0) -> (d0 mod 2)>(%t)
  %to = affine.apply affine_map<(d0) -> ((d0 + 1) mod 2)>(%t)
  %row = affine.apply affine_map<(d0) -> (d0 * 16)>(%i)
  %col = affine.apply affine_map<(d0) -> (d0 * 16)>(%j)
  %above = affine.apply affine_map<(d0) -> (d0 * 16 - 1)>(%i)
  %before = affine.apply affine_map<(d0) -> (d0 * 16 - 1)>(%j)
  // Two boxes that cross, rather than one of 18 by 18: its corners would belong to blocks that are not waited for.
  %tall = evt.load %u[%from, %above, %col] : memref<2x?x?xf32> -> tensor<18x16xf32>
  %wide = evt.load %u[%from, %row, %before] : memref<2x?x?xf32> -> tensor<16x18xf32>
  %north = tensor.extract_slice %tall[0, 0] [16, 16] [1, 1] : tensor<18x16xf32> to tensor<16x16xf32>
  %centre = tensor.extract_slice %tall[1, 0] [16, 16] [1, 1] : tensor<18x16xf32> to tensor<16x16xf32>
  %south = tensor.extract_slice %tall[2, 0] [16, 16] [1, 1] : tensor<18x16xf32> to tensor<16x16xf32>
  %west = tensor.extract_slice %wide[0, 0] [16, 16] [1, 1] : tensor<16x18xf32> to tensor<16x16xf32>
  %east = tensor.extract_slice %wide[0, 2] [16, 16] [1, 1] : tensor<16x18xf32> to tensor<16x16xf32>
  %half = arith.constant dense<0.5> : tensor<16x16xf32>
  %eighth = arith.constant dense<0.125> : tensor<16x16xf32>
  %vertical = arith.addf %north, %south : tensor<16x16xf32>
  %horizontal = arith.addf %west, %east : tensor<16x16xf32>
  %around = arith.addf %vertical, %horizontal : tensor<16x16xf32>
  %own = arith.mulf %centre, %half : tensor<16x16xf32>
  %others = arith.mulf %around, %eighth : tensor<16x16xf32>
  %next = arith.addf %own, %others : tensor<16x16xf32>
  evt.store %next, %u[%to, %row, %col] : tensor<16x16xf32> -> memref<2x?x?xf32>
}

evt.device @end(%u: memref<2x?x?xf32>, %y: memref<?x?xf32>, %steps: index) grid(%i, %j) {
  %last = affine.apply affine_map<(d0) -> (d0 mod 2)>(%steps)
  %row = affine.apply affine_map<(d0) -> (d0 * 16)>(%i)
  %col = affine.apply affine_map<(d0) -> (d0 * 16)>(%j)
  %block = evt.load %u[%last, %row, %col] : memref<2x?x?xf32> -> tensor<16x16xf32>
  evt.store %block, %y[%row, %col] : tensor<16x16xf32> -> memref<?x?xf32>
}

evt.graph @stencil2d(%x: memref<?x?xf32> {evt.immutable}, %y: memref<?x?xf32>,
                     %steps: index {evt.min = 0, evt.max = 1000000}) {
  %h = evt.symbol "h" (%x[0], %y[0]) : memref<?x?xf32>, memref<?x?xf32>
  %w = evt.symbol "w" (%x[1], %y[1]) : memref<?x?xf32>, memref<?x?xf32>
  %rows = affine.apply affine_map<()[s0] -> (s0 ceildiv 16)>()[%h]
  %cols = affine.apply affine_map<()[s0] -> (s0 ceildiv 16)>()[%w]
  %planes = affine.apply affine_map<()[s0] -> (s0 + 1)>()[%steps]

  %u = evt.alloc(%h, %w) : memref<2x?x?xf32>
  // Block (i, j) holds the values of time t.
  %done = evt.event(%planes, %rows, %cols) count(1) : !evt.event<?x?x?>
  evt.call @begin(%x, %u) grid(%rows, %cols) notify(%done[(i, j) -> (0, i, j)])
    : (memref<?x?xf32>, memref<2x?x?xf32>)
  // Ranges are clipped to the event's shape: at the border of the plane there is nobody to wait for.
  evt.call @step(%u) grid(%steps, %rows, %cols)
    wait(%done[(t, i, j) -> (t, i - 1 to i + 2, j)], %done[(t, i, j) -> (t, i, j - 1 to j + 2)])
    notify(%done[(t, i, j) -> (t + 1, i, j)]) : (memref<2x?x?xf32>)
  evt.call @end(%u, %y, %steps) grid(%rows, %cols) wait(%done[(steps, i, j) -> (steps, i, j)])
    : (memref<2x?x?xf32>, memref<?x?xf32>, index)
}
