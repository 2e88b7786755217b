// The mixture of experts of moe.mlir in another configuration: 16 experts of which each token gets 4, and bf16 weights.
// The number of tokens is known only at run time, and who goes where is computed by the kernel itself.
//
//   route    (16 tokens)        scores, the 4 best experts, their weights, tokens per expert in these 16
//   plan     (one)              rows of each expert in the list of slots, padded to 16; where each 16 tokens start
//   scatter  (16 tokens)        the slot of every (token, choice), and the token of every slot
//   gate_up  (expert, 16 rows, 32 columns)   silu(x Wg) * (x Wu) of the tokens in these slots
//   down     (expert, 16 rows, 64 columns)   times Wd
//   combine  (token, 64 columns)             weighted sum of the token's 4 rows
//
// A (token, choice) has number 4 token + choice; the list of slots holds expert after expert, each starting at a
// multiple of 16, so that a tile of 16 rows belongs to one expert. Positions come from prefix sums in the order of
// these numbers, so they do not depend on timing. Slots that stay empty hold token -1: loading through it gives zeros.
//
// An expert's products start when its own tokens are in place; a token is combined when its own four experts are done
// with it. Both are events whose elements, and for experts counts, come from tables that the kernel writes itself.

evt.device @route(%x: memref<?x128xf32>, %router: memref<16x128xf32>, %expert_of: memref<?xi32>,
                  %weight_of: memref<?x4xf32>, %tokens_in: memref<?x16xi32>) grid(%i) {
  %c0 = arith.constant 0 : index
  %row = affine.apply affine_map<(d0) -> (d0 * 16)>(%i)
  %choice = affine.apply affine_map<(d0) -> (d0 * 64)>(%i)
  %a = evt.load %x[%row, %c0] : memref<?x128xf32> -> tensor<16x128xf32>
  %b = evt.load %router[%c0, %c0] : memref<16x128xf32> -> tensor<16x128xf32>
  %zero = arith.constant dense<0.0> : tensor<16x16xf32>
  %scores = linalg.matmul_transpose_b ins(%a, %b : tensor<16x128xf32>, tensor<16x128xf32>)
      outs(%zero : tensor<16x16xf32>) -> tensor<16x16xf32>
  %best, %experts = evt.topk %scores : tensor<16x16xf32> -> tensor<16x4xf32>, tensor<16x4xi32>

  // Softmax over the chosen ones.
  %low = arith.constant dense<-3.0e38> : tensor<16xf32>
  %none = arith.constant dense<0.0> : tensor<16xf32>
  %like = tensor.empty() : tensor<16x4xf32>
  %like_choices = tensor.empty() : tensor<64x16xi32>
  %m = linalg.reduce { arith.maximumf } ins(%best : tensor<16x4xf32>) outs(%low : tensor<16xf32>) dimensions = [1]
  %m_wide = linalg.broadcast ins(%m : tensor<16xf32>) outs(%like : tensor<16x4xf32>) dimensions = [1]
  %below = arith.subf %best, %m_wide : tensor<16x4xf32>
  %e = math.exp %below : tensor<16x4xf32>
  %l = linalg.reduce { arith.addf } ins(%e : tensor<16x4xf32>) outs(%none : tensor<16xf32>) dimensions = [1]
  %l_wide = linalg.broadcast ins(%l : tensor<16xf32>) outs(%like : tensor<16x4xf32>) dimensions = [1]
  %weights = arith.divf %e, %l_wide : tensor<16x4xf32>
  evt.store %weights, %weight_of[%row, %c0] : tensor<16x4xf32> -> memref<?x4xf32>
  %flat = tensor.collapse_shape %experts [[0, 1]] : tensor<16x4xi32> into tensor<64xi32>
  evt.store %flat, %expert_of[%choice] : tensor<64xi32> -> memref<?xi32>

  // One row for each choice, with a 1 in its expert's column. Choices of tokens past the end do not count.
  %expert = linalg.broadcast ins(%flat : tensor<64xi32>) outs(%like_choices : tensor<64x16xi32>) dimensions = [1]
  %column = evt.iota dim 1 : tensor<64x16xi32>
  %is_chosen = arith.cmpi eq, %expert, %column : tensor<64x16xi32>
  %live_choices = evt.valid %expert_of[%choice] dim 0 size 64 : memref<?xi32>
  %live_choices32 = arith.index_cast %live_choices : index to i32
  %end = tensor.splat %live_choices32 : tensor<64x16xi32>
  %number = evt.iota dim 0 : tensor<64x16xi32>
  %is_live = arith.cmpi slt, %number, %end : tensor<64x16xi32>
  %is_counted = arith.andi %is_chosen, %is_live : tensor<64x16xi1>
  %one_hot = arith.extui %is_counted : tensor<64x16xi1> to tensor<64x16xi32>
  %no_tokens = arith.constant dense<0> : tensor<16xi32>
  %tokens = linalg.reduce { arith.addi } ins(%one_hot : tensor<64x16xi32>) outs(%no_tokens : tensor<16xi32>)
      dimensions = [0]
  evt.store %tokens, %tokens_in[%i, %c0] : tensor<16xi32> -> memref<?x16xi32>
}

