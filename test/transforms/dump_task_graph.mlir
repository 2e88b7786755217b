// The polyhedral model of a graph: what index arithmetic, tiles, loops, tables and protocols mean.
// RUN: %evt-opt %s --mlir-disable-threading --evt-dump-task-graph -o /dev/null 2>&1 | FileCheck %s

// Symbols in order: index arguments, named dimensions, the dimensions nobody named. Then memories, events, calls.
evt.device @copy(%x: memref<?x5xf32>, %y: memref<?x?xf32>) grid(%i, %j) {
  %c3 = arith.constant 3 : index
  %row = arith.muli %i, %c3 : index
  %t = evt.load %x[%row, %j] : memref<?x5xf32> -> tensor<3x2xf32>
  evt.store %t, %y[%row, %j] : tensor<3x2xf32> -> memref<?x?xf32>
}
// CHECK-LABEL: graph names
// CHECK-NEXT: symbol steps in [2, 9]
// CHECK-NEXT: symbol n in [1, 4097]
// CHECK-NEXT: symbol y_1 in [0, 1073741824]
// CHECK-NEXT: memory x [steps, n, y_1] -> { M0[i0, i1] : 0 <= i0 < n and 0 <= i1 <= 4 }
// CHECK-NEXT: memory y [steps, n, y_1] -> { M1[i0, i1] : 0 <= i0 < n and 0 <= i1 < y_1 }
// CHECK-NEXT: memory p [steps, n, y_1] -> { M2[i0, i1, i2] : 0 <= i0 <= 3 and 0 <= i1 < n and 0 <= i2 < y_1 }
// CHECK-NEXT: event done [steps, n, y_1] -> { E0[i0, i1] : i0 >= 0 and 3i0 < n and 0 <= i1 < steps } count [steps, n, y_1] -> { E0[i0, i1] -> 4 }
// CHECK-NEXT: call copy [steps, n, y_1] -> { C0[i, j] : i >= 0 and 3i < n and 0 <= j < steps }
// CHECK-NEXT: order [steps, n, y_1] -> { C0[c0, c1] -> [0, c0, c1] }
// CHECK-NEXT: read x [steps, n, y_1] -> { C0[i, j] -> M0[o0, o1] : 3i <= o0 <= 2 + 3i and o0 < n and j <= o1 <= 4 and o1 <= 1 + j }
// CHECK-NEXT: write y [steps, n, y_1] -> { C0[i, j] -> M1[o0, o1] : 3i <= o0 <= 2 + 3i and o0 < n and j <= o1 <= 1 + j and o1 < y_1 }
// CHECK-NEXT: notify done [steps, n, y_1] -> { C0[i, j] -> E0[i, j] }
evt.graph @names(%x: memref<?x5xf32>, %y: memref<?x?xf32>, %steps: index {evt.min = 2, evt.max = 9}) {
  %n = evt.symbol "n" (%x[0], %y[0]) range(1, 4097) : memref<?x5xf32>, memref<?x?xf32>
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %m = memref.dim %y, %c1 : memref<?x?xf32>
  %tiles = arith.ceildivsi %n, %c3 : index
  %p = evt.alloc(%n, %m) : memref<4x?x?xf32>
  %done = evt.event(%tiles, %steps) count(4) : !evt.event<?x?>
  evt.call @copy(%x, %y) grid(%tiles, %steps) notify(%done[(i, j) -> (i, j)]) : (memref<?x5xf32>, memref<?x?xf32>)
}

