// Proofs and counterexamples, at the line they belong to.
// RUN: %evt-opt %s --evt-verify -split-input-file -verify-diagnostics

// Row sums: rows of 37 columns in tiles of 10, so the last tile of a row is ragged.
evt.device @partial(%x: memref<?x37xf32>, %p: memref<?x4xf32>) grid(%i, %j) {
  %k = affine.apply affine_map<(d0) -> (d0 * 10)>(%j)
  %t = evt.load %x[%i, %k] : memref<?x37xf32> -> tensor<10xf32>
  %zero = arith.constant dense<0.0> : tensor<f32>
  %s = linalg.reduce { arith.addf } ins(%t : tensor<10xf32>) outs(%zero : tensor<f32>) dimensions = [0]
  evt.store %s, %p[%i, %j] : tensor<f32> -> memref<?x4xf32>
}
evt.device @total(%p: memref<?x4xf32>, %y: memref<?xf32>) grid(%i) {
  %c0 = arith.constant 0 : index
  %t = evt.load %p[%i, %c0] : memref<?x4xf32> -> tensor<4xf32>
  %zero = arith.constant dense<0.0> : tensor<f32>
  %s = linalg.reduce { arith.addf } ins(%t : tensor<4xf32>) outs(%zero : tensor<f32>) dimensions = [0]
  evt.store %s, %y[%i] : tensor<f32> -> memref<?xf32>
}
// expected-remark @below {{'row_sum' is proved}}
evt.graph @row_sum(%x: memref<?x37xf32> {evt.immutable}, %y: memref<?xf32>) {
  %n = evt.symbol "n" (%x[0], %y[0]) : memref<?x37xf32>, memref<?xf32>
  %c4 = arith.constant 4 : index
  %p = evt.alloc(%n) : memref<?x4xf32>
  %done = evt.event(%n) count(4) : !evt.event<?>
  evt.call @partial(%x, %p) grid(%n, %c4) notify(%done[(i, j) -> (i)]) : (memref<?x37xf32>, memref<?x4xf32>)
  evt.call @total(%p, %y) grid(%n) wait(%done[(i) -> (i)]) : (memref<?x4xf32>, memref<?xf32>)
}

// -----

// The count is one too many: nobody would ever pass.
evt.device @write(%p: memref<?x4xf32>) grid(%i, %j) {
  %v = arith.constant dense<1.0> : tensor<f32>
  evt.store %v, %p[%i, %j] : tensor<f32> -> memref<?x4xf32>
}
evt.device @read(%p: memref<?x4xf32>) grid(%i) {
  %c0 = arith.constant 0 : index
  %t = evt.load %p[%i, %c0] : memref<?x4xf32> -> tensor<4xf32>
}
evt.graph @count(%p: memref<?x4xf32>) {
  %n = evt.symbol "n" (%p[0]) : memref<?x4xf32>
  %c4 = arith.constant 4 : index
  // expected-error @below {{done[0] has count 5 but receives 4 notifications from write}}
  // expected-note @below {{for example with n = 1}}
  %done = evt.event(%n) count(5) : !evt.event<?>
  // expected-note @below {{done is notified here by write}}
  evt.call @write(%p) grid(%n, %c4) notify(%done[(i, j) -> (i)]) : (memref<?x4xf32>)
  evt.call @read(%p) grid(%n) wait(%done[(i) -> (i)]) : (memref<?x4xf32>)
}

// -----

// No wait.
evt.device @write(%p: memref<?x4xf32>) grid(%i, %j) {
  %v = arith.constant dense<1.0> : tensor<f32>
  // expected-note @below {{write(i=0, j=0) writes p[0, 0]}}
  evt.store %v, %p[%i, %j] : tensor<f32> -> memref<?x4xf32>
}
evt.device @read(%p: memref<?x4xf32>) grid(%i) {
  %c0 = arith.constant 0 : index
  // expected-error @below {{no event orders read(i=0) after write(i=0, j=0), which writes p[0, 0]}}
  // expected-note @below {{for example with n = 1}}
  // expected-note @below {{read(i=0) reads p[0, 0]}}
  %t = evt.load %p[%i, %c0] : memref<?x4xf32> -> tensor<4xf32>
}
evt.graph @order(%p: memref<?x4xf32>) {
  %n = evt.symbol "n" (%p[0]) : memref<?x4xf32>
  %c4 = arith.constant 4 : index
  %done = evt.event(%n) count(4) : !evt.event<?>
  evt.call @write(%p) grid(%n, %c4) notify(%done[(i, j) -> (i)]) : (memref<?x4xf32>)
  evt.call @read(%p) grid(%n) : (memref<?x4xf32>)
}

