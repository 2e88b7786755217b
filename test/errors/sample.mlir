// What sampling refuses.
// RUN: %evt-opt %s --evt-verify -split-input-file -verify-diagnostics

evt.device @d(%l: memref<?x300xf32>, %f: memref<?x8xf32>, %i: memref<?x8xi32>, %h: memref<?xi32>, %p: memref<?x?xi32>, %z: memref<?x301xf32>) grid(%r) {
  // expected-error @below {{'evt.draw' op logits and their copy must be f32, [request, token], of one type, found 'memref<?x300xf32>' and 'memref<?x301xf32>'}}
  %x = evt.draw %l[%r, %r] chunks of 1024 by %f, %i history %h, %p pages of 16 into %z : memref<?x300xf32>, memref<?x8xf32>, memref<?x8xi32>, memref<?xi32>, memref<?x?xi32>, memref<?x301xf32> -> tensor<4xf32>
}

// -----

evt.device @d(%l: memref<?xf32>, %f: memref<?x8xf32>, %i: memref<?x8xi32>, %h: memref<?xi32>, %p: memref<?x?xi32>, %z: memref<?xf32>) grid(%r) {
  // expected-error @below {{'evt.draw' op logits and their copy must be f32, [request, token], of one type, found 'memref<?xf32>' and 'memref<?xf32>'}}
  %x = evt.draw %l[%r, %r] chunks of 1024 by %f, %i history %h, %p pages of 16 into %z : memref<?xf32>, memref<?x8xf32>, memref<?x8xi32>, memref<?xi32>, memref<?x?xi32>, memref<?xf32> -> tensor<4xf32>
}

// -----

evt.device @d(%l: memref<?x300xf32>, %f: memref<?x6xf32>, %i: memref<?x8xi32>, %h: memref<?xi32>, %p: memref<?x?xi32>, %z: memref<?x300xf32>) grid(%r) {
  // expected-error @below {{'evt.draw' op rates must be f32, [request, 8], found 'memref<?x6xf32>'}}
  %x = evt.draw %l[%r, %r] chunks of 1024 by %f, %i history %h, %p pages of 16 into %z : memref<?x300xf32>, memref<?x6xf32>, memref<?x8xi32>, memref<?xi32>, memref<?x?xi32>, memref<?x300xf32> -> tensor<4xf32>
}

// -----

evt.device @d(%l: memref<?x300xf32>, %f: memref<?x8xf32>, %i: memref<?x8xf32>, %h: memref<?xi32>, %p: memref<?x?xi32>, %z: memref<?x300xf32>) grid(%r) {
  // expected-error @below {{'evt.draw' op choices must be i32, [request, 8], found 'memref<?x8xf32>'}}
  %x = evt.draw %l[%r, %r] chunks of 1024 by %f, %i history %h, %p pages of 16 into %z : memref<?x300xf32>, memref<?x8xf32>, memref<?x8xf32>, memref<?xi32>, memref<?x?xi32>, memref<?x300xf32> -> tensor<4xf32>
}

// -----

evt.device @d(%l: memref<?x300xf32>, %f: memref<?x8xf32>, %i: memref<?x8xi32>, %h: memref<?xi32>, %p: memref<?x?xi32>, %z: memref<?x300xf32>) grid(%r) {
  // expected-error @below {{'evt.draw' op chunks must be of 1024, 2048, 3072 or 4096 tokens, found 1000}}
  %x = evt.draw %l[%r, %r] chunks of 1000 by %f, %i history %h, %p pages of 16 into %z : memref<?x300xf32>, memref<?x8xf32>, memref<?x8xi32>, memref<?xi32>, memref<?x?xi32>, memref<?x300xf32> -> tensor<4xf32>
}

// -----

evt.device @d(%l: memref<?x300xf32>, %f: memref<?x8xf32>, %i: memref<?x8xi32>, %h: memref<?xi32>, %p: memref<?x?xi32>, %z: memref<?x300xf32>) grid(%r) {
  // expected-error @below {{'evt.draw' op chunks must be of 1024, 2048, 3072 or 4096 tokens, found 8192}}
  %x = evt.draw %l[%r, %r] chunks of 8192 by %f, %i history %h, %p pages of 16 into %z : memref<?x300xf32>, memref<?x8xf32>, memref<?x8xi32>, memref<?xi32>, memref<?x?xi32>, memref<?x300xf32> -> tensor<4xf32>
}

// -----

evt.device @d(%l: memref<?x300xf32>, %f: memref<?x8xf32>, %i: memref<?x8xi32>, %h: memref<?x?xi32>, %p: memref<?x?xi32>, %z: memref<?x300xf32>) grid(%r) {
  // expected-error @below {{'evt.draw' op history must be a memref of rank 1 of i32, found 'memref<?x?xi32>'}}
  %x = evt.draw %l[%r, %r] chunks of 1024 by %f, %i history %h, %p pages of 16 into %z : memref<?x300xf32>, memref<?x8xf32>, memref<?x8xi32>, memref<?x?xi32>, memref<?x?xi32>, memref<?x300xf32> -> tensor<4xf32>
}

// -----