// Arithmetic on indices.
evt.device @arith(%x: memref<97xi32>, %k: index) grid(%i) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c7 = arith.constant 7 : index
  %below = arith.subi %i, %c4 : index
  // CHECK-LABEL: graph arithmetic
  // CHECK: call arith
  // CHECK-NEXT: order
  // addi and muli
  // CHECK-NEXT: read x {{.*}} -> { C0[i] -> M0[4 + 7i] : i <= 13 }
  %a0 = arith.muli %c7, %i : index
  %a1 = arith.addi %a0, %c4 : index
  %a2 = evt.read %x[%a1] : memref<97xi32>
  // Rounding down, also below zero: i - 4 = -4 .. -1 give -1, which is outside, 0 .. 6 give 0.
  // CHECK-NEXT: read x {{.*}} -> { C0[i] -> M0[o0] : 0 <= o0 <= 96 and -10 + i <= 7o0 <= -4 + i }
  %b0 = arith.floordivsi %below, %c7 : index
  %b1 = evt.read %x[%b0] : memref<97xi32>
  // Rounding up: i - 4 = -4 .. 0 give 0.
  // CHECK-NEXT: read x {{.*}} -> { C0[i] -> M0[o0] : o0 <= 96 and -4 + i <= 7o0 <= 2 + i }
  %d0 = arith.ceildivsi %below, %c7 : index
  %d1 = evt.read %x[%d0] : memref<97xi32>
  // Rounding toward zero: -4 .. 6 give 0.
  // CHECK-NEXT: read x {{.*}} -> { C0[i] -> M0[o0] : i >= 4 and o0 <= 96 and -10 + i <= 7o0 <= -4 + i; C0[i] -> M0[0] : i <= 3 }
  %e0 = arith.divsi %below, %c7 : index
  %e1 = evt.read %x[%e0] : memref<97xi32>
  // Unsigned division of what may be negative is not affine.
  // CHECK-NEXT: read x {{.*}} -> { C0[i] -> M0[o0] : 0 <= o0 <= 96 } inexact
  %f0 = arith.divui %below, %c7 : index
  %f1 = evt.read %x[%f0] : memref<97xi32>
  // Of what is not, it is.
  // CHECK-NEXT: read x {{.*}} -> { C0[i] -> M0[o0] : o0 <= 96 and -6 + i <= 7o0 <= i }
  %g0 = arith.divui %i, %c7 : index
  %g1 = evt.read %x[%g0] : memref<97xi32>
  // CHECK-NEXT: read x {{.*}} -> { C0[i] -> M0[o0] : (-i + o0) mod 7 = 0 and 0 <= o0 <= 6 }
  %h0 = arith.remui %i, %c7 : index
  %h1 = evt.read %x[%h0] : memref<97xi32>
  // CHECK-NEXT: read x {{.*}} -> { C0[i] -> M0[7] : i >= 8; C0[i] -> M0[i] : i <= 7 }
  %m0 = arith.minsi %i, %c7 : index
  %m1 = evt.read %x[%m0] : memref<97xi32>
  // Operands of the call: k is n - 1.
  // CHECK-NEXT: read x {{.*}} -> { C0[i] -> M0[-1 + n] : n <= 97 }
  %k1 = evt.read %x[%k] : memref<97xi32>
  // What is read from memory may be any index.
  // CHECK-NEXT: read x {{.*}} -> { C0[i] -> M0[o0] : 0 <= o0 <= 96 } inexact
  %r1 = evt.read %x[%k1] : memref<97xi32>
  // A product of coordinates is not affine.
  // CHECK-NEXT: read x {{.*}} -> { C0[i] -> M0[o0] : 0 <= o0 <= 96 } inexact
  %s0 = arith.muli %i, %i : index
  %s1 = evt.read %x[%s0] : memref<97xi32>
  // The live part of 10 elements from i on.
  // CHECK-NEXT: read x {{.*}} -> { C0[i] -> M0[97 - i] : 88 <= i <= 97; C0[i] -> M0[10] : i <= 87; C0[i] -> M0[0] : i >= 98 }
  %v0 = evt.valid %x[%i] dim 0 size 10 : memref<97xi32>
  %v1 = evt.read %x[%v0] : memref<97xi32>
  // Through 32 bits, which n and the coordinates fit into.
  // CHECK-NEXT: read x {{.*}} -> { C0[i] -> M0[1 + i] : i <= 95 }
  %w0 = arith.index_cast %i : index to i32
  %w1 = arith.constant 1 : i32
  %w2 = arith.addi %w0, %w1 : i32
  %w3 = arith.index_cast %w2 : i32 to index
  %w4 = evt.read %x[%w3] : memref<97xi32>
  // Four times that may wrap around.
  // CHECK-NEXT: read x {{.*}} -> { C0[i] -> M0[o0] : 0 <= o0 <= 96 } inexact
  %u0 = arith.constant 4 : i32
  %u1 = arith.muli %w0, %u0 : i32
  %u2 = arith.index_cast %u1 : i32 to index
  %u3 = evt.read %x[%u2] : memref<97xi32>
}
evt.graph @arithmetic(%x: memref<97xi32>, %n: index) {
  %last = affine.apply affine_map<()[s0] -> (s0 - 1)>()[%n]
  evt.call @arith(%x, %last) grid(%n) : (memref<97xi32>, index)
}

