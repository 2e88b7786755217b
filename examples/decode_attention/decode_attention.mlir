// Attention of one new token of each request over its past keys and values, which lie scattered in pages.
//
// A pool of pages of 16 tokens is shared by all requests; pages[r, b] is the page of tokens 16 b … 16 b + 15 of
// request r, whose length is lens[r]. A request's tokens are cut into splits of 4 pages: task (r, h, s) attends with
// the four query heads that share key/value head h over split s, and one task (r, h) merges the splits in their order.
// Requests, pages of the pool and columns of the page table are known only at run time; lengths and pages are data.
// A request of length 0 gets zeros.
//
// A softmax over parts is kept as (largest score m, sum l of exp(score - m), acc = sum of exp(score - m) value). Two
// such triples merge by scaling both to the larger m. The sum starts at 0 and m at -1e30: the weight of "nothing yet",
// exp(-1e30 - m), is 0.

evt.device @split(%q: memref<?x8x64xf32>, %keys: memref<?x16x2x64xf32>, %values: memref<?x16x2x64xf32>,
                  %pages: memref<?x?xi32>, %lens: memref<?xi32>, %part_m: memref<?x2x?x4xf32>,
                  %part_l: memref<?x2x?x4xf32>, %part_acc: memref<?x2x?x4x64xf32>) grid(%r, %h, %s) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %head = affine.apply affine_map<(d0) -> (d0 * 4)>(%h)
  %query = evt.load %q[%r, %head, %c0] : memref<?x8x64xf32> -> tensor<4x64xf32>
  %scale = arith.constant dense<0.125> : tensor<4x64xf32>
  %scaled = arith.mulf %query, %scale : tensor<4x64xf32>
  %len = evt.read %lens[%r] : memref<?xi32>
  %len32 = arith.index_cast %len : index to i32
  // How many of the split's pages hold tokens: at most 0 when the request ends before this split.
  %live_pages = affine.min affine_map<(d0, d1) -> (4, (d0 - d1 * 64 + 15) floordiv 16)>(%len, %s)

  %no_scores = arith.constant dense<0.0> : tensor<4x16xf32>
  %lowest = arith.constant dense<-1.0e30> : tensor<4x16xf32>
  %no_values = arith.constant dense<0.0> : tensor<16x64xf32>
  %m0 = arith.constant dense<-1.0e30> : tensor<4xf32>
  %l0 = arith.constant dense<0.0> : tensor<4xf32>
  %acc0 = arith.constant dense<0.0> : tensor<4x64xf32>
  %like_scores = tensor.empty() : tensor<4x16xf32>
  %like_acc = tensor.empty() : tensor<4x64xf32>
  %m, %l, %acc = scf.for %b = %c0 to %live_pages step %c1 iter_args(%m1 = %m0, %l1 = %l0, %acc1 = %acc0)
      -> (tensor<4xf32>, tensor<4xf32>, tensor<4x64xf32>) {
    %block = affine.apply affine_map<(d0, d1) -> (d0 * 4 + d1)>(%s, %b)
    %page = evt.read %pages[%r, %block] : memref<?x?xi32>
    %k = evt.load %keys[%page, %c0, %h, %c0] sizes [1, 16, 1, 64] : memref<?x16x2x64xf32> -> tensor<16x64xf32>
    %v = evt.load %values[%page, %c0, %h, %c0] sizes [1, 16, 1, 64] : memref<?x16x2x64xf32> -> tensor<16x64xf32>
    %scores = linalg.matmul_transpose_b ins(%scaled, %k : tensor<4x64xf32>, tensor<16x64xf32>)
        outs(%no_scores : tensor<4x16xf32>) -> tensor<4x16xf32>

    // Slots of the last page past the length hold anything, NaN included: neither their scores nor their values count.
    %left = affine.apply affine_map<(d0, d1) -> (d0 - d1 * 16)>(%len, %block)
    %left32 = arith.index_cast %left : index to i32
    %limit = tensor.splat %left32 : tensor<4x16xi32>
    %slot = evt.iota dim 1 : tensor<4x16xi32>
    %live = arith.cmpi slt, %slot, %limit : tensor<4x16xi32>
    %masked = arith.select %live, %scores, %lowest : tensor<4x16xi1>, tensor<4x16xf32>
    %row_limit = tensor.splat %left32 : tensor<16x64xi32>
    %row = evt.iota dim 0 : tensor<16x64xi32>
    %live_row = arith.cmpi slt, %row, %row_limit : tensor<16x64xi32>
    %v_live = arith.select %live_row, %v, %no_values : tensor<16x64xi1>, tensor<16x64xf32>

    %m2 = linalg.reduce { arith.maximumf } ins(%masked : tensor<4x16xf32>) outs(%m1 : tensor<4xf32>) dimensions = [1]
    %m2_wide = linalg.broadcast ins(%m2 : tensor<4xf32>) outs(%like_scores : tensor<4x16xf32>) dimensions = [1]
    %below = arith.subf %masked, %m2_wide : tensor<4x16xf32>
    %weight = math.exp %below : tensor<4x16xf32>
    %p = arith.select %live, %weight, %no_scores : tensor<4x16xi1>, tensor<4x16xf32>
    %drop = arith.subf %m1, %m2 : tensor<4xf32>
    %keep = math.exp %drop : tensor<4xf32>
    %l_kept = arith.mulf %l1, %keep : tensor<4xf32>
    %l2 = linalg.reduce { arith.addf } ins(%p : tensor<4x16xf32>) outs(%l_kept : tensor<4xf32>) dimensions = [1]
    %keep_wide = linalg.broadcast ins(%keep : tensor<4xf32>) outs(%like_acc : tensor<4x64xf32>) dimensions = [1]
    %acc_kept = arith.mulf %acc1, %keep_wide : tensor<4x64xf32>
    %acc2 = linalg.matmul ins(%p, %v_live : tensor<4x16xf32>, tensor<16x64xf32>) outs(%acc_kept : tensor<4x64xf32>)
        -> tensor<4x64xf32>
    scf.yield %m2, %l2, %acc2 : tensor<4xf32>, tensor<4xf32>, tensor<4x64xf32>
  }
  evt.store %m, %part_m[%r, %h, %s, %c0] : tensor<4xf32> -> memref<?x2x?x4xf32>
  evt.store %l, %part_l[%r, %h, %s, %c0] : tensor<4xf32> -> memref<?x2x?x4xf32>
  evt.store %acc, %part_acc[%r, %h, %s, %c0, %c0] : tensor<4x64xf32> -> memref<?x2x?x4x64xf32>
}

