// Event tensors: types, extents and counts.
// RUN: %evt-opt %s -split-input-file -verify-diagnostics

evt.graph @g(%n: index) {
  // expected-error @below {{extents of an event type are written '?', found 4}}
  %e = evt.event(%n) count(1) : !evt.event<4>
}

// -----

evt.graph @g(%n: index) {
  // expected-error @below {{'evt.event' op has 1 extents but type '!evt.event<?x?>'}}
  %e = evt.event(%n) count(1) : !evt.event<?x?>
}

// -----

evt.graph @g(%n: index) {
  // expected-error @below {{'evt.event' op count takes 2 coordinates but an element has 1}}
  %e = evt.event(%n) count((a, b) -> (3)) : !evt.event<?>
}

// -----

evt.graph @g(%n: index) {
  // expected-error @below {{'evt.event' op count takes 1 index values but is given 2}}
  %e = evt.event(%n) count((a)[s] -> (s))(%n, %n) : !evt.event<?>
}

// -----

evt.graph @g(%n: index) {
  // expected-error @below {{'evt.event' op count needs at least one expression}}
  %e = evt.event(%n) count((a) -> ()) : !evt.event<?>
}

// -----

evt.graph @g(%n: index) {
  // expected-error @below {{'evt.event' op count must not be negative, found -3}}
  %e = evt.event(%n) count(-3) : !evt.event<?>
}

// -----

evt.graph @g(%n: index, %t: memref<3x5xi32>) {
  %guard = evt.event() count(1) : !evt.event<>
  // expected-error @below {{'evt.event' op count table must be a memref of i32 of rank 1, found 'memref<3x5xi32>'}}
  %e = evt.event(%n) count(%t after %guard) : !evt.event<?>, memref<3x5xi32>
}

// -----

evt.graph @g(%n: index, %t: memref<5xi64>) {
  // expected-error @below {{'evt.event' op count table must be a memref of i32 of rank 1, found 'memref<5xi64>'}}
  %e = evt.event(%n) count(%t * 2) : !evt.event<?>, memref<5xi64>
}

// -----

evt.graph @g(%n: index, %t: memref<5xi32>) {
  // expected-error @below {{'evt.event' op count factor must be positive, found 0}}
  %e = evt.event(%n) count(%t * 0) : !evt.event<?>, memref<5xi32>
}

// -----

evt.graph @g(%n: index) {
  %a = evt.event(%n) count(1) : !evt.event<?>
  // expected-error @below {{'evt.event' op name 'a' is used twice}}
  %b = evt.event(%n) count(1) {name = "a"} : !evt.event<?>
}
