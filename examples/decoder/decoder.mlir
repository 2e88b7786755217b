// One decoding step of a small transformer for a batch of requests, in one kernel: from token numbers to logits.
//
//   embed → layers × (norm → q, k, v → rotate, append to the cache → attention → output projection + residual
//                     → norm → SwiGLU → down projection + residual) → norm → head
//
// Hidden size 256, 4 query heads over 2 key/value heads of 64, feed-forward 704, vocabulary 1000. The number of layers,
// the batch (1 … 16) and the cache's capacity are known only at run time; positions are data. Weights are bf16;
// everything computed is f32. The program is one layer's, whatever the number of layers.
//
// Buffers between two steps are shared by all layers. What makes that safe is the chain of events itself: whoever
// overwrites a buffer in the next layer has waited, step by step, for all who read it in this one. The residual
// stream x is updated in place: a task of @output or @down replaces its own 64 columns when every reader of the old
// ones is done.

//===-- Tasks of one request: a row. ----------------------------------------------------------------------------===//

evt.device @embed(%tokens: memref<?xi32>, %embedding: memref<1000x256xbf16>, %x: memref<?x256xf32>) grid(%r) {
  %c0 = arith.constant 0 : index
  %token = evt.read %tokens[%r] : memref<?xi32>
  %row16 = evt.load %embedding[%token, %c0] : memref<1000x256xbf16> -> tensor<256xbf16>
  %row = arith.extf %row16 : tensor<256xbf16> to tensor<256xf32>
  evt.store %row, %x[%r, %c0] : tensor<256xf32> -> memref<?x256xf32>
}

// Row r over the root of the mean of its squares, times the weights of layer l.
evt.device @norm(%x: memref<?x256xf32>, %w: memref<?x256xf32>, %a: memref<?x256xf32>, %l: index) grid(%r) {
  %c0 = arith.constant 0 : index
  %row = evt.load %x[%r, %c0] : memref<?x256xf32> -> tensor<256xf32>
  %weight = evt.load %w[%l, %c0] : memref<?x256xf32> -> tensor<256xf32>
  %zero = arith.constant dense<0.0> : tensor<f32>
  %per_column = arith.constant dense<0.00390625> : tensor<f32>
  %epsilon = arith.constant dense<1.0e-5> : tensor<f32>
  %like = tensor.empty() : tensor<256xf32>
  %squares = arith.mulf %row, %row : tensor<256xf32>
  %sum = linalg.reduce { arith.addf } ins(%squares : tensor<256xf32>) outs(%zero : tensor<f32>) dimensions = [0]
  %mean = arith.mulf %sum, %per_column : tensor<f32>
  %above_zero = arith.addf %mean, %epsilon : tensor<f32>
  %scale = math.rsqrt %above_zero : tensor<f32>
  %scale_wide = linalg.broadcast ins(%scale : tensor<f32>) outs(%like : tensor<256xf32>) dimensions = [0]
  %scaled = arith.mulf %row, %scale_wide : tensor<256xf32>
  %out = arith.mulf %scaled, %weight : tensor<256xf32>
  evt.store %out, %a[%r, %c0] : tensor<256xf32> -> memref<?x256xf32>
}

