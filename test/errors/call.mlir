// Calls, their grids and protocols.
// RUN: %evt-opt %s -split-input-file -verify-diagnostics

evt.graph @g(%x: memref<7xf32>, %n: index) {
  // expected-error @below {{'evt.call' op calls 'missing', which is not a device function}}
  evt.call @missing(%x) grid(%n) : (memref<7xf32>)
}

// -----

evt.graph @other() {
}
evt.graph @g(%n: index) {
  // expected-error @below {{'evt.call' op calls 'other', which is not a device function}}
  evt.call @other() grid(%n) : ()
}

// -----

evt.device @d(%x: memref<7xf32>) grid(%i) {
}
evt.graph @g(%x: memref<7xf32>, %n: index) {
  // expected-error @below {{'evt.call' op grid has 2 coordinates but 'd' takes 1}}
  evt.call @d(%x) grid(%n, %n) : (memref<7xf32>)
}

// -----

evt.device @d(%x: memref<7xf32>) grid(%i) {
}
evt.graph @g(%n: index) {
  // expected-error @below {{'evt.call' op passes 0 arguments but 'd' takes 1}}
  evt.call @d() grid(%n) : ()
}

// -----

evt.device @d(%l: index, %x: memref<7xf32>) grid(%i) {
}
evt.graph @g(%x: memref<?xf32>, %n: index) {
  // expected-error @below {{'evt.call' op argument 1 of 'd' has type 'memref<?xf32>' but must be 'memref<7xf32>'}}
  evt.call @d(%n, %x) grid(%n) : (index, memref<?xf32>)
}

// -----

evt.device @d() grid(%i) {
}
evt.graph @g(%n: index) {
  evt.repeat %l to %n {
    // expected-error @below {{names 1 coordinates but the grid has 2}}
    evt.call @d() grid(%i to %n, %n) : ()
  }
}

// -----

evt.device @d() grid(%i, %j) {
}
evt.graph @g(%n: index) {
  %e = evt.event(%n) count(1) : !evt.event<?>
  // expected-error @below {{map takes 1 coordinates but a task has 2}}
  evt.call @d() grid(%n, %n) notify(%e[(i) -> (i)]) : ()
}

// -----

evt.device @d() grid(%i) {
}
evt.graph @g(%n: index) {
  %e = evt.event(%n) count(1) : !evt.event<?>
  // expected-error @below {{use of undeclared SSA value name}}
  evt.call @d() grid(%n) notify(%e[(layer, i) -> (layer)]) : ()
}

// -----

evt.device @d() grid(%n, %e, %r) {
}
evt.graph @g(%t: memref<9xi32>, %n: index) {
  // expected-error @below {{only the first entry of a grid can be ragged}}
  evt.call @d() grid(%n, ragged(%t by 16 bound %n : memref<9xi32>)) : ()
}

// -----

evt.device @d() grid(%n, %e, %r) {
}
evt.graph @g(%t: memref<9xi32>, %n: index) {
  // expected-error @below {{only the first entry of a grid can be ragged}}
  evt.call @d() grid(%i to %n, (%a, %b) in ragged(%t by 16 bound %n : memref<9xi32>)) : () {
  }
}

// -----

evt.device @d() grid(%e, %r) {
}
evt.graph @g(%t: memref<?xi32>, %n: index) {
  // expected-error @below {{'evt.call' op ragged table must be a memref of i32 of static size groups + 1, found 'memref<?xi32>'}}
  evt.call @d() grid(ragged(%t by 16 bound %n : memref<?xi32>)) : ()
}

// -----

evt.device @d() grid(%e, %r) {
}
evt.graph @g(%t: memref<9xi32>, %n: index) {
  // expected-error @below {{'evt.call' op rows per ragged tile must be positive, found -4}}
  evt.call @d() grid(ragged(%t by -4 bound %n : memref<9xi32>)) : ()
}

// -----

evt.device @d() grid(%i) {
}
%n = arith.constant 3 : index
// expected-error @below {{'evt.call' op expects parent op to be one of 'evt.graph, evt.repeat'}}
evt.call @d() grid(%n) : ()

