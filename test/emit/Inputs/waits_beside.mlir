// A weight that only the last element of a range says something of: @copy writes it, and whoever writes the last columns
// of the other weight waits for that. The rows are written from the end, so that they wait for all elements at once. No
// loader may come to the range part by part: that of the weights fetches both.

evt.device @copy(%x: memref<?x512xbf16>, %w0: memref<?x512xbf16>) grid(%t, %j) {
  %row = affine.apply affine_map<(d0) -> (d0 * 64)>(%t)
  %column = affine.apply affine_map<(d0) -> (d0 * 64)>(%j)
  %tile = evt.load %x[%row, %column] : memref<?x512xbf16> -> tensor<64x64xbf16>
  evt.store %tile, %w0[%row, %column] : tensor<64x64xbf16> -> memref<?x512xbf16>
}

evt.device @write(%x: memref<?x512xbf16>, %w1: memref<?x512xbf16>, %v: memref<?x512xbf16>) grid(%t, %j) {
  %row = affine.apply affine_map<(d0) -> (d0 * 64)>(%t)
  %column = affine.apply affine_map<(d0) -> (d0 * 64)>(%j)
  %back = affine.apply affine_map<(d0) -> (448 - d0 * 64)>(%j)
  %tile = evt.load %x[%row, %column] : memref<?x512xbf16> -> tensor<64x64xbf16>
  evt.store %tile, %w1[%row, %column] : tensor<64x64xbf16> -> memref<?x512xbf16>
  %other = evt.load %x[%row, %back] : memref<?x512xbf16> -> tensor<64x64xbf16>
  evt.store %other, %v[%row, %back] : tensor<64x64xbf16> -> memref<?x512xbf16>
}

evt.device @write_last(%x: memref<?x512xbf16>, %w1: memref<?x512xbf16>, %v: memref<?x512xbf16>) grid(%t) {
  %row = affine.apply affine_map<(d0) -> (d0 * 64)>(%t)
  %column = arith.constant 448 : index
  %c0 = arith.constant 0 : index
  %tile = evt.load %x[%row, %column] : memref<?x512xbf16> -> tensor<64x64xbf16>
  evt.store %tile, %w1[%row, %column] : tensor<64x64xbf16> -> memref<?x512xbf16>
  %other = evt.load %x[%row, %c0] : memref<?x512xbf16> -> tensor<64x64xbf16>
  evt.store %other, %v[%row, %c0] : tensor<64x64xbf16> -> memref<?x512xbf16>
}

evt.device @multiply(%v: memref<?x512xbf16>, %w0: memref<?x512xbf16>, %w1: memref<?x512xbf16>, %y: memref<?x64xf32>) grid(%t) {
  %c0 = arith.constant 0 : index
  %depth = arith.constant 512 : index
  %step = arith.constant 64 : index
  %row = affine.apply affine_map<(d0) -> (d0 * 64)>(%t)
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %sums:2 = scf.for %k = %c0 to %depth step %step iter_args(%in0 = %zero, %in1 = %zero) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
    %a16 = evt.load %v[%row, %k] : memref<?x512xbf16> -> tensor<64x64xbf16>
    %b16 = evt.load %w0[%row, %k] : memref<?x512xbf16> -> tensor<64x64xbf16>
    %c16 = evt.load %w1[%row, %k] : memref<?x512xbf16> -> tensor<64x64xbf16>
    %a = arith.extf %a16 : tensor<64x64xbf16> to tensor<64x64xf32>
    %b = arith.extf %b16 : tensor<64x64xbf16> to tensor<64x64xf32>
    %c = arith.extf %c16 : tensor<64x64xbf16> to tensor<64x64xf32>
    %next0 = linalg.matmul_transpose_b ins(%a, %b : tensor<64x64xf32>, tensor<64x64xf32>) outs(%in0 : tensor<64x64xf32>)
        -> tensor<64x64xf32>
    %next1 = linalg.matmul_transpose_b ins(%a, %c : tensor<64x64xf32>, tensor<64x64xf32>) outs(%in1 : tensor<64x64xf32>)
        -> tensor<64x64xf32>
    scf.yield %next0, %next1 : tensor<64x64xf32>, tensor<64x64xf32>
  }
  %sum = arith.addf %sums#0, %sums#1 : tensor<64x64xf32>
  evt.store %sum, %y[%row, %c0] : tensor<64x64xf32> -> memref<?x64xf32>
}

evt.graph @beside(%x: memref<?x512xbf16> {evt.immutable}, %y: memref<?x64xf32>) {
  %n = evt.symbol "n" (%x[0], %y[0]) : memref<?x512xbf16>, memref<?x64xf32>
  %tiles = affine.apply affine_map<()[s0] -> (s0 ceildiv 64)>()[%n]
  %c7 = arith.constant 7 : index
  %c8 = arith.constant 8 : index
  %w0 = evt.alloc(%n) : memref<?x512xbf16>
  %w1 = evt.alloc(%n) : memref<?x512xbf16>
  %v = evt.alloc(%n) : memref<?x512xbf16>
  %copied = evt.event(%tiles) count(8) : !evt.event<?>
  %written = evt.event(%tiles, %c8) count(1) : !evt.event<?x?>
  evt.call @copy(%x, %w0) grid(%tiles, %c8) notify(%copied[(t, j) -> (t)])
    : (memref<?x512xbf16>, memref<?x512xbf16>)
  evt.call @write(%x, %w1, %v) grid(%tiles, %c7) notify(%written[(t, j) -> (t, j)])
    : (memref<?x512xbf16>, memref<?x512xbf16>, memref<?x512xbf16>)
  evt.call @write_last(%x, %w1, %v) grid(%tiles) wait(%copied[(t) -> (t)]) notify(%written[(t) -> (t, 7)])
    : (memref<?x512xbf16>, memref<?x512xbf16>, memref<?x512xbf16>)
  evt.call @multiply(%v, %w0, %w1, %y) grid(%tiles) wait(%written[(t) -> (t, 0 to 8)])
    : (memref<?x512xbf16>, memref<?x512xbf16>, memref<?x512xbf16>, memref<?x64xf32>)
}
