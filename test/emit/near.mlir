// Operations whose flags allow it are near the result, in few instructions; others, and those of other flags, are as
// ever.
// RUN: %evt show --target cuda --stage source %s | FileCheck %s
// RUN: %evt show --target cpu --stage source %s | FileCheck %s
// CHECK-LABEL: body_swiglu(
// CHECK: evt::tanh({{.*}}evt::exp({{.*}}evt::exp2_near({{.*}}evt::rsqrt_near({{.*}}evt::divide_near({{.*}}evt::exp_near({{.*}} / t0

evt.device @swiglu(%x: memref<?x64xf32>, %y: memref<?x64xf32>) grid(%i) {
  %c0 = arith.constant 0 : index
  %one = arith.constant dense<1.0> : tensor<64xf32>
  %v = evt.load %x[%i, %c0] : memref<?x64xf32> -> tensor<64xf32>
  %minus = arith.negf %v : tensor<64xf32>
  %exp = math.exp %minus fastmath<afn> : tensor<64xf32>
  %below = arith.addf %exp, %one : tensor<64xf32>
  %silu = arith.divf %v, %below fastmath<arcp> : tensor<64xf32>
  %root = math.rsqrt %silu fastmath<fast> : tensor<64xf32>
  %power = math.exp2 %root fastmath<afn, arcp> : tensor<64xf32>
  %exact = math.exp %power fastmath<nnan, contract> : tensor<64xf32>
  %tanh = math.tanh %exact fastmath<afn> : tensor<64xf32>
  %quotient = arith.divf %tanh, %v : tensor<64xf32>
  evt.store %quotient, %y[%i, %c0] : tensor<64xf32> -> memref<?x64xf32>
}
evt.graph @near(%x: memref<?x64xf32> {evt.immutable}, %y: memref<?x64xf32>) {
  %n = evt.symbol "n" (%x[0], %y[0]) range(1, 4096) : memref<?x64xf32>, memref<?x64xf32>
  evt.call @swiglu(%x, %y) grid(%n) : (memref<?x64xf32>, memref<?x64xf32>)
}
