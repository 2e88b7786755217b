// Sampling a token.
// RUN: %evt-opt %s > %t.once && %evt-opt %t.once > %t.twice && diff %t.once %t.twice
// RUN: FileCheck %s < %t.twice
// RUN: %evt-opt %s --mlir-print-op-generic | %evt-opt > %t.generic && diff %t.once %t.generic

// CHECK-LABEL: evt.device @draws
evt.device @draws(%logits: memref<?x300xf32>, %rates: memref<?x8xf32>, %choices: memref<?x8xi32>, %history: memref<?xi32>,
                  %pages: memref<?x?xi32>, %scaled: memref<?x300xf32>, %parts: memref<?x1x4xf32>) grid(%r) {
  %c0 = arith.constant 0 : index
  // CHECK: evt.draw %{{.*}}[%{{.*}}, %{{.*}}] chunks of 1024 by %{{.*}}, %{{.*}} history %{{.*}}, %{{.*}} pages of 16 into %{{.*}} : memref<?x300xf32>, memref<?x8xf32>, memref<?x8xi32>, memref<?xi32>, memref<?x?xi32>, memref<?x300xf32> -> tensor<4xf32>
  %part = evt.draw %logits[%r, %c0] chunks of 1024 by %rates, %choices history %history, %pages pages of 16 into %scaled
    : memref<?x300xf32>, memref<?x8xf32>, memref<?x8xi32>, memref<?xi32>, memref<?x?xi32>, memref<?x300xf32> -> tensor<4xf32>
  evt.store %part, %parts[%r, %c0, %c0] : tensor<4xf32> -> memref<?x1x4xf32>
}

// CHECK-LABEL: evt.device @samples
evt.device @samples(%parts: memref<?x1x4xf32>, %scaled: memref<?x300xf32>, %logits: memref<?x300xf32>, %rates: memref<?x8xf32>,
                    %choices: memref<?x8xi32>, %tokens: memref<?xi32>, %logprobs: memref<?xf32>) grid(%r) {
  // CHECK: %{{.*}}, %{{.*}} = evt.sample %{{.*}}, %{{.*}}, %{{.*}}[%{{.*}}] chunks of 1024 by %{{.*}}, %{{.*}} : memref<?x1x4xf32>, memref<?x300xf32>, memref<?x300xf32>, memref<?x8xf32>, memref<?x8xi32> -> tensor<1xi32>, tensor<1xf32>
  %token, %logprob = evt.sample %parts, %scaled, %logits[%r] chunks of 1024 by %rates, %choices
    : memref<?x1x4xf32>, memref<?x300xf32>, memref<?x300xf32>, memref<?x8xf32>, memref<?x8xi32> -> tensor<1xi32>, tensor<1xf32>
  evt.store %token, %tokens[%r] : tensor<1xi32> -> memref<?xi32>
  evt.store %logprob, %logprobs[%r] : tensor<1xf32> -> memref<?xf32>
}
