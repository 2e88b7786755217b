// Waits that loaders pass column by column, where that is proved, and where it is not.

// RUN: %evt show --target cuda --stage roles --graph rows %s | FileCheck %s --check-prefix=ROWS
// ROWS: multiply: multiplies tiles
// ROWS-NEXT: loaders   v, w:
// ROWS-NEXT: events    written: an element for 64 columns of K, passed as rows are fetched
// RUN: %evt show --target cuda --stage source --graph rows %s | FileCheck %s --check-prefix=SOURCE
// SOURCE: template <class Along> EVT_FORCED void fetch_rows_multiply(Along &&along, evt::TileRing &ring, int stages
// SOURCE: if (stages == 0) along.pass(0, true);
// SOURCE: ring.send(
// SOURCE: }, [&](int stage) {
// SOURCE-NEXT: along.pass(INT64_C(0) + (stage + 1) * chunks * 64, stage + 1 == stages);
// SOURCE: EVT_FORCED void fetch_weights_multiply(evt::TileRing &ring
// SOURCE-NOT: along
// SOURCE: bool waits_beside_[[K:[0-9]+]](
// SOURCE-NEXT: return true;
// SOURCE: bool waits_along_[[K]](
// SOURCE: for (int64_t a1 = evt::most(evt::most(INT64_C(0), 0), from), z1 = evt::least(evt::least(INT64_C(8), P.e[[E:[0-9]+]]_1), to); a1 < z1; ++a1) {
// SOURCE-NEXT: if (!use.wait([[E]],
// SOURCE: void load_weights_[[K]](
// SOURCE: #ifdef EVT_NO_RUN_AHEAD
// SOURCE-NEXT: {{.*}} return waits_[[K]](ahead,
// SOURCE: void load_rows_[[K]](
// SOURCE: evt::pass_ahead<dynamic>(w, task, [&](auto &ahead) { return waits_beside_[[K]](ahead, P, c0); });
// SOURCE-NEXT: auto along = evt::waits_along<dynamic>(w, task, 64, [&](auto &ahead, int64_t from, int64_t to) { return waits_along_[[K]](ahead, P, from, to, c0); });
// SOURCE: fetch_rows_multiply(along, ring,
// SOURCE: evt::run_tiled<dynamic, 128, 64, true, false, {{[0-9]+}}, {{[0-9]+}}, {{true|false}}, 0, true>(

// The second operand, whose rows are somebody else's.
// RUN: %evt show --target cuda --stage roles %examples/causal_mixing/causal_mixing.mlir | FileCheck %s --check-prefix=WEIGHTS
// WEIGHTS: events    projected: an element for 64 columns of K, passed as weights are fetched

// Elements for more columns; what else the task reads was written by then, or is known by the first element.
// RUN: %evt show --target cuda --stage roles --graph pairs %s | FileCheck %s --check-prefix=PAIRS
// PAIRS: events    written: an element for 128 columns of K, passed as rows are fetched
// RUN: %evt show --target cuda --stage roles --graph first %s | FileCheck %s --check-prefix=FIRST
// FIRST: events    written: an element for 64 columns of K, passed as rows are fetched

// Columns in another order than the elements; what else the task reads hangs on a later one; one element; a call of the
// same function whose waits say nothing of columns.
// RUN: %evt show --target cuda --stage roles --graph backwards %s | FileCheck %s --check-prefix=NOT --implicit-check-not="passed as"
// RUN: %evt show --target cuda --stage roles --graph second %s | FileCheck %s --check-prefix=NOT --implicit-check-not="passed as"
// RUN: %evt show --target cuda --stage roles --graph one %s | FileCheck %s --check-prefix=NOT --implicit-check-not="passed as"
// NOT: {{^}}multiply{{.*}}: multiplies tiles
// A symbol may have a coordinate's name. Another weight of the same loader that only a later element says something of.
// RUN: sed 's/"n"/"c0"/' %s > %t.named.mlir
// RUN: %evt show --target cuda --stage roles --graph second %t.named.mlir | FileCheck %s --check-prefix=NOT --implicit-check-not="passed as"
// RUN: %evt show --target cuda --stage roles %S/Inputs/waits_beside.mlir | FileCheck %s --check-prefix=NOT --implicit-check-not="passed as"
// RUN: %evt show --target cuda --stage source --graph both %s | FileCheck %s --check-prefix=BOTH
// BOTH: void load_rows_1(
// BOTH: fetch_rows_multiply(along, ring,
// BOTH: void load_rows_3(
// BOTH: evt::pass_ahead<dynamic>(w, task, [&](auto &ahead) { return waits_3(ahead, P, c0); });
// BOTH: fetch_rows_multiply(evt::NothingAlong{}, ring,

