// Attention over a paged cache.
// RUN: %evt-opt %s -split-input-file -verify-diagnostics

evt.device @d(%k: memref<?x2x?x64xf32>, %pages: memref<?x?xi32>) grid(%i) {
  %q = arith.constant dense<1.0> : tensor<4x64xbf16>
  %s = arith.constant dense<1.0> : tensor<4xf32>
  // expected-error @below {{'evt.attend' op keys must be [layer, head, slot, column] with the query's columns and type, found 'memref<?x2x?x64xf32>' for 'tensor<4x64xbf16>'}}
  %m, %l, %a = evt.attend %q scaled %s over %k, %k[%i, %i, %pages[%i]] from %i to %i pages of 16
    : tensor<4x64xbf16>, memref<?x2x?x64xf32>, memref<?x?xi32> -> tensor<4x64xf32>
}

// -----

evt.device @d(%k: memref<?x2x?x64xbf16>, %pages: memref<?xi32>) grid(%i) {
  %q = arith.constant dense<1.0> : tensor<4x64xbf16>
  %s = arith.constant dense<1.0> : tensor<4xf32>
  // expected-error @below {{'evt.attend' op pages must be a memref of rank 2 of i32, found 'memref<?xi32>'}}
  %m, %l, %a = evt.attend %q scaled %s over %k, %k[%i, %i, %pages[%i]] from %i to %i pages of 16
    : tensor<4x64xbf16>, memref<?x2x?x64xbf16>, memref<?xi32> -> tensor<4x64xf32>
}

// -----

evt.device @d(%k: memref<?x2x?x64xbf16>, %pages: memref<?x?xi32>) grid(%i) {
  %q = arith.constant dense<1.0> : tensor<4x64xbf16>
  %s = arith.constant dense<1.0> : tensor<4xf32>
  // expected-error @below {{'evt.attend' op a page must have slots, found 0}}
  %m, %l, %a = evt.attend %q scaled %s over %k, %k[%i, %i, %pages[%i]] from %i to %i pages of 0
    : tensor<4x64xbf16>, memref<?x2x?x64xbf16>, memref<?x?xi32> -> tensor<4x64xf32>
}

// -----

evt.device @d(%k: memref<?x2x?x64xbf16>, %pages: memref<?x?xi32>) grid(%i) {
  %q = arith.constant dense<1.0> : tensor<4x64xbf16>
  %s = arith.constant dense<1.0> : tensor<4xf32>
  // expected-error @below {{'evt.attend' op result must be f32 of the query's shape, found 'tensor<4x32xf32>' for 'tensor<4x64xbf16>'}}
  %m, %l, %a = evt.attend %q scaled %s over %k, %k[%i, %i, %pages[%i]] from %i to %i pages of 8
    : tensor<4x64xbf16>, memref<?x2x?x64xbf16>, memref<?x?xi32> -> tensor<4x32xf32>
}

// -----

evt.device @d(%m: memref<?x?x?x4xf32>, %a: memref<?x?x?x8x64xf32>) grid(%i) {
  // expected-error @below {{'evt.merge' op result must be f32 with the parts' rows and columns, found 'tensor<8x64xf32>'}}
  %o = evt.merge %m, %m, %a[%i, %i] parts %i : memref<?x?x?x4xf32>, memref<?x?x?x8x64xf32> -> tensor<8x64xf32>
}

// -----

evt.device @d(%m: memref<?x?x4xf32>, %a: memref<?x?x?x8x64xf32>) grid(%i) {
  // expected-error @below {{'evt.merge' op parts must be f32, [i, j, part, row] and [i, j, part, row, column], found 'memref<?x?x4xf32>'}}
  %o = evt.merge %m, %m, %a[%i, %i] parts %i : memref<?x?x4xf32>, memref<?x?x?x8x64xf32> -> tensor<8x64xf32>
}

// -----

evt.device @d(%q: memref<?x512xbf16>, %k: memref<?x2x?x64xbf16>, %p: memref<?x?xi32>, %t: memref<?xi32>) grid(%i) {
  // expected-error @below {{'evt.attend_tokens' op a group of 3 query heads for each of 2 heads of 64 columns must be 512 columns in all}}
  evt.attend_tokens %q[%i, %i] into %q tokens 32 of %t, %t runs of 16 over %k, %k[%i] through %p of 64 group 3 scale 1.0
    : memref<?x512xbf16>, memref<?xi32>, memref<?x2x?x64xbf16>, memref<?x?xi32>
}

// -----

evt.device @d(%q: memref<?x512xbf16>, %k: memref<?x2x?x64xf32>, %p: memref<?x?xi32>, %t: memref<?xi32>) grid(%i) {
  // expected-error @below {{'evt.attend_tokens' op keys must be [layer, head, slot, column] of the query's type, heads and columns constant, found 'memref<?x2x?x64xf32>' for 'memref<?x512xbf16>'}}
  evt.attend_tokens %q[%i, %i] into %q tokens 32 of %t, %t runs of 16 over %k, %k[%i] through %p of 64 group 4 scale 1.0
    : memref<?x512xbf16>, memref<?xi32>, memref<?x2x?x64xf32>, memref<?x?xi32>
}

// -----

evt.device @d(%t: memref<?xi32>) grid(%i) {
  // expected-error @below {{'evt.short_tokens' op a long run must have at least 2 tokens, found 1}}
  %n = evt.short_tokens %t, %t[%i] count 1 runs of 1 : memref<?xi32>
}

// -----

evt.device @d(%t: memref<?xf32>) grid(%i) {
  // expected-error @below {{'evt.short_tokens' op requests and positions must be memrefs of rank 1 of i32, found 'memref<?xf32>'}}
  %n = evt.short_tokens %t, %t[%i] count 1 runs of 16 : memref<?xf32>
}

