// Graphs whose tasks one schedule or another could lose (test/tool/schedules.test).
evt.device @copy(%a: memref<?xi32>, %y: memref<?xi32>) grid(%i) {
  %t = evt.load %a[%i] : memref<?xi32> -> tensor<1xi32>
  evt.store %t, %y[%i] : tensor<1xi32> -> memref<?xi32>
}
evt.device @copy4(%a: memref<4xi32>, %y: memref<4xi32>) grid(%i) {
  %t = evt.load %a[%i] : memref<4xi32> -> tensor<1xi32>
  evt.store %t, %y[%i] : tensor<1xi32> -> memref<4xi32>
}
evt.device @table(%a: memref<3xi32>, %y: memref<3xi32>) grid(%i) {
  %c0 = arith.constant 0 : index
  %t = evt.load %a[%c0] : memref<3xi32> -> tensor<3xi32>
  evt.store %t, %y[%c0] : tensor<3xi32> -> memref<3xi32>
}
evt.device @work(%y: memref<2x8xi32>) grid(%e, %r) {
  %one = arith.constant dense<1> : tensor<1x1xi32>
  evt.store %one, %y[%e, %r] : tensor<1x1xi32> -> memref<2x8xi32>
}
evt.device @layer(%y: memref<4x2x8xi32>, %l: index) grid(%e, %r) {
  %one = arith.constant dense<1> : tensor<1x1x1xi32>
  evt.store %one, %y[%l, %e, %r] : tensor<1x1x1xi32> -> memref<4x2x8xi32>
}
evt.device @one(%x: memref<4xi32>, %y: memref<4xi32>) grid() {
  %c0 = arith.constant 0 : index
  %t = evt.load %x[%c0] : memref<4xi32> -> tensor<4xi32>
  evt.store %t, %y[%c0] : tensor<4xi32> -> memref<4xi32>
}

// The guard of the table may have a count of 0, which nobody completes.
evt.graph @nobody(%s: memref<3xi32> {evt.immutable}, %t: memref<3xi32>, %y: memref<2x8xi32>, %b: index {evt.min = 0, evt.max = 1}) {
  %c16 = arith.constant 16 : index
  %g = evt.event() count(%b) : !evt.event<>
  evt.call @table(%s, %t) grid(%b) notify(%g[(i) -> ()]) : (memref<3xi32>, memref<3xi32>)
  evt.call @work(%y) grid(ragged(%t by 1 bound %c16 after %g : memref<3xi32>)) : (memref<2x8xi32>)
}

// With b = 0 the ragged call has no tasks, and its guard is completed by a call behind it.
evt.graph @empty(%s: memref<3xi32> {evt.immutable}, %y: memref<2x8xi32>, %b: index {evt.min = 0, evt.max = 1}) {
  %off = affine.apply affine_map<()[b] -> (1 - b)>()[%b]
  %bound = affine.apply affine_map<()[b] -> (b * 16)>()[%b]
  %t = evt.alloc() : memref<3xi32>
  %u = evt.alloc() : memref<3xi32>
  %g = evt.event() count(1) : !evt.event<>
  evt.call @table(%s, %t) grid(%b) notify(%g[(i) -> ()]) : (memref<3xi32>, memref<3xi32>)
  evt.call @work(%y) grid(ragged(%t by 1 bound %bound after %g : memref<3xi32>)) : (memref<2x8xi32>)
  evt.call @table(%s, %u) grid(%off) notify(%g[(i) -> ()]) : (memref<3xi32>, memref<3xi32>)
}

evt.graph @repeated(%t: memref<3xi32> {evt.immutable}, %y: memref<4x2x8xi32>) {
  %c16 = arith.constant 16 : index
  %c4 = arith.constant 4 : index
  evt.repeat %l to %c4 {
    evt.call @layer(%y, %l) grid(ragged(%t by 1 bound %c16 : memref<3xi32>)) : (memref<4x2x8xi32>, index)
  }
}