evt.device @merge(%part_m: memref<?x2x?x4xf32>, %part_l: memref<?x2x?x4xf32>, %part_acc: memref<?x2x?x4x64xf32>,
                  %o: memref<?x8x64xf32>) grid(%r, %h) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %splits = memref.dim %part_m, %c2 : memref<?x2x?x4xf32>
  %m0 = arith.constant dense<-1.0e30> : tensor<4xf32>
  %l0 = arith.constant dense<0.0> : tensor<4xf32>
  %acc0 = arith.constant dense<0.0> : tensor<4x64xf32>
  %like_acc = tensor.empty() : tensor<4x64xf32>
  %m, %l, %acc = scf.for %s = %c0 to %splits step %c1 iter_args(%m1 = %m0, %l1 = %l0, %acc1 = %acc0)
      -> (tensor<4xf32>, tensor<4xf32>, tensor<4x64xf32>) {
    %ms = evt.load %part_m[%r, %h, %s, %c0] : memref<?x2x?x4xf32> -> tensor<4xf32>
    %ls = evt.load %part_l[%r, %h, %s, %c0] : memref<?x2x?x4xf32> -> tensor<4xf32>
    %accs = evt.load %part_acc[%r, %h, %s, %c0, %c0] : memref<?x2x?x4x64xf32> -> tensor<4x64xf32>
    %m2 = arith.maximumf %m1, %ms : tensor<4xf32>
    %drop = arith.subf %m1, %m2 : tensor<4xf32>
    %drop_s = arith.subf %ms, %m2 : tensor<4xf32>
    %keep = math.exp %drop : tensor<4xf32>
    %keep_s = math.exp %drop_s : tensor<4xf32>
    %l_old = arith.mulf %l1, %keep : tensor<4xf32>
    %l_new = arith.mulf %ls, %keep_s : tensor<4xf32>
    %l2 = arith.addf %l_old, %l_new : tensor<4xf32>
    %keep_wide = linalg.broadcast ins(%keep : tensor<4xf32>) outs(%like_acc : tensor<4x64xf32>) dimensions = [1]
    %keep_s_wide = linalg.broadcast ins(%keep_s : tensor<4xf32>) outs(%like_acc : tensor<4x64xf32>) dimensions = [1]
    %acc_old = arith.mulf %acc1, %keep_wide : tensor<4x64xf32>
    %acc_new = arith.mulf %accs, %keep_s_wide : tensor<4x64xf32>
    %acc2 = arith.addf %acc_old, %acc_new : tensor<4x64xf32>
    scf.yield %m2, %l2, %acc2 : tensor<4xf32>, tensor<4xf32>, tensor<4x64xf32>
  }
  // The largest score adds exp(0), so the sum of a request with tokens is at least 1; without tokens, 0 / 1 is 0.
  %one = arith.constant dense<1.0> : tensor<4xf32>
  %divisor = arith.maximumf %l, %one : tensor<4xf32>
  %divisor_wide = linalg.broadcast ins(%divisor : tensor<4xf32>) outs(%like_acc : tensor<4x64xf32>) dimensions = [1]
  %out = arith.divf %acc, %divisor_wide : tensor<4x64xf32>
  %head = affine.apply affine_map<(d0) -> (d0 * 4)>(%h)
  evt.store %out, %o[%r, %head, %c0] : tensor<4x64xf32> -> memref<?x8x64xf32>
}

