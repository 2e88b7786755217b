// New keys and values of one layer, written to a cache whose slots a table names: keys are projected and rotated by the
// angles of the tokens' positions. Two heads of 128, hidden size 512. Up to 8 tokens are multiplied by tasks of 8 + 8
// columns; more, up to 64, by a task for each head.

// Columns 8i and 64 + 8i of a head, which are rotated together, and the sum of their squares.
evt.device @project(%x: memref<?x512xbf16>, %w: memref<256x512xbf16>, %positions: memref<?xi64>, %cos: memref<?x64xf32>, %sin: memref<?x64xf32>, %slots: memref<?xi32>, %keys: memref<?x?x2x128xbf16>, %squares: memref<?x?x16xf32>, %layer: index) grid(%t, %h, %i) {
  %c0 = arith.constant 0 : index
  %depth = arith.constant 512 : index
  %step = arith.constant 256 : index
  %token = affine.apply affine_map<(d0) -> (d0 * 8)>(%t)
  %low = affine.apply affine_map<(d0) -> (d0 * 8)>(%i)
  %high = affine.apply affine_map<(d0) -> (d0 * 8 + 64)>(%i)
  %row_low = affine.apply affine_map<(d0, d1) -> (d0 * 128 + d1 * 8)>(%h, %i)
  %row_high = affine.apply affine_map<(d0, d1) -> (d0 * 128 + 64 + d1 * 8)>(%h, %i)
  %part = affine.apply affine_map<(d0, d1) -> (d0 * 8 + d1)>(%h, %i)
  %zero = arith.constant dense<0.0> : tensor<8x8xf32>
  %none = arith.constant dense<0.0> : tensor<8xf32>
  %a, %b = scf.for %k = %c0 to %depth step %step iter_args(%in0 = %zero, %in1 = %zero) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
    %x16 = evt.load %x[%token, %k] : memref<?x512xbf16> -> tensor<8x256xbf16>
    %xs = arith.extf %x16 : tensor<8x256xbf16> to tensor<8x256xf32>
    %w0_16 = evt.load %w[%row_low, %k] : memref<256x512xbf16> -> tensor<8x256xbf16>
    %w0 = arith.extf %w0_16 : tensor<8x256xbf16> to tensor<8x256xf32>
    %out0 = linalg.matmul_transpose_b ins(%xs, %w0 : tensor<8x256xf32>, tensor<8x256xf32>)
        outs(%in0 : tensor<8x8xf32>) -> tensor<8x8xf32>
    %w1_16 = evt.load %w[%row_high, %k] : memref<256x512xbf16> -> tensor<8x256xbf16>
    %w1 = arith.extf %w1_16 : tensor<8x256xbf16> to tensor<8x256xf32>
    %out1 = linalg.matmul_transpose_b ins(%xs, %w1 : tensor<8x256xf32>, tensor<8x256xf32>)
        outs(%in1 : tensor<8x8xf32>) -> tensor<8x8xf32>
    scf.yield %out0, %out1 : tensor<8x8xf32>, tensor<8x8xf32>
  }
  %cosine = evt.load %cos[%positions[%token], %low] : memref<?x64xf32>, memref<?xi64> -> tensor<8x8xf32>
  %sine = evt.load %sin[%positions[%token], %low] : memref<?x64xf32>, memref<?xi64> -> tensor<8x8xf32>
  %a_cos = arith.mulf %a, %cosine : tensor<8x8xf32>
  %b_sin = arith.mulf %b, %sine : tensor<8x8xf32>
  %first = arith.subf %a_cos, %b_sin : tensor<8x8xf32>
  %b_cos = arith.mulf %b, %cosine : tensor<8x8xf32>
  %a_sin = arith.mulf %a, %sine : tensor<8x8xf32>
  %second = arith.addf %b_cos, %a_sin : tensor<8x8xf32>
  %first_square = arith.mulf %first, %first : tensor<8x8xf32>
  %second_square = arith.mulf %second, %second : tensor<8x8xf32>
  %square = arith.addf %first_square, %second_square : tensor<8x8xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<8x8xf32>) outs(%none : tensor<8xf32>) dimensions = [1]
  %first16 = arith.truncf %first : tensor<8x8xf32> to tensor<8x8xbf16>
  %second16 = arith.truncf %second : tensor<8x8xf32> to tensor<8x8xbf16>
  evt.store %first16, %keys[%layer, %slots[%token], %h, %low] sizes [1, 8, 1, 8] : tensor<8x8xbf16> -> memref<?x?x2x128xbf16>, memref<?xi32>
  evt.store %second16, %keys[%layer, %slots[%token], %h, %high] sizes [1, 8, 1, 8] : tensor<8x8xbf16> -> memref<?x?x2x128xbf16>, memref<?xi32>
  evt.store %sum, %squares[%layer, %slots[%token], %part] sizes [1, 8, 1] : tensor<8xf32> -> memref<?x?x16xf32>, memref<?xi32>
}