evt.device @write(%x: memref<?x512xbf16>, %v: memref<?x512xbf16>, %z: memref<?x512xf32>) grid(%t, %j) {
  %row = affine.apply affine_map<(d0) -> (d0 * 128)>(%t)
  %column = affine.apply affine_map<(d0) -> (d0 * 64)>(%j)
  %tile = evt.load %x[%row, %column] : memref<?x512xbf16> -> tensor<128x64xbf16>
  %wide = arith.extf %tile : tensor<128x64xbf16> to tensor<128x64xf32>
  evt.store %tile, %v[%row, %column] : tensor<128x64xbf16> -> memref<?x512xbf16>
  evt.store %wide, %z[%row, %column] : tensor<128x64xf32> -> memref<?x512xf32>
}

evt.device @multiply(%v: memref<?x512xbf16>, %w: memref<64x512xbf16>, %y: memref<?x64xf32>) grid(%t) {
  %c0 = arith.constant 0 : index
  %depth = arith.constant 512 : index
  %step = arith.constant 64 : index
  %row = affine.apply affine_map<(d0) -> (d0 * 128)>(%t)
  %zero = arith.constant dense<0.0> : tensor<128x64xf32>
  %sum = scf.for %k = %c0 to %depth step %step iter_args(%in = %zero) -> (tensor<128x64xf32>) {
    %a16 = evt.load %v[%row, %k] : memref<?x512xbf16> -> tensor<128x64xbf16>
    %b16 = evt.load %w[%c0, %k] : memref<64x512xbf16> -> tensor<64x64xbf16>
    %a = arith.extf %a16 : tensor<128x64xbf16> to tensor<128x64xf32>
    %b = arith.extf %b16 : tensor<64x64xbf16> to tensor<64x64xf32>
    %next = linalg.matmul_transpose_b ins(%a, %b : tensor<128x64xf32>, tensor<64x64xf32>) outs(%in : tensor<128x64xf32>)
        -> tensor<128x64xf32>
    scf.yield %next : tensor<128x64xf32>
  }
  evt.store %sum, %y[%row, %c0] : tensor<128x64xf32> -> memref<?x64xf32>
}

// Adds 64 columns of z, from `from` on.
evt.device @multiply_and_add(%v: memref<?x512xbf16>, %w: memref<64x512xbf16>, %z: memref<?x512xf32>, %y: memref<?x64xf32>, %from: index) grid(%t) {
  %c0 = arith.constant 0 : index
  %depth = arith.constant 512 : index
  %step = arith.constant 64 : index
  %row = affine.apply affine_map<(d0) -> (d0 * 128)>(%t)
  %zero = arith.constant dense<0.0> : tensor<128x64xf32>
  %sum = scf.for %k = %c0 to %depth step %step iter_args(%in = %zero) -> (tensor<128x64xf32>) {
    %a16 = evt.load %v[%row, %k] : memref<?x512xbf16> -> tensor<128x64xbf16>
    %b16 = evt.load %w[%c0, %k] : memref<64x512xbf16> -> tensor<64x64xbf16>
    %a = arith.extf %a16 : tensor<128x64xbf16> to tensor<128x64xf32>
    %b = arith.extf %b16 : tensor<64x64xbf16> to tensor<64x64xf32>
    %next = linalg.matmul_transpose_b ins(%a, %b : tensor<128x64xf32>, tensor<64x64xf32>) outs(%in : tensor<128x64xf32>)
        -> tensor<128x64xf32>
    scf.yield %next : tensor<128x64xf32>
  }
  %more = evt.load %z[%row, %from] : memref<?x512xf32> -> tensor<128x64xf32>
  %all = arith.addf %sum, %more : tensor<128x64xf32>
  evt.store %all, %y[%row, %c0] : tensor<128x64xf32> -> memref<?x64xf32>
}

