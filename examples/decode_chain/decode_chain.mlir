// The decode chain of a dense decoder: hidden size 256, query/key/value rows 512, feed-forward 9472, vocabulary
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
  %groups = tensor.expand_shape %square [[0], [1, 2]] output_shape [8, 8, 8] : tensor<8x64xf32> into tensor<8x8x8xf32>
  %none = arith.constant dense<0.0> : tensor<8x8xf32>
  %part = linalg.reduce { arith.addf } ins(%groups : tensor<8x8x8xf32>) outs(%none : tensor<8x8xf32>) dimensions = [2]
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
  %root = math.rsqrt %above fastmath<afn> : tensor<8xf32>
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

evt.device @gate_up(%x: memref<?x256xbf16>, %squares: memref<?x32xf32>, %wg: memref<?x9472x256xbf16>, %wu: memref<?x9472x256xbf16>, %h: memref<?x9472xbf16>, %l: index) grid(%t, %j) {
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
  %root = math.rsqrt %above fastmath<afn> : tensor<8xf32>
  %root_wide = linalg.broadcast ins(%root : tensor<8xf32>) outs(%like : tensor<8x8xf32>) dimensions = [1]
  %acc0, %acc1 = scf.for %k = %c0 to %depth step %step iter_args(%in0 = %zero, %in1 = %zero) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
    %kk = affine.apply affine_map<(d0, d1) -> (d0 + d1)>(%k, %c0)
    %a16 = evt.load %x[%token, %kk] : memref<?x256xbf16> -> tensor<8x256xbf16>
    %a = arith.extf %a16 : tensor<8x256xbf16> to tensor<8x256xf32>
    %w0_16 = evt.load %wg[%l, %row, %kk] : memref<?x9472x256xbf16> -> tensor<8x256xbf16>
    %w0 = arith.extf %w0_16 : tensor<8x256xbf16> to tensor<8x256xf32>
    %out0 = linalg.matmul_transpose_b ins(%a, %w0 : tensor<8x256xf32>, tensor<8x256xf32>)
        outs(%in0 : tensor<8x8xf32>) -> tensor<8x8xf32>
    %w1_16 = evt.load %wu[%l, %row, %kk] : memref<?x9472x256xbf16> -> tensor<8x256xbf16>
    %w1 = arith.extf %w1_16 : tensor<8x256xbf16> to tensor<8x256xf32>
    %out1 = linalg.matmul_transpose_b ins(%a, %w1 : tensor<8x256xf32>, tensor<8x256xf32>)
        outs(%in1 : tensor<8x8xf32>) -> tensor<8x8xf32>
    scf.yield %out0, %out1 : tensor<8x8xf32>, tensor<8x8xf32>
  }
  %scaled0 = arith.mulf %acc0, %root_wide : tensor<8x8xf32>
  %scaled1 = arith.mulf %acc1, %root_wide : tensor<8x8xf32>
  %one = arith.constant dense<1.0> : tensor<8x8xf32>
  %minus = arith.negf %scaled0 : tensor<8x8xf32>
  %exp = math.exp %minus fastmath<afn> : tensor<8x8xf32>
  %below = arith.addf %exp, %one : tensor<8x8xf32>
  %silu = arith.divf %scaled0, %below fastmath<arcp> : tensor<8x8xf32>
  %swiglu = arith.mulf %silu, %scaled1 : tensor<8x8xf32>
  %swiglu16 = arith.truncf %swiglu : tensor<8x8xf32> to tensor<8x8xbf16>
  evt.store %swiglu16, %h[%token, %row] : tensor<8x8xbf16> -> memref<?x9472xbf16>
}

