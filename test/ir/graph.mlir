// Graphs, symbols, buffers, events and repeats survive printing and parsing, and print the same the second time.
// RUN: %evt-opt %s > %t.once && %evt-opt %t.once > %t.twice && diff %t.once %t.twice
// RUN: FileCheck %s < %t.twice

// CHECK-LABEL: evt.graph @empty() {
// CHECK-NEXT: }
evt.graph @empty() {
}

// CHECK-LABEL: evt.graph @arguments(%x: memref<?x7xf32> {evt.immutable}, %y: memref<3xbf16>,
// CHECK-SAME: %t: index {evt.max = 64 : i64, evt.min = 1 : i64}, %s: index) {
evt.graph @arguments(%x: memref<?x7xf32> {evt.immutable}, %y: memref<3xbf16>, %t: index {evt.min = 1, evt.max = 64},
                     %s: index) {
}

// CHECK-LABEL: evt.graph @symbols
evt.graph @symbols(%x: memref<?x?xf32>, %y: memref<?xf32>) {
  // A range that is not written is the default one.
  // CHECK-NEXT: %n = evt.symbol "n" (%x[0], %y[0]) range(0, 1073741824) : memref<?x?xf32>, memref<?xf32>
  %n = evt.symbol "n" (%x[0], %y[0]) : memref<?x?xf32>, memref<?xf32>
  // CHECK-NEXT: %m = evt.symbol "m" (%x[1]) range(3, 4099) : memref<?x?xf32>
  %m = evt.symbol "m" (%x[1]) range(3, 4099) : memref<?x?xf32>
  // CHECK-NEXT: %p = evt.alloc(%n, %m) {name = "p"} : memref<?x5x?xi32>
  %p = evt.alloc(%n, %m) : memref<?x5x?xi32>
  // CHECK-NEXT: %q = evt.alloc() {name = "q"} : memref<11xi1>
  %q = evt.alloc() : memref<11xi1>
}

// CHECK-LABEL: evt.graph @events
evt.graph @events(%n: index, %m: index, %tokens: memref<13xi32>, %grid: memref<13x3xi32>) {
  // CHECK-NEXT: %single = evt.event() count(1) {name = "single"} : !evt.event<>
  %single = evt.event() count(1) : !evt.event<>
  // CHECK-NEXT: %constant = evt.event(%n, %m) count(4) {name = "constant"} : !evt.event<?x?>
  %constant = evt.event(%n, %m) count(4) : !evt.event<?x?>
  // CHECK-NEXT: %value = evt.event(%n) count(%m) {name = "value"} : !evt.event<?>
  %value = evt.event(%n) count(%m) : !evt.event<?>
  // CHECK-NEXT: %last = evt.event(%n) count((d0)[s0] -> (4, d0 * -4 + s0))(%m) {name = "last"} : !evt.event<?>
  %last = evt.event(%n) count((e)[s] -> (4, s - e * 4))(%m) : !evt.event<?>
  // CHECK-NEXT: %unused = evt.event(%n) count((d0)[s0] -> (3))(%m) {name = "unused"} : !evt.event<?>
  %unused = evt.event(%n) count((e)[s] -> (3))(%m) : !evt.event<?>
  // CHECK-NEXT: %scaled = evt.event(%n) count((d0)[s0] -> (s0 * 3))(%m) {name = "scaled"} : !evt.event<?>
  %scaled = evt.event(%n) count((e)[s] -> (s * 3))(%m) : !evt.event<?>
  // CHECK-NEXT: %table = evt.event(%n) count(%tokens after %single) {name = "table"} : !evt.event<?>, memref<13xi32>
  %table = evt.event(%n) count(%tokens after %single) : !evt.event<?>, memref<13xi32>
  // CHECK-NEXT: %times = evt.event(%n, %m) count(%grid * 3 after %single) {name = "times"} : !evt.event<?x?>, memref<13x3xi32>
  %times = evt.event(%n, %m) count(%grid * 3 after %single) : !evt.event<?x?>, memref<13x3xi32>
  // CHECK-NEXT: %free = evt.event(%n) count(%tokens * 1) {name = "free"} : !evt.event<?>, memref<13xi32>
  %free = evt.event(%n) count(%tokens * 1) : !evt.event<?>, memref<13xi32>
}

evt.device @work(%l: index) grid(%i) {
}

// CHECK-LABEL: evt.graph @repeats
evt.graph @repeats(%layers: index, %n: index) {
  // CHECK: %done = evt.event(%layers, %n)
  %done = evt.event(%layers, %n) count(1) : !evt.event<?x?>
  // CHECK-NEXT: evt.repeat %l to %layers {
  evt.repeat %l to %layers {
    // CHECK-NEXT: %[[INNER:.*]] = affine.apply
    %inner = affine.apply affine_map<(d0) -> (d0 + 2)>(%l)
    // CHECK-NEXT: evt.repeat %k to %[[INNER]] attributes {note = "inner"} {
    evt.repeat %k to %inner attributes {note = "inner"} {
      // CHECK-NEXT: evt.call @work(%k) grid(%n) : (index)
      evt.call @work(%k) grid(%n) : (index)
    }
    // CHECK: evt.call @work(%l) grid(%i to %n) : (index) {
    // CHECK-NEXT: %[[BEFORE:.*]] = affine.apply #{{.*}}(%l, %i)
    // CHECK-NEXT: evt.wait %done[%[[BEFORE]], %i]
    // CHECK-NEXT: evt.notify %done[%l, %i]
    // CHECK-NEXT: }
    evt.call @work(%l) grid(%n) wait(%done[(l, i) -> (l - 1, i)]) notify(%done[(l, i) -> (l, i)]) : (index)
  }
}
