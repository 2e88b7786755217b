// The decode chain of a dense decoder: hidden size 256, query/key/value rows 512, feed-forward 5120, vocabulary
// 1000. Written by bench/chain/program.py.

// What the layers read of the residual stream: bf16, and the sum of squares of each 8 columns.
evt.device @start(%r: memref<?x256xf32>, %rb: memref<?x256xbf16>, %squares: memref<?x32xf32>) grid(%t, %j) {
  %token = affine.apply affine_map<(d0) -> (d0 * 8)>(%t)
  %col = affine.apply affine_map<(d0) -> (d0 * 64)>(%j)
  %group = affine.apply affine_map<(d0) -> (d0 * 8)>(%j)
  %x = evt.load %r[%token, %col] : memref<?x256xf32> -> tensor<8x64xf32>
  %x16 = arith.truncf %x : tensor<8x64xf32> to tensor<8x64xbf16>
  %seen = arith.extf %x16 : tensor<8x64xbf16> to tensor<8x64xf32>
  %square = arith.mulf %seen, %seen : tensor<8x64xf32>
  %groups = tensor.expand_shape %square [[0], [1, 2]] output_shape [8, 8, 8]
      : tensor<8x64xf32> into tensor<8x8x8xf32>
  %none = arith.constant dense<0.0> : tensor<8x8xf32>
  %part = linalg.reduce { arith.addf } ins(%groups : tensor<8x8x8xf32>) outs(%none : tensor<8x8xf32>)
      dimensions = [2]
  evt.store %x16, %rb[%token, %col] : tensor<8x64xbf16> -> memref<?x256xbf16>
  evt.store %part, %squares[%token, %group] : tensor<8x8xf32> -> memref<?x32xf32>
}

evt.device @qkv(%x: memref<?x256xbf16>, %squares: memref<?x32xf32>, %w: memref<?x512x256xbf16>, %q: memref<?x512xbf16>, %l: index) grid(%t, %j) {
  %c0 = arith.constant 0 : index
  %depth = arith.constant 256 : index
  %step = arith.constant 256 : index
  %token = affine.apply affine_map<(d0) -> (d0 * 8)>(%t)
  %row = affine.apply affine_map<(d0) -> (d0 * 8)>(%j)
  %zero = arith.constant dense<0.0> : tensor<8x8xf32>
  %like = tensor.empty() : tensor<8x8xf32>
  %none = arith.constant dense<0.0> : tensor<8xf32>
  %scale = arith.constant dense<0.00390625> : tensor<8xf32>
  %epsilon = arith.constant dense<1.0e-6> : tensor<8xf32>
  %parts = evt.load %squares[%token, %c0] : memref<?x32xf32> -> tensor<8x32xf32>
  %sum = linalg.reduce { arith.addf } ins(%parts : tensor<8x32xf32>) outs(%none : tensor<8xf32>) dimensions = [1]
  %mean = arith.mulf %sum, %scale : tensor<8xf32>
  %above = arith.addf %mean, %epsilon : tensor<8xf32>
  %root = math.rsqrt %above : tensor<8xf32>
  %root_wide = linalg.broadcast ins(%root : tensor<8xf32>) outs(%like : tensor<8x8xf32>) dimensions = [1]
  %acc0 = scf.for %k = %c0 to %depth step %step iter_args(%in0 = %zero) -> (tensor<8x8xf32>) {
    %kk = affine.apply affine_map<(d0, d1) -> (d0 + d1)>(%k, %c0)
    %a16 = evt.load %x[%token, %kk] : memref<?x256xbf16> -> tensor<8x256xbf16>
    %a = arith.extf %a16 : tensor<8x256xbf16> to tensor<8x256xf32>
    %w0_16 = evt.load %w[%l, %row, %kk] : memref<?x512x256xbf16> -> tensor<8x256xbf16>
    %w0 = arith.extf %w0_16 : tensor<8x256xbf16> to tensor<8x256xf32>
    %out0 = linalg.matmul_transpose_b ins(%a, %w0 : tensor<8x256xf32>, tensor<8x256xf32>)
        outs(%in0 : tensor<8x8xf32>) -> tensor<8x8xf32>
    scf.yield %out0 : tensor<8x8xf32>
  }
  %scaled0 = arith.mulf %acc0, %root_wide : tensor<8x8xf32>
  %q16 = arith.truncf %scaled0 : tensor<8x8xf32> to tensor<8x8xbf16>
  evt.store %q16, %q[%token, %row] : tensor<8x8xbf16> -> memref<?x512xbf16>
}

