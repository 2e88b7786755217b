// What only the generic form can get wrong: operand counts and regions that the custom syntax always makes right.
// RUN: %evt-opt %s -split-input-file -verify-diagnostics

// expected-error @below {{'evt.graph' op names, attributes and types of the arguments must agree in number}}
"evt.graph"() <{sym_name = "g", function_type = (index) -> (), arg_names = [], arg_attrs = []}> ({
^bb0(%n: index):
  "evt.end"() : () -> ()
}) : () -> ()

// -----

// expected-error @below {{'evt.graph' op argument name 'n' is used twice}}
"evt.graph"() <{sym_name = "g", function_type = (index, index) -> (), arg_names = ["n", "n"], arg_attrs = [{}, {}]}> ({
^bb0(%n: index, %m: index):
  "evt.end"() : () -> ()
}) : () -> ()

// -----

// expected-error @below {{'evt.graph' op attributes of an argument must be a dictionary}}
"evt.graph"() <{sym_name = "g", function_type = (index) -> (), arg_names = ["n"], arg_attrs = [7]}> ({
^bb0(%n: index):
  "evt.end"() : () -> ()
}) : () -> ()

// -----

// expected-error @below {{'evt.device' op body must take the arguments and then the coordinates}}
"evt.device"() <{sym_name = "d", function_type = (index) -> (), arg_names = ["n"], coord_names = ["i"]}> ({
^bb0(%n: index, %i: i32):
  "evt.end"() : () -> ()
}) : () -> ()

// -----

evt.graph @g(%x: memref<?xf32>) {
  // expected-error @below {{'evt.symbol' op 'n' needs one dimension for each of at least one tensor}}
  %n = "evt.symbol"(%x) <{name = "n", dims = array<i64>, min = 0 : i64, max = 9 : i64}> : (memref<?xf32>) -> index
}

// -----

evt.graph @g(%n: index, %t: memref<5xi32>) {
  %e = evt.event(%n) count(1) : !evt.event<?>
  // expected-error @below {{'evt.event' op guard must be a single counter, found '!evt.event<?>'}}
  %f = "evt.event"(%n, %t, %e) <{count_map = affine_map<(a) -> (0)>, factor = 1 : i64, name = "f",
       operandSegmentSizes = array<i32: 1, 0, 1, 1>}> : (index, memref<5xi32>, !evt.event<?>) -> !evt.event<?>
}

// -----

evt.graph @g(%n: index) {
  // expected-error @below {{'evt.repeat' op body must take one index, the iteration}}
  "evt.repeat"(%n) <{iteration_name = "l"}> ({
  ^bb0:
    "evt.end"() : () -> ()
  }) : (index) -> ()
}

// -----

evt.device @d() grid(%i) {
}
evt.graph @g(%n: index) {
  // expected-error @below {{'evt.call' op protocol takes 2 coordinates but the grid has 1}}
  "evt.call"(%n) <{callee = @d, coord_names = ["i"], ragged_by = 0 : i64,
      operandSegmentSizes = array<i32: 0, 1, 0, 0, 0>}> ({
  ^bb0(%i: index, %j: index):
    "evt.end"() : () -> ()
  }) : (index) -> ()
}

// -----

evt.device @d() grid(%e, %r) {
}
evt.graph @g(%t: memref<5xi32>) {
  // expected-error @below {{'evt.call' op ragged grid needs a bound}}
  "evt.call"(%t) <{callee = @d, coord_names = ["e", "r"], ragged_by = 3 : i64,
      operandSegmentSizes = array<i32: 0, 0, 1, 0, 0>}> ({
  ^bb0(%i: index, %j: index):
    "evt.end"() : () -> ()
  }) : (memref<5xi32>) -> ()
}

// -----

evt.device @d() grid(%e, %r) {
}
evt.graph @g(%t: memref<5xi32>, %n: index) {
  %g = evt.event(%n) count(1) : !evt.event<?>
  // expected-error @below {{'evt.call' op guard must be a single counter, found '!evt.event<?>'}}
  "evt.call"(%t, %n, %g) <{callee = @d, coord_names = ["e", "r"], ragged_by = 3 : i64,
      operandSegmentSizes = array<i32: 0, 0, 1, 1, 1>}> ({
  ^bb0(%i: index, %j: index):
    "evt.end"() : () -> ()
  }) : (memref<5xi32>, index, !evt.event<?>) -> ()
}

// -----

evt.device @d() grid(%i) {
}
evt.graph @g(%n: index) {
  %e = evt.event(%n) count(1) : !evt.event<?>
  evt.call @d() grid(%i to %n) : () {
    // expected-error @below {{'evt.wait' op has 0 coordinates but the event has rank 1}}
    "evt.wait"(%e) <{is_range = array<i1>, operandSegmentSizes = array<i32: 1, 0, 0>}> : (!evt.event<?>) -> ()
  }
}

// -----

evt.device @d() grid(%i) {
}
evt.graph @g(%n: index) {
  %e = evt.event(%n) count(1) : !evt.event<?>
  evt.call @d() grid(%i to %n) : () {
    // expected-error @below {{'evt.notify' op needs one upper bound for each range}}
    "evt.notify"(%e, %i) <{is_range = array<i1: true>, operandSegmentSizes = array<i32: 1, 1, 0>}>
      : (!evt.event<?>, index) -> ()
  }
}

// -----

evt.device @d(%x: memref<7x5xf32>, %t: memref<3xi32>) grid(%i) {
  // expected-error @below {{'evt.load' op goes through a table in dimension 2 but the memory has rank 2}}
  %a = "evt.load"(%x, %t, %i, %i) <{sizes = array<i64: 1, 5>, fill = 0.0 : f64, table_dim = 2 : i64,
       operandSegmentSizes = array<i32: 1, 1, 2>}> : (memref<7x5xf32>, memref<3xi32>, index, index) -> tensor<5xf32>
}

// -----

evt.device @d(%x: memref<7x5xf32>) grid(%i) {
  // expected-error @below {{'evt.load' op has a table dimension, 1, but no table}}
  %a = "evt.load"(%x, %i, %i) <{sizes = array<i64: 1, 5>, fill = 0.0 : f64, table_dim = 1 : i64,
       operandSegmentSizes = array<i32: 1, 0, 2>}> : (memref<7x5xf32>, index, index) -> tensor<5xf32>
}
