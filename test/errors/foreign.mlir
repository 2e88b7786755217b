// Device functions written by hand: their names and what they declare.
// RUN: %evt-opt %s -split-input-file -verify-diagnostics

// expected-error @below {{'evt.device' op foreign function must be a name of C++, such as 'scale' or 'tiles::scale', found '2scale'}}
evt.device @d(%y: memref<7xf32>) grid(%i) foreign("scale.h", "2scale") {
  evt.writes %y[%i] sizes [1] : memref<7xf32>
}

// -----

// expected-error @below {{'evt.device' op foreign function must be a name of C++, such as 'scale' or 'tiles::scale', found 'tiles::'}}
evt.device @d(%y: memref<7xf32>) grid(%i) foreign("scale.h", "tiles::") {
  evt.writes %y[%i] sizes [1] : memref<7xf32>
}

// -----

// expected-error @below {{'evt.device' op foreign source must be the path of a file, found ''}}
evt.device @d(%y: memref<7xf32>) grid(%i) foreign("", "scale") {
  evt.writes %y[%i] sizes [1] : memref<7xf32>
}

// -----

// expected-error @below {{'evt.device' op foreign source must be the path of a file, found 'tiles/'}}
evt.device @d(%y: memref<7xf32>) grid(%i) foreign("tiles/", "scale") {
  evt.writes %y[%i] sizes [1] : memref<7xf32>
}

// -----

// expected-error @below {{'evt.device' op shared memory must not be negative, found -1}}
evt.device @d(%y: memref<7xf32>) grid(%i) foreign("scale.h", "scale") shared(-1) {
  evt.writes %y[%i] sizes [1] : memref<7xf32>
}

// -----

// expected-error @below {{'evt.device' op is foreign and declares no write, required at least one evt.writes}}
evt.device @d(%x: memref<7xf32>) grid(%i) foreign("scale.h", "scale") {
  evt.reads %x[%i] sizes [1] : memref<7xf32>
}

// -----

// Its extent alone is no access.
// expected-error @below {{'evt.device' op argument 'x' of foreign function 'scale' has no declared access: add an evt.reads or evt.writes}}
evt.device @d(%x: memref<?xf32>, %y: memref<?xf32>) grid(%i) foreign("scale.h", "scale") {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  evt.writes %y[%n] sizes [1] : memref<?xf32>
}

// -----

evt.device @d(%y: memref<7xf32>) grid(%i) foreign("scale.h", "scale") {
  // expected-error @below {{'evt.load' op does not belong in foreign device function 'd', whose body declares accesses and computes nothing but indices}}
  %t = evt.load %y[%i] : memref<7xf32> -> tensor<3xf32>
  evt.writes %y[%i] sizes [3] : memref<7xf32>
}

// -----

evt.device @d(%y: memref<7xf32>) grid(%i) foreign("scale.h", "scale") {
  // expected-error @below {{'arith.constant' op does not belong in foreign device function 'd', whose body declares accesses and computes nothing but indices}}
  %f = arith.constant 1.0 : f32
  evt.writes %y[%i] sizes [3] : memref<7xf32>
}

// -----

evt.device @d(%x: memref<7xf32>) grid(%i) {
  // expected-error @below {{'evt.reads' op declares an access of a foreign device function, but 'd' is computed here: use evt.load}}
  evt.reads %x[%i] sizes [3] : memref<7xf32>
}

// -----

evt.device @d(%x: memref<7xf32>) grid(%i) {
  // expected-error @below {{'evt.writes' op declares an access of a foreign device function, but 'd' is computed here: use evt.store}}
  evt.writes %x[%i] sizes [3] : memref<7xf32>
}

// -----

evt.device @d(%x: memref<7x5xf32>) grid(%i) foreign("scale.h", "scale") {
  // expected-error @below {{'evt.reads' op has 1 offsets but the memory has rank 2}}
  evt.reads %x[%i] sizes [3, 5] : memref<7x5xf32>
}

// -----

evt.device @d(%x: memref<7x5xf32>) grid(%i) foreign("scale.h", "scale") {
  // expected-error @below {{'evt.writes' op has 0 sizes but the memory has rank 2}}
  evt.writes %x[%i, %i] : memref<7x5xf32>
}

// -----

evt.device @d(%x: memref<7x5xf32>) grid(%i) foreign("scale.h", "scale") {
  // expected-error @below {{'evt.writes' op sizes must be positive, found 0}}
  evt.writes %x[%i, %i] sizes [3, 0] : memref<7x5xf32>
}

// -----

evt.device @d(%x: memref<7xf64>) grid(%i) foreign("scale.h", "scale") {
  // expected-error @below {{'evt.writes' op element type must be f32, bf16, f16, i32, i64 or i1, found 'f64'}}
  evt.writes %x[%i] sizes [3] : memref<7xf64>
}

// -----

evt.device @d(%x: memref<7x5xf32>, %t: memref<3xf32>) grid(%i) foreign("scale.h", "scale") {
  // expected-error @below {{'evt.reads' op table must be a memref of rank 1 of i32 or i64, found 'memref<3xf32>'}}
  evt.reads %x[%t[%i], %i] sizes [3, 5] : memref<7x5xf32>, memref<3xf32>
}

// -----

evt.device @d(%x: memref<7xf32>) grid(%i) foreign("scale.h", "scale") {
  // expected-error @below {{use of undeclared SSA value name}}
  evt.writes %z[%i] sizes [3] : memref<7xf32>
}

// -----

// expected-error @below {{'evt.device' op a foreign device function needs both a source and a function}}
"evt.device"() <{sym_name = "d", function_type = () -> (), arg_names = [], coord_names = [], foreign_source = "scale.h"}> ({
  "evt.end"() : () -> ()
}) : () -> ()

// -----

// expected-error @below {{'evt.device' op only a foreign device function asks for shared memory}}
"evt.device"() <{sym_name = "d", function_type = () -> (), arg_names = [], coord_names = [], shared_bytes = 8 : i64}> ({
  "evt.end"() : () -> ()
}) : () -> ()

// -----

evt.device @d(%x: memref<f32>, %t: memref<3xi32>) grid() foreign("scale.h", "scale") {
  // expected-error @below {{'evt.writes' op a table names rows, but the memory has rank 0}}
  "evt.writes"(%x, %t) <{operandSegmentSizes = array<i32: 1, 1, 0>, sizes = array<i64>}> : (memref<f32>, memref<3xi32>) -> ()
}