evt.device @down(%x: memref<?x9472xbf16>, %w: memref<?x256x9472xbf16>, %down_part0: memref<3x?x256xf32>, %l: index) grid(%t, %s, %j) {
  %c0 = arith.constant 0 : index
  %depth = arith.constant 3328 : index
  %step = arith.constant 256 : index
  %token = affine.apply affine_map<(d0) -> (d0 * 8)>(%t)
  %row = affine.apply affine_map<(d0) -> (d0 * 8)>(%j)
  %zero = arith.constant dense<0.0> : tensor<8x8xf32>
  %like = tensor.empty() : tensor<8x8xf32>
  %first = affine.apply affine_map<(d0) -> (d0 * 3328)>(%s)
  %acc0 = scf.for %k = %c0 to %depth step %step iter_args(%in0 = %zero) -> (tensor<8x8xf32>) {
    %kk = affine.apply affine_map<(d0, d1) -> (d0 + d1)>(%k, %first)
    %a16 = evt.load %x[%token, %kk] : memref<?x9472xbf16> -> tensor<8x256xbf16>
    %a = arith.extf %a16 : tensor<8x256xbf16> to tensor<8x256xf32>
    %w0_16 = evt.load %w[%l, %row, %kk] : memref<?x256x9472xbf16> -> tensor<8x256xbf16>
    %w0 = arith.extf %w0_16 : tensor<8x256xbf16> to tensor<8x256xf32>
    %out0 = linalg.matmul_transpose_b ins(%a, %w0 : tensor<8x256xf32>, tensor<8x256xf32>)
        outs(%in0 : tensor<8x8xf32>) -> tensor<8x8xf32>
    scf.yield %out0 : tensor<8x8xf32>
  }
  evt.store %acc0, %down_part0[%s, %token, %row] : tensor<8x8xf32> -> memref<3x?x256xf32>
}

evt.device @down_last(%x: memref<?x9472xbf16>, %w: memref<?x256x9472xbf16>, %down_part0: memref<3x?x256xf32>, %l: index) grid(%t, %j) {
  %c0 = arith.constant 0 : index
  %depth = arith.constant 2816 : index
  %step = arith.constant 256 : index
  %token = affine.apply affine_map<(d0) -> (d0 * 8)>(%t)
  %row = affine.apply affine_map<(d0) -> (d0 * 8)>(%j)
  %zero = arith.constant dense<0.0> : tensor<8x8xf32>
  %like = tensor.empty() : tensor<8x8xf32>
  %s = arith.constant 2 : index
  %first = arith.constant 6656 : index
  %acc0 = scf.for %k = %c0 to %depth step %step iter_args(%in0 = %zero) -> (tensor<8x8xf32>) {
    %kk = affine.apply affine_map<(d0, d1) -> (d0 + d1)>(%k, %first)
    %a16 = evt.load %x[%token, %kk] : memref<?x9472xbf16> -> tensor<8x256xbf16>
    %a = arith.extf %a16 : tensor<8x256xbf16> to tensor<8x256xf32>
    %w0_16 = evt.load %w[%l, %row, %kk] : memref<?x256x9472xbf16> -> tensor<8x256xbf16>
    %w0 = arith.extf %w0_16 : tensor<8x256xbf16> to tensor<8x256xf32>
    %out0 = linalg.matmul_transpose_b ins(%a, %w0 : tensor<8x256xf32>, tensor<8x256xf32>)
        outs(%in0 : tensor<8x8xf32>) -> tensor<8x8xf32>
    scf.yield %out0 : tensor<8x8xf32>
  }
  evt.store %acc0, %down_part0[%s, %token, %row] : tensor<8x8xf32> -> memref<3x?x256xf32>
}

