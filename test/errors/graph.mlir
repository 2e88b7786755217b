// What a graph may hold, its arguments, symbols and buffers.
// RUN: %evt-opt %s -split-input-file -verify-diagnostics

// expected-error @below {{'evt.graph' op argument 0 must be a memref or an index, found 'f32'}}
evt.graph @g(%x: f32) {
}

// -----

// expected-error @below {{'evt.graph' op argument 1 must be dense and row-major, found 'memref<5x7xf32, strided<[1, 5]>>'}}
evt.graph @g(%n: index, %x: memref<5x7xf32, strided<[1, 5]>>) {
}

// -----

// expected-error @below {{'evt.graph' op argument 'x' has unknown attribute 'evt.frozen'}}
evt.graph @g(%x: memref<5xf32> {evt.frozen}) {
}

// -----

// A bound belongs to an index, not to a tensor.
// expected-error @below {{'evt.graph' op argument 'x' has unknown attribute 'evt.min'}}
evt.graph @g(%x: memref<5xf32> {evt.min = 1 : i64}) {
}

// -----

// expected-error @below {{'evt.graph' op argument 't' has an empty range [7, 3]}}
evt.graph @g(%t: index {evt.min = 7 : i64, evt.max = 3 : i64}) {
}

// -----

// expected-error @below {{'evt.graph' op argument 't' has an empty range [0, -1]}}
evt.graph @g(%t: index {evt.max = -1 : i64}) {
}

// -----

// expected-error @below {{'evt.device' op argument 0 must be a memref or an index, found 'tensor<3xf32>'}}
evt.device @d(%x: tensor<3xf32>) grid(%i) {
}

// -----

evt.graph @g(%x: memref<?x7xf32>) {
  // expected-error @below {{'evt.symbol' op 'n' is a size and must not be negative, found minimum -2}}
  %n = evt.symbol "n" (%x[0]) range(-2, 5) : memref<?x7xf32>
}

// -----

evt.graph @g(%x: memref<?x7xf32>) {
  // expected-error @below {{'evt.symbol' op 'n' has an empty range [9, 5]}}
  %n = evt.symbol "n" (%x[0]) range(9, 5) : memref<?x7xf32>
}

// -----

evt.graph @g(%x: memref<?x7xf32>) {
  // expected-error @below {{'evt.symbol' op 'n': dimension 2 is outside the rank of 'memref<?x7xf32>'}}
  %n = evt.symbol "n" (%x[2]) : memref<?x7xf32>
}

// -----

evt.graph @g(%x: memref<?x7xf32>) {
  // expected-error @below {{'evt.symbol' op 'n': dimension 1 of 'memref<?x7xf32>' is not dynamic}}
  %n = evt.symbol "n" (%x[0], %x[1]) : memref<?x7xf32>, memref<?x7xf32>
}

// -----

evt.graph @g(%n: index) {
  %p = evt.alloc(%n) : memref<?xf32>
  // expected-error @below {{'evt.symbol' op 'm' must name dimensions of arguments of the graph}}
  %m = evt.symbol "m" (%p[0]) : memref<?xf32>
}

// -----

evt.graph @g(%x: memref<?xf32>) {
  // expected-error @below {{'evt.symbol' op name must be letters, digits and '_', found 'n rows'}}
  %n = evt.symbol "n rows" (%x[0]) : memref<?xf32>
}

// -----

evt.graph @g(%x: memref<?x?xf32>) {
  %n = evt.symbol "n" (%x[0]) : memref<?x?xf32>
  // expected-error @below {{'evt.symbol' op 'n' is declared twice}}
  %m = evt.symbol "n" (%x[1]) : memref<?x?xf32>
}

// -----

evt.graph @g(%x: memref<?xf32>, %n: index) {
  // expected-error @below {{'evt.symbol' op 'n' is declared twice}}
  %m = evt.symbol "n" (%x[0]) : memref<?xf32>
}

// -----

