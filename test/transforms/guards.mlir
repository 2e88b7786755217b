// Who reads counts and tables in memory, and when: by whom they may be written.
// RUN: %evt-opt %s --evt-verify -split-input-file -verify-diagnostics

// The guard of a count is waited for by who waits for an element, and by nobody else: task 0 waits for none.
evt.device @copy(%a: memref<?xi32>, %y: memref<?xi32>) grid(%i) {
  %t = evt.load %a[%i] : memref<?xi32> -> tensor<1xi32>
  // expected-note @below {{copy(i=0) writes cnt[0]}}
  evt.store %t, %y[%i] : tensor<1xi32> -> memref<?xi32>
}
evt.device @take(%a: memref<?xi32>, %y: memref<?xi32>) grid(%i) {
  // expected-error @below {{no event orders take(i=0) after copy(i=0), which writes cnt[0]}}
  // expected-note @below {{for example with n = 1}}
  // expected-note @below {{take(i=0) reads cnt[0]}}
  %t = evt.load %a[%i] : memref<?xi32> -> tensor<1xi32>
  evt.store %t, %y[%i] : tensor<1xi32> -> memref<?xi32>
}
evt.graph @clipped(%s: memref<?xi32> {evt.immutable}, %y: memref<?xi32>) {
  %n = evt.symbol "n" (%s[0], %y[0]) range(1, 1000) : memref<?xi32>, memref<?xi32>
  %cnt = evt.alloc(%n) : memref<?xi32>
  %g = evt.event() count(%n) : !evt.event<>
  // expected-remark @below {{obligation count:e}}
  %e = evt.event(%n) count(%cnt after %g) : !evt.event<?>, memref<?xi32>
  evt.call @copy(%s, %cnt) grid(%n) notify(%g[(i) -> ()]) : (memref<?xi32>, memref<?xi32>)
  evt.call @take(%cnt, %y) grid(%n) wait(%e[(i) -> (i - 1)]) : (memref<?xi32>, memref<?xi32>)
}

// -----

// A worker without a task of a ragged call reads its table, too, and nobody waits for that.
evt.device @plan(%a: memref<5xi32>, %t: memref<5xi32>) grid(%i) {
  %v = evt.load %a[%i] : memref<5xi32> -> tensor<5xi32>
  evt.store %v, %t[%i] : tensor<5xi32> -> memref<5xi32>
}
evt.device @again(%a: memref<5xi32>, %t: memref<5xi32>) grid(%i) {
  %v = evt.load %a[%i] : memref<5xi32> -> tensor<5xi32>
  // expected-note @below {{again writes table here}}
  // expected-remark @below {{obligation order:plan->again:table}}
  // expected-remark @below {{obligation order:work->again:table}}
  evt.store %v, %t[%i] : tensor<5xi32> -> memref<5xi32>
}
evt.device @work(%y: memref<4x8xi32>) grid(%e, %r) {
  %one = arith.constant dense<1> : tensor<1x1xi32>
  evt.store %one, %y[%e, %r] : tensor<1x1xi32> -> memref<4x8xi32>
}
evt.graph @overwritten(%a: memref<5xi32> {evt.immutable}, %b: memref<5xi32> {evt.immutable}, %counts: memref<4xi32> {evt.immutable},
                       %y: memref<4x8xi32>, %table: memref<5xi32>) {
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %planned = evt.event() count(1) : !evt.event<>
  // expected-remark @below {{obligation count:worked}}
  %worked = evt.event(%c4) count(%counts * 1) : !evt.event<?>, memref<4xi32>
  evt.call @plan(%a, %table) grid(%c1) notify(%planned[(i) -> ()]) : (memref<5xi32>, memref<5xi32>)
  // expected-error @below {{the ragged grid of work is read from table, which again writes again while workers may still read it}}
  evt.call @work(%y) grid(ragged(%table by 1 bound %c8 after %planned : memref<5xi32>)) notify(%worked[(e, r) -> (e)]) : (memref<4x8xi32>)
  evt.call @again(%b, %table) grid(%c1) wait(%worked[(i) -> (*)]) : (memref<5xi32>, memref<5xi32>)
}

// -----

// Counts are read for every element.
evt.device @copy(%a: memref<?xi32>, %y: memref<?xi32>) grid(%i) {
  %t = evt.load %a[%i] : memref<?xi32> -> tensor<1xi32>
  evt.store %t, %y[%i] : tensor<1xi32> -> memref<?xi32>
}
evt.graph @short(%s: memref<?xi32> {evt.immutable}, %counts: memref<?xi32> {evt.immutable}, %y: memref<?xi32>) {
  %n = evt.symbol "n" (%s[0], %y[0]) : memref<?xi32>, memref<?xi32>
  // expected-error @below {{the counts of e are read from counts, which may have fewer elements}}
  // expected-remark @below {{obligation count:e}}
  %e = evt.event(%n) count(%counts * 1) : !evt.event<?>, memref<?xi32>
  evt.call @copy(%s, %y) grid(%n) notify(%e[(i) -> (i)]) : (memref<?xi32>, memref<?xi32>)
}