evt.device @out(%x: memref<?x512xbf16>, %w: memref<?x256x256xbf16>, %r: memref<?x256xf32>, %rb: memref<?x256xbf16>, %squares: memref<?x32xf32>, %l: index) grid(%t, %j) {
  %c0 = arith.constant 0 : index
  %depth = arith.constant 256 : index
  %step = arith.constant 256 : index
  %token = affine.apply affine_map<(d0) -> (d0 * 8)>(%t)
  %row = affine.apply affine_map<(d0) -> (d0 * 8)>(%j)
  %zero = arith.constant dense<0.0> : tensor<8x8xf32>
  %like = tensor.empty() : tensor<8x8xf32>
  %acc0 = scf.for %k = %c0 to %depth step %step iter_args(%in0 = %zero) -> (tensor<8x8xf32>) {
    %kk = affine.apply affine_map<(d0, d1) -> (d0 + d1)>(%k, %c0)
    %a16 = evt.load %x[%token, %kk] : memref<?x512xbf16> -> tensor<8x256xbf16>
    %a = arith.extf %a16 : tensor<8x256xbf16> to tensor<8x256xf32>
    %w0_16 = evt.load %w[%l, %row, %kk] : memref<?x256x256xbf16> -> tensor<8x256xbf16>
    %w0 = arith.extf %w0_16 : tensor<8x256xbf16> to tensor<8x256xf32>
    %out0 = linalg.matmul_transpose_b ins(%a, %w0 : tensor<8x256xf32>, tensor<8x256xf32>)
        outs(%in0 : tensor<8x8xf32>) -> tensor<8x8xf32>
    scf.yield %out0 : tensor<8x8xf32>
  }
  %old = evt.load %r[%token, %row] : memref<?x256xf32> -> tensor<8x8xf32>
  %new = arith.addf %acc0, %old : tensor<8x8xf32>
  %new16 = arith.truncf %new : tensor<8x8xf32> to tensor<8x8xbf16>
  %seen = arith.extf %new16 : tensor<8x8xbf16> to tensor<8x8xf32>
  %square = arith.mulf %seen, %seen : tensor<8x8xf32>
  %nothing = arith.constant dense<0.0> : tensor<8xf32>
  %of_tile = linalg.reduce { arith.addf } ins(%square : tensor<8x8xf32>) outs(%nothing : tensor<8xf32>) dimensions = [1]
  evt.store %new, %r[%token, %row] : tensor<8x8xf32> -> memref<?x256xf32>
  evt.store %new16, %rb[%token, %row] : tensor<8x8xbf16> -> memref<?x256xbf16>
  evt.store %of_tile, %squares[%token, %j] sizes [8, 1] : tensor<8xf32> -> memref<?x32xf32>
}

