// Foreign device functions are proved from what they declare.
// RUN: %evt-opt %s --evt-verify -split-input-file -verify-diagnostics
// The last graph has no model, which is an error.
// RUN: not %evt-opt %s --mlir-disable-threading -split-input-file --evt-dump-task-graph -o /dev/null 2>&1 | FileCheck %s

// A box, clipped to the memory; rows that a table names, and the table itself; a loop of boxes.
evt.device @fill(%x: memref<?x5xf32>) grid(%i) foreign("fill.h", "fill") {
  %c0 = arith.constant 0 : index
  %row = affine.apply affine_map<(d0) -> (d0 * 3)>(%i)
  evt.writes %x[%row, %c0] sizes [3, 9] : memref<?x5xf32>
}
evt.device @pick(%x: memref<?x5xf32>, %rows: memref<?xi32>, %y: memref<?x5xf32>) grid(%i) foreign("pick.h", "pick") {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c5 = arith.constant 5 : index
  evt.reads %x[%rows[%i], %c0] sizes [2, 5] : memref<?x5xf32>, memref<?xi32>
  scf.for %k = %c0 to %c5 step %c2 {
    evt.writes %y[%i, %k] sizes [1, 1] : memref<?x5xf32>
  }
}
// CHECK-LABEL: graph declared
// CHECK: call fill [n] -> { C0[i] : i >= 0 and 3i < n }
// CHECK: write x [n] -> { C0[i] -> M0[o0, o1] : 3i <= o0 <= 2 + 3i and o0 < n and 0 <= o1 <= 4 }
// CHECK: call pick [n] -> { C1[i] : 0 <= i < n }
// CHECK: read rows [n] -> { C1[i] -> M1[o0] : i <= o0 <= 1 + i and o0 < n }
// CHECK: read x [n] -> { C1[i] -> M0[o0, o1] : 0 <= o0 < n and 0 <= o1 <= 4 } inexact
// CHECK: write y [n] -> { C1[i] -> M2[i, o1] : (o1) mod 2 = 0 and 0 <= o1 <= 4 }
// expected-remark @below {{'declared' is proved}}
evt.graph @declared(%x: memref<?x5xf32>, %rows: memref<?xi32> {evt.immutable}, %y: memref<?x5xf32>) {
  %n = evt.symbol "n" (%x[0], %rows[0], %y[0]) : memref<?x5xf32>, memref<?xi32>, memref<?x5xf32>
  %c3 = arith.constant 3 : index
  %blocks = arith.ceildivsi %n, %c3 : index
  %filled = evt.event() count(%blocks) : !evt.event<>
  evt.call @fill(%x) grid(%blocks) notify(%filled[(i) -> ()]) : (memref<?x5xf32>)
  evt.call @pick(%x, %rows, %y) grid(%n) wait(%filled[(i) -> ()]) : (memref<?x5xf32>, memref<?xi32>, memref<?x5xf32>)
}

// -----

// The second function reads an element more than its wait orders.
evt.device @fill(%x: memref<?xf32>) grid(%i) foreign("fill.h", "fill") {
  // expected-note @below {{fill(i=1) writes x[1]}}
  evt.writes %x[%i] sizes [1] : memref<?xf32>
}
evt.device @use(%x: memref<?xf32>, %y: memref<?xf32>) grid(%i) foreign("use.h", "use") {
  // expected-error @below {{no event orders use(i=0) after fill(i=1), which writes x[1]}}
  // expected-note @below {{for example with n = 2}}
  // expected-note @below {{use(i=0) reads x[1]}}
  evt.reads %x[%i] sizes [2] : memref<?xf32>
  evt.writes %y[%i] sizes [1] : memref<?xf32>
}
evt.graph @late(%x: memref<?xf32>, %y: memref<?xf32>) {
  %n = evt.symbol "n" (%x[0], %y[0]) : memref<?xf32>, memref<?xf32>
  %filled = evt.event(%n) count(1) : !evt.event<?>
  evt.call @fill(%x) grid(%n) notify(%filled[(i) -> (i)]) : (memref<?xf32>)
  evt.call @use(%x, %y) grid(%n) wait(%filled[(i) -> (i)]) : (memref<?xf32>, memref<?xf32>)
}

// -----

evt.device @fill(%x: memref<?xf32>) grid(%i) foreign("fill.h", "fill") {
  // expected-note @below {{it is written here}}
  evt.writes %x[%i] sizes [1] : memref<?xf32>
}
evt.graph @fixed(%x: memref<?xf32> {evt.immutable}, %n: index) {
  // expected-error @below {{'fill' writes 'x', which is immutable}}
  evt.call @fill(%x) grid(%n) : (memref<?xf32>)
}
