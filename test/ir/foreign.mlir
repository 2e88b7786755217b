// Device functions written by hand, and what they declare.
// RUN: %evt-opt %s > %t.once && %evt-opt %t.once > %t.twice && diff %t.once %t.twice
// RUN: FileCheck %s < %t.twice
// RUN: %evt-opt %s --mlir-print-op-generic | %evt-opt > %t.generic && diff %t.once %t.generic

// CHECK-LABEL: evt.device @gather(%x: memref<?x5x7xf32>, %rows: memref<?xi32>, %y: memref<?xbf16>, %n: index) grid(%i, %j) foreign("tiles/gather.h", "tiles::gather") shared(4096) {
evt.device @gather(%x: memref<?x5x7xf32>, %rows: memref<?xi32>, %y: memref<?xbf16>, %n: index) grid(%i, %j)
    foreign("tiles/gather.h", "tiles::gather") shared(4096) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK: evt.reads %x[%i, %j, %c0] sizes [3, 1, 7] : memref<?x5x7xf32>
  evt.reads %x[%i, %j, %c0] sizes [3, 1, 7] : memref<?x5x7xf32>
  // CHECK-NEXT: evt.reads %x[%rows[%i], %j, %c0] sizes [3, 2, 7] : memref<?x5x7xf32>, memref<?xi32>
  evt.reads %x[%rows[%i], %j, %c0] sizes [3, 2, 7] : memref<?x5x7xf32>, memref<?xi32>
  // CHECK-NEXT: evt.writes %x[%i, %rows[%j], %c0] sizes [1, 3, 7] : memref<?x5x7xf32>, memref<?xi32>
  evt.writes %x[%i, %rows[%j], %c0] sizes [1, 3, 7] : memref<?x5x7xf32>, memref<?xi32>
  // A table's entry, the live part of a box and a loop are index arithmetic, too.
  // CHECK-NEXT: %[[R:.*]] = evt.read %rows[%i] : memref<?xi32>
  %r = evt.read %rows[%i] : memref<?xi32>
  // CHECK-NEXT: %[[V:.*]] = evt.valid %y[%j] dim 0 size 3 : memref<?xbf16>
  %v = evt.valid %y[%j] dim 0 size 3 : memref<?xbf16>
  // CHECK-NEXT: scf.for %[[K:.*]] = %c0 to %[[V]] step %c1 {
  scf.for %k = %c0 to %v step %c1 {
    // CHECK-NEXT: %[[A:.*]] = arith.addi %[[R]], %[[K]] : index
    %a = arith.addi %r, %k : index
    // CHECK-NEXT: evt.writes %y[%[[A]]] sizes [1] : memref<?xbf16>
    evt.writes %y[%a] sizes [1] : memref<?xbf16>
  }
}

// CHECK-LABEL: evt.device @count(%total: memref<i32>) grid() foreign("count.h", "count") {
evt.device @count(%total: memref<i32>) grid() foreign("count.h", "count") shared(0) {
  // CHECK-NEXT: evt.reads %total[] : memref<i32>
  evt.reads %total[] : memref<i32>
  // CHECK-NEXT: evt.writes %total[] : memref<i32>
  evt.writes %total[] : memref<i32>
}
