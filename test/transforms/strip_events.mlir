// Events, waits, notifies and guards go; calls and what they compute stay.
// RUN: %evt-opt %s --evt-strip-events --canonicalize | FileCheck %s

evt.device @plan(%t: memref<5xi32>, %y: memref<?xf32>) grid(%i) {
  %c0 = arith.constant 0 : index
  %v = arith.constant dense<1> : tensor<5xi32>
  evt.store %v, %t[%c0] : tensor<5xi32> -> memref<5xi32>
}
evt.device @use(%l: index) grid(%e, %r) {
}

// CHECK-LABEL: evt.graph @strip(%y: memref<?xf32>) {
// CHECK-NEXT: %n = evt.symbol "n" (%y[0])
// CHECK-NEXT: %t = evt.alloc() {name = "t"} : memref<5xi32>
// CHECK-NEXT: evt.call @plan(%t, %y) grid(%n) : (memref<5xi32>, memref<?xf32>)
// CHECK-NEXT: evt.repeat %l to %n {
// CHECK-NEXT: evt.call @use(%l) grid(ragged(%t by 3 bound %n : memref<5xi32>)) : (index)
// CHECK-NEXT: }
// CHECK-NEXT: }
evt.graph @strip(%y: memref<?xf32>) {
  %n = evt.symbol "n" (%y[0]) : memref<?xf32>
  %c1 = arith.constant 1 : index
  %t = evt.alloc() : memref<5xi32>
  %planned = evt.event() count(%n) : !evt.event<>
  %ready = evt.event(%n) count(%t after %planned) : !evt.event<?>, memref<5xi32>
  evt.call @plan(%t, %y) grid(%i to %n) : (memref<5xi32>, memref<?xf32>) {
    evt.wait %ready[%i]
    evt.notify %planned[]
    %v = evt.read %t[%i] : memref<5xi32>
    scf.for %k = %i to %v step %c1 {
      evt.notify %ready[%k]
    }
  }
  evt.repeat %l to %n {
    evt.call @use(%l) grid(ragged(%t by 3 bound %n after %planned : memref<5xi32>))
      wait(%ready[(l, e, r) -> (l)]) : (index)
  }
}
