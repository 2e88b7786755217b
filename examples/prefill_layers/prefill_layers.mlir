// The feed-forward parts of a decoder's layers, with their residual stream and without norms: hidden size 200,
// feed-forward 328, tiles of 128 x 136. Written by bench/products/program.py.

// What the layers read of the residual stream: bf16.
evt.device @start(%r: memref<?x200xf32>, %rb: memref<?x200xbf16>) grid(%g, %i, %p) {
  %c0 = arith.constant 0 : index
  %row = affine.apply affine_map<(d0, d1, d2) -> (d0 * 128 + d1 * 128 + d2 * 16)>(%g, %i, %p)
  %x = evt.load %r[%row, %c0] : memref<?x200xf32> -> tensor<16x200xf32>
  %x16 = arith.truncf %x : tensor<16x200xf32> to tensor<16x200xbf16>
  evt.store %x16, %rb[%row, %c0] : tensor<16x200xbf16> -> memref<?x200xbf16>
}

evt.device @gate_up(%x: memref<?x200xbf16>, %wg: memref<?x328x200xbf16>, %wu: memref<?x328x200xbf16>, %h: memref<?x328xbf16>, %l: index) grid(%g, %j, %i) {
  %c0 = arith.constant 0 : index
  %depth = arith.constant 200 : index
  %step = arith.constant 64 : index
  %row = affine.apply affine_map<(d0, d1) -> (d0 * 128 + d1 * 128)>(%g, %i)
  %column = affine.apply affine_map<(d0) -> (d0 * 64)>(%j)
  %zero = arith.constant dense<0.0> : tensor<128x64xf32>
  %acc0, %acc1 = scf.for %k = %c0 to %depth step %step iter_args(%in0 = %zero, %in1 = %zero) -> (tensor<128x64xf32>, tensor<128x64xf32>) {
    %a16 = evt.load %x[%row, %k] : memref<?x200xbf16> -> tensor<128x64xbf16>
    %a = arith.extf %a16 : tensor<128x64xbf16> to tensor<128x64xf32>
    %w0_16 = evt.load %wg[%l, %column, %k] : memref<?x328x200xbf16> -> tensor<64x64xbf16>
    %w0 = arith.extf %w0_16 : tensor<64x64xbf16> to tensor<64x64xf32>
    %out0 = linalg.matmul_transpose_b ins(%a, %w0 : tensor<128x64xf32>, tensor<64x64xf32>) outs(%in0 : tensor<128x64xf32>) -> tensor<128x64xf32>
    %w1_16 = evt.load %wu[%l, %column, %k] : memref<?x328x200xbf16> -> tensor<64x64xbf16>
    %w1 = arith.extf %w1_16 : tensor<64x64xbf16> to tensor<64x64xf32>
    %out1 = linalg.matmul_transpose_b ins(%a, %w1 : tensor<128x64xf32>, tensor<64x64xf32>) outs(%in1 : tensor<128x64xf32>) -> tensor<128x64xf32>
    scf.yield %out0, %out1 : tensor<128x64xf32>, tensor<128x64xf32>
  }
  %one = arith.constant dense<1.0> : tensor<128x64xf32>
  %minus = arith.negf %acc0 : tensor<128x64xf32>
  %exp = math.exp %minus fastmath<afn> : tensor<128x64xf32>
  %below = arith.addf %exp, %one : tensor<128x64xf32>
  %silu = arith.divf %acc0, %below fastmath<arcp> : tensor<128x64xf32>
  %swiglu = arith.mulf %silu, %acc1 : tensor<128x64xf32>
  %narrow = arith.truncf %swiglu : tensor<128x64xf32> to tensor<128x64xbf16>
  evt.store %narrow, %h[%row, %column] : tensor<128x64xbf16> -> memref<?x328xbf16>
}