// Counts are written by a task, and nothing but the waits of readers orders that.
evt.graph @counts(%s: memref<?xi32> {evt.immutable}, %y: memref<?xi32>, %z: memref<?xi32>) {
  %n = evt.symbol "n" (%s[0], %y[0], %z[0]) range(1, 1000) : memref<?xi32>, memref<?xi32>, memref<?xi32>
  %cnt = evt.alloc(%n) : memref<?xi32>
  %g = evt.event() count(%n) : !evt.event<>
  %e = evt.event(%n) count(%cnt * 1) : !evt.event<?>, memref<?xi32>
  evt.call @copy(%s, %cnt) grid(%n) notify(%g[(i) -> ()]) : (memref<?xi32>, memref<?xi32>)
  evt.call @copy(%s, %y) grid(%n) notify(%e[(i) -> (i)]) : (memref<?xi32>, memref<?xi32>)
  evt.call @copy(%y, %z) grid(%n) wait(%g[(i) -> ()], %e[(i) -> (i)]) : (memref<?xi32>, memref<?xi32>)
}

evt.graph @product(%s: memref<?xi32> {evt.immutable}, %y: memref<?xi32>, %z: memref<?xi32>, %a: index {evt.min = 0, evt.max = 9}, %b: index {evt.min = 0, evt.max = 9}) {
  %ab = arith.muli %a, %b : index
  %e = evt.event() count(%ab) : !evt.event<>
  evt.call @copy(%s, %y) grid(%ab) notify(%e[(i) -> ()]) : (memref<?xi32>, memref<?xi32>)
  evt.call @copy(%y, %z) grid(%ab) wait(%e[(i) -> ()]) : (memref<?xi32>, memref<?xi32>)
}

// A symbol with a name that emitted code has for an element's coordinate.
evt.graph @named(%s: memref<?xi32> {evt.immutable}, %y: memref<?xi32>) {
  %n = evt.symbol "e0" (%s[0], %y[0]) range(0, 1000) : memref<?xi32>, memref<?xi32>
  %b = evt.alloc(%n) : memref<?xi32>
  %e = evt.event(%n) count(1) : !evt.event<?>
  evt.call @copy(%s, %b) grid(%n) notify(%e[(i) -> (i)]) : (memref<?xi32>, memref<?xi32>)
  evt.call @copy(%b, %y) grid(%n) wait(%e[(i) -> (i)]) : (memref<?xi32>, memref<?xi32>)
}

evt.graph @whole(%s: memref<4xi32> {evt.immutable}, %y: memref<4xi32>) {
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %b = evt.alloc() : memref<4xi32>
  %e = evt.event(%c3) count(1) : !evt.event<?>
  evt.call @copy4(%s, %b) grid(%c1) notify(%e[(i) -> (*)]) : (memref<4xi32>, memref<4xi32>)
  evt.call @copy4(%b, %y) grid(%c1) wait(%e[(i) -> (*)]) : (memref<4xi32>, memref<4xi32>)
}

// Counts in memory below 0 are as good as 0.
evt.graph @negative(%s: memref<4xi32> {evt.immutable}, %y: memref<4xi32>) {
  %c4 = arith.constant 4 : index
  %t = evt.alloc() : memref<4xi32>
  %g = evt.event() count(4) : !evt.event<>
  %e = evt.event(%c4) count(%t after %g) : !evt.event<?>, memref<4xi32>
  evt.call @copy4(%s, %t) grid(%c4) notify(%g[(i) -> ()]) : (memref<4xi32>, memref<4xi32>)
  evt.call @copy4(%s, %y) grid(%c4) wait(%e[(i) -> (i)]) : (memref<4xi32>, memref<4xi32>)
}