evt.device @plan(%tokens_in: memref<?x16xi32>, %before: memref<?x16xi32>, %tokens_of: memref<16xi32>,
                 %indptr: memref<17xi32>, %has_tile: memref<16x?xi32>) grid(%one) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %no_tokens = arith.constant dense<0> : tensor<16xi32>
  %groups = memref.dim %tokens_in, %c0 : memref<?x16xi32>
  %tokens = scf.for %i = %c0 to %groups step %c1 iter_args(%seen = %no_tokens) -> (tensor<16xi32>) {
    evt.store %seen, %before[%i, %c0] : tensor<16xi32> -> memref<?x16xi32>
    %here = evt.load %tokens_in[%i, %c0] : memref<?x16xi32> -> tensor<16xi32>
    %next = arith.addi %seen, %here : tensor<16xi32>
    scf.yield %next : tensor<16xi32>
  }
  evt.store %tokens, %tokens_of[%c0] : tensor<16xi32> -> memref<16xi32>

  // Tiles of 16 rows, and where each expert's rows start and the last one's end.
  %fifteen = arith.constant dense<15> : tensor<16xi32>
  %sixteen = arith.constant dense<16> : tensor<16xi32>
  %up = arith.addi %tokens, %fifteen : tensor<16xi32>
  %tiles = arith.divsi %up, %sixteen : tensor<16xi32>
  %rows = arith.muli %tiles, %sixteen : tensor<16xi32>
  %ends = evt.prefix_sum %rows dim 0 : tensor<16xi32>
  %start = arith.constant dense<0> : tensor<1xi32>
  evt.store %start, %indptr[%c0] : tensor<1xi32> -> memref<17xi32>
  evt.store %ends, %indptr[%c1] : tensor<16xi32> -> memref<17xi32>

  // Which of the tiles that an expert could have exist: 0 or 1, so that their events get an exact count. No expert gets
  // a token twice, so it has at most one tile for each group of 16 tokens.
  scf.for %r = %c0 to %groups step %c1 {
    %r32 = arith.index_cast %r : index to i32
    %tile = tensor.splat %r32 : tensor<16xi32>
    %exists = arith.cmpi slt, %tile, %tiles : tensor<16xi32>
    %bit = arith.extui %exists : tensor<16xi1> to tensor<16xi32>
    evt.store %bit, %has_tile[%c0, %r] sizes [16, 1] : tensor<16xi32> -> memref<16x?xi32>
  }
}

evt.device @clear(%token_of: memref<?xi32>) grid(%i) {
  %slot = affine.apply affine_map<(d0) -> (d0 * 64)>(%i)
  %nobody = arith.constant dense<-1> : tensor<64xi32>
  evt.store %nobody, %token_of[%slot] : tensor<64xi32> -> memref<?xi32>
}

