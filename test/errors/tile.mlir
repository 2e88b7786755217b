// The operations that move and compute tiles.
// RUN: %evt-opt %s -split-input-file -verify-diagnostics

evt.device @d(%x: memref<7x5xf32>, %t: memref<3xi32>) grid(%i) {
  // expected-error @below {{only one dimension can go through a table}}
  %a = evt.load %x[%t[%i], %t[%i]] : memref<7x5xf32>, memref<3xi32> -> tensor<3x5xf32>
}

// -----

evt.device @d(%x: memref<7x5xf32>, %t: memref<3xi32>) grid(%i) {
  // expected-error @below {{'evt.load' op goes through a table in dimension 1, before which all sizes must be 1, but dimension 0 has size 3}}
  %a = evt.load %x[%i, %t[%i]] : memref<7x5xf32>, memref<3xi32> -> tensor<3x5xf32>
}

// -----

evt.device @d(%x: memref<9x7x5xf32>, %t: memref<3xi32>) grid(%i) {
  %a = arith.constant dense<0.0> : tensor<2x5xf32>
  // expected-error @below {{'evt.store' op goes through a table in dimension 2, before which all sizes must be 1, but dimension 1 has size 2}}
  evt.store %a, %x[%i, %i, %t[%i]] : tensor<2x5xf32> -> memref<9x7x5xf32>, memref<3xi32>
}

// -----

evt.device @d(%x: memref<7x5xf32>, %t: memref<3xi32>) grid(%i) {
  // expected-error @below {{'table_dim' is written in the syntax, not as an attribute}}
  %a = evt.load %x[%t[%i], %i] {table_dim = 1} : memref<7x5xf32>, memref<3xi32> -> tensor<3x5xf32>
}

// -----

evt.device @d(%x: memref<7xf64>) grid(%i) {
  // expected-error @below {{'evt.load' op element type must be f32, bf16, f16, i32, i64 or i1, found 'f64'}}
  %a = evt.load %x[%i] : memref<7xf64> -> tensor<3xf64>
}

// -----

evt.device @d(%x: memref<7xbf16>) grid(%i) {
  // expected-error @below {{'evt.load' op tile has element type 'f32' but the memory holds 'bf16'}}
  %a = evt.load %x[%i] : memref<7xbf16> -> tensor<3xf32>
}

// -----

evt.device @d(%x: memref<7x5xf32>) grid(%i) {
  // expected-error @below {{'evt.load' op has 1 offsets but the memory has rank 2}}
  %a = evt.load %x[%i] : memref<7x5xf32> -> tensor<3x5xf32>
}

// -----

evt.device @d(%x: memref<7x5xf32>) grid(%i) {
  // expected-error @below {{'evt.load' op has 3 sizes but the memory has rank 2}}
  %a = evt.load %x[%i, %i] sizes [1, 3, 5] : memref<7x5xf32> -> tensor<3x5xf32>
}

// -----

evt.device @d(%x: memref<7x5xf32>) grid(%i) {
  // expected-error @below {{'evt.load' op sizes must be positive, found -1}}
  %a = evt.load %x[%i, %i] sizes [-1, 5] : memref<7x5xf32> -> tensor<5xf32>
}

// -----

evt.device @d(%x: memref<7x5xf32>) grid(%i) {
  // expected-error @below {{'evt.load' op tile 'tensor<3xf32>' does not match the box of sizes [3, 2]: only dimensions of size 1 can be dropped}}
  %a = evt.load %x[%i, %i] sizes [3, 2] : memref<7x5xf32> -> tensor<3xf32>
}

// -----

evt.device @d(%x: memref<7x5xf32>, %a: memref<7x5xf32>) grid(%i) {
  %t = evt.load %x[%i, %i] : memref<7x5xf32> -> tensor<3x2xf32>
  // expected-error @below {{'evt.store' op tile 'tensor<3x2xf32>' does not match the box of sizes [3, 1]}}
  evt.store %t, %a[%i, %i] sizes [3, 1] : tensor<3x2xf32> -> memref<7x5xf32>
}

// -----

evt.device @d(%x: memref<7x5xf32>, %t: memref<3x2xi32>) grid(%i) {
  // expected-error @below {{'evt.load' op table must be a memref of rank 1 of i32 or i64, found 'memref<3x2xi32>'}}
  %a = evt.load %x[%t[%i], %i] : memref<7x5xf32>, memref<3x2xi32> -> tensor<3x5xf32>
}

// -----

evt.device @d(%x: memref<7x5xf32>) grid(%i) {
  // expected-error @below {{'evt.valid' op dimension 2 is outside the memory's rank 2}}
  %v = evt.valid %x[%i] dim 2 size 3 : memref<7x5xf32>
}

// -----

evt.device @d(%x: memref<7x5xf32>) grid(%i) {
  // expected-error @below {{'evt.valid' op dimension -1 is outside the memory's rank 2}}
  %v = evt.valid %x[%i] dim -1 size 3 : memref<7x5xf32>
}

// -----

evt.device @d(%x: memref<7x5xf32>) grid(%i) {
  // expected-error @below {{'evt.valid' op size must be positive, found 0}}
  %v = evt.valid %x[%i] dim 1 size 0 : memref<7x5xf32>
}

// -----

evt.device @d() grid(%i) {
  // expected-error @below {{'evt.iota' op dimension 1 is outside the tile's rank 1}}
  %v = evt.iota dim 1 : tensor<9xi32>
}

// -----

evt.device @d() grid(%i) {
  // expected-error @below {{'evt.iota' op counts in i32 or i64, found 'f32'}}
  %v = evt.iota dim 0 : tensor<9xf32>
}

// -----

evt.device @d() grid(%i) {
  %x = arith.constant dense<1> : tensor<3x9xi32>
  // expected-error @below {{'evt.topk' op takes f32 and yields f32 values and i32 indices}}
  %v, %k = evt.topk %x : tensor<3x9xi32> -> tensor<3x2xf32>, tensor<3x2xi32>
}

// -----

evt.device @d() grid(%i) {
  %x = arith.constant dense<1.0> : tensor<3x9xf32>
  // expected-error @below {{'evt.topk' op values and indices must have the input's shape but for the last dimension}}
  %v, %k = evt.topk %x : tensor<3x9xf32> -> tensor<2x2xf32>, tensor<2x2xi32>
}

// -----

evt.device @d() grid(%i) {
  %x = arith.constant dense<1.0> : tensor<3x9xf32>
  // expected-error @below {{'evt.topk' op cannot take the 11 largest of 9}}
  %v, %k = evt.topk %x : tensor<3x9xf32> -> tensor<3x11xf32>, tensor<3x11xi32>
}

// -----

evt.device @d() grid(%i) {
  %x = arith.constant dense<1> : tensor<3x9xi32>
  // expected-error @below {{'evt.prefix_sum' op dimension 3 is outside the tile's rank 2}}
  %v = evt.prefix_sum %x dim 3 : tensor<3x9xi32>
}