// Loops: the union over iterations, strides included; bounds may depend on outer loops and on memory.
evt.device @loop(%x: memref<?x3xf32>, %t: memref<?xi32>) grid(%i) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %c40 = arith.constant 40 : index
  %live = evt.read %t[%i] : memref<?xi32>
  scf.for %k = %c0 to %c40 step %c5 {
    // CHECK-LABEL: graph loops
    // CHECK: call loop
    // CHECK-NEXT: order
    // CHECK-NEXT: read t [n, t_0] -> { C0[i] -> M1[i] : i < t_0 }
    // Every fifth row, two columns.
    // CHECK-NEXT: read x [n, t_0] -> { C0[i] -> M0[o0, o1] : (o0) mod 5 = 0 and 0 <= o0 <= 35 and o0 < n and 0 < o1 <= 2 }
    %a = evt.load %x[%k, %c1] : memref<?x3xf32> -> tensor<1x2xf32>
    %next = arith.addi %k, %c5 : index
    scf.for %j = %k to %next step %c1 {
      // All rows below 40.
      // CHECK-NEXT: read x [n, t_0] -> { C0[i] -> M0[o0, 0] : 0 <= o0 <= 39 and o0 < n }
      // CHECK-NEXT: write x [n, t_0] -> { C0[i] -> M0[o0, 0] : 0 <= o0 <= 39 and o0 < n }
      %b = evt.load %x[%j, %c0] : memref<?x3xf32> -> tensor<1x1xf32>
      evt.store %b, %x[%j, %c0] : tensor<1x1xf32> -> memref<?x3xf32>
    }
  }
  // As many rows as memory says: from the task's own row on, nobody knows how far.
  scf.for %k = %i to %live step %c1 {
    // CHECK-NEXT: read x [n, t_0] -> { C0[i] -> M0[o0, 2] : i <= o0 < n } inexact
    %c2 = arith.constant 2 : index
    %a = evt.load %x[%k, %c2] : memref<?x3xf32> -> tensor<1x1xf32>
  }
}
evt.graph @loops(%x: memref<?x3xf32>, %t: memref<?xi32>) {
  %n = evt.symbol "n" (%x[0]) : memref<?x3xf32>
  evt.call @loop(%x, %t) grid(%n) : (memref<?x3xf32>, memref<?xi32>)
}

// Tables: a tile through a table is any row, and the table's own rows are read too.
evt.device @gather(%x: memref<13x7xf32>, %rows: memref<?xi32>, %y: memref<13x7xf32>) grid(%i) {
  %c2 = arith.constant 2 : index
  %first = affine.apply affine_map<(d0) -> (d0 * 4)>(%i)
  %a = evt.load %x[%rows[%first], %c2] : memref<13x7xf32>, memref<?xi32> -> tensor<4x3xf32>
  evt.store %a, %y[%rows[%first], %c2] : tensor<4x3xf32> -> memref<13x7xf32>, memref<?xi32>
}
// CHECK-LABEL: graph tables
// CHECK: event guard [n] -> { E0[] } count [n] -> { E0[] -> 1 }
// CHECK-NEXT: event ready [n] -> { E1[i0] : 0 <= i0 < n } count tokens * 3 after guard
// A count in memory is read after its guard, before the wait, and the protocol's own reads stand among the waits.
// CHECK-NEXT: call gather [n] -> { C0[i] : 0 <= i < n }
// CHECK-NEXT: order
// CHECK-NEXT: wait guard [n] -> { C0[i] -> E0[] }
// CHECK-NEXT: wait ready [n] -> { C0[i] -> E1[i] }
// CHECK-NEXT: wait guard [n] -> { C0[i] -> E0[] }
// CHECK-NEXT: wait ready [n] -> { C0[i] -> E1[o0] : 0 <= o0 < n } inexact
// CHECK-NEXT: read tokens [n] -> { C0[i] -> M3[i] } after 1 of 4 waits
// CHECK-NEXT: read rows [n] -> { C0[i] -> M1[i] } after 2 of 4 waits
// CHECK-NEXT: read tokens [n] -> { C0[i] -> M3[o0] : 0 <= o0 < n } inexact after 3 of 4 waits
// CHECK-NEXT: read rows [n] -> { C0[i] -> M1[o0] : 4i <= o0 <= 3 + 4i and o0 < n }
// CHECK-NEXT: read x [n] -> { C0[i] -> M0[o0, o1] : 0 <= o0 <= 12 and 2 <= o1 <= 4 } inexact
// CHECK-NEXT: read rows
// CHECK-NEXT: write y [n] -> { C0[i] -> M2[o0, o1] : 0 <= o0 <= 12 and 2 <= o1 <= 4 } inexact
evt.graph @tables(%x: memref<13x7xf32>, %rows: memref<?xi32>, %y: memref<13x7xf32>, %tokens: memref<?xi32>) {
  %n = evt.symbol "n" (%rows[0], %tokens[0]) : memref<?xi32>, memref<?xi32>
  %guard = evt.event() count(1) : !evt.event<>
  %ready = evt.event(%n) count(%tokens * 3 after %guard) : !evt.event<?>, memref<?xi32>
  evt.call @gather(%x, %rows, %y) grid(%i to %n) : (memref<13x7xf32>, memref<?xi32>, memref<13x7xf32>) {
    evt.wait %ready[%i]
    %r = evt.read %rows[%i] : memref<?xi32>
    evt.wait %ready[%r]
  }
}