// All columns of a head; its sum of squares goes to the first place.
evt.device @project_wide(%x: memref<?x512xbf16>, %w: memref<256x512xbf16>, %positions: memref<?xi64>, %cos: memref<?x64xf32>, %sin: memref<?x64xf32>, %slots: memref<?xi32>, %keys: memref<?x?x2x128xbf16>, %squares: memref<?x?x16xf32>, %layer: index) grid(%t, %h) {
  %c0 = arith.constant 0 : index
  %depth = arith.constant 512 : index
  %step = arith.constant 64 : index
  %token = affine.apply affine_map<(d0) -> (d0 * 64)>(%t)
  %low = arith.constant 0 : index
  %high = arith.constant 64 : index
  %row_low = affine.apply affine_map<(d0) -> (d0 * 128)>(%h)
  %row_high = affine.apply affine_map<(d0) -> (d0 * 128 + 64)>(%h)
  %part = affine.apply affine_map<(d0) -> (d0 * 8)>(%h)
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %none = arith.constant dense<0.0> : tensor<64xf32>
  %a, %b = scf.for %k = %c0 to %depth step %step iter_args(%in0 = %zero, %in1 = %zero) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
    %x16 = evt.load %x[%token, %k] : memref<?x512xbf16> -> tensor<64x64xbf16>
    %xs = arith.extf %x16 : tensor<64x64xbf16> to tensor<64x64xf32>
    %w0_16 = evt.load %w[%row_low, %k] : memref<256x512xbf16> -> tensor<64x64xbf16>
    %w0 = arith.extf %w0_16 : tensor<64x64xbf16> to tensor<64x64xf32>
    %out0 = linalg.matmul_transpose_b ins(%xs, %w0 : tensor<64x64xf32>, tensor<64x64xf32>)
        outs(%in0 : tensor<64x64xf32>) -> tensor<64x64xf32>
    %w1_16 = evt.load %w[%row_high, %k] : memref<256x512xbf16> -> tensor<64x64xbf16>
    %w1 = arith.extf %w1_16 : tensor<64x64xbf16> to tensor<64x64xf32>
    %out1 = linalg.matmul_transpose_b ins(%xs, %w1 : tensor<64x64xf32>, tensor<64x64xf32>)
        outs(%in1 : tensor<64x64xf32>) -> tensor<64x64xf32>
    scf.yield %out0, %out1 : tensor<64x64xf32>, tensor<64x64xf32>
  }
  %cosine = evt.load %cos[%positions[%token], %low] : memref<?x64xf32>, memref<?xi64> -> tensor<64x64xf32>
  %sine = evt.load %sin[%positions[%token], %low] : memref<?x64xf32>, memref<?xi64> -> tensor<64x64xf32>
  %a_cos = arith.mulf %a, %cosine : tensor<64x64xf32>
  %b_sin = arith.mulf %b, %sine : tensor<64x64xf32>
  %first = arith.subf %a_cos, %b_sin : tensor<64x64xf32>
  %b_cos = arith.mulf %b, %cosine : tensor<64x64xf32>
  %a_sin = arith.mulf %a, %sine : tensor<64x64xf32>
  %second = arith.addf %b_cos, %a_sin : tensor<64x64xf32>
  %first_square = arith.mulf %first, %first : tensor<64x64xf32>
  %second_square = arith.mulf %second, %second : tensor<64x64xf32>
  %square = arith.addf %first_square, %second_square : tensor<64x64xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<64x64xf32>) outs(%none : tensor<64xf32>) dimensions = [1]
  %first16 = arith.truncf %first : tensor<64x64xf32> to tensor<64x64xbf16>
  %second16 = arith.truncf %second : tensor<64x64xf32> to tensor<64x64xbf16>
  evt.store %first16, %keys[%layer, %slots[%token], %h, %low] sizes [1, 64, 1, 64] : tensor<64x64xbf16> -> memref<?x?x2x128xbf16>, memref<?xi32>
  evt.store %second16, %keys[%layer, %slots[%token], %h, %high] sizes [1, 64, 1, 64] : tensor<64x64xbf16> -> memref<?x?x2x128xbf16>, memref<?xi32>
  evt.store %sum, %squares[%layer, %slots[%token], %part] sizes [1, 64, 1] : tensor<64xf32> -> memref<?x?x16xf32>, memref<?xi32>
}