// -----

// The wait is for the row above. It is right for all rows but the first, for which clipping leaves nothing to wait for.
evt.device @write(%p: memref<?x4xf32>) grid(%i, %j) {
  %v = arith.constant dense<1.0> : tensor<f32>
  // expected-note @below {{write(i=0, j=0) writes p[0, 0]}}
  evt.store %v, %p[%i, %j] : tensor<f32> -> memref<?x4xf32>
}
evt.device @read(%p: memref<?x4xf32>) grid(%i) {
  %c0 = arith.constant 0 : index
  // expected-error @below {{no event orders read(i=0) after write(i=0, j=0), which writes p[0, 0]}}
  // expected-note @below {{for example with n = 1}}
  // expected-note @below {{read(i=0) reads p[0, 0]}}
  %t = evt.load %p[%i, %c0] : memref<?x4xf32> -> tensor<4xf32>
}
evt.graph @wrong_wait(%p: memref<?x4xf32>) {
  %n = evt.symbol "n" (%p[0]) : memref<?x4xf32>
  %c4 = arith.constant 4 : index
  %done = evt.event(%n) count(4) : !evt.event<?>
  evt.call @write(%p) grid(%n, %c4) notify(%done[(i, j) -> (i)]) : (memref<?x4xf32>)
  evt.call @read(%p) grid(%n) wait(%done[(i) -> (i - 1)]) : (memref<?x4xf32>)
}

// -----

// The notify names the other coordinate: some of it lies outside, and the counts are wrong.
evt.device @write(%p: memref<?x4xf32>) grid(%i, %j) {
  %v = arith.constant dense<1.0> : tensor<f32>
  evt.store %v, %p[%i, %j] : tensor<f32> -> memref<?x4xf32>
}
evt.graph @bound(%p: memref<?x4xf32>) {
  %n = evt.symbol "n" (%p[0]) range(1, 900) : memref<?x4xf32>
  %c4 = arith.constant 4 : index
  // expected-error @below {{done[0] has count 4 but receives 1 notification from write}}
  // expected-note @below {{for example with n = 1}}
  // expected-note @below {{done has elements [0..0]}}
  %done = evt.event(%n) count(4) : !evt.event<?>
  // expected-error @below {{write(i=0, j=1) notifies done[1], outside the shape of done}}
  // expected-note @below {{for example with n = 1}}
  // expected-note @below {{done is notified here by write}}
  evt.call @write(%p) grid(%n, %c4) notify(%done[(i, j) -> (j)]) : (memref<?x4xf32>)
}

// -----

// A task that waits for itself, and one that waits for a later one.
evt.device @nothing() grid(%i) {
}
evt.graph @progress(%n: index {evt.min = 1}) {
  %own = evt.event(%n) count(1) : !evt.event<?>
  %later = evt.event(%n) count(1) : !evt.event<?>
  // expected-error @below {{nothing(i=0) waits for own[0], which it notifies itself}}
  // expected-note @below {{for example with n = 1}}
  // expected-note @below {{own[0] is notified here}}
  evt.call @nothing() grid(%n) wait(%own[(i) -> (i)]) notify(%own[(i) -> (i)]) : ()
  // expected-error @below {{nothing#2(i=0) waits for later[0], which nothing#3(i=0) notifies, but nothing#3(i=0) comes later in program order}}
  // expected-note @below {{for example with n = 1}}
  evt.call @nothing() grid(%n) wait(%later[(i) -> (i)]) : ()
  // expected-note @below {{later[0] is notified here}}
  evt.call @nothing() grid(%n) notify(%later[(i) -> (i)]) : ()
}