// The same in another dimension: what comes before it is as written.
evt.device @put(%x: memref<5x13x7xf32>, %rows: memref<?xi32>) grid(%i, %j) {
  %c2 = arith.constant 2 : index
  %first = affine.apply affine_map<(d0) -> (d0 * 4)>(%j)
  %a = arith.constant dense<1.0> : tensor<4x3xf32>
  evt.store %a, %x[%i, %rows[%first], %c2] : tensor<4x3xf32> -> memref<5x13x7xf32>, memref<?xi32>
}
// CHECK-LABEL: graph inner_table
// CHECK: call put
// CHECK: read rows [n] -> { C0[i, j] -> M1[o0] : 4j <= o0 <= 3 + 4j and o0 < n }
// CHECK-NEXT: write x [n] -> { C0[i, j] -> M0[i, o1, o2] : 0 <= o1 <= 12 and 2 <= o2 <= 4 } inexact
evt.graph @inner_table(%x: memref<5x13x7xf32>, %rows: memref<?xi32> {evt.immutable}) {
  %n = evt.symbol "n" (%rows[0]) : memref<?xi32>
  %c5 = arith.constant 5 : index
  evt.call @put(%x, %rows) grid(%c5, %n) : (memref<5x13x7xf32>, memref<?xi32>)
}

// Ragged grids: every task that could exist; the guard is waited for first, then the two ends of the group are read.
evt.device @rows(%y: memref<?xf32>) grid(%e, %r, %j) {
}
// CHECK-LABEL: graph ragged
// CHECK: call rows [n] -> { C0[l, e, r, j] : 0 <= l < n and 0 <= e <= 7 and 0 <= r < n and 0 <= j <= 2 } ragged
// CHECK-NEXT: order [n] -> { C0[c0, c1, c2, c3] -> [0, c0, 0, c1, c2, c3] }
// CHECK-NEXT: wait guard [n] -> { C0[l, e, r, j] -> E0[] }
// CHECK-NEXT: wait done [n] -> { C0[l, e, r, j] -> E1[e] }
// CHECK-NEXT: read indptr [n] -> { C0[l, e, r, j] -> M1[o0] : e <= o0 <= 1 + e } after 1 of 2 waits
evt.graph @ragged(%y: memref<?xf32>, %indptr: memref<9xi32>) {
  %n = evt.symbol "n" (%y[0]) : memref<?xf32>
  %c3 = arith.constant 3 : index
  %c8 = arith.constant 8 : index
  %guard = evt.event() count(1) : !evt.event<>
  %done = evt.event(%c8) count(1) : !evt.event<?>
  evt.repeat %l to %n {
    evt.call @rows(%y) grid(ragged(%indptr by 5 bound %n after %guard : memref<9xi32>), %c3)
      wait(%done[(e, r, j) -> (e)]) : (memref<?xf32>)
  }
}

// Program order with repeats inside repeats; iterations may bound each other.
evt.device @point() grid() {
}
evt.device @line(%l: index) grid(%i) {
}
// CHECK-LABEL: graph nested
// CHECK: call point [n] -> { C0[] }
// CHECK-NEXT: order [n] -> { C0[] -> [0, 0, 0, 0, 0, 0] }
// CHECK-NEXT: call line [n] -> { C1[l, i] : l < n and 0 <= i <= l }
// CHECK-NEXT: order [n] -> { C1[c0, c1] -> [1, c0, 0, 0, 0, c1] }
// CHECK-NEXT: call line#2 [n] -> { C2[l, k, i] : l < n and 0 <= k < l and 0 <= i < n }
// CHECK-NEXT: order [n] -> { C2[c0, c1, c2] -> [1, c0, 1, c1, 0, c2] }
// CHECK-NEXT: call point#2 [n] -> { C3[l, k] : l < n and 0 <= k < l }
// CHECK-NEXT: order [n] -> { C3[c0, c1] -> [1, c0, 1, c1, 1, 0] }
// CHECK-NEXT: call line#3 [n] -> { C4[i] : 0 <= i < n }
// CHECK-NEXT: order [n] -> { C4[c0] -> [2, 0, 0, 0, 0, c0] }
evt.graph @nested(%n: index) {
  evt.call @point() grid() : ()
  evt.repeat %l to %n {
    %more = affine.apply affine_map<(d0) -> (d0 + 1)>(%l)
    evt.call @line(%l) grid(%more) : (index)
    evt.repeat %k to %l {
      evt.call @line(%k) grid(%n) : (index)
      evt.call @point() grid() : ()
    }
  }
  evt.call @line(%n) grid(%n) : (index)
}