evt.device @scatter(%expert_of: memref<?xi32>, %before: memref<?x16xi32>, %indptr: memref<17xi32>,
                    %slot_of: memref<?xi32>, %token_of: memref<?xi32>) grid(%i) {
  %c0 = arith.constant 0 : index
  %choice = affine.apply affine_map<(d0) -> (d0 * 64)>(%i)
  // Past the end the load gives expert -1, which is nobody's column.
  %flat = evt.load %expert_of[%choice] fill -1.0 : memref<?xi32> -> tensor<64xi32>
  %like_choices = tensor.empty() : tensor<64x16xi32>
  %expert = linalg.broadcast ins(%flat : tensor<64xi32>) outs(%like_choices : tensor<64x16xi32>) dimensions = [1]
  %column = evt.iota dim 1 : tensor<64x16xi32>
  %is_chosen = arith.cmpi eq, %expert, %column : tensor<64x16xi32>
  %one_hot = arith.extui %is_chosen : tensor<64x16xi1> to tensor<64x16xi32>

  // slot = the expert's first row + its tokens in earlier groups + its tokens earlier in this group
  %rank = evt.prefix_sum %one_hot dim 0 exclusive : tensor<64x16xi32>
  %first = evt.load %indptr[%c0] : memref<17xi32> -> tensor<16xi32>
  %earlier = evt.load %before[%i, %c0] : memref<?x16xi32> -> tensor<16xi32>
  %base = arith.addi %first, %earlier : tensor<16xi32>
  %base_wide = linalg.broadcast ins(%base : tensor<16xi32>) outs(%like_choices : tensor<64x16xi32>) dimensions = [0]
  %position = arith.addi %base_wide, %rank : tensor<64x16xi32>
  %own = arith.muli %one_hot, %position : tensor<64x16xi32>
  %none = arith.constant dense<0> : tensor<64xi32>
  %slots = linalg.reduce { arith.addi } ins(%own : tensor<64x16xi32>) outs(%none : tensor<64xi32>) dimensions = [1]
  evt.store %slots, %slot_of[%choice] : tensor<64xi32> -> memref<?xi32>

  // The token of choice number c is c / 4; it is stored at its slot, through the table just written.
  %four = arith.constant dense<4> : tensor<64xi32>
  %choice32 = arith.index_cast %choice : index to i32
  %first_number = tensor.splat %choice32 : tensor<64xi32>
  %offset = evt.iota dim 0 : tensor<64xi32>
  %number = arith.addi %first_number, %offset : tensor<64xi32>
  %token = arith.divsi %number, %four : tensor<64xi32>
  evt.store %token, %token_of[%slot_of[%choice]] : tensor<64xi32> -> memref<?xi32>, memref<?xi32>
}

evt.device @gate_up(%x: memref<?x128xf32>, %token_of: memref<?xi32>, %indptr: memref<17xi32>,
                    %w_gate: memref<16x96x128xbf16>, %w_up: memref<16x96x128xbf16>, %h: memref<?x96xf32>)
    grid(%e, %r, %j) {
  %c0 = arith.constant 0 : index
  %chunk = arith.constant 64 : index
  %depth = arith.constant 128 : index
  %start = evt.read %indptr[%e] : memref<17xi32>
  %row = affine.apply affine_map<(d0, d1) -> (d0 + d1 * 16)>(%start, %r)
  %col = affine.apply affine_map<(d0) -> (d0 * 32)>(%j)
  %zero = arith.constant dense<0.0> : tensor<16x32xf32>
  %gate, %up = scf.for %k = %c0 to %depth step %chunk iter_args(%g1 = %zero, %u1 = %zero)
      -> (tensor<16x32xf32>, tensor<16x32xf32>) {
    %a = evt.load %x[%token_of[%row], %k] : memref<?x128xf32>, memref<?xi32> -> tensor<16x64xf32>
    %g16 = evt.load %w_gate[%e, %col, %k] : memref<16x96x128xbf16> -> tensor<32x64xbf16>
    %u16 = evt.load %w_up[%e, %col, %k] : memref<16x96x128xbf16> -> tensor<32x64xbf16>
    %g = arith.extf %g16 : tensor<32x64xbf16> to tensor<32x64xf32>
    %u = arith.extf %u16 : tensor<32x64xbf16> to tensor<32x64xf32>
    %g2 = linalg.matmul_transpose_b ins(%a, %g : tensor<16x64xf32>, tensor<32x64xf32>) outs(%g1 : tensor<16x32xf32>)
        -> tensor<16x32xf32>
    %u2 = linalg.matmul_transpose_b ins(%a, %u : tensor<16x64xf32>, tensor<32x64xf32>) outs(%u1 : tensor<16x32xf32>)
        -> tensor<16x32xf32>
    scf.yield %g2, %u2 : tensor<16x32xf32>, tensor<16x32xf32>
  }
  // silu(g) = g / (1 + exp(-g))
  %one = arith.constant dense<1.0> : tensor<16x32xf32>
  %minus = arith.negf %gate : tensor<16x32xf32>
  %exp = math.exp %minus : tensor<16x32xf32>
  %below = arith.addf %exp, %one : tensor<16x32xf32>
  %silu = arith.divf %gate, %below : tensor<16x32xf32>
  %out = arith.mulf %silu, %up : tensor<16x32xf32>
  evt.store %out, %h[%row, %col] : tensor<16x32xf32> -> memref<?x96xf32>
}

