// Dependences for which no event can be inferred.
// RUN: %evt-opt %s --evt-infer-events -split-input-file -verify-diagnostics

// How many tasks a ragged call has is not known before it runs.
evt.device @rows(%y: memref<?xf32>) grid(%e, %r) {
  %v = arith.constant dense<1.0> : tensor<1xf32>
  evt.store %v, %y[%e] : tensor<1xf32> -> memref<?xf32>
}
evt.device @use(%y: memref<?xf32>) grid(%i) {
  %v = evt.load %y[%i] : memref<?xf32> -> tensor<1xf32>
}
evt.graph @ragged(%y: memref<?xf32>, %indptr: memref<5xi32> {evt.immutable}) {
  %n = evt.symbol "n" (%y[0]) : memref<?xf32>
  // expected-error @below {{rows needs rows through y, but how many tasks rows has is read from memory: declare an event with a count}}
  evt.call @rows(%y) grid(ragged(%indptr by 3 bound %n : memref<5xi32>)) : (memref<?xf32>)
  // expected-error @below {{use needs rows through y, but how many tasks rows has is read from memory: declare an event with a count}}
  evt.call @use(%y) grid(%n) : (memref<?xf32>)
}

// -----

// The table of the grid is written by several tasks, each group's by its own, so that no single counter orders it.
evt.device @plan(%t: memref<5xi32>) grid(%i) {
  %v = arith.constant dense<1> : tensor<1xi32>
  evt.store %v, %t[%i] : tensor<1xi32> -> memref<5xi32>
}
evt.device @rows() grid(%e, %r) {
}
evt.graph @guard(%n: index) {
  %c5 = arith.constant 5 : index
  %indptr = evt.alloc() : memref<5xi32>
  evt.call @plan(%indptr) grid(%c5) : (memref<5xi32>)
  // expected-remark @below {{waits for more of 'plan_done' than it needs: which elements of indptr are touched is read from memory, so every task that could touch them is waited for}}
  // expected-error @below {{the table of the ragged grid is written in the graph, but no single-counter event was found that orders its reading: declare one}}
  evt.call @rows() grid(ragged(%indptr by 3 bound %n : memref<5xi32>)) : ()
}

// -----

// Nothing is inferred for a graph that is wrong anyway.
evt.device @fill(%x: memref<?xf32>) grid(%i) {
  %v = arith.constant dense<1.0> : tensor<1xf32>
  // expected-note @below {{it is written here}}
  evt.store %v, %x[%i] : tensor<1xf32> -> memref<?xf32>
}
evt.graph @immutable(%x: memref<?xf32> {evt.immutable}, %n: index) {
  // expected-error @below {{'fill' writes 'x', which is immutable}}
  evt.call @fill(%x) grid(%n) : (memref<?xf32>)
}

// -----

// The grid has n * m + 1 tasks, a number that the program never computes the product for: the event would need
// (n * m + 5) floordiv 5 elements.
evt.device @one(%x: memref<?xf32>) grid(%i) {
  %v = arith.constant dense<1.0> : tensor<1xf32>
  evt.store %v, %x[%i] : tensor<1xf32> -> memref<?xf32>
}
evt.device @five(%x: memref<?xf32>) grid(%i) {
  %row = affine.apply affine_map<(d0) -> (d0 * 5)>(%i)
  %t = evt.load %x[%row] : memref<?xf32> -> tensor<5xf32>
}
evt.graph @form(%n: index, %m: index, %k: index) {
  %tasks = affine.apply affine_map<()[s0, s1] -> (s0 * s1 + 1)>()[%n, %m]
  %x = evt.alloc(%tasks) : memref<?xf32>
  // expected-error @below {{the shape of the inferred event 'one_done' has no affine form: declare an event}}
  evt.call @one(%x) grid(%tasks) : (memref<?xf32>)
  evt.call @five(%x) grid(%k) : (memref<?xf32>)
}