// -----

// A buffer that the next layer overwrites while this layer still reads it. An event back is missing.
evt.device @produce(%x: memref<?xf32>, %h: memref<?xf32>) grid(%i) {
  %t = evt.load %x[%i] : memref<?xf32> -> tensor<1xf32>
  // expected-error @below {{no event orders produce(l=1, i=0) after consume(l=0, i=0), which reads h[0]}}
  // expected-error @below {{no event orders produce(l=1, i=0) after produce(l=0, i=0), which writes h[0]}}
  // expected-note @below {{for example with layers = 2, n = 1}}
  // expected-note @below {{produce(l=1, i=0) writes h[0]}}
  // expected-note @below {{produce(l=0, i=0) writes h[0]}}
  evt.store %t, %h[%i] : tensor<1xf32> -> memref<?xf32>
}
evt.device @consume(%h: memref<?xf32>, %y: memref<?x?xf32>, %l: index) grid(%i) {
  // expected-note @below {{consume(l=0, i=0) reads h[0]}}
  %t = evt.load %h[%i] : memref<?xf32> -> tensor<1xf32>
  evt.store %t, %y[%l, %i] : tensor<1xf32> -> memref<?x?xf32>
}
evt.graph @reuse(%x: memref<?xf32> {evt.immutable}, %y: memref<?x?xf32>) {
  %layers = evt.symbol "layers" (%y[0]) : memref<?x?xf32>
  %n = evt.symbol "n" (%x[0], %y[1]) : memref<?xf32>, memref<?x?xf32>
  %h = evt.alloc(%n) : memref<?xf32>
  %full = evt.event(%layers, %n) count(1) : !evt.event<?x?>
  evt.repeat %l to %layers {
    evt.call @produce(%x, %h) grid(%n) notify(%full[(l, i) -> (l, i)]) : (memref<?xf32>, memref<?xf32>)
    evt.call @consume(%h, %y, %l) grid(%n) wait(%full[(l, i) -> (l, i)]) : (memref<?xf32>, memref<?x?xf32>, index)
  }
}

// -----

// The same with the missing event: across iterations, for any number of layers.
evt.device @produce(%x: memref<?xf32>, %h: memref<?xf32>) grid(%i) {
  %t = evt.load %x[%i] : memref<?xf32> -> tensor<1xf32>
  evt.store %t, %h[%i] : tensor<1xf32> -> memref<?xf32>
}
evt.device @consume(%h: memref<?xf32>, %y: memref<?x?xf32>, %l: index) grid(%i) {
  %t = evt.load %h[%i] : memref<?xf32> -> tensor<1xf32>
  evt.store %t, %y[%l, %i] : tensor<1xf32> -> memref<?x?xf32>
}
// expected-remark @below {{'reuse' is proved}}
evt.graph @reuse(%x: memref<?xf32> {evt.immutable}, %y: memref<?x?xf32>) {
  %layers = evt.symbol "layers" (%y[0]) : memref<?x?xf32>
  %n = evt.symbol "n" (%x[0], %y[1]) : memref<?xf32>, memref<?x?xf32>
  %h = evt.alloc(%n) : memref<?xf32>
  %full = evt.event(%layers, %n) count(1) : !evt.event<?x?>
  %free = evt.event(%layers, %n) count(1) : !evt.event<?x?>
  evt.repeat %l to %layers {
    evt.call @produce(%x, %h) grid(%n) wait(%free[(l, i) -> (l - 1, i)]) notify(%full[(l, i) -> (l, i)])
      : (memref<?xf32>, memref<?xf32>)
    evt.call @consume(%h, %y, %l) grid(%n) wait(%full[(l, i) -> (l, i)]) notify(%free[(l, i) -> (l, i)])
      : (memref<?xf32>, memref<?x?xf32>, index)
  }
}

// -----