evt.device @gate_up(%x: memref<?x256xbf16>, %squares: memref<?x32xf32>, %wg: memref<?x5120x256xbf16>, %wu: memref<?x5120x256xbf16>, %h: memref<?x5120xbf16>, %l: index) grid(%t, %j) {
  %c0 = arith.constant 0 : index
  %depth = arith.constant 256 : index
  %step = arith.constant 256 : index
  %token = affine.apply affine_map<(d0) -> (d0 * 8)>(%t)
  %row = affine.apply affine_map<(d0) -> (d0 * 8)>(%j)
  %zero = arith.constant dense<0.0> : tensor<8x8xf32>
  %like = tensor.empty() : tensor<8x8xf32>
  %none = arith.constant dense<0.0> : tensor<8xf32>
  %scale = arith.constant dense<0.00390625> : tensor<8xf32>
  %epsilon = arith.constant dense<1.0e-6> : tensor<8xf32>
  %parts = evt.load %squares[%token, %c0] : memref<?x32xf32> -> tensor<8x32xf32>
  %sum = linalg.reduce { arith.addf } ins(%parts : tensor<8x32xf32>) outs(%none : tensor<8xf32>) dimensions = [1]
  %mean = arith.mulf %sum, %scale : tensor<8xf32>
  %above = arith.addf %mean, %epsilon : tensor<8xf32>
  %root = math.rsqrt %above : tensor<8xf32>
  %root_wide = linalg.broadcast ins(%root : tensor<8xf32>) outs(%like : tensor<8x8xf32>) dimensions = [1]
  %acc0, %acc1 = scf.for %k = %c0 to %depth step %step iter_args(%in0 = %zero, %in1 = %zero) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
    %kk = affine.apply affine_map<(d0, d1) -> (d0 + d1)>(%k, %c0)
    %a16 = evt.load %x[%token, %kk] : memref<?x256xbf16> -> tensor<8x256xbf16>
    %a = arith.extf %a16 : tensor<8x256xbf16> to tensor<8x256xf32>
    %w0_16 = evt.load %wg[%l, %row, %kk] : memref<?x5120x256xbf16> -> tensor<8x256xbf16>
    %w0 = arith.extf %w0_16 : tensor<8x256xbf16> to tensor<8x256xf32>
    %out0 = linalg.matmul_transpose_b ins(%a, %w0 : tensor<8x256xf32>, tensor<8x256xf32>)
        outs(%in0 : tensor<8x8xf32>) -> tensor<8x8xf32>
    %w1_16 = evt.load %wu[%l, %row, %kk] : memref<?x5120x256xbf16> -> tensor<8x256xbf16>
    %w1 = arith.extf %w1_16 : tensor<8x256xbf16> to tensor<8x256xf32>
    %out1 = linalg.matmul_transpose_b ins(%a, %w1 : tensor<8x256xf32>, tensor<8x256xf32>)
        outs(%in1 : tensor<8x8xf32>) -> tensor<8x8xf32>
    scf.yield %out0, %out1 : tensor<8x8xf32>, tensor<8x8xf32>
  }
  %scaled0 = arith.mulf %acc0, %root_wide : tensor<8x8xf32>
  %scaled1 = arith.mulf %acc1, %root_wide : tensor<8x8xf32>
  %one = arith.constant dense<1.0> : tensor<8x8xf32>
  %minus = arith.negf %scaled0 : tensor<8x8xf32>
  %exp = math.exp %minus : tensor<8x8xf32>
  %below = arith.addf %exp, %one : tensor<8x8xf32>
  %silu = arith.divf %scaled0, %below : tensor<8x8xf32>
  %swiglu = arith.mulf %silu, %scaled1 : tensor<8x8xf32>
  %swiglu16 = arith.truncf %swiglu : tensor<8x8xf32> to tensor<8x8xbf16>
  evt.store %swiglu16, %h[%token, %row] : tensor<8x8xbf16> -> memref<?x5120xbf16>
}

evt.device @down(%x: memref<?x5120xbf16>, %w: memref<?x256x5120xbf16>, %down_part0: memref<2x?x256xf32>, %l: index) grid(%t, %s, %j) {
  %c0 = arith.constant 0 : index
  %depth = arith.constant 2560 : index
  %step = arith.constant 512 : index
  %token = affine.apply affine_map<(d0) -> (d0 * 8)>(%t)
  %row = affine.apply affine_map<(d0) -> (d0 * 8)>(%j)
  %zero = arith.constant dense<0.0> : tensor<8x8xf32>
  %like = tensor.empty() : tensor<8x8xf32>
  %first = affine.apply affine_map<(d0) -> (d0 * 2560)>(%s)
  %acc0 = scf.for %k = %c0 to %depth step %step iter_args(%in0 = %zero) -> (tensor<8x8xf32>) {
    %kk = affine.apply affine_map<(d0, d1) -> (d0 + d1)>(%k, %first)
    %a16 = evt.load %x[%token, %kk] : memref<?x5120xbf16> -> tensor<8x512xbf16>
    %a = arith.extf %a16 : tensor<8x512xbf16> to tensor<8x512xf32>
    %w0_16 = evt.load %w[%l, %row, %kk] : memref<?x256x5120xbf16> -> tensor<8x512xbf16>
    %w0 = arith.extf %w0_16 : tensor<8x512xbf16> to tensor<8x512xf32>
    %out0 = linalg.matmul_transpose_b ins(%a, %w0 : tensor<8x512xf32>, tensor<8x512xf32>)
        outs(%in0 : tensor<8x8xf32>) -> tensor<8x8xf32>
    scf.yield %out0 : tensor<8x8xf32>
  }
  evt.store %acc0, %down_part0[%s, %token, %row] : tensor<8x8xf32> -> memref<2x?x256xf32>
}