evt.device @down(%h: memref<?x96xf32>, %indptr: memref<17xi32>, %w_down: memref<16x128x96xbf16>, %y: memref<?x128xf32>)
    grid(%e, %r, %j) {
  %c0 = arith.constant 0 : index
  %chunk = arith.constant 32 : index
  %depth = arith.constant 96 : index
  %start = evt.read %indptr[%e] : memref<17xi32>
  %row = affine.apply affine_map<(d0, d1) -> (d0 + d1 * 16)>(%start, %r)
  %col = affine.apply affine_map<(d0) -> (d0 * 64)>(%j)
  %zero = arith.constant dense<0.0> : tensor<16x64xf32>
  %sum = scf.for %k = %c0 to %depth step %chunk iter_args(%acc = %zero) -> (tensor<16x64xf32>) {
    %a = evt.load %h[%row, %k] : memref<?x96xf32> -> tensor<16x32xf32>
    %b16 = evt.load %w_down[%e, %col, %k] : memref<16x128x96xbf16> -> tensor<64x32xbf16>
    %b = arith.extf %b16 : tensor<64x32xbf16> to tensor<64x32xf32>
    %next = linalg.matmul_transpose_b ins(%a, %b : tensor<16x32xf32>, tensor<64x32xf32>)
        outs(%acc : tensor<16x64xf32>) -> tensor<16x64xf32>
    scf.yield %next : tensor<16x64xf32>
  }
  evt.store %sum, %y[%row, %col] : tensor<16x64xf32> -> memref<?x128xf32>
}

evt.device @combine(%y: memref<?x128xf32>, %slot_of: memref<?xi32>, %weight_of: memref<?x4xf32>,
                    %out: memref<?x128xf32>) grid(%t, %j) {
  %c0 = arith.constant 0 : index
  %choice = affine.apply affine_map<(d0) -> (d0 * 4)>(%t)
  %col = affine.apply affine_map<(d0) -> (d0 * 64)>(%j)
  %rows = evt.load %y[%slot_of[%choice], %col] : memref<?x128xf32>, memref<?xi32> -> tensor<4x64xf32>
  %weights = evt.load %weight_of[%t, %c0] : memref<?x4xf32> -> tensor<4xf32>
  %like = tensor.empty() : tensor<4x64xf32>
  %weights_wide = linalg.broadcast ins(%weights : tensor<4xf32>) outs(%like : tensor<4x64xf32>) dimensions = [1]
  %weighted = arith.mulf %rows, %weights_wide : tensor<4x64xf32>
  %zero = arith.constant dense<0.0> : tensor<64xf32>
  %sum = linalg.reduce { arith.addf } ins(%weighted : tensor<4x64xf32>) outs(%zero : tensor<64xf32>) dimensions = [0]
  evt.store %sum, %out[%t, %col] : tensor<64xf32> -> memref<?x128xf32>
}