evt.device @down(%x: memref<?x328xbf16>, %w: memref<?x200x328xbf16>, %r: memref<?x200xf32>, %rb: memref<?x200xbf16>, %l: index) grid(%g, %j, %i) {
  %c0 = arith.constant 0 : index
  %depth = arith.constant 328 : index
  %step = arith.constant 64 : index
  %row = affine.apply affine_map<(d0, d1) -> (d0 * 128 + d1 * 128)>(%g, %i)
  %column = affine.apply affine_map<(d0) -> (d0 * 136)>(%j)
  %zero = arith.constant dense<0.0> : tensor<128x136xf32>
  %acc0 = scf.for %k = %c0 to %depth step %step iter_args(%in0 = %zero) -> (tensor<128x136xf32>) {
    %a16 = evt.load %x[%row, %k] : memref<?x328xbf16> -> tensor<128x64xbf16>
    %a = arith.extf %a16 : tensor<128x64xbf16> to tensor<128x64xf32>
    %w0_16 = evt.load %w[%l, %column, %k] : memref<?x200x328xbf16> -> tensor<136x64xbf16>
    %w0 = arith.extf %w0_16 : tensor<136x64xbf16> to tensor<136x64xf32>
    %out0 = linalg.matmul_transpose_b ins(%a, %w0 : tensor<128x64xf32>, tensor<136x64xf32>) outs(%in0 : tensor<128x136xf32>) -> tensor<128x136xf32>
    scf.yield %out0 : tensor<128x136xf32>
  }
  %old = evt.load %r[%row, %column] : memref<?x200xf32> -> tensor<128x136xf32>
  %new = arith.addf %acc0, %old : tensor<128x136xf32>
  evt.store %new, %r[%row, %column] : tensor<128x136xf32> -> memref<?x200xf32>
  %narrow = arith.truncf %new : tensor<128x136xf32> to tensor<128x136xbf16>
  evt.store %narrow, %rb[%row, %column] : tensor<128x136xbf16> -> memref<?x200xbf16>
}

evt.graph @prefill_layers(%r: memref<?x200xf32>, %w_gate: memref<?x328x200xbf16> {evt.immutable}, %w_up: memref<?x328x200xbf16> {evt.immutable}, %w_down: memref<?x200x328xbf16> {evt.immutable}) {
  %tokens = evt.symbol "tokens" (%r[0]) range(1, 1048576) : memref<?x200xf32>
  %layers = evt.symbol "layers" (%w_gate[0], %w_up[0], %w_down[0]) : memref<?x328x200xbf16>, memref<?x328x200xbf16>, memref<?x200x328xbf16>
  %tiles = affine.apply affine_map<()[s0] -> (s0 ceildiv 128)>()[%tokens]
  %c_group = arith.constant 1 : index
  %groups = affine.apply affine_map<()[s0] -> (s0 ceildiv 1)>()[%tiles]
  %c_chunks = arith.constant 8 : index
  %c_wide = arith.constant 6 : index
  %c_narrow = arith.constant 2 : index
  %rb = evt.alloc(%tokens) : memref<?x200xbf16>
  %h = evt.alloc(%tokens) : memref<?x328xbf16>
  %started = evt.event(%groups, %c_group) count(8) : !evt.event<?x?>
  %activated = evt.event(%layers, %groups, %c_group) count(6) : !evt.event<?x?x?>
  %added = evt.event(%layers, %groups, %c_group) count(2) : !evt.event<?x?x?>
  evt.call @start(%r, %rb) grid(%groups, %c_group, %c_chunks) notify(%started[(g, i, p) -> (g, i)]) : (memref<?x200xf32>, memref<?x200xbf16>)
  evt.repeat %l to %layers {
    evt.call @gate_up(%rb, %w_gate, %w_up, %h, %l) grid(%groups, %c_wide, %c_group)
      wait(%started[(l, g, j, i) -> (g, i)], %added[(l, g, j, i) -> (l - 1 to l, g, i)])
      notify(%activated[(l, g, j, i) -> (l, g, i)]) : (memref<?x200xbf16>, memref<?x328x200xbf16>, memref<?x328x200xbf16>, memref<?x328xbf16>, index)
    evt.call @down(%h, %w_down, %r, %rb, %l) grid(%groups, %c_narrow, %c_group)
      wait(%activated[(l, g, j, i) -> (l, g, i)]) notify(%added[(l, g, j, i) -> (l, g, i)])
      : (memref<?x328xbf16>, memref<?x200x328xbf16>, memref<?x200xf32>, memref<?x200xbf16>, index)
  }
}