evt.device @combine_down(%down_part0: memref<2x?x256xf32>, %r: memref<?x256xf32>, %rb: memref<?x256xbf16>, %squares: memref<?x32xf32>) grid(%t, %j) {
  %token = affine.apply affine_map<(d0) -> (d0 * 8)>(%t)
  %row = affine.apply affine_map<(d0) -> (d0 * 8)>(%j)
  %s0 = arith.constant 0 : index
  %s1 = arith.constant 1 : index
  %p0_0 = evt.load %down_part0[%s0, %token, %row] : memref<2x?x256xf32> -> tensor<8x8xf32>
  %p0_1 = evt.load %down_part0[%s1, %token, %row] : memref<2x?x256xf32> -> tensor<8x8xf32>
  %sum0_1 = arith.addf %p0_0, %p0_1 : tensor<8x8xf32>
  %old = evt.load %r[%token, %row] : memref<?x256xf32> -> tensor<8x8xf32>
  %new = arith.addf %sum0_1, %old : tensor<8x8xf32>
  %new16 = arith.truncf %new : tensor<8x8xf32> to tensor<8x8xbf16>
  %seen = arith.extf %new16 : tensor<8x8xbf16> to tensor<8x8xf32>
  %square = arith.mulf %seen, %seen : tensor<8x8xf32>
  %nothing = arith.constant dense<0.0> : tensor<8xf32>
  %of_tile = linalg.reduce { arith.addf } ins(%square : tensor<8x8xf32>) outs(%nothing : tensor<8xf32>) dimensions = [1]
  evt.store %new, %r[%token, %row] : tensor<8x8xf32> -> memref<?x256xf32>
  evt.store %new16, %rb[%token, %row] : tensor<8x8xbf16> -> memref<?x256xbf16>
  evt.store %of_tile, %squares[%token, %j] sizes [8, 1] : tensor<8xf32> -> memref<?x32xf32>
}

evt.device @head(%x: memref<?x256xbf16>, %squares: memref<?x32xf32>, %w: memref<1000x256xbf16>, %logits: memref<?x1000xf32>) grid(%t, %j) {
  %c0 = arith.constant 0 : index
  %depth = arith.constant 256 : index
  %step = arith.constant 256 : index
  %token = affine.apply affine_map<(d0) -> (d0 * 8)>(%t)
  %row = affine.apply affine_map<(d0) -> (d0 * 8)>(%j)
  %zero = arith.constant dense<0.0> : tensor<8x8xf32>
  %like = tensor.empty() : tensor<8x8xf32>
  %none = arith.constant dense<0.0> : tensor<8xf32>
  %scale = arith.constant dense<0.00390625> : tensor<8xf32>
  %epsilon = arith.constant dense<1.0e-6> : tensor<8xf32>
  %parts = evt.load %squares[%token, %c0] : memref<?x32xf32> -> tensor<8x32xf32>
  %sum = linalg.reduce { arith.addf } ins(%parts : tensor<8x32xf32>) outs(%none : tensor<8xf32>) dimensions = [1]
  %mean = arith.mulf %sum, %scale : tensor<8xf32>
  %above = arith.addf %mean, %epsilon : tensor<8xf32>
  %root = math.rsqrt %above : tensor<8xf32>
  %root_wide = linalg.broadcast ins(%root : tensor<8xf32>) outs(%like : tensor<8x8xf32>) dimensions = [1]
  %acc0 = scf.for %k = %c0 to %depth step %step iter_args(%in0 = %zero) -> (tensor<8x8xf32>) {
    %kk = affine.apply affine_map<(d0, d1) -> (d0 + d1)>(%k, %c0)
    %a16 = evt.load %x[%token, %kk] : memref<?x256xbf16> -> tensor<8x256xbf16>
    %a = arith.extf %a16 : tensor<8x256xbf16> to tensor<8x256xf32>
    %w0_16 = evt.load %w[%row, %kk] : memref<1000x256xbf16> -> tensor<8x256xbf16>
    %w0 = arith.extf %w0_16 : tensor<8x256xbf16> to tensor<8x256xf32>
    %out0 = linalg.matmul_transpose_b ins(%a, %w0 : tensor<8x256xf32>, tensor<8x256xf32>)
        outs(%in0 : tensor<8x8xf32>) -> tensor<8x8xf32>
    scf.yield %out0 : tensor<8x8xf32>
  }
  %scaled0 = arith.mulf %acc0, %root_wide : tensor<8x8xf32>
  evt.store %scaled0, %logits[%token, %row] : tensor<8x8xf32> -> memref<?x1000xf32>
}