evt.graph @moe_top4(%x: memref<?x128xf32> {evt.immutable}, %router: memref<16x128xf32> {evt.immutable},
                    %w_gate: memref<16x96x128xbf16> {evt.immutable}, %w_up: memref<16x96x128xbf16> {evt.immutable},
                    %w_down: memref<16x128x96xbf16> {evt.immutable}, %out: memref<?x128xf32>) {
  %tokens = evt.symbol "tokens" (%x[0], %out[0]) : memref<?x128xf32>, memref<?x128xf32>
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c16 = arith.constant 16 : index
  %groups = affine.apply affine_map<()[s0] -> (s0 ceildiv 16)>()[%tokens]
  %choices = affine.apply affine_map<()[s0] -> (s0 * 4)>()[%tokens]
  // Each of the 16 experts wastes at most 15 rows of its last tile.
  %tiles = affine.apply affine_map<()[s0] -> ((s0 * 4 + 240) floordiv 16)>()[%tokens]
  %slots = affine.apply affine_map<()[s0] -> (((s0 * 4 + 240) floordiv 16) * 16)>()[%tokens]
  %clears = affine.apply affine_map<()[s0] -> (s0 ceildiv 64)>()[%slots]

  %expert_of = evt.alloc(%choices) : memref<?xi32>
  %weight_of = evt.alloc(%tokens) : memref<?x4xf32>
  %tokens_in = evt.alloc(%groups) : memref<?x16xi32>
  %before = evt.alloc(%groups) : memref<?x16xi32>
  %tokens_of = evt.alloc() : memref<16xi32>
  %indptr = evt.alloc() : memref<17xi32>
  %has_tile = evt.alloc(%groups) : memref<16x?xi32>
  %slot_of = evt.alloc(%choices) : memref<?xi32>
  %token_of = evt.alloc(%slots) : memref<?xi32>
  %h = evt.alloc(%slots) : memref<?x96xf32>
  %y = evt.alloc(%slots) : memref<?x128xf32>

  %routed = evt.event() count(%groups) : !evt.event<>
  %planned = evt.event() count(1) : !evt.event<>
  %cleared = evt.event() count(%clears) : !evt.event<>
  %scattered = evt.event(%groups) count(1) : !evt.event<?>
  // All tokens of an expert are in its slots.
  %arrived = evt.event(%c16) count(%tokens_of after %planned) : !evt.event<?>, memref<16xi32>
  // The three column tiles of an expert's row tile are written; a tile that does not exist waits for nothing.
  %activated = evt.event(%c16, %groups) count(%has_tile * 3 after %planned) : !evt.event<?x?>, memref<16x?xi32>
  // All experts of a token are done with these columns.
  %done = evt.event(%tokens, %c2) count(4) : !evt.event<?x?>

  evt.call @route(%x, %router, %expert_of, %weight_of, %tokens_in) grid(%groups) notify(%routed[(i) -> ()])
    : (memref<?x128xf32>, memref<16x128xf32>, memref<?xi32>, memref<?x4xf32>, memref<?x16xi32>)
  evt.call @clear(%token_of) grid(%clears) notify(%cleared[(i) -> ()]) : (memref<?xi32>)
  evt.call @plan(%tokens_in, %before, %tokens_of, %indptr, %has_tile) grid(%c1)
    wait(%routed[(one) -> ()]) notify(%planned[(one) -> ()])
    : (memref<?x16xi32>, memref<?x16xi32>, memref<16xi32>, memref<17xi32>, memref<16x?xi32>)
  evt.call @scatter(%expert_of, %before, %indptr, %slot_of, %token_of) grid(%i to %groups)
    : (memref<?xi32>, memref<?x16xi32>, memref<17xi32>, memref<?xi32>, memref<?xi32>) {
    evt.wait %planned[]
    evt.wait %cleared[]
    evt.notify %scattered[%i]
    %first = affine.apply affine_map<(d0) -> (d0 * 64)>(%i)
    %end = affine.min affine_map<(d0)[s0] -> (d0 * 64 + 64, s0)>(%i)[%choices]
    scf.for %c = %first to %end step %c1 {
      %e = evt.read %expert_of[%c] : memref<?xi32>
      evt.notify %arrived[%e]
    }
  }
  evt.call @gate_up(%x, %token_of, %indptr, %w_gate, %w_up, %h)
    grid(ragged(%indptr by 16 bound %tiles after %planned : memref<17xi32>), %c3)
    wait(%arrived[(e, r, j) -> (e)]) notify(%activated[(e, r, j) -> (e, r)])
    : (memref<?x128xf32>, memref<?xi32>, memref<17xi32>, memref<16x96x128xbf16>, memref<16x96x128xbf16>,
       memref<?x96xf32>)
  evt.call @down(%h, %indptr, %w_down, %y)
    grid((%e, %r) in ragged(%indptr by 16 bound %tiles after %planned : memref<17xi32>), %j to %c2)
    : (memref<?x96xf32>, memref<17xi32>, memref<16x128x96xbf16>, memref<?x128xf32>) {
    evt.wait %activated[%e, %r]
    // Tell the tokens of this tile; its last slots may be empty.
    %start = evt.read %indptr[%e] : memref<17xi32>
    %count = evt.read %tokens_of[%e] : memref<16xi32>
    %first = affine.apply affine_map<(d0, d1) -> (d0 + d1 * 16)>(%start, %r)
    %end = affine.min affine_map<(d0, d1, d2) -> (d0 + d1 * 16 + 16, d0 + d2)>(%start, %r, %count)
    scf.for %slot = %first to %end step %c1 {
      %t = evt.read %token_of[%slot] : memref<?xi32>
      evt.notify %done[%t, %j]
    }
  }
  // The wait for the token's group says in affine terms what the chain through the tables implies: slot_of is written.
  evt.call @combine(%y, %slot_of, %weight_of, %out) grid(%tokens, %c2)
    wait(%done[(t, j) -> (t, j)], %scattered[(t, j) -> (t floordiv 16)])
    : (memref<?x128xf32>, memref<?xi32>, memref<?x4xf32>, memref<?x128xf32>)
}