evt.graph @g(%x: memref<?x?xf32>) {
  %n = evt.symbol "n" (%x[0]) : memref<?x?xf32>
  // expected-error @below {{'evt.symbol' op 'm': dimension 0 of 'x' is named twice}}
  %m = evt.symbol "m" (%x[1], %x[0]) : memref<?x?xf32>, memref<?x?xf32>
}

// -----

// The second dimension of x is called x_1 unless the program names it.
// expected-error @below {{'evt.graph' op 'x_1' names both a symbol and dimension 1 of 'x'}}
evt.graph @g(%x: memref<?x?xf32>) {
  %n = evt.symbol "x_1" (%x[0]) : memref<?x?xf32>
}

// -----

evt.graph @g(%n: index) {
  // expected-error @below {{'evt.alloc' op has 2 sizes but 'memref<?x3xf32>' has 1 dynamic dimensions}}
  %p = evt.alloc(%n, %n) : memref<?x3xf32>
}

// -----

evt.graph @g(%p: memref<3xf32>) {
  // expected-error @below {{'evt.alloc' op name 'p' is used twice}}
  %q = evt.alloc() {name = "p"} : memref<3xf32>
}

// -----

evt.graph @g(%n: index) {
  evt.repeat %l to %n {
    // expected-error @below {{'evt.alloc' op expects parent op 'evt.graph'}}
    %p = evt.alloc() : memref<3xf32>
  }
}

// -----

evt.graph @g(%n: index) {
  evt.repeat %l to %n {
    // expected-error @below {{'evt.event' op expects parent op 'evt.graph'}}
    %e = evt.event() count(1) : !evt.event<>
  }
}

// -----

evt.graph @g(%x: memref<3xi32>) {
  %c0 = arith.constant 0 : index
  // expected-error @below {{'evt.read' op is not allowed in a graph: calls, repeats, events, buffers, symbols and index arithmetic are}}
  %v = evt.read %x[%c0] : memref<3xi32>
}

// -----

evt.graph @g(%n: index) {
  evt.repeat %l to %n {
    // expected-error @below {{'arith.constant' op is not allowed in a graph: calls, repeats, events, buffers, symbols and index arithmetic are}}
    %f = arith.constant 1.5 : f32
  }
}

// -----

evt.graph @g(%x: memref<?xf32>, %i: index) {
  // expected-error @below {{'memref.dim' op needs a constant dimension of a ranked memref}}
  %n = memref.dim %x, %i : memref<?xf32>
}

// -----

evt.graph @g(%x: memref<?x3xf32>) {
  %c2 = arith.constant 2 : index
  // expected-error @below {{'memref.dim' op dimension 2 is outside the rank of 'memref<?x3xf32>'}}
  %n = memref.dim %x, %c2 : memref<?x3xf32>
}

// -----

// A quotient that truncates is another one below zero than what a launch computes.
evt.graph @g(%t: index {evt.min = -9, evt.max = 9}) {
  %c2 = arith.constant 2 : index
  // expected-error @below {{'arith.divsi' op is not allowed in a graph: index arithmetic is addi, subi, muli, floordivsi, ceildivsi, minsi, maxsi and affine maps there}}
  %q = arith.divsi %t, %c2 : index
}

// -----

// expected-error @below {{'evt.graph' op argument's name '0' must be letters, digits and '_', and begin with no digit}}
evt.graph @g(%0: memref<?xi32>) {
}

// -----

// expected-error @below {{'evt.graph' op argument's name 'class' is a word of C++, in which kernels are written}}
evt.graph @g(%class: index) {
}

// -----

evt.graph @g(%one: memref<i32>, %t: memref<4xi32>) {
  %c4 = arith.constant 4 : index
  %first = evt.event() count(1) : !evt.event<>
  %second = evt.event() count(%one after %first) : !evt.event<>, memref<i32>
  // expected-error @below {{'evt.event' op has the guard 'second', whose own count is in memory}}
  %e = evt.event(%c4) count(%t after %second) : !evt.event<?>, memref<4xi32>
}

// -----

// expected-error @below {{'evt.graph' op argument 'x' has 17 dimensions, required at most 16}}
evt.graph @g(%x: memref<1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1xf32>) {
}