evt.device @d(%l: memref<?x300xf32>, %f: memref<?x8xf32>, %i: memref<?x8xi32>, %h: memref<?xi32>, %p: memref<?xi32>, %z: memref<?x300xf32>) grid(%r) {
  // expected-error @below {{'evt.draw' op pages must be a memref of rank 2 of i32, found 'memref<?xi32>'}}
  %x = evt.draw %l[%r, %r] chunks of 1024 by %f, %i history %h, %p pages of 16 into %z : memref<?x300xf32>, memref<?x8xf32>, memref<?x8xi32>, memref<?xi32>, memref<?xi32>, memref<?x300xf32> -> tensor<4xf32>
}

// -----

evt.device @d(%l: memref<?x300xf32>, %f: memref<?x8xf32>, %i: memref<?x8xi32>, %h: memref<?xi32>, %p: memref<?x?xi32>, %z: memref<?x300xf32>) grid(%r) {
  // expected-error @below {{'evt.draw' op a page must have slots, found 0}}
  %x = evt.draw %l[%r, %r] chunks of 1024 by %f, %i history %h, %p pages of 0 into %z : memref<?x300xf32>, memref<?x8xf32>, memref<?x8xi32>, memref<?xi32>, memref<?x?xi32>, memref<?x300xf32> -> tensor<4xf32>
}

// -----

evt.device @d(%l: memref<?x300xf32>, %f: memref<?x8xf32>, %i: memref<?x8xi32>, %h: memref<?xi32>, %p: memref<?x?xi32>, %z: memref<?x300xf32>) grid(%r) {
  // expected-error @below {{'evt.draw' op result must be tensor<4xf32>, found 'tensor<3xf32>'}}
  %x = evt.draw %l[%r, %r] chunks of 1024 by %f, %i history %h, %p pages of 16 into %z : memref<?x300xf32>, memref<?x8xf32>, memref<?x8xi32>, memref<?xi32>, memref<?x?xi32>, memref<?x300xf32> -> tensor<3xf32>
}

// -----

evt.device @d(%c: memref<?x?x4xf32>, %z: memref<?x300xf32>, %l: memref<?x300xf32>, %f: memref<?x8xf32>, %i: memref<?x8xi32>) grid(%r) {
  // expected-error @below {{'evt.sample' op parts must be f32, [request, chunk, 4] with a constant number of chunks, found 'memref<?x?x4xf32>'}}
  %x, %y = evt.sample %c, %z, %l[%r] chunks of 1024 by %f, %i : memref<?x?x4xf32>, memref<?x300xf32>, memref<?x300xf32>, memref<?x8xf32>, memref<?x8xi32> -> tensor<1xi32>, tensor<1xf32>
}

// -----

evt.device @d(%c: memref<?x1x4xf32>, %z: memref<?x300xf32>, %l: memref<?x300xf32>, %f: memref<?x8xf32>, %i: memref<?x8xi32>) grid(%r) {
  // expected-error @below {{'evt.sample' op results must be tensor<1xi32> and tensor<1xf32>, found 'tensor<1xf32>' and 'tensor<1xf32>'}}
  %x, %y = evt.sample %c, %z, %l[%r] chunks of 1024 by %f, %i : memref<?x1x4xf32>, memref<?x300xf32>, memref<?x300xf32>, memref<?x8xf32>, memref<?x8xi32> -> tensor<1xf32>, tensor<1xf32>
}

// -----

evt.device @draws(%logits: memref<?x300xf32>, %rates: memref<?x8xf32>, %choices: memref<?x8xi32>, %history: memref<?xi32>,
                  %pages: memref<?x?xi32>, %scaled: memref<?x300xf32>, %parts: memref<?x1x4xf32>) grid(%r) {
  %c0 = arith.constant 0 : index
  // expected-note @below {{it is written here}}
  %part = evt.draw %logits[%r, %c0] chunks of 1024 by %rates, %choices history %history, %pages pages of 16 into %scaled
    : memref<?x300xf32>, memref<?x8xf32>, memref<?x8xi32>, memref<?xi32>, memref<?x?xi32>, memref<?x300xf32> -> tensor<4xf32>
  evt.store %part, %parts[%r, %c0, %c0] : tensor<4xf32> -> memref<?x1x4xf32>
}
evt.graph @g(%logits: memref<?x300xf32> {evt.immutable}, %rates: memref<?x8xf32>, %choices: memref<?x8xi32>, %history: memref<?xi32>,
             %pages: memref<?x?xi32>, %scaled: memref<?x300xf32> {evt.immutable}, %parts: memref<?x1x4xf32>) {
  %n = evt.symbol "n" (%logits[0], %rates[0], %choices[0], %scaled[0], %parts[0])
    : memref<?x300xf32>, memref<?x8xf32>, memref<?x8xi32>, memref<?x300xf32>, memref<?x1x4xf32>
  %s = evt.symbol "s" (%history[0]) : memref<?xi32>
  %p = evt.symbol "p" (%pages[0]) : memref<?x?xi32>
  %q = evt.symbol "q" (%pages[1]) : memref<?x?xi32>
  // expected-error @below {{'draws' writes 'scaled', which is immutable}}
  evt.call @draws(%logits, %rates, %choices, %history, %pages, %scaled, %parts) grid(%n)
    : (memref<?x300xf32>, memref<?x8xf32>, memref<?x8xi32>, memref<?xi32>, memref<?x?xi32>, memref<?x300xf32>, memref<?x1x4xf32>)
}