evt.device @combine_down(%down_part0: memref<3x?x256xf32>, %r: memref<?x256xf32>, %rb: memref<?x256xbf16>, %squares: memref<?x32xf32>) grid(%t, %j) {
  %token = affine.apply affine_map<(d0) -> (d0 * 8)>(%t)
  %row = affine.apply affine_map<(d0) -> (d0 * 8)>(%j)
  %s0 = arith.constant 0 : index
  %s1 = arith.constant 1 : index
  %s2 = arith.constant 2 : index
  %p0_0 = evt.load %down_part0[%s0, %token, %row] : memref<3x?x256xf32> -> tensor<8x8xf32>
  %p0_1 = evt.load %down_part0[%s1, %token, %row] : memref<3x?x256xf32> -> tensor<8x8xf32>
  %p0_2 = evt.load %down_part0[%s2, %token, %row] : memref<3x?x256xf32> -> tensor<8x8xf32>
  %sum0_1 = arith.addf %p0_0, %p0_1 : tensor<8x8xf32>
  %sum0_2 = arith.addf %sum0_1, %p0_2 : tensor<8x8xf32>
  %old = evt.load %r[%token, %row] : memref<?x256xf32> -> tensor<8x8xf32>
  %new = arith.addf %sum0_2, %old : tensor<8x8xf32>
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
  %root = math.rsqrt %above fastmath<afn> : tensor<8xf32>
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

// What the layers read of the residual stream: bf16, and the sum of squares of each 8 columns.
evt.device @start_wide(%r: memref<?x256xf32>, %rb: memref<?x256xbf16>, %squares: memref<?x32xf32>) grid(%t, %i, %j) {
  %token = affine.apply affine_map<(d0, d1) -> (d0 * 128 + d1 * 8)>(%t, %i)
  %col = affine.apply affine_map<(d0) -> (d0 * 32)>(%j)
  %group = affine.apply affine_map<(d0) -> (d0 * 4)>(%j)
  %x = evt.load %r[%token, %col] : memref<?x256xf32> -> tensor<8x32xf32>
  %x16 = arith.truncf %x : tensor<8x32xf32> to tensor<8x32xbf16>
  %seen = arith.extf %x16 : tensor<8x32xbf16> to tensor<8x32xf32>
  %square = arith.mulf %seen, %seen : tensor<8x32xf32>
  %groups = tensor.expand_shape %square [[0], [1, 2]] output_shape [8, 4, 8] : tensor<8x32xf32> into tensor<8x4x8xf32>
  %none = arith.constant dense<0.0> : tensor<8x4xf32>
  %part = linalg.reduce { arith.addf } ins(%groups : tensor<8x4x8xf32>) outs(%none : tensor<8x4xf32>) dimensions = [2]
  evt.store %x16, %rb[%token, %col] : tensor<8x32xbf16> -> memref<?x256xbf16>
  evt.store %part, %squares[%token, %group] : tensor<8x4xf32> -> memref<?x32xf32>
}

evt.device @qkv_wide(%x: memref<?x256xbf16>, %squares: memref<?x32xf32>, %w: memref<?x512x256xbf16>, %q: memref<?x512xbf16>, %l: index) grid(%t, %j) {
  %c0 = arith.constant 0 : index
  %depth = arith.constant 256 : index
  %step = arith.constant 64 : index
  %token = affine.apply affine_map<(d0) -> (d0 * 128)>(%t)
  %row = affine.apply affine_map<(d0) -> (d0 * 8)>(%j)
  %zero = arith.constant dense<0.0> : tensor<128x8xf32>
  %like = tensor.empty() : tensor<128x8xf32>
  %none = arith.constant dense<0.0> : tensor<128xf32>
  %scale = arith.constant dense<0.00390625> : tensor<128xf32>
  %epsilon = arith.constant dense<1.0e-6> : tensor<128xf32>
  %parts = evt.load %squares[%token, %c0] : memref<?x32xf32> -> tensor<128x32xf32>
  %sum = linalg.reduce { arith.addf } ins(%parts : tensor<128x32xf32>) outs(%none : tensor<128xf32>) dimensions = [1]
  %mean = arith.mulf %sum, %scale : tensor<128xf32>
  %above = arith.addf %mean, %epsilon : tensor<128xf32>
  %root = math.rsqrt %above fastmath<afn> : tensor<128xf32>
  %root_wide = linalg.broadcast ins(%root : tensor<128xf32>) outs(%like : tensor<128x8xf32>) dimensions = [1]
  %acc0 = scf.for %k = %c0 to %depth step %step iter_args(%in0 = %zero) -> (tensor<128x8xf32>) {
    %kk = affine.apply affine_map<(d0, d1) -> (d0 + d1)>(%k, %c0)
    %a16 = evt.load %x[%token, %kk] : memref<?x256xbf16> -> tensor<128x64xbf16>
    %a = arith.extf %a16 : tensor<128x64xbf16> to tensor<128x64xf32>
    %w0_16 = evt.load %w[%l, %row, %kk] : memref<?x512x256xbf16> -> tensor<8x64xbf16>
    %w0 = arith.extf %w0_16 : tensor<8x64xbf16> to tensor<8x64xf32>
    %out0 = linalg.matmul_transpose_b ins(%a, %w0 : tensor<128x64xf32>, tensor<8x64xf32>)
        outs(%in0 : tensor<128x8xf32>) -> tensor<128x8xf32>
    scf.yield %out0 : tensor<128x8xf32>
  }
  %scaled0 = arith.mulf %acc0, %root_wide : tensor<128x8xf32>
  %q16 = arith.truncf %scaled0 : tensor<128x8xf32> to tensor<128x8xbf16>
  evt.store %q16, %q[%token, %row] : tensor<128x8xbf16> -> memref<?x512xbf16>
}

evt.device @out_wide(%x: memref<?x512xbf16>, %w: memref<?x256x256xbf16>, %r: memref<?x256xf32>, %rb: memref<?x256xbf16>, %squares: memref<?x32xf32>, %l: index) grid(%t, %j) {
  %c0 = arith.constant 0 : index
  %depth = arith.constant 256 : index
  %step = arith.constant 64 : index
  %token = affine.apply affine_map<(d0) -> (d0 * 128)>(%t)
  %row = affine.apply affine_map<(d0) -> (d0 * 8)>(%j)
  %zero = arith.constant dense<0.0> : tensor<128x8xf32>
  %like = tensor.empty() : tensor<128x8xf32>
  %acc0 = scf.for %k = %c0 to %depth step %step iter_args(%in0 = %zero) -> (tensor<128x8xf32>) {
    %kk = affine.apply affine_map<(d0, d1) -> (d0 + d1)>(%k, %c0)
    %a16 = evt.load %x[%token, %kk] : memref<?x512xbf16> -> tensor<128x64xbf16>
    %a = arith.extf %a16 : tensor<128x64xbf16> to tensor<128x64xf32>
    %w0_16 = evt.load %w[%l, %row, %kk] : memref<?x256x256xbf16> -> tensor<8x64xbf16>
    %w0 = arith.extf %w0_16 : tensor<8x64xbf16> to tensor<8x64xf32>
    %out0 = linalg.matmul_transpose_b ins(%a, %w0 : tensor<128x64xf32>, tensor<8x64xf32>)
        outs(%in0 : tensor<128x8xf32>) -> tensor<128x8xf32>
    scf.yield %out0 : tensor<128x8xf32>
  }
  %old = evt.load %r[%token, %row] : memref<?x256xf32> -> tensor<128x8xf32>
  %new = arith.addf %acc0, %old : tensor<128x8xf32>
  %new16 = arith.truncf %new : tensor<128x8xf32> to tensor<128x8xbf16>
  %seen = arith.extf %new16 : tensor<128x8xbf16> to tensor<128x8xf32>
  %square = arith.mulf %seen, %seen : tensor<128x8xf32>
  %nothing = arith.constant dense<0.0> : tensor<128xf32>
  %of_tile = linalg.reduce { arith.addf } ins(%square : tensor<128x8xf32>) outs(%nothing : tensor<128xf32>) dimensions = [1]
  evt.store %new, %r[%token, %row] : tensor<128x8xf32> -> memref<?x256xf32>
  evt.store %new16, %rb[%token, %row] : tensor<128x8xbf16> -> memref<?x256xbf16>
  evt.store %of_tile, %squares[%token, %j] sizes [128, 1] : tensor<128xf32> -> memref<?x32xf32>
}

evt.device @gate_up_wide(%x: memref<?x256xbf16>, %squares: memref<?x32xf32>, %wg: memref<?x9472x256xbf16>, %wu: memref<?x9472x256xbf16>, %h: memref<?x9472xbf16>, %l: index) grid(%t, %j) {
  %c0 = arith.constant 0 : index
  %depth = arith.constant 256 : index
  %step = arith.constant 64 : index
  %token = affine.apply affine_map<(d0) -> (d0 * 128)>(%t)
  %row = affine.apply affine_map<(d0) -> (d0 * 72)>(%j)
  %zero = arith.constant dense<0.0> : tensor<128x72xf32>
  %like = tensor.empty() : tensor<128x72xf32>
  %none = arith.constant dense<0.0> : tensor<128xf32>
  %scale = arith.constant dense<0.00390625> : tensor<128xf32>
  %epsilon = arith.constant dense<1.0e-6> : tensor<128xf32>
  %parts = evt.load %squares[%token, %c0] : memref<?x32xf32> -> tensor<128x32xf32>
  %sum = linalg.reduce { arith.addf } ins(%parts : tensor<128x32xf32>) outs(%none : tensor<128xf32>) dimensions = [1]
  %mean = arith.mulf %sum, %scale : tensor<128xf32>
  %above = arith.addf %mean, %epsilon : tensor<128xf32>
  %root = math.rsqrt %above fastmath<afn> : tensor<128xf32>
  %root_wide = linalg.broadcast ins(%root : tensor<128xf32>) outs(%like : tensor<128x72xf32>) dimensions = [1]
  %acc0, %acc1 = scf.for %k = %c0 to %depth step %step iter_args(%in0 = %zero, %in1 = %zero) -> (tensor<128x72xf32>, tensor<128x72xf32>) {
    %kk = affine.apply affine_map<(d0, d1) -> (d0 + d1)>(%k, %c0)
    %a16 = evt.load %x[%token, %kk] : memref<?x256xbf16> -> tensor<128x64xbf16>
    %a = arith.extf %a16 : tensor<128x64xbf16> to tensor<128x64xf32>
    %w0_16 = evt.load %wg[%l, %row, %kk] : memref<?x9472x256xbf16> -> tensor<72x64xbf16>
    %w0 = arith.extf %w0_16 : tensor<72x64xbf16> to tensor<72x64xf32>
    %out0 = linalg.matmul_transpose_b ins(%a, %w0 : tensor<128x64xf32>, tensor<72x64xf32>)
        outs(%in0 : tensor<128x72xf32>) -> tensor<128x72xf32>
    %w1_16 = evt.load %wu[%l, %row, %kk] : memref<?x9472x256xbf16> -> tensor<72x64xbf16>
    %w1 = arith.extf %w1_16 : tensor<72x64xbf16> to tensor<72x64xf32>
    %out1 = linalg.matmul_transpose_b ins(%a, %w1 : tensor<128x64xf32>, tensor<72x64xf32>)
        outs(%in1 : tensor<128x72xf32>) -> tensor<128x72xf32>
    scf.yield %out0, %out1 : tensor<128x72xf32>, tensor<128x72xf32>
  }
  %scaled0 = arith.mulf %acc0, %root_wide : tensor<128x72xf32>
  %scaled1 = arith.mulf %acc1, %root_wide : tensor<128x72xf32>
  %one = arith.constant dense<1.0> : tensor<128x72xf32>
  %minus = arith.negf %scaled0 : tensor<128x72xf32>
  %exp = math.exp %minus fastmath<afn> : tensor<128x72xf32>
  %below = arith.addf %exp, %one : tensor<128x72xf32>
  %silu = arith.divf %scaled0, %below fastmath<arcp> : tensor<128x72xf32>
  %swiglu = arith.mulf %silu, %scaled1 : tensor<128x72xf32>
  %swiglu16 = arith.truncf %swiglu : tensor<128x72xf32> to tensor<128x72xbf16>
  evt.store %swiglu16, %h[%token, %row] : tensor<128x72xbf16> -> memref<?x9472xbf16>
}

evt.device @down_wide(%x: memref<?x9472xbf16>, %w: memref<?x256x9472xbf16>, %r: memref<?x256xf32>, %rb: memref<?x256xbf16>, %squares: memref<?x32xf32>, %l: index) grid(%t, %j) {
  %c0 = arith.constant 0 : index
  %depth = arith.constant 9472 : index
  %step = arith.constant 64 : index
  %token = affine.apply affine_map<(d0) -> (d0 * 128)>(%t)
  %row = affine.apply affine_map<(d0) -> (d0 * 8)>(%j)
  %zero = arith.constant dense<0.0> : tensor<128x8xf32>
  %like = tensor.empty() : tensor<128x8xf32>
  %acc0 = scf.for %k = %c0 to %depth step %step iter_args(%in0 = %zero) -> (tensor<128x8xf32>) {
    %kk = affine.apply affine_map<(d0, d1) -> (d0 + d1)>(%k, %c0)
    %a16 = evt.load %x[%token, %kk] : memref<?x9472xbf16> -> tensor<128x64xbf16>
    %a = arith.extf %a16 : tensor<128x64xbf16> to tensor<128x64xf32>
    %w0_16 = evt.load %w[%l, %row, %kk] : memref<?x256x9472xbf16> -> tensor<8x64xbf16>
    %w0 = arith.extf %w0_16 : tensor<8x64xbf16> to tensor<8x64xf32>
    %out0 = linalg.matmul_transpose_b ins(%a, %w0 : tensor<128x64xf32>, tensor<8x64xf32>)
        outs(%in0 : tensor<128x8xf32>) -> tensor<128x8xf32>
    scf.yield %out0 : tensor<128x8xf32>
  }
  %old = evt.load %r[%token, %row] : memref<?x256xf32> -> tensor<128x8xf32>
  %new = arith.addf %acc0, %old : tensor<128x8xf32>
  %new16 = arith.truncf %new : tensor<128x8xf32> to tensor<128x8xbf16>
  %seen = arith.extf %new16 : tensor<128x8xbf16> to tensor<128x8xf32>
  %square = arith.mulf %seen, %seen : tensor<128x8xf32>
  %nothing = arith.constant dense<0.0> : tensor<128xf32>
  %of_tile = linalg.reduce { arith.addf } ins(%square : tensor<128x8xf32>) outs(%nothing : tensor<128xf32>) dimensions = [1]
  evt.store %new, %r[%token, %row] : tensor<128x8xf32> -> memref<?x256xf32>
  evt.store %new16, %rb[%token, %row] : tensor<128x8xbf16> -> memref<?x256xbf16>
  evt.store %of_tile, %squares[%token, %j] sizes [128, 1] : tensor<128xf32> -> memref<?x32xf32>
}

evt.device @head_wide(%x: memref<?x256xbf16>, %squares: memref<?x32xf32>, %w: memref<1000x256xbf16>, %logits: memref<?x1000xf32>) grid(%t, %j) {
  %c0 = arith.constant 0 : index
  %depth = arith.constant 256 : index
  %step = arith.constant 64 : index
  %token = affine.apply affine_map<(d0) -> (d0 * 128)>(%t)
  %row = affine.apply affine_map<(d0) -> (d0 * 8)>(%j)
  %zero = arith.constant dense<0.0> : tensor<128x8xf32>
  %like = tensor.empty() : tensor<128x8xf32>
  %none = arith.constant dense<0.0> : tensor<128xf32>
  %scale = arith.constant dense<0.00390625> : tensor<128xf32>
  %epsilon = arith.constant dense<1.0e-6> : tensor<128xf32>
  %parts = evt.load %squares[%token, %c0] : memref<?x32xf32> -> tensor<128x32xf32>
  %sum = linalg.reduce { arith.addf } ins(%parts : tensor<128x32xf32>) outs(%none : tensor<128xf32>) dimensions = [1]
  %mean = arith.mulf %sum, %scale : tensor<128xf32>
  %above = arith.addf %mean, %epsilon : tensor<128xf32>
  %root = math.rsqrt %above fastmath<afn> : tensor<128xf32>
  %root_wide = linalg.broadcast ins(%root : tensor<128xf32>) outs(%like : tensor<128x8xf32>) dimensions = [1]
  %acc0 = scf.for %k = %c0 to %depth step %step iter_args(%in0 = %zero) -> (tensor<128x8xf32>) {
    %kk = affine.apply affine_map<(d0, d1) -> (d0 + d1)>(%k, %c0)
    %a16 = evt.load %x[%token, %kk] : memref<?x256xbf16> -> tensor<128x64xbf16>
    %a = arith.extf %a16 : tensor<128x64xbf16> to tensor<128x64xf32>
    %w0_16 = evt.load %w[%row, %kk] : memref<1000x256xbf16> -> tensor<8x64xbf16>
    %w0 = arith.extf %w0_16 : tensor<8x64xbf16> to tensor<8x64xf32>
    %out0 = linalg.matmul_transpose_b ins(%a, %w0 : tensor<128x64xf32>, tensor<8x64xf32>)
        outs(%in0 : tensor<128x8xf32>) -> tensor<128x8xf32>
    scf.yield %out0 : tensor<128x8xf32>
  }
  %scaled0 = arith.mulf %acc0, %root_wide : tensor<128x8xf32>
  evt.store %scaled0, %logits[%token, %row] : tensor<128x8xf32> -> memref<?x1000xf32>
}

// Up to 8 tokens are one tile of 8, whose weights stream; more are tiles of 128. One or the other has no tasks.
evt.graph @decode_chain(%r: memref<?x256xf32>, %w_qkv: memref<?x512x256xbf16> {evt.immutable}, %w_out: memref<?x256x256xbf16> {evt.immutable},
                        %w_gate: memref<?x9472x256xbf16> {evt.immutable}, %w_up: memref<?x9472x256xbf16> {evt.immutable}, %w_down: memref<?x256x9472xbf16> {evt.immutable},
                        %w_head: memref<1000x256xbf16> {evt.immutable}, %logits: memref<?x1000xf32>) {
  %tokens = evt.symbol "tokens" (%r[0], %logits[0]) range(1, 256) : memref<?x256xf32>, memref<?x1000xf32>
  %layers = evt.symbol "layers" (%w_qkv[0], %w_out[0], %w_gate[0], %w_up[0], %w_down[0])
    : memref<?x512x256xbf16>, memref<?x256x256xbf16>, memref<?x9472x256xbf16>, memref<?x9472x256xbf16>, memref<?x256x9472xbf16>
  %few_or_less = affine.min affine_map<()[s0] -> (1, 9 - s0)>()[%tokens]
  %few = affine.max affine_map<()[s0] -> (s0, 0)>()[%few_or_less]
  %many_or_less = affine.min affine_map<()[s0] -> (s0 ceildiv 128, s0 - 8)>()[%tokens]
  %many = affine.max affine_map<()[s0] -> (s0, 0)>()[%many_or_less]
  %c_start = arith.constant 4 : index
  %c_eight = arith.constant 16 : index
  %c_start_wide = arith.constant 8 : index
  %rb = evt.alloc(%tokens) : memref<?x256xbf16>
  %wide_rb = evt.alloc(%tokens) : memref<?x256xbf16>
  %squares = evt.alloc(%tokens) : memref<?x32xf32>
  %wide_squares = evt.alloc(%tokens) : memref<?x32xf32>
  %q = evt.alloc(%tokens) : memref<?x512xbf16>
  %wide_q = evt.alloc(%tokens) : memref<?x512xbf16>
  %h = evt.alloc(%tokens) : memref<?x9472xbf16>
  %wide_h = evt.alloc(%tokens) : memref<?x9472xbf16>
  %started = evt.event(%few) count(4) : !evt.event<?>
  %wide_started = evt.event(%many) count(128) : !evt.event<?>
  %pieces = arith.constant 3 : index
  %c_qkv = arith.constant 64 : index
  %c_out = arith.constant 32 : index
  %c_gate_up = arith.constant 1184 : index
  %c_down = arith.constant 32 : index
  %c_down_equal = arith.constant 2 : index
  %down_part0 = evt.alloc(%tokens) : memref<3x?x256xf32>
  %down_pieces = evt.event(%layers, %few, %c_down) count(3)
    : !evt.event<?x?x?>
  %c_head = arith.constant 125 : index
  %projected = evt.event(%layers, %few) count(64) : !evt.event<?x?>
  %added1 = evt.event(%layers, %few) count(32) : !evt.event<?x?>
  %activated = evt.event(%layers, %few, %pieces) count((l, t, s) -> (416, 1184 - s * 416)) : !evt.event<?x?x?>
  %added2 = evt.event(%layers, %few) count(32) : !evt.event<?x?>
  %wide_pieces = arith.constant 1 : index
  %c_qkv_wide = arith.constant 64 : index
  %c_out_wide = arith.constant 32 : index
  %c_gate_up_wide = arith.constant 132 : index
  %c_down_wide = arith.constant 32 : index
  %c_head_wide = arith.constant 125 : index
  %wide_projected = evt.event(%layers, %many) count(64) : !evt.event<?x?>
  %wide_added1 = evt.event(%layers, %many) count(32) : !evt.event<?x?>
  %wide_activated = evt.event(%layers, %many, %wide_pieces) count(132) : !evt.event<?x?x?>
  %wide_added2 = evt.event(%layers, %many) count(32) : !evt.event<?x?>

  evt.call @start(%r, %rb, %squares) grid(%few, %c_start) notify(%started[(t, j) -> (t)])
    : (memref<?x256xf32>, memref<?x256xbf16>, memref<?x32xf32>)
  evt.call @start_wide(%r, %wide_rb, %wide_squares) grid(%many, %c_eight, %c_start_wide)
    notify(%wide_started[(t, i, j) -> (t)]) : (memref<?x256xf32>, memref<?x256xbf16>, memref<?x32xf32>)
  evt.repeat %l to %layers {
    evt.call @qkv(%rb, %squares, %w_qkv, %q, %l) grid(%few, %c_qkv)
      wait(%started[(l, t, j) -> (t)], %added2[(l, t, j) -> (l - 1 to l, t)]) notify(%projected[(l, t, j) -> (l, t)])
      : (memref<?x256xbf16>, memref<?x32xf32>, memref<?x512x256xbf16>, memref<?x512xbf16>, index)
    evt.call @out(%q, %w_out, %r, %rb, %squares, %l) grid(%few, %c_out)
      wait(%projected[(l, t, j) -> (l, t)]) notify(%added1[(l, t, j) -> (l, t)])
      : (memref<?x512xbf16>, memref<?x256x256xbf16>, memref<?x256xf32>, memref<?x256xbf16>, memref<?x32xf32>, index)
    evt.call @gate_up(%rb, %squares, %w_gate, %w_up, %h, %l) grid(%few, %c_gate_up)
      wait(%added1[(l, t, j) -> (l, t)]) notify(%activated[(l, t, j) -> (l, t, j floordiv 416)])
      : (memref<?x256xbf16>, memref<?x32xf32>, memref<?x9472x256xbf16>, memref<?x9472x256xbf16>, memref<?x9472xbf16>, index)
    evt.call @down(%h, %w_down, %down_part0, %l) grid(%few, %c_down_equal, %c_down)
      wait(%activated[(l, t, s, j) -> (l, t, s)]) notify(%down_pieces[(l, t, s, j) -> (l, t, j)])
      : (memref<?x9472xbf16>, memref<?x256x9472xbf16>, memref<3x?x256xf32>, index)
    evt.call @down_last(%h, %w_down, %down_part0, %l) grid(%few, %c_down)
      wait(%activated[(l, t, j) -> (l, t, 2)]) notify(%down_pieces[(l, t, j) -> (l, t, j)])
      : (memref<?x9472xbf16>, memref<?x256x9472xbf16>, memref<3x?x256xf32>, index)
    evt.call @combine_down(%down_part0, %r, %rb, %squares) grid(%few, %c_down)
      wait(%down_pieces[(l, t, j) -> (l, t, j)]) notify(%added2[(l, t, j) -> (l, t)])
      : (memref<3x?x256xf32>, memref<?x256xf32>, memref<?x256xbf16>, memref<?x32xf32>)
    evt.call @qkv_wide(%wide_rb, %wide_squares, %w_qkv, %wide_q, %l) grid(%many, %c_qkv_wide)
      wait(%wide_started[(l, t, j) -> (t)], %wide_added2[(l, t, j) -> (l - 1 to l, t)]) notify(%wide_projected[(l, t, j) -> (l, t)])
      : (memref<?x256xbf16>, memref<?x32xf32>, memref<?x512x256xbf16>, memref<?x512xbf16>, index)
    evt.call @out_wide(%wide_q, %w_out, %r, %wide_rb, %wide_squares, %l) grid(%many, %c_out_wide)
      wait(%wide_projected[(l, t, j) -> (l, t)]) notify(%wide_added1[(l, t, j) -> (l, t)])
      : (memref<?x512xbf16>, memref<?x256x256xbf16>, memref<?x256xf32>, memref<?x256xbf16>, memref<?x32xf32>, index)
    evt.call @gate_up_wide(%wide_rb, %wide_squares, %w_gate, %w_up, %wide_h, %l) grid(%many, %c_gate_up_wide)
      wait(%wide_added1[(l, t, j) -> (l, t)]) notify(%wide_activated[(l, t, j) -> (l, t, 0)])
      : (memref<?x256xbf16>, memref<?x32xf32>, memref<?x9472x256xbf16>, memref<?x9472x256xbf16>, memref<?x9472xbf16>, index)
    evt.call @down_wide(%wide_h, %w_down, %r, %wide_rb, %wide_squares, %l) grid(%many, %c_down_wide)
      wait(%wide_activated[(l, t, j) -> (l, t, 0)]) notify(%wide_added2[(l, t, j) -> (l, t)])
      : (memref<?x9472xbf16>, memref<?x256x9472xbf16>, memref<?x256xf32>, memref<?x256xbf16>, memref<?x32xf32>, index)
  }
    evt.call @head(%rb, %squares, %w_head, %logits) grid(%few, %c_head)
      wait(%started[(layers, t, j) -> (t)], %added2[(layers, t, j) -> (layers - 1 to layers, t)]) 
      : (memref<?x256xbf16>, memref<?x32xf32>, memref<1000x256xbf16>, memref<?x1000xf32>)
    evt.call @head_wide(%wide_rb, %wide_squares, %w_head, %logits) grid(%many, %c_head_wide)
      wait(%wide_started[(layers, t, j) -> (t)], %wide_added2[(layers, t, j) -> (layers - 1 to layers, t)]) 
      : (memref<?x256xbf16>, memref<?x32xf32>, memref<1000x256xbf16>, memref<?x1000xf32>)
}
