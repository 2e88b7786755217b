// Too little work allowed leaves questions open; it never answers them with yes.
// RUN: %evt-opt %s --pass-pipeline="builtin.module(evt.graph(evt-verify{operations=1}))" -verify-diagnostics

evt.device @write(%p: memref<?x4xf32>) grid(%i, %j) {
  %v = arith.constant dense<1.0> : tensor<f32>
  evt.store %v, %p[%i, %j] : tensor<f32> -> memref<?x4xf32>
}
evt.device @read(%p: memref<?x4xf32>) grid(%i) {
  %c0 = arith.constant 0 : index
  // expected-remark-re @below {{obligation order:write->read:p: the tasks of read that touch an element of p come after those of write: {{.*}}}}
  %t = evt.load %p[%i, %c0] : memref<?x4xf32> -> tensor<4xf32>
}
// expected-remark @below {{'limit' is proved but for 4 obligations}}
evt.graph @limit(%p: memref<?x4xf32>) {
  %n = evt.symbol "n" (%p[0]) : memref<?x4xf32>
  %c4 = arith.constant 4 : index
  // expected-remark @below {{obligation count:done: the operation limit was reached before it was proved that each element of done receives its count 4}}
  %done = evt.event(%n) count(4) : !evt.event<?>
  // expected-remark @below {{obligation bound:write:done: the operation limit was reached before it was proved that write notifies inside the shape of done}}
  evt.call @write(%p) grid(%n, %c4) notify(%done[(i, j) -> (i)]) : (memref<?x4xf32>)
  // expected-remark @below {{obligation progress:write->read:done: the operation limit was reached before it was proved that read waits through done only for tasks of write that come before in program order}}
  evt.call @read(%p) grid(%n) wait(%done[(i) -> (i)]) : (memref<?x4xf32>)
}