// -----

evt.device @d(%x: memref<?x768xf32>, %o: memref<?x2x?x64xbf16>) grid(%i) {
  // expected-error @below {{'evt.rotate_head' op heads go to [token, head * column], or through slots to [layer, head, slot, 64], found 'memref<?x2x?x64xbf16>'}}
  evt.rotate_head %x[%i, %i] tokens 32 columns 64 into %o[%i, %i] : memref<?x768xf32>, memref<?x2x?x64xbf16>
}

// -----

evt.device @d(%x: memref<?x768xf32>, %o: memref<?x512xbf16>) grid(%i) {
  // expected-error @below {{'evt.rotate_head' op must be of 1 to 32 tokens, found 64}}
  evt.rotate_head %x[%i, %i] tokens 64 columns 64 into %o[%i, %i] : memref<?x768xf32>, memref<?x512xbf16>
}

// -----

evt.device @d(%x: memref<?x768xf32>, %o: memref<?x512xbf16>, %s: memref<?x32xf32>) grid(%i) {
  // expected-error @below {{'evt.rotate_head' op has sums of squares without a norm}}
  evt.rotate_head %x[%i, %i] tokens 32 columns 64 into %o[%i, %i] squares %s : memref<?x768xf32>, memref<?x512xbf16> squares memref<?x32xf32>
}

// -----

evt.device @d(%q: memref<?x64xbf16>, %k: memref<?x2x?x64xbf16>, %pages: memref<?x?xi32>, %m: memref<?x?x?x?x4xf32>,
              %a: memref<?x?x?x?x4x32xf32>) grid(%i) {
  // expected-error @below {{'evt.attend_parts' op keys must be [layer, head, slot, column] with the parts' columns and the query's type, found 'memref<?x2x?x64xbf16>' for 'memref<?x?x?x?x4x32xf32>'}}
  evt.attend_parts %q[%i, %i] over %k, %k[%i, %i, %pages[%i]] from %i to %i parts of %i settled %i
    into %m, %m, %a[%i, %i, %i] rows 4 pages of 16 scaled 1.0
    : memref<?x64xbf16>, memref<?x2x?x64xbf16>, memref<?x?xi32>, memref<?x?x?x?x4xf32>, memref<?x?x?x?x4x32xf32>
}

// -----

evt.device @d(%q: memref<?x64xbf16>, %k: memref<?x2x?x64xbf16>, %pages: memref<?x?xi32>, %m: memref<?x?x?x?x4xf32>,
              %a: memref<?x?x?x?x4x64xf32>) grid(%i) {
  // expected-error @below {{'evt.attend_parts' op has parts of 4 rows for a query of 8}}
  evt.attend_parts %q[%i, %i] over %k, %k[%i, %i, %pages[%i]] from %i to %i parts of %i settled %i
    into %m, %m, %a[%i, %i, %i] rows 8 pages of 16 scaled 1.0
    : memref<?x64xbf16>, memref<?x2x?x64xbf16>, memref<?x?xi32>, memref<?x?x?x?x4xf32>, memref<?x?x?x?x4x64xf32>
}

// -----

evt.device @d(%m: memref<?x?x?x?x4xf32>, %a: memref<?x?x?x?x8x64xf32>, %o: memref<?x512xbf16>) grid(%i) {
  // expected-error @below {{'evt.merge_parts' op parts must be f32, [i, j, s, k, row] and [i, j, s, k, row, column] with constant rows and an even number of columns}}
  evt.merge_parts %m, %m, %a[%i, %i] to %i parts of %i into %o[%i, %i]
    : memref<?x?x?x?x4xf32>, memref<?x?x?x?x8x64xf32>, memref<?x512xbf16>
}

// -----

evt.device @d(%m: memref<?x?x?x?x8xf32>, %a: memref<?x?x?x?x8x64xf32>, %o: memref<?x8x64xbf16>) grid(%i) {
  // expected-error @below {{'evt.merge_parts' op result must be [row, column] of bf16, f16 or f32, found 'memref<?x8x64xbf16>'}}
  evt.merge_parts %m, %m, %a[%i, %i] to %i parts of %i into %o[%i, %i]
    : memref<?x?x?x?x8xf32>, memref<?x?x?x?x8x64xf32>, memref<?x8x64xbf16>
}

// -----

evt.device @d(%k: memref<?x2x?x64xbf16>, %pages: memref<?x?xi32>) grid(%i) {
  %q = arith.constant dense<1.0> : tensor<4x64xbf16>
  %s = arith.constant dense<1.0> : tensor<4xf32>
  // expected-error @below {{'evt.attend' op query must have as many rows of each of 3 heads, found 'tensor<4x64xbf16>'}}
  %m, %l, %a = evt.attend %q scaled %s over %k, %k[%i, %i, %pages[%i]] from %i to %i pages of 16 heads 3
    : tensor<4x64xbf16>, memref<?x2x?x64xbf16>, memref<?x?xi32> -> tensor<4x64xf32>
}

// -----

evt.device @d(%k: memref<?x2x?x64xbf16>, %pages: memref<?x?xi32>) grid(%i) {
  %q = arith.constant dense<1.0> : tensor<4x64xbf16>
  %s = arith.constant dense<1.0> : tensor<4xf32>
  // expected-error @below {{'evt.attend' op query must have as many rows of each of 0 heads, found 'tensor<4x64xbf16>'}}
  %m, %l, %a = evt.attend %q scaled %s over %k, %k[%i, %i, %pages[%i]] from %i to %i pages of 16 heads 0
    : tensor<4x64xbf16>, memref<?x2x?x64xbf16>, memref<?x?xi32> -> tensor<4x64xf32>
}