// Rotates the query and key heads of request r to its position and appends key and value to the cache of layer l.
// qkv[r] holds 4 query, 2 key and 2 value heads. Column i of a head's first half is paired with column i of its second.
evt.device @append(%qkv: memref<?x8x64xf32>, %pos: memref<?xi32>, %cos: memref<?x32xf32>, %sin: memref<?x32xf32>,
                   %q: memref<?x4x64xf32>, %keys: memref<?x?x?x2x64xf32>, %values: memref<?x?x?x2x64xf32>,
                   %l: index) grid(%r) {
  %c0 = arith.constant 0 : index
  %c6 = arith.constant 6 : index
  %p = evt.read %pos[%r] : memref<?xi32>
  %like = tensor.empty() : tensor<6x32xf32>
  %cos_row = evt.load %cos[%p, %c0] : memref<?x32xf32> -> tensor<32xf32>
  %sin_row = evt.load %sin[%p, %c0] : memref<?x32xf32> -> tensor<32xf32>
  %c = linalg.broadcast ins(%cos_row : tensor<32xf32>) outs(%like : tensor<6x32xf32>) dimensions = [0]
  %s = linalg.broadcast ins(%sin_row : tensor<32xf32>) outs(%like : tensor<6x32xf32>) dimensions = [0]
  %heads = evt.load %qkv[%r, %c0, %c0] : memref<?x8x64xf32> -> tensor<6x64xf32>
  %lo = tensor.extract_slice %heads[0, 0] [6, 32] [1, 1] : tensor<6x64xf32> to tensor<6x32xf32>
  %hi = tensor.extract_slice %heads[0, 32] [6, 32] [1, 1] : tensor<6x64xf32> to tensor<6x32xf32>
  %lo_cos = arith.mulf %lo, %c : tensor<6x32xf32>
  %hi_sin = arith.mulf %hi, %s : tensor<6x32xf32>
  %hi_cos = arith.mulf %hi, %c : tensor<6x32xf32>
  %lo_sin = arith.mulf %lo, %s : tensor<6x32xf32>
  %new_lo = arith.subf %lo_cos, %hi_sin : tensor<6x32xf32>
  %new_hi = arith.addf %hi_cos, %lo_sin : tensor<6x32xf32>
  %half = tensor.insert_slice %new_lo into %heads[0, 0] [6, 32] [1, 1] : tensor<6x32xf32> into tensor<6x64xf32>
  %rotated = tensor.insert_slice %new_hi into %half[0, 32] [6, 32] [1, 1] : tensor<6x32xf32> into tensor<6x64xf32>
  %query = tensor.extract_slice %rotated[0, 0] [4, 64] [1, 1] : tensor<6x64xf32> to tensor<4x64xf32>
  %key = tensor.extract_slice %rotated[4, 0] [2, 64] [1, 1] : tensor<6x64xf32> to tensor<2x64xf32>
  %value = evt.load %qkv[%r, %c6, %c0] : memref<?x8x64xf32> -> tensor<2x64xf32>
  evt.store %query, %q[%r, %c0, %c0] : tensor<4x64xf32> -> memref<?x4x64xf32>
  evt.store %key, %keys[%l, %r, %p, %c0, %c0] : tensor<2x64xf32> -> memref<?x?x?x2x64xf32>
  evt.store %value, %values[%l, %r, %p, %c0, %c0] : tensor<2x64xf32> -> memref<?x?x?x2x64xf32>
}