evt.graph @decode_chain(%r: memref<?x256xf32>, %w_qkv: memref<?x512x256xbf16> {evt.immutable}, %w_out: memref<?x256x256xbf16> {evt.immutable},
                        %w_gate: memref<?x5120x256xbf16> {evt.immutable}, %w_up: memref<?x5120x256xbf16> {evt.immutable}, %w_down: memref<?x256x5120xbf16> {evt.immutable},
                        %w_head: memref<1000x256xbf16> {evt.immutable}, %logits: memref<?x1000xf32>) {
  %tokens = evt.symbol "tokens" (%r[0], %logits[0]) range(1, 256) : memref<?x256xf32>, memref<?x1000xf32>
  %layers = evt.symbol "layers" (%w_qkv[0], %w_out[0], %w_gate[0], %w_up[0], %w_down[0])
    : memref<?x512x256xbf16>, memref<?x256x256xbf16>, memref<?x5120x256xbf16>, memref<?x5120x256xbf16>, memref<?x256x5120xbf16>
  %tiles = affine.apply affine_map<()[s0] -> (s0 ceildiv 8)>()[%tokens]
  %c_start = arith.constant 4 : index
  %c_pieces = arith.constant 2 : index
  %rb = evt.alloc(%tokens) : memref<?x256xbf16>
  %squares = evt.alloc(%tokens) : memref<?x32xf32>
  %q = evt.alloc(%tokens) : memref<?x512xbf16>
  %h = evt.alloc(%tokens) : memref<?x5120xbf16>
  %c_qkv = arith.constant 64 : index
  %c_out = arith.constant 32 : index
  %c_gate_up = arith.constant 640 : index
  %c_down = arith.constant 32 : index
  %c_down_equal = arith.constant 2 : index
  %down_part0 = evt.alloc(%tokens) : memref<2x?x256xf32>
  %down_pieces = evt.event(%layers, %tiles, %c_down) count(2)
    : !evt.event<?x?x?>
  %c_head = arith.constant 125 : index
  %started = evt.event(%tiles) count(4) : !evt.event<?>
  %projected = evt.event(%layers, %tiles) count(64) : !evt.event<?x?>
  %added1 = evt.event(%layers, %tiles) count(32) : !evt.event<?x?>
  %activated = evt.event(%layers, %tiles, %c_pieces) count(320) : !evt.event<?x?x?>
  %added2 = evt.event(%layers, %tiles) count(32) : !evt.event<?x?>

  evt.call @start(%r, %rb, %squares) grid(%tiles, %c_start) notify(%started[(t, j) -> (t)])
    : (memref<?x256xf32>, memref<?x256xbf16>, memref<?x32xf32>)
  evt.repeat %l to %layers {
    evt.call @qkv(%rb, %squares, %w_qkv, %q, %l) grid(%tiles, %c_qkv)
      wait(%started[(l, t, j) -> (t)], %added2[(l, t, j) -> (l - 1 to l, t)]) notify(%projected[(l, t, j) -> (l, t)])
      : (memref<?x256xbf16>, memref<?x32xf32>, memref<?x512x256xbf16>, memref<?x512xbf16>, index)
    evt.call @out(%q, %w_out, %r, %rb, %squares, %l) grid(%tiles, %c_out)
      wait(%projected[(l, t, j) -> (l, t)]) notify(%added1[(l, t, j) -> (l, t)])
      : (memref<?x512xbf16>, memref<?x256x256xbf16>, memref<?x256xf32>, memref<?x256xbf16>, memref<?x32xf32>, index)
    evt.call @gate_up(%rb, %squares, %w_gate, %w_up, %h, %l) grid(%tiles, %c_gate_up)
      wait(%added1[(l, t, j) -> (l, t)]) notify(%activated[(l, t, j) -> (l, t, j floordiv 320)])
      : (memref<?x256xbf16>, memref<?x32xf32>, memref<?x5120x256xbf16>, memref<?x5120x256xbf16>, memref<?x5120xbf16>, index)
    evt.call @down(%h, %w_down, %down_part0, %l) grid(%tiles, %c_down_equal, %c_down)
      wait(%activated[(l, t, s, j) -> (l, t, s)]) notify(%down_pieces[(l, t, s, j) -> (l, t, j)])
      : (memref<?x5120xbf16>, memref<?x256x5120xbf16>, memref<2x?x256xf32>, index)
    evt.call @combine_down(%down_part0, %r, %rb, %squares) grid(%tiles, %c_down)
      wait(%down_pieces[(l, t, j) -> (l, t, j)]) notify(%added2[(l, t, j) -> (l, t)])
      : (memref<2x?x256xf32>, memref<?x256xf32>, memref<?x256xbf16>, memref<?x32xf32>)
  }
    evt.call @head(%rb, %squares, %w_head, %logits) grid(%tiles, %c_head)
      wait(%started[(layers, t, j) -> (t)], %added2[(layers, t, j) -> (layers - 1 to layers, t)]) 
      : (memref<?x256xbf16>, memref<?x32xf32>, memref<1000x256xbf16>, memref<?x1000xf32>)
}