// One element is completed by @copy4, whose block could go on with @one: but it guards counts, too.
evt.graph @guarding(%x: memref<4xi32> {evt.immutable}, %y: memref<4xi32>, %z: memref<4xi32>, %q: memref<4xi32>) {
  %c4 = arith.constant 4 : index
  %t = evt.alloc() : memref<4xi32>
  %e = evt.event() count(4) : !evt.event<>
  %d = evt.event() count(1) : !evt.event<>
  %f = evt.event(%c4) count(%t after %e) : !evt.event<?>, memref<4xi32>
  evt.call @copy4(%x, %t) grid(%c4) notify(%e[(j) -> ()]) : (memref<4xi32>, memref<4xi32>)
  evt.call @one(%t, %y) grid() wait(%e[() -> ()]) notify(%d[() -> ()]) : (memref<4xi32>, memref<4xi32>)
  evt.call @copy4(%x, %z) grid(%c4) notify(%f[(j) -> (j)]) : (memref<4xi32>, memref<4xi32>)
  evt.call @copy4(%z, %q) grid(%c4) wait(%f[(j) -> (j)]) : (memref<4xi32>, memref<4xi32>)
}

// All elements but the first have a count of 0: nobody completes them.
evt.graph @least(%x: memref<?xi32> {evt.immutable}, %y: memref<?xi32>, %z: memref<?xi32>, %p: memref<4xi32>, %k: index {evt.min = 1, evt.max = 4}) {
  %n = evt.symbol "n" (%x[0], %y[0], %z[0]) range(1, 100) : memref<?xi32>, memref<?xi32>, memref<?xi32>
  %s = evt.alloc() : memref<4xi32>
  %done = evt.event(%n) count((e)[s] -> (s, 4 - 4 * e))(%k) : !evt.event<?>
  %used = evt.event(%n) count(1) : !evt.event<?>
  evt.call @copy4(%s, %p) grid(%k) notify(%done[(j) -> (0)]) : (memref<4xi32>, memref<4xi32>)
  evt.call @copy(%x, %y) grid(%n) wait(%done[(i) -> (i)]) notify(%used[(i) -> (i)]) : (memref<?xi32>, memref<?xi32>)
  evt.call @copy(%y, %z) grid(%n) wait(%used[(i) -> (i)]) : (memref<?xi32>, memref<?xi32>)
}

// Elements with a count of 0 complete when %g2 does, maybe before the table of the ragged grid is there.
evt.device @copy5(%a: memref<5xi32>, %y: memref<5xi32>) grid(%i) {
  %t = evt.load %a[%i] : memref<5xi32> -> tensor<5xi32>
  evt.store %t, %y[%i] : tensor<5xi32> -> memref<5xi32>
}
evt.device @rows(%y: memref<4x16xi32>) grid(%e, %r) {
  %one = arith.constant dense<1> : tensor<1x1xi32>
  evt.store %one, %y[%e, %r] : tensor<1x1xi32> -> memref<4x16xi32>
}
evt.graph @late(%s: memref<5xi32> {evt.immutable}, %zero: memref<4xi32> {evt.immutable}, %y: memref<4x16xi32>) {
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %t = evt.alloc() : memref<5xi32>
  %counts = evt.alloc() : memref<4xi32>
  %g1 = evt.event() count(1) : !evt.event<>
  %g2 = evt.event() count(4) : !evt.event<>
  %f = evt.event(%c4) count(%counts after %g2) : !evt.event<?>, memref<4xi32>
  evt.call @copy5(%s, %t) grid(%c1) notify(%g1[(i) -> ()]) : (memref<5xi32>, memref<5xi32>)
  evt.call @copy4(%zero, %counts) grid(%c4) notify(%g2[(i) -> ()]) : (memref<4xi32>, memref<4xi32>)
  evt.call @rows(%y) grid(ragged(%t by 1 bound %c16 after %g1 : memref<5xi32>)) wait(%f[(e, r) -> (e)]) : (memref<4x16xi32>)
}

// Two extents below 0 are no tasks.
evt.device @mark(%y: memref<16xi32>) grid(%i, %j) {
  %c0 = arith.constant 0 : index
  %one = arith.constant dense<1> : tensor<1xi32>
  evt.store %one, %y[%c0] : tensor<1xi32> -> memref<16xi32>
}
evt.graph @below(%y: memref<16xi32>, %a: index {evt.min = -5, evt.max = 1}, %b: index {evt.min = -5, evt.max = 1}) {
  evt.call @mark(%y) grid(%a, %b) : (memref<16xi32>)
}