// Two query heads of request r over key/value head h at positions 0 … pos[r], 32 positions at a time.
evt.device @attend(%q: memref<?x4x64xf32>, %keys: memref<?x?x?x2x64xf32>, %values: memref<?x?x?x2x64xf32>,
                   %pos: memref<?xi32>, %o: memref<?x256xf32>, %l: index) grid(%r, %h) {
  %c0 = arith.constant 0 : index
  %chunk = arith.constant 32 : index
  %head = affine.apply affine_map<(d0) -> (d0 * 2)>(%h)
  %query = evt.load %q[%r, %head, %c0] : memref<?x4x64xf32> -> tensor<2x64xf32>
  %scale = arith.constant dense<0.125> : tensor<2x64xf32>
  %scaled = arith.mulf %query, %scale : tensor<2x64xf32>
  %p = evt.read %pos[%r] : memref<?xi32>
  %len = affine.apply affine_map<(d0) -> (d0 + 1)>(%p)
  %no_scores = arith.constant dense<0.0> : tensor<2x32xf32>
  %lowest = arith.constant dense<-1.0e30> : tensor<2x32xf32>
  %no_values = arith.constant dense<0.0> : tensor<32x64xf32>
  %m0 = arith.constant dense<-1.0e30> : tensor<2xf32>
  %l0 = arith.constant dense<0.0> : tensor<2xf32>
  %acc0 = arith.constant dense<0.0> : tensor<2x64xf32>
  %like_scores = tensor.empty() : tensor<2x32xf32>
  %like_acc = tensor.empty() : tensor<2x64xf32>
  // A running softmax: the largest score, the sum of the weights exp(score - largest), the weighted sum of the values.
  %m, %sum, %acc = scf.for %s = %c0 to %len step %chunk iter_args(%m1 = %m0, %l1 = %l0, %acc1 = %acc0)
      -> (tensor<2xf32>, tensor<2xf32>, tensor<2x64xf32>) {
    %k = evt.load %keys[%l, %r, %s, %h, %c0] sizes [1, 1, 32, 1, 64] : memref<?x?x?x2x64xf32> -> tensor<32x64xf32>
    %v = evt.load %values[%l, %r, %s, %h, %c0] sizes [1, 1, 32, 1, 64] : memref<?x?x?x2x64xf32> -> tensor<32x64xf32>
    %scores = linalg.matmul_transpose_b ins(%scaled, %k : tensor<2x64xf32>, tensor<32x64xf32>)
        outs(%no_scores : tensor<2x32xf32>) -> tensor<2x32xf32>
    // The cache past the request's position holds anything, NaN included.
    %left = affine.apply affine_map<(d0, d1) -> (d0 - d1)>(%len, %s)
    %left32 = arith.index_cast %left : index to i32
    %limit = tensor.splat %left32 : tensor<2x32xi32>
    %slot = evt.iota dim 1 : tensor<2x32xi32>
    %live = arith.cmpi slt, %slot, %limit : tensor<2x32xi32>
    %masked = arith.select %live, %scores, %lowest : tensor<2x32xi1>, tensor<2x32xf32>
    %row_limit = tensor.splat %left32 : tensor<32x64xi32>
    %row = evt.iota dim 0 : tensor<32x64xi32>
    %live_row = arith.cmpi slt, %row, %row_limit : tensor<32x64xi32>
    %v_live = arith.select %live_row, %v, %no_values : tensor<32x64xi1>, tensor<32x64xf32>

    %m2 = linalg.reduce { arith.maximumf } ins(%masked : tensor<2x32xf32>) outs(%m1 : tensor<2xf32>) dimensions = [1]
    %m2_wide = linalg.broadcast ins(%m2 : tensor<2xf32>) outs(%like_scores : tensor<2x32xf32>) dimensions = [1]
    %below = arith.subf %masked, %m2_wide : tensor<2x32xf32>
    %weight = math.exp %below : tensor<2x32xf32>
    %drop = arith.subf %m1, %m2 : tensor<2xf32>
    %keep = math.exp %drop : tensor<2xf32>
    %l_kept = arith.mulf %l1, %keep : tensor<2xf32>
    %l2 = linalg.reduce { arith.addf } ins(%weight : tensor<2x32xf32>) outs(%l_kept : tensor<2xf32>) dimensions = [1]
    %keep_wide = linalg.broadcast ins(%keep : tensor<2xf32>) outs(%like_acc : tensor<2x64xf32>) dimensions = [1]
    %acc_kept = arith.mulf %acc1, %keep_wide : tensor<2x64xf32>
    %acc2 = linalg.matmul ins(%weight, %v_live : tensor<2x32xf32>, tensor<32x64xf32>)
        outs(%acc_kept : tensor<2x64xf32>) -> tensor<2x64xf32>
    scf.yield %m2, %l2, %acc2 : tensor<2xf32>, tensor<2xf32>, tensor<2x64xf32>
  }
  %sum_wide = linalg.broadcast ins(%sum : tensor<2xf32>) outs(%like_acc : tensor<2x64xf32>) dimensions = [1]
  %out = arith.divf %acc, %sum_wide : tensor<2x64xf32>
  %flat = tensor.collapse_shape %out [[0, 1]] : tensor<2x64xf32> into tensor<128xf32>
  %col = affine.apply affine_map<(d0) -> (d0 * 128)>(%h)
  evt.store %flat, %o[%r, %col] : tensor<128xf32> -> memref<?x256xf32>
}