evt.graph @decode_attention(%q: memref<?x8x64xf32> {evt.immutable}, %keys: memref<?x16x2x64xf32> {evt.immutable},
                            %values: memref<?x16x2x64xf32> {evt.immutable}, %pages: memref<?x?xi32> {evt.immutable},
                            %lens: memref<?xi32> {evt.immutable}, %o: memref<?x8x64xf32>) {
  %requests = evt.symbol "requests" (%q[0], %pages[0], %lens[0], %o[0])
    : memref<?x8x64xf32>, memref<?x?xi32>, memref<?xi32>, memref<?x8x64xf32>
  %pool = evt.symbol "pool" (%keys[0], %values[0]) : memref<?x16x2x64xf32>, memref<?x16x2x64xf32>
  %max_pages = evt.symbol "max_pages" (%pages[1]) : memref<?x?xi32>
  %c2 = arith.constant 2 : index
  %splits = affine.apply affine_map<()[s0] -> (s0 ceildiv 4)>()[%max_pages]

  %part_m = evt.alloc(%requests, %splits) : memref<?x2x?x4xf32>
  %part_l = evt.alloc(%requests, %splits) : memref<?x2x?x4xf32>
  %part_acc = evt.alloc(%requests, %splits) : memref<?x2x?x4x64xf32>
  // Every split of request r has been attended to with head h.
  %attended = evt.event(%requests, %c2) count(%splits) : !evt.event<?x?>
  evt.call @split(%q, %keys, %values, %pages, %lens, %part_m, %part_l, %part_acc) grid(%requests, %c2, %splits)
    notify(%attended[(r, h, s) -> (r, h)])
    : (memref<?x8x64xf32>, memref<?x16x2x64xf32>, memref<?x16x2x64xf32>, memref<?x?xi32>, memref<?xi32>,
       memref<?x2x?x4xf32>, memref<?x2x?x4xf32>, memref<?x2x?x4x64xf32>)
  evt.call @merge(%part_m, %part_l, %part_acc, %o) grid(%requests, %c2) wait(%attended[(r, h) -> (r, h)])
    : (memref<?x2x?x4xf32>, memref<?x2x?x4xf32>, memref<?x2x?x4x64xf32>, memref<?x8x64xf32>)
}