// An immutable argument stays as it is.
evt.device @write(%p: memref<7xf32>) grid(%i) {
  %v = arith.constant dense<1.0> : tensor<1xf32>
  // expected-note @below {{it is written here}}
  evt.store %v, %p[%i] : tensor<1xf32> -> memref<7xf32>
}
evt.graph @immutable(%w: memref<7xf32> {evt.immutable}, %n: index) {
  // expected-error @below {{'write' writes 'w', which is immutable}}
  evt.call @write(%w) grid(%n) : (memref<7xf32>)
}

// -----

// A count that is a number times a product of symbols.
evt.device @cell(%p: memref<?x?x3xf32>) grid(%i, %j, %k) {
  %v = arith.constant dense<1.0> : tensor<f32>
  evt.store %v, %p[%i, %j, %k] : tensor<f32> -> memref<?x?x3xf32>
}
evt.device @corner(%p: memref<?x?x3xf32>) grid(%i) {
  %t = evt.load %p[%i, %i, %i] : memref<?x?x3xf32> -> tensor<2x2x3xf32>
}
// expected-remark @below {{'volume' is proved}}
evt.graph @volume(%p: memref<?x?x3xf32>) {
  %n = evt.symbol "n" (%p[0]) : memref<?x?x3xf32>
  %m = evt.symbol "m" (%p[1]) : memref<?x?x3xf32>
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %cells = arith.muli %n, %m : index
  %done = evt.event() count(()[s0] -> (s0 * 3))(%cells) : !evt.event<>
  evt.call @cell(%p) grid(%n, %m, %c3) notify(%done[(i, j, k) -> ()]) : (memref<?x?x3xf32>)
  evt.call @corner(%p) grid(%c1) wait(%done[(i) -> ()]) : (memref<?x?x3xf32>)
}

// -----

// The same with another number.
evt.device @cell(%p: memref<?x?x3xf32>) grid(%i, %j, %k) {
  %v = arith.constant dense<1.0> : tensor<f32>
  evt.store %v, %p[%i, %j, %k] : tensor<f32> -> memref<?x?x3xf32>
}
evt.device @corner(%p: memref<?x?x3xf32>) grid(%i) {
  %t = evt.load %p[%i, %i, %i] : memref<?x?x3xf32> -> tensor<2x2x3xf32>
}
evt.graph @too_few(%p: memref<?x?x3xf32>) {
  %n = evt.symbol "n" (%p[0]) : memref<?x?x3xf32>
  %m = evt.symbol "m" (%p[1]) : memref<?x?x3xf32>
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %cells = arith.muli %n, %m : index
  // expected-error @below {{done has count 2 but receives 3 notifications from cell}}
  // expected-note @below {{for example with n = 1, m = 1}}
  %done = evt.event() count(()[s0] -> (s0 * 2))(%cells) : !evt.event<>
  // expected-note @below {{done is notified here by cell}}
  evt.call @cell(%p) grid(%n, %m, %c3) notify(%done[(i, j, k) -> ()]) : (memref<?x?x3xf32>)
  evt.call @corner(%p) grid(%c1) wait(%done[(i) -> ()]) : (memref<?x?x3xf32>)
}

// -----

// What a graph says is immutable is not written by attention either.
evt.device @merges(%m: memref<1x1x1x1x4xf32>, %a: memref<1x1x1x1x4x64xf32>, %o: memref<?x256xbf16>) grid(%i) {
  // expected-note @below {{it is written here}}
  evt.merge_parts %m, %m, %a[%i, %i] to %i parts of %i into %o[%i, %i]
    : memref<1x1x1x1x4xf32>, memref<1x1x1x1x4x64xf32>, memref<?x256xbf16>
}
evt.graph @g(%m: memref<1x1x1x1x4xf32>, %a: memref<1x1x1x1x4x64xf32>, %o: memref<?x256xbf16> {evt.immutable}) {
  %n = evt.symbol "n" (%o[0]) : memref<?x256xbf16>
  // expected-error @below {{'merges' writes 'o', which is immutable}}
  evt.call @merges(%m, %a, %o) grid(%n) : (memref<1x1x1x1x4xf32>, memref<1x1x1x1x4x64xf32>, memref<?x256xbf16>)
}