evt.device @keep_values(%x: memref<?x512xbf16>, %slots: memref<?xi32>, %values: memref<?x?x512xbf16>, %layer: index) grid(%j) {
  %c0 = arith.constant 0 : index
  %col = affine.apply affine_map<(d0) -> (d0 * 64)>(%j)
  %v = evt.load %x[%c0, %col] : memref<?x512xbf16> -> tensor<64x64xbf16>
  evt.store %v, %values[%layer, %slots[%c0], %col] : tensor<64x64xbf16> -> memref<?x?x512xbf16>, memref<?xi32>
}

// What the cache has for 8 tokens, 0 where it has no slot for one.
evt.device @read_keys(%keys: memref<?x?x2x128xbf16>, %slots: memref<?xi32>, %y: memref<?x2x128xbf16>, %layer: index) grid(%t, %h) {
  %c0 = arith.constant 0 : index
  %token = affine.apply affine_map<(d0) -> (d0 * 8)>(%t)
  %k = evt.load %keys[%layer, %slots[%token], %h, %c0] sizes [1, 8, 1, 128] : memref<?x?x2x128xbf16>, memref<?xi32> -> tensor<8x128xbf16>
  evt.store %k, %y[%token, %h, %c0] sizes [8, 1, 128] : tensor<8x128xbf16> -> memref<?x2x128xbf16>
}

evt.graph @rotary_cache(%x: memref<?x512xbf16> {evt.immutable}, %w: memref<256x512xbf16> {evt.immutable},
                        %positions: memref<?xi64> {evt.immutable}, %cos: memref<?x64xf32> {evt.immutable}, %sin: memref<?x64xf32> {evt.immutable},
                        %slots: memref<?xi32> {evt.immutable}, %keys: memref<?x?x2x128xbf16>, %values: memref<?x?x512xbf16>,
                        %squares: memref<?x?x16xf32>, %y: memref<?x2x128xbf16>, %layer: index {evt.min = 0, evt.max = 100}) {
  %tokens = evt.symbol "tokens" (%x[0], %y[0]) range(1, 64) : memref<?x512xbf16>, memref<?x2x128xbf16>
  %few_or_less = affine.min affine_map<()[s0] -> (1, 9 - s0)>()[%tokens]
  %few = affine.max affine_map<()[s0] -> (s0, 0)>()[%few_or_less]
  %many_or_less = affine.min affine_map<()[s0] -> (1, s0 - 8)>()[%tokens]
  %many = affine.max affine_map<()[s0] -> (s0, 0)>()[%many_or_less]
  %tiles = affine.apply affine_map<()[s0] -> (s0 ceildiv 8)>()[%tokens]
  %heads = arith.constant 2 : index
  %pairs = arith.constant 8 : index
  %columns = arith.constant 8 : index
  %projected = evt.event(%few) count(16) : !evt.event<?>
  %wide_projected = evt.event(%many) count(2) : !evt.event<?>

  evt.call @project(%x, %w, %positions, %cos, %sin, %slots, %keys, %squares, %layer) grid(%few, %heads, %pairs)
    notify(%projected[(t, h, i) -> (t)])
    : (memref<?x512xbf16>, memref<256x512xbf16>, memref<?xi64>, memref<?x64xf32>, memref<?x64xf32>, memref<?xi32>, memref<?x?x2x128xbf16>, memref<?x?x16xf32>, index)
  evt.call @project_wide(%x, %w, %positions, %cos, %sin, %slots, %keys, %squares, %layer) grid(%many, %heads)
    notify(%wide_projected[(t, h) -> (t)])
    : (memref<?x512xbf16>, memref<256x512xbf16>, memref<?xi64>, memref<?x64xf32>, memref<?x64xf32>, memref<?xi32>, memref<?x?x2x128xbf16>, memref<?x?x16xf32>, index)
  evt.call @keep_values(%x, %slots, %values, %layer) grid(%columns)
    : (memref<?x512xbf16>, memref<?xi32>, memref<?x?x512xbf16>, index)
  evt.call @read_keys(%keys, %slots, %y, %layer) grid(%tiles, %heads)
    wait(%projected[(t, h) -> (*)], %wide_projected[(t, h) -> (*)])
    : (memref<?x?x2x128xbf16>, memref<?xi32>, memref<?x2x128xbf16>, index)
}
