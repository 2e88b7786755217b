// Calls: grids, the region form of a protocol and its map shorthand, ragged grids.
// RUN: %evt-opt %s > %t.once && %evt-opt %t.once > %t.twice && diff %t.once %t.twice
// RUN: FileCheck %s < %t.twice

evt.device @none() grid() {
}
evt.device @one(%x: memref<7xf32>) grid(%i) {
}
evt.device @two() grid(%i, %j) {
}
evt.device @three() grid(%e, %r, %j) {
}

// CHECK-LABEL: evt.graph @plain
evt.graph @plain(%x: memref<7xf32>, %n: index) {
  // CHECK-NEXT: evt.call @none() grid() : ()
  evt.call @none() grid() : ()
  // CHECK-NEXT: evt.call @one(%x) grid(%n) : (memref<7xf32>)
  evt.call @one(%x) grid(%n) : (memref<7xf32>)
  // CHECK-NEXT: evt.call @two() grid(%n, %n) {note = 3 : i64} : ()
  evt.call @two() grid(%n, %n) {note = 3 : i64} : ()
}

// CHECK-LABEL: evt.graph @single_counter
evt.graph @single_counter(%n: index) {
  // CHECK-NEXT: %e = evt.event()
  %e = evt.event() count(1) : !evt.event<>
  // CHECK-NEXT: evt.call @none() grid() : () {
  // CHECK-NEXT: evt.notify %e[]
  // CHECK-NEXT: }
  evt.call @none() grid() notify(%e[() -> ()]) : ()
  // CHECK-NEXT: evt.call @two() grid(%i to %n, %j to %n) : () {
  // CHECK-NEXT: evt.wait %e[]
  // CHECK-NEXT: }
  evt.call @two() grid(%n, %n) wait(%e[(i, j) -> ()]) : ()
}

// The shorthand names coordinates; what it says is the region form.
// CHECK-LABEL: evt.graph @shorthand
evt.graph @shorthand(%x: memref<7xf32>, %n: index) {
  %a = evt.event(%n, %n) count(1) : !evt.event<?x?>
  %b = evt.event(%n) count(1) : !evt.event<?>
  // CHECK: evt.call @two() grid(%row to %n, %col to %n) : () {
  // CHECK-DAG: %[[AFTER:.*]] = affine.apply #{{.*}}(%row, %col)
  // CHECK-DAG: %[[C5:.*]] = arith.constant 5 : index
  // CHECK: evt.notify %a[%[[AFTER]], %[[C5]]]
  // CHECK-NEXT: evt.notify %b[%col]
  // CHECK-NEXT: }
  evt.call @two() grid(%n, %n) notify(%a[(row, col) -> (row + 1, 5)], %b[(row, col) -> (col)]) : ()
  // A range, and the whole dimension.
  // CHECK-NEXT: evt.call @one(%x) grid(%i to %n) : (memref<7xf32>) {
  // CHECK-DAG: %[[LO:.*]] = affine.apply #{{.*}}(%i)
  // CHECK-DAG: %[[HI:.*]] = affine.apply #{{.*}}(%i)
  // CHECK-DAG: %[[C0:.*]] = arith.constant 0 : index
  // CHECK-DAG: %[[WHOLE:.*]] = arith.constant 1099511627776 : index
  // CHECK: evt.wait %a[%[[LO]] to %[[HI]], %[[C0]] to %[[WHOLE]]]
  // CHECK-NEXT: }
  evt.call @one(%x) grid(%n) wait(%a[(i) -> (i - 1 to i + 2, *)]) : (memref<7xf32>)
}

// CHECK-LABEL: evt.graph @region
evt.graph @region(%x: memref<7xf32>, %t: memref<7x3xi32>, %n: index) {
  %c1 = arith.constant 1 : index
  %a = evt.event(%n) count(1) : !evt.event<?>
  // CHECK: evt.call @one(%x) grid(%task to %n) : (memref<7xf32>) {
  // CHECK-NEXT: evt.wait %a[%task]
  // CHECK-NEXT: %[[V:.*]] = evt.read %t[%task, %c1] : memref<7x3xi32>
  // CHECK-NEXT: evt.wait %a[%task to %[[V]]]
  // CHECK-NEXT: scf.for %[[K:.*]] = %task to %n step %c1 {
  // CHECK-NEXT: %[[E:.*]] = evt.read %t[%[[K]], %c1] : memref<7x3xi32>
  // CHECK-NEXT: evt.notify %a[%[[E]]]
  // CHECK-NEXT: }
  // CHECK-NEXT: }
  evt.call @one(%x) grid(%task to %n) : (memref<7xf32>) {
    evt.wait %a[%task]
    %v = evt.read %t[%task, %c1] : memref<7x3xi32>
    evt.wait %a[%task to %v]
    scf.for %k = %task to %n step %c1 {
      %e = evt.read %t[%k, %c1] : memref<7x3xi32>
      evt.notify %a[%e]
    }
  }
}

// CHECK-LABEL: evt.graph @ragged
evt.graph @ragged(%indptr: memref<9xi32> {evt.immutable}, %n: index) {
  // CHECK-NEXT: %guard = evt.event()
  %guard = evt.event() count(1) : !evt.event<>
  %done = evt.event(%n) count(1) : !evt.event<?>
  // CHECK: evt.call @three() grid(ragged(%indptr by 16 bound %n : memref<9xi32>), %n) : ()
  evt.call @three() grid(ragged(%indptr by 16 bound %n : memref<9xi32>), %n) : ()
  // CHECK-NEXT: evt.call @three() grid((%e, %r) in ragged(%indptr by 5 bound %n after %guard : memref<9xi32>), %j to %n) : () {
  // CHECK-NEXT: evt.notify %done[%e]
  // CHECK-NEXT: }
  evt.call @three() grid((%e, %r) in ragged(%indptr by 5 bound %n after %guard : memref<9xi32>), %j to %n) : () {
    evt.notify %done[%e]
  }
  // CHECK-NEXT: evt.call @three() grid((%g, %tile) in ragged(%indptr by 5 bound %n after %guard : memref<9xi32>), %k to %n) : () {
  // CHECK-NEXT: evt.wait %done[%g]
  // CHECK-NEXT: }
  evt.call @three() grid(ragged(%indptr by 5 bound %n after %guard : memref<9xi32>), %n)
    wait(%done[(g, tile, k) -> (g)]) : ()
}

// Two events that look alike are two events: CSE must not merge them, nor buffers.
// RUN: %evt-opt %s --cse --canonicalize | FileCheck %s --check-prefix=CSE
// CSE-LABEL: evt.graph @alike
// CSE: evt.alloc() {name = "p"}
// CSE: evt.alloc() {name = "q"}
// CSE: evt.event() count(1) {name = "a"}
// CSE: evt.event() count(1) {name = "b"}
// CSE: evt.notify
// CSE-NEXT: evt.notify
// CSE: evt.wait
// CSE-NEXT: evt.wait
evt.graph @alike(%n: index) {
  %p = evt.alloc() : memref<7xf32>
  %q = evt.alloc() : memref<7xf32>
  %a = evt.event() count(1) : !evt.event<>
  %b = evt.event() count(1) : !evt.event<>
  evt.call @none() grid() notify(%a[() -> ()], %b[() -> ()]) : ()
  evt.call @one(%p) grid(%n) wait(%a[(i) -> ()], %b[(i) -> ()]) : (memref<7xf32>)
  evt.call @one(%q) grid(%n) : (memref<7xf32>)
}