evt.graph @rows(%x: memref<?x512xbf16> {evt.immutable}, %w: memref<64x512xbf16> {evt.immutable}, %y: memref<?x64xf32>) {
  %n = evt.symbol "n" (%x[0], %y[0]) : memref<?x512xbf16>, memref<?x64xf32>
  %tiles = affine.apply affine_map<()[s0] -> (s0 ceildiv 128)>()[%n]
  %c8 = arith.constant 8 : index
  %v = evt.alloc(%n) : memref<?x512xbf16>
  %z = evt.alloc(%n) : memref<?x512xf32>
  %written = evt.event(%tiles, %c8) count(1) : !evt.event<?x?>
  evt.call @write(%x, %v, %z) grid(%tiles, %c8) notify(%written[(t, j) -> (t, j)])
    : (memref<?x512xbf16>, memref<?x512xbf16>, memref<?x512xf32>)
  evt.call @multiply(%v, %w, %y) grid(%tiles) wait(%written[(t) -> (t, 0 to 8)])
    : (memref<?x512xbf16>, memref<64x512xbf16>, memref<?x64xf32>)
}

evt.graph @pairs(%x: memref<?x512xbf16> {evt.immutable}, %w: memref<64x512xbf16> {evt.immutable}, %y: memref<?x64xf32>) {
  %n = evt.symbol "n" (%x[0], %y[0]) : memref<?x512xbf16>, memref<?x64xf32>
  %tiles = affine.apply affine_map<()[s0] -> (s0 ceildiv 128)>()[%n]
  %c8 = arith.constant 8 : index
  %c4 = arith.constant 4 : index
  %v = evt.alloc(%n) : memref<?x512xbf16>
  %z = evt.alloc(%n) : memref<?x512xf32>
  %written = evt.event(%tiles, %c4) count(2) : !evt.event<?x?>
  evt.call @write(%x, %v, %z) grid(%tiles, %c8) notify(%written[(t, j) -> (t, j floordiv 2)])
    : (memref<?x512xbf16>, memref<?x512xbf16>, memref<?x512xf32>)
  evt.call @multiply(%v, %w, %y) grid(%tiles) wait(%written[(t) -> (t, 0 to 4)])
    : (memref<?x512xbf16>, memref<64x512xbf16>, memref<?x64xf32>)
}

evt.graph @backwards(%x: memref<?x512xbf16> {evt.immutable}, %w: memref<64x512xbf16> {evt.immutable}, %y: memref<?x64xf32>) {
  %n = evt.symbol "n" (%x[0], %y[0]) : memref<?x512xbf16>, memref<?x64xf32>
  %tiles = affine.apply affine_map<()[s0] -> (s0 ceildiv 128)>()[%n]
  %c8 = arith.constant 8 : index
  %v = evt.alloc(%n) : memref<?x512xbf16>
  %z = evt.alloc(%n) : memref<?x512xf32>
  %written = evt.event(%tiles, %c8) count(1) : !evt.event<?x?>
  evt.call @write(%x, %v, %z) grid(%tiles, %c8) notify(%written[(t, j) -> (t, 7 - j)])
    : (memref<?x512xbf16>, memref<?x512xbf16>, memref<?x512xf32>)
  evt.call @multiply(%v, %w, %y) grid(%tiles) wait(%written[(t) -> (t, 0 to 8)])
    : (memref<?x512xbf16>, memref<64x512xbf16>, memref<?x64xf32>)
}

evt.graph @one(%x: memref<?x512xbf16> {evt.immutable}, %w: memref<64x512xbf16> {evt.immutable}, %y: memref<?x64xf32>) {
  %n = evt.symbol "n" (%x[0], %y[0]) : memref<?x512xbf16>, memref<?x64xf32>
  %tiles = affine.apply affine_map<()[s0] -> (s0 ceildiv 128)>()[%n]
  %c8 = arith.constant 8 : index
  %v = evt.alloc(%n) : memref<?x512xbf16>
  %z = evt.alloc(%n) : memref<?x512xf32>
  %written = evt.event(%tiles) count(8) : !evt.event<?>
  evt.call @write(%x, %v, %z) grid(%tiles, %c8) notify(%written[(t, j) -> (t)])
    : (memref<?x512xbf16>, memref<?x512xbf16>, memref<?x512xf32>)
  evt.call @multiply(%v, %w, %y) grid(%tiles) wait(%written[(t) -> (t to t + 1)])
    : (memref<?x512xbf16>, memref<64x512xbf16>, memref<?x64xf32>)
}