// Waits are clipped to the event's shape; `*` is all of a dimension, also in a notify, which nothing clips.
// CHECK-LABEL: graph ranges
// CHECK: call line
// CHECK-NEXT: order
// CHECK-NEXT: wait done [n] -> { C0[i] -> E0[o0, o1] : -1 + i <= o0 <= 1 + i and o0 < n and 0 < o1 <= 4 and o1 < i }
// CHECK-NEXT: read t [n] -> { C0[i] -> M0[0] }
// CHECK-NEXT: notify done [n] -> { C0[i] -> E0[o0, o1] : false }
// CHECK-NEXT: notify done [n] -> { C0[i] -> E0[1 + i, o1] : 0 <= o1 <= 4 }
// CHECK-NEXT: notify done [n] -> { C0[i] -> E0[o0, 0] : 0 <= o0 < n } inexact
evt.graph @ranges(%n: index {evt.min = 1}, %t: memref<3xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %done = evt.event(%n, %c5) count(1) : !evt.event<?x?>
  evt.call @line(%n) grid(%i to %n) : (index) {
    %lo = affine.apply affine_map<(d0) -> (d0 - 1)>(%i)
    %hi = affine.apply affine_map<(d0) -> (d0 + 2)>(%i)
    evt.wait %done[%lo to %hi, %c1 to %i]
    %whole = arith.constant 1099511627776 : index
    // An empty range.
    evt.notify %done[%hi to %hi, %c0]
    %next = affine.apply affine_map<(d0) -> (d0 + 1)>(%i)
    evt.notify %done[%next, %c0 to %whole]
    %v = evt.read %t[%c0] : memref<3xi32>
    evt.notify %done[%v, %c0]
  }
}

// Counts: a value, the smallest of some expressions but not below 0, a product of symbols.
// CHECK-LABEL: graph counts
// CHECK: event value [n, m] -> { E0[] } count [n, m] -> { E0[] -> n }
// CHECK-NEXT: event last [n, m] -> { E1[i0] : 0 <= i0 < n } count [n, m] -> { E1[i0] -> 4 : 4i0 <= -4 + m; E1[i0] -> (m - 4 * i0) : -3 + m <= 4i0 <= m }
// CHECK-NEXT: event product [n, m] -> { E2[] } count [n, m] -> { E2[] -> 3 * n * m }
evt.graph @counts(%n: index, %m: index) {
  %c3 = arith.constant 3 : index
  %nm = arith.muli %n, %m : index
  %nm3 = arith.muli %nm, %c3 : index
  %value = evt.event() count(%n) : !evt.event<>
  %last = evt.event(%n) count((e)[s] -> (4, s - e * 4))(%m) : !evt.event<?>
  %product = evt.event() count(%nm3) : !evt.event<>
}

// A product of symbols where an affine expression is needed is a symbol of its own, about which only bounds are known.
// CHECK-LABEL: graph derived
// CHECK: symbol n in [1, 7]
// CHECK-NEXT: symbol m in [2, 5]
// CHECK-NEXT: symbol n_times_m in [0, 1152921504606846976]
// CHECK-NEXT: memory p [n, m, n_times_m] -> { M0[i0] : 0 <= i0 < n_times_m }
// CHECK-NEXT: call line [n, m, n_times_m] -> { C0[i] : 0 <= i < n_times_m }
evt.graph @derived(%n: index {evt.min = 1, evt.max = 7}, %m: index {evt.min = 2, evt.max = 5}) {
  %nm = arith.muli %n, %m : index
  %mn = arith.muli %m, %n : index
  %p = evt.alloc(%nm) : memref<?xf32>
  evt.call @line(%n) grid(%mn) : (index)
}