//===-- Tasks of the whole batch: 64 columns of a product with weights of layer l. ------------------------------===//

// One of the 8 heads of query, key and value.
evt.device @project(%a: memref<?x256xf32>, %w: memref<?x512x256xbf16>, %qkv: memref<?x8x64xf32>, %l: index) grid(%j) {
  %c0 = arith.constant 0 : index
  %chunk = arith.constant 64 : index
  %depth = arith.constant 256 : index
  %col = affine.apply affine_map<(d0) -> (d0 * 64)>(%j)
  %zero = arith.constant dense<0.0> : tensor<16x64xf32>
  %sum = scf.for %k = %c0 to %depth step %chunk iter_args(%acc = %zero) -> (tensor<16x64xf32>) {
    %x = evt.load %a[%c0, %k] : memref<?x256xf32> -> tensor<16x64xf32>
    %w16 = evt.load %w[%l, %col, %k] : memref<?x512x256xbf16> -> tensor<64x64xbf16>
    %y = arith.extf %w16 : tensor<64x64xbf16> to tensor<64x64xf32>
    %next = linalg.matmul_transpose_b ins(%x, %y : tensor<16x64xf32>, tensor<64x64xf32>)
        outs(%acc : tensor<16x64xf32>) -> tensor<16x64xf32>
    scf.yield %next : tensor<16x64xf32>
  }
  evt.store %sum, %qkv[%c0, %j, %c0] sizes [16, 1, 64] : tensor<16x64xf32> -> memref<?x8x64xf32>
}

// x += o wo: the sum starts with the residual.
evt.device @output(%o: memref<?x256xf32>, %w: memref<?x256x256xbf16>, %x: memref<?x256xf32>, %l: index) grid(%j) {
  %c0 = arith.constant 0 : index
  %chunk = arith.constant 64 : index
  %depth = arith.constant 256 : index
  %col = affine.apply affine_map<(d0) -> (d0 * 64)>(%j)
  %residual = evt.load %x[%c0, %col] : memref<?x256xf32> -> tensor<16x64xf32>
  %sum = scf.for %k = %c0 to %depth step %chunk iter_args(%acc = %residual) -> (tensor<16x64xf32>) {
    %a = evt.load %o[%c0, %k] : memref<?x256xf32> -> tensor<16x64xf32>
    %w16 = evt.load %w[%l, %col, %k] : memref<?x256x256xbf16> -> tensor<64x64xbf16>
    %y = arith.extf %w16 : tensor<64x64xbf16> to tensor<64x64xf32>
    %next = linalg.matmul_transpose_b ins(%a, %y : tensor<16x64xf32>, tensor<64x64xf32>)
        outs(%acc : tensor<16x64xf32>) -> tensor<16x64xf32>
    scf.yield %next : tensor<16x64xf32>
  }
  evt.store %sum, %x[%c0, %col] : tensor<16x64xf32> -> memref<?x256xf32>
}