evt.graph @first(%x: memref<?x512xbf16> {evt.immutable}, %w: memref<64x512xbf16> {evt.immutable}, %y: memref<?x64xf32>) {
  %n = evt.symbol "n" (%x[0], %y[0]) : memref<?x512xbf16>, memref<?x64xf32>
  %tiles = affine.apply affine_map<()[s0] -> (s0 ceildiv 128)>()[%n]
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %v = evt.alloc(%n) : memref<?x512xbf16>
  %z = evt.alloc(%n) : memref<?x512xf32>
  %written = evt.event(%tiles, %c8) count(1) : !evt.event<?x?>
  evt.call @write(%x, %v, %z) grid(%tiles, %c8) notify(%written[(t, j) -> (t, j)])
    : (memref<?x512xbf16>, memref<?x512xbf16>, memref<?x512xf32>)
  evt.call @multiply_and_add(%v, %w, %z, %y, %c0) grid(%tiles) wait(%written[(t) -> (t, 0 to 8)])
    : (memref<?x512xbf16>, memref<64x512xbf16>, memref<?x512xf32>, memref<?x64xf32>, index)
}

evt.graph @second(%x: memref<?x512xbf16> {evt.immutable}, %w: memref<64x512xbf16> {evt.immutable}, %y: memref<?x64xf32>) {
  %n = evt.symbol "n" (%x[0], %y[0]) : memref<?x512xbf16>, memref<?x64xf32>
  %tiles = affine.apply affine_map<()[s0] -> (s0 ceildiv 128)>()[%n]
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %v = evt.alloc(%n) : memref<?x512xbf16>
  %z = evt.alloc(%n) : memref<?x512xf32>
  %written = evt.event(%tiles, %c8) count(1) : !evt.event<?x?>
  evt.call @write(%x, %v, %z) grid(%tiles, %c8) notify(%written[(t, j) -> (t, j)])
    : (memref<?x512xbf16>, memref<?x512xbf16>, memref<?x512xf32>)
  evt.call @multiply_and_add(%v, %w, %z, %y, %c64) grid(%tiles) wait(%written[(t) -> (t, 0 to 8)])
    : (memref<?x512xbf16>, memref<64x512xbf16>, memref<?x512xf32>, memref<?x64xf32>, index)
}

evt.graph @both(%x: memref<?x512xbf16> {evt.immutable}, %w: memref<64x512xbf16> {evt.immutable}, %y: memref<?x64xf32>,
                %y2: memref<?x64xf32>) {
  %n = evt.symbol "n" (%x[0], %y[0], %y2[0]) : memref<?x512xbf16>, memref<?x64xf32>, memref<?x64xf32>
  %tiles = affine.apply affine_map<()[s0] -> (s0 ceildiv 128)>()[%n]
  %c8 = arith.constant 8 : index
  %v = evt.alloc(%n) : memref<?x512xbf16>
  %z = evt.alloc(%n) : memref<?x512xf32>
  %v2 = evt.alloc(%n) : memref<?x512xbf16>
  %z2 = evt.alloc(%n) : memref<?x512xf32>
  %written = evt.event(%tiles, %c8) count(1) : !evt.event<?x?>
  %again = evt.event(%tiles) count(8) : !evt.event<?>
  evt.call @write(%x, %v, %z) grid(%tiles, %c8) notify(%written[(t, j) -> (t, j)])
    : (memref<?x512xbf16>, memref<?x512xbf16>, memref<?x512xf32>)
  evt.call @multiply(%v, %w, %y) grid(%tiles) wait(%written[(t) -> (t, 0 to 8)])
    : (memref<?x512xbf16>, memref<64x512xbf16>, memref<?x64xf32>)
  evt.call @write(%x, %v2, %z2) grid(%tiles, %c8) notify(%again[(t, j) -> (t)])
    : (memref<?x512xbf16>, memref<?x512xbf16>, memref<?x512xf32>)
  evt.call @multiply(%v2, %w, %y2) grid(%tiles) wait(%again[(t) -> (t)])
    : (memref<?x512xbf16>, memref<64x512xbf16>, memref<?x64xf32>)
}
