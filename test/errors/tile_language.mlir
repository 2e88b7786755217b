// What the body of a device function may hold.
// RUN: %evt-opt %s -split-input-file -verify-diagnostics

evt.device @d(%x: memref<7xf32>) grid(%i) {
  // expected-error @below {{'memref.load' op is not part of the tile language; see 'evt.device' for what is}}
  %v = memref.load %x[%i] : memref<7xf32>
}

// -----

evt.device @d() grid(%i) {
  // expected-error @below {{'tensor.empty' op tiles have static shapes, found 'tensor<?xf32>'}}
  %v = tensor.empty(%i) : tensor<?xf32>
}

// -----

evt.device @d() grid(%i) {
  // expected-error @below {{'arith.constant' op element type must be f32, bf16, f16, i32, i64 or i1, found 'f64'}}
  %v = arith.constant dense<1.0> : tensor<5xf64>
}

// -----

evt.device @d() grid(%i) {
  %a = arith.constant dense<1.0> : tensor<5x5xbf16>
  // expected-error @below {{'linalg.matmul' op computes in f32; convert with arith.extf, found 'tensor<5x5xbf16>'}}
  %v = linalg.matmul ins(%a, %a : tensor<5x5xbf16>, tensor<5x5xbf16>) outs(%a : tensor<5x5xbf16>) -> tensor<5x5xbf16>
}

// -----

evt.device @d() grid(%i) {
  %a = arith.constant dense<1.0> : tensor<5xf16>
  // expected-error @below {{'arith.addf' op computes in f32; convert with arith.extf, found 'tensor<5xf16>'}}
  %v = arith.addf %a, %a : tensor<5xf16>
}

// -----

evt.device @d() grid(%i) {
  %a = arith.constant dense<1.0> : tensor<5x3xf32>
  %z = arith.constant dense<0.0> : tensor<5xf32>
  // expected-error @below {{'linalg.reduce' op combines with one of addf, mulf, maximumf, minimumf, addi, muli, maxsi, minsi}}
  %v = linalg.reduce { arith.subf } ins(%a : tensor<5x3xf32>) outs(%z : tensor<5xf32>) dimensions = [1]
}

// -----

evt.device @d() grid(%i) {
  %a = arith.constant dense<1.0> : tensor<5x3xf32>
  %z = arith.constant dense<0.0> : tensor<5xf32>
  // expected-error @below {{'linalg.reduce' op reduces one tensor at a time in the tile language, found 2}}
  %v:2 = linalg.reduce ins(%a, %a : tensor<5x3xf32>, tensor<5x3xf32>) outs(%z, %z : tensor<5xf32>, tensor<5xf32>)
      dimensions = [1] (%p: f32, %q: f32, %r: f32, %s: f32) {
    linalg.yield %p, %q : f32, f32
  }
}

// -----

evt.device @d() grid(%i) {
  %a = arith.constant dense<1.0> : tensor<5xf32>
  // expected-error @below {{'tensor.extract_slice' op needs static offsets, sizes and strides in the tile language}}
  %v = tensor.extract_slice %a[%i] [3] [1] : tensor<5xf32> to tensor<3xf32>
}

// -----

evt.device @d() grid(%i) {
  %a = arith.constant dense<1.0> : tensor<5xf32>
  %b = arith.constant dense<1.0> : tensor<3xf32>
  // expected-error @below {{'tensor.insert_slice' op needs static offsets, sizes and strides in the tile language}}
  %v = tensor.insert_slice %b into %a[%i] [3] [1] : tensor<3xf32> into tensor<5xf32>
}

// -----

evt.device @d(%x: memref<?xf32>) grid(%i) {
  // expected-error @below {{'memref.dim' op needs a constant dimension of a ranked memref}}
  %v = memref.dim %x, %i : memref<?xf32>
}

// -----

evt.device @d(%x: memref<?xf32>) grid(%i) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  // expected-error @below {{'scf.for' op has a step of 0, required at least 1}}
  scf.for %k = %c0 to %c8 step %c0 {
  }
}