// h = silu(a wg) * (a wu), silu(g) = g / (1 + exp(-g)).
evt.device @gate_up(%a: memref<?x256xf32>, %w_gate: memref<?x704x256xbf16>, %w_up: memref<?x704x256xbf16>,
                    %h: memref<?x704xf32>, %l: index) grid(%j) {
  %c0 = arith.constant 0 : index
  %chunk = arith.constant 64 : index
  %depth = arith.constant 256 : index
  %col = affine.apply affine_map<(d0) -> (d0 * 64)>(%j)
  %zero = arith.constant dense<0.0> : tensor<16x64xf32>
  %gate, %up = scf.for %k = %c0 to %depth step %chunk iter_args(%g1 = %zero, %u1 = %zero)
      -> (tensor<16x64xf32>, tensor<16x64xf32>) {
    %x = evt.load %a[%c0, %k] : memref<?x256xf32> -> tensor<16x64xf32>
    %g16 = evt.load %w_gate[%l, %col, %k] : memref<?x704x256xbf16> -> tensor<64x64xbf16>
    %u16 = evt.load %w_up[%l, %col, %k] : memref<?x704x256xbf16> -> tensor<64x64xbf16>
    %g = arith.extf %g16 : tensor<64x64xbf16> to tensor<64x64xf32>
    %u = arith.extf %u16 : tensor<64x64xbf16> to tensor<64x64xf32>
    %g2 = linalg.matmul_transpose_b ins(%x, %g : tensor<16x64xf32>, tensor<64x64xf32>)
        outs(%g1 : tensor<16x64xf32>) -> tensor<16x64xf32>
    %u2 = linalg.matmul_transpose_b ins(%x, %u : tensor<16x64xf32>, tensor<64x64xf32>)
        outs(%u1 : tensor<16x64xf32>) -> tensor<16x64xf32>
    scf.yield %g2, %u2 : tensor<16x64xf32>, tensor<16x64xf32>
  }
  %one = arith.constant dense<1.0> : tensor<16x64xf32>
  %minus = arith.negf %gate : tensor<16x64xf32>
  %exp = math.exp %minus : tensor<16x64xf32>
  %below = arith.addf %exp, %one : tensor<16x64xf32>
  %silu = arith.divf %gate, %below : tensor<16x64xf32>
  %out = arith.mulf %silu, %up : tensor<16x64xf32>
  evt.store %out, %h[%c0, %col] : tensor<16x64xf32> -> memref<?x704xf32>
}

// x += h wd: the sum starts with the residual.
evt.device @down(%h: memref<?x704xf32>, %w: memref<?x256x704xbf16>, %x: memref<?x256xf32>, %l: index) grid(%j) {
  %c0 = arith.constant 0 : index
  %chunk = arith.constant 64 : index
  %depth = arith.constant 704 : index
  %col = affine.apply affine_map<(d0) -> (d0 * 64)>(%j)
  %residual = evt.load %x[%c0, %col] : memref<?x256xf32> -> tensor<16x64xf32>
  %sum = scf.for %k = %c0 to %depth step %chunk iter_args(%acc = %residual) -> (tensor<16x64xf32>) {
    %a = evt.load %h[%c0, %k] : memref<?x704xf32> -> tensor<16x64xf32>
    %w16 = evt.load %w[%l, %col, %k] : memref<?x256x704xbf16> -> tensor<64x64xbf16>
    %y = arith.extf %w16 : tensor<64x64xbf16> to tensor<64x64xf32>
    %next = linalg.matmul_transpose_b ins(%a, %y : tensor<16x64xf32>, tensor<64x64xf32>)
        outs(%acc : tensor<16x64xf32>) -> tensor<16x64xf32>
    scf.yield %next : tensor<16x64xf32>
  }
  evt.store %sum, %x[%c0, %col] : tensor<16x64xf32> -> memref<?x256xf32>
}

// The vocabulary is no multiple of 64: the last task stores 40 columns.
evt.device @head(%a: memref<?x256xf32>, %w: memref<1000x256xbf16>, %logits: memref<?x1000xf32>) grid(%j) {
  %c0 = arith.constant 0 : index
  %chunk = arith.constant 64 : index
  %depth = arith.constant 256 : index
  %col = affine.apply affine_map<(d0) -> (d0 * 64)>(%j)
  %zero = arith.constant dense<0.0> : tensor<16x64xf32>
  %sum = scf.for %k = %c0 to %depth step %chunk iter_args(%acc = %zero) -> (tensor<16x64xf32>) {
    %x = evt.load %a[%c0, %k] : memref<?x256xf32> -> tensor<16x64xf32>
    %w16 = evt.load %w[%col, %k] : memref<1000x256xbf16> -> tensor<64x64xbf16>
    %y = arith.extf %w16 : tensor<64x64xbf16> to tensor<64x64xf32>
    %next = linalg.matmul_transpose_b ins(%x, %y : tensor<16x64xf32>, tensor<64x64xf32>)
        outs(%acc : tensor<16x64xf32>) -> tensor<16x64xf32>
    scf.yield %next : tensor<16x64xf32>
  }
  evt.store %sum, %logits[%c0, %col] : tensor<16x64xf32> -> memref<?x1000xf32>
}