// -----

%n = arith.constant 3 : index
// expected-error @below {{'evt.repeat' op expects parent op to be one of 'evt.graph, evt.repeat'}}
evt.repeat %l to %n {
}

// -----

evt.device @d() grid(%i) {
}
evt.graph @g(%n: index) {
  %e = evt.event(%n) count(1) : !evt.event<?>
  evt.call @d() grid(%i to %n) : () {
    evt.notify %e[%i]
    // expected-error @below {{'evt.wait' op comes after a notify: waits come first}}
    evt.wait %e[%i]
  }
}

// -----

evt.device @d() grid(%i) {
}
evt.graph @g(%n: index) {
  evt.call @d() grid(%i to %n) : () {
    // expected-error @below {{'arith.cmpi' op is not allowed in a protocol: waits, notifies, evt.read, index arithmetic and scf.for are}}
    %c = arith.cmpi slt, %i, %n : index
  }
}

// -----

evt.device @d() grid(%i) {
}
evt.graph @g(%n: index) {
  %c1 = arith.constant 1 : index
  evt.call @d() grid(%i to %n) : () {
    // expected-error @below {{'scf.for' op is not allowed in a protocol: waits, notifies, evt.read, index arithmetic and scf.for are}}
    %s = scf.for %k = %i to %n step %c1 iter_args(%a = %i) -> (index) {
      scf.yield %a : index
    }
  }
}

// -----

evt.device @d() grid(%i) {
}
evt.graph @g(%n: index) {
  %c1 = arith.constant 1 : index
  %e = evt.event(%n) count(1) : !evt.event<?>
  evt.call @d() grid(%i to %n) : () {
    scf.for %k = %i to %n step %c1 {
      // expected-error @below {{'evt.wait' op expects parent op 'evt.call'}}
      evt.wait %e[%k]
    }
  }
}

// -----

evt.graph @g(%n: index) {
  %e = evt.event(%n) count(1) : !evt.event<?>
  // expected-error @below {{'evt.notify' op must stand in the protocol of a call}}
  evt.notify %e[%n]
}

// -----

evt.device @d() grid(%i) {
}
evt.graph @g(%n: index) {
  // expected-note @below {{prior use here}}
  %e = evt.event(%n) count(1) : !evt.event<?>
  evt.call @d() grid(%i to %n) : () {
    // expected-error @below {{use of value '%e' expects different type than prior uses: '!evt.event<?x?>' vs '!evt.event<?>'}}
    evt.wait %e[%i, %i]
  }
}

// -----

evt.device @d() grid(%i) {
}
evt.graph @g(%t: memref<7xf32>, %n: index) {
  evt.call @d() grid(%i to %n) : () {
    // expected-error @below {{'evt.read' op reads i32 or i64, found 'memref<7xf32>'}}
    %v = evt.read %t[%i] : memref<7xf32>
  }
}

// -----

evt.device @d() grid(%i) {
}
evt.graph @g(%t: memref<7x3xi64>, %n: index) {
  evt.call @d() grid(%i to %n) : () {
    // expected-error @below {{'evt.read' op has 1 indices but the table has rank 2}}
    %v = evt.read %t[%i] : memref<7x3xi64>
  }
}

// -----

evt.device @d() grid(%i) {
}
evt.graph @g(%n: index) {
  evt.call @d() grid(%i to %n) : () {
    // expected-error @below {{'arith.shli' op is not allowed in a protocol: index arithmetic is addi, subi, muli, floordivsi, ceildivsi, divsi, divui, remsi, remui, minsi, maxsi and affine maps there}}
    %a = arith.shli %i, %i : index
  }
}

// -----

evt.device @d() grid(%i) {
}
evt.graph @g(%n: index) {
  %e = evt.event(%n) count(1) : !evt.event<?>
  evt.call @d() grid(%i to %n) : () {
    %c0 = arith.constant 0 : index
    // expected-error @below {{'scf.for' op has a step of 0, required at least 1}}
    scf.for %j = %c0 to %n step %c0 {
      evt.notify %e[%j]
    }
  }
}