//===-- The step. -----------------------------------------------------------------------------------------------===//

evt.graph @decoder(%tokens: memref<?xi32> {evt.immutable}, %pos: memref<?xi32> {evt.immutable},
                   %embedding: memref<1000x256xbf16> {evt.immutable}, %cos: memref<?x32xf32> {evt.immutable},
                   %sin: memref<?x32xf32> {evt.immutable}, %w_norm1: memref<?x256xf32> {evt.immutable},
                   %w_qkv: memref<?x512x256xbf16> {evt.immutable}, %w_out: memref<?x256x256xbf16> {evt.immutable},
                   %w_norm2: memref<?x256xf32> {evt.immutable}, %w_gate: memref<?x704x256xbf16> {evt.immutable},
                   %w_up: memref<?x704x256xbf16> {evt.immutable}, %w_down: memref<?x256x704xbf16> {evt.immutable},
                   %w_norm3: memref<?x256xf32> {evt.immutable}, %w_head: memref<1000x256xbf16> {evt.immutable},
                   %keys: memref<?x?x?x2x64xf32>, %values: memref<?x?x?x2x64xf32>, %logits: memref<?x1000xf32>) {
  %layers = evt.symbol "layers" (%w_norm1[0], %w_qkv[0], %w_out[0], %w_norm2[0], %w_gate[0], %w_up[0], %w_down[0],
                                 %keys[0], %values[0])
    : memref<?x256xf32>, memref<?x512x256xbf16>, memref<?x256x256xbf16>, memref<?x256xf32>, memref<?x704x256xbf16>,
      memref<?x704x256xbf16>, memref<?x256x704xbf16>, memref<?x?x?x2x64xf32>, memref<?x?x?x2x64xf32>
  %batch = evt.symbol "batch" (%tokens[0], %pos[0], %keys[1], %values[1], %logits[0]) range(1, 16)
    : memref<?xi32>, memref<?xi32>, memref<?x?x?x2x64xf32>, memref<?x?x?x2x64xf32>, memref<?x1000xf32>
  %context = evt.symbol "context" (%cos[0], %sin[0], %keys[2], %values[2])
    : memref<?x32xf32>, memref<?x32xf32>, memref<?x?x?x2x64xf32>, memref<?x?x?x2x64xf32>
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c11 = arith.constant 11 : index
  %c16 = arith.constant 16 : index

  %x = evt.alloc(%batch) : memref<?x256xf32>
  %a = evt.alloc(%batch) : memref<?x256xf32>
  %qkv = evt.alloc(%batch) : memref<?x8x64xf32>
  %q = evt.alloc(%batch) : memref<?x4x64xf32>
  %o = evt.alloc(%batch) : memref<?x256xf32>
  %h = evt.alloc(%batch) : memref<?x704xf32>

  %embedded = evt.event(%batch) count(1) : !evt.event<?>
  %normed1 = evt.event(%layers) count(%batch) : !evt.event<?>
  %projected = evt.event(%layers) count(8) : !evt.event<?>
  %appended = evt.event(%layers, %batch) count(1) : !evt.event<?x?>
  %attended = evt.event(%layers, %c2) count(%batch) : !evt.event<?x?>
  %added1 = evt.event(%layers) count(4) : !evt.event<?>
  %normed2 = evt.event(%layers) count(%batch) : !evt.event<?>
  %activated = evt.event(%layers, %c11) count(1) : !evt.event<?x?>
  %added2 = evt.event(%layers) count(4) : !evt.event<?>
  %normed3 = evt.event() count(%batch) : !evt.event<>

  evt.call @embed(%tokens, %embedding, %x) grid(%batch) notify(%embedded[(r) -> (r)])
    : (memref<?xi32>, memref<1000x256xbf16>, memref<?x256xf32>)
  evt.repeat %l to %layers {
    // The first layer waits for its row's embedding only: the range of layers before it is clipped to nothing.
    evt.call @norm(%x, %w_norm1, %a, %l) grid(%batch)
      wait(%embedded[(l, r) -> (r)], %added2[(l, r) -> (l - 1 to l)]) notify(%normed1[(l, r) -> (l)])
      : (memref<?x256xf32>, memref<?x256xf32>, memref<?x256xf32>, index)
    evt.call @project(%a, %w_qkv, %qkv, %l) grid(%c8)
      wait(%normed1[(l, j) -> (l)]) notify(%projected[(l, j) -> (l)])
      : (memref<?x256xf32>, memref<?x512x256xbf16>, memref<?x8x64xf32>, index)
    evt.call @append(%qkv, %pos, %cos, %sin, %q, %keys, %values, %l) grid(%batch)
      wait(%projected[(l, r) -> (l)]) notify(%appended[(l, r) -> (l, r)])
      : (memref<?x8x64xf32>, memref<?xi32>, memref<?x32xf32>, memref<?x32xf32>, memref<?x4x64xf32>,
         memref<?x?x?x2x64xf32>, memref<?x?x?x2x64xf32>, index)
    evt.call @attend(%q, %keys, %values, %pos, %o, %l) grid(%batch, %c2)
      wait(%appended[(l, r, h) -> (l, r)]) notify(%attended[(l, r, h) -> (l, h)])
      : (memref<?x4x64xf32>, memref<?x?x?x2x64xf32>, memref<?x?x?x2x64xf32>, memref<?xi32>, memref<?x256xf32>, index)
    evt.call @output(%o, %w_out, %x, %l) grid(%c4)
      wait(%attended[(l, j) -> (l, *)]) notify(%added1[(l, j) -> (l)])
      : (memref<?x256xf32>, memref<?x256x256xbf16>, memref<?x256xf32>, index)
    evt.call @norm(%x, %w_norm2, %a, %l) grid(%batch)
      wait(%added1[(l, r) -> (l)]) notify(%normed2[(l, r) -> (l)])
      : (memref<?x256xf32>, memref<?x256xf32>, memref<?x256xf32>, index)
    evt.call @gate_up(%a, %w_gate, %w_up, %h, %l) grid(%c11)
      wait(%normed2[(l, j) -> (l)]) notify(%activated[(l, j) -> (l, j)])
      : (memref<?x256xf32>, memref<?x704x256xbf16>, memref<?x704x256xbf16>, memref<?x704xf32>, index)
    evt.call @down(%h, %w_down, %x, %l) grid(%c4)
      wait(%activated[(l, j) -> (l, *)]) notify(%added2[(l, j) -> (l)])
      : (memref<?x704xf32>, memref<?x256x704xbf16>, memref<?x256xf32>, index)
  }
  evt.call @norm(%x, %w_norm3, %a, %c0) grid(%batch)
    wait(%embedded[(r) -> (r)], %added2[(layers, r) -> (layers - 1 to layers)]) notify(%normed3[(r) -> ()])
    : (memref<?x256xf32>, memref<?x256xf32>, memref<?x256xf32>, index)
  evt.call @head(%a, %w_head, %logits) grid(%c16) wait(%normed3[(j) -> ()])
    : (memref<?x256xf32>, memref<1000x256xbf16>, memref<?x1000xf32>)
}
