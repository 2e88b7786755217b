// Attention over a paged cache.
// RUN: %evt-opt %s > %t.once && %evt-opt %t.once > %t.twice && diff %t.once %t.twice
// RUN: FileCheck %s < %t.twice
// RUN: %evt-opt %s --mlir-print-op-generic | %evt-opt > %t.generic && diff %t.once %t.generic

// CHECK-LABEL: evt.device @attends
evt.device @attends(%q: memref<?x4x64xbf16>, %keys: memref<?x2x?x64xbf16>, %values: memref<?x2x?x64xbf16>,
                    %pages: memref<?x?xi32>, %o: memref<?x4x64xf32>, %l: index)
    grid(%t, %h) {
  %c0 = arith.constant 0 : index
  %c9 = arith.constant 9 : index
  %query = evt.load %q[%t, %c0, %c0] : memref<?x4x64xbf16> -> tensor<4x64xbf16>
  %scales = arith.constant dense<0.125> : tensor<4xf32>
  // CHECK: %{{.*}}, %{{.*}}, %[[ACC:.*]] = evt.attend %{{.*}} scaled %{{.*}} over %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}[%{{.*}}]] from %{{.*}} to %{{.*}} pages of 16 : tensor<4x64xbf16>, memref<?x2x?x64xbf16>, memref<?x?xi32> -> tensor<4x64xf32>
  %m, %sum, %acc = evt.attend %query scaled %scales over %keys, %values[%l, %h, %pages[%t]] from %c0 to %c9 pages of 16
    : tensor<4x64xbf16>, memref<?x2x?x64xbf16>, memref<?x?xi32> -> tensor<4x64xf32>
  // CHECK: evt.attend {{.*}} to %{{.*}} settled %{{.*}} pages of 16 heads 2 : tensor<4x64xbf16>
  %m2, %sum2, %acc2 = evt.attend %query scaled %scales over %keys, %values[%l, %c0, %pages[%t]] from %c0 to %c9 settled %t
    pages of 16 heads 2
    : tensor<4x64xbf16>, memref<?x2x?x64xbf16>, memref<?x?xi32> -> tensor<4x64xf32>
  %both = arith.addf %acc, %acc2 : tensor<4x64xf32>
  evt.store %both, %o[%t, %c0, %c0] : tensor<4x64xf32> -> memref<?x4x64xf32>
}

// CHECK-LABEL: evt.device @merges
evt.device @merges(%m: memref<?x8x?x4xf32>, %sum: memref<?x8x?x4xf32>, %acc: memref<?x8x?x4x128xf32>,
                   %o: memref<?x4x128xf32>) grid(%t, %h) {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  // CHECK: evt.merge %{{.*}}, %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}] parts %{{.*}} : memref<?x8x?x4xf32>, memref<?x8x?x4x128xf32> -> tensor<4x128xf32>
  %merged = evt.merge %m, %sum, %acc[%t, %h] parts %c3 : memref<?x8x?x4xf32>, memref<?x8x?x4x128xf32> -> tensor<4x128xf32>
  evt.store %merged, %o[%t, %c0, %c0] : tensor<4x128xf32> -> memref<?x4x128xf32>
}

// CHECK-LABEL: evt.device @attends_tokens
evt.device @attends_tokens(%q: memref<?x512xbf16>, %o: memref<?x512xbf16>, %keys: memref<?x2x?x64xbf16>,
                           %values: memref<?x2x?x64xbf16>, %pages: memref<?x?xi32>, %requests: memref<?xi32>, %positions: memref<?xi32>, %l: index)
    grid(%t, %h) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK: evt.attend_tokens %{{.*}}[%{{.*}}, %{{.*}}] into %{{.*}} tokens 32 of %{{.*}}, %{{.*}} runs of 16 over %{{.*}}, %{{.*}}[%{{.*}}] through %{{.*}} of 64 group 4 scale 1.250000e-01 : memref<?x512xbf16>, memref<?xi32>, memref<?x2x?x64xbf16>, memref<?x?xi32>
  evt.attend_tokens %q[%t, %h] into %o tokens 32 of %requests, %positions runs of 16 over %keys, %values[%l] through %pages of 64
    group 4 scale 0.125 : memref<?x512xbf16>, memref<?xi32>, memref<?x2x?x64xbf16>, memref<?x?xi32>
  // CHECK: evt.short_tokens %{{.*}}, %{{.*}}[%{{.*}}] count 1 runs of 16 : memref<?xi32>
  %short = evt.short_tokens %requests, %positions[%t] count 1 runs of 16 : memref<?xi32>
  %row = arith.constant dense<0.0> : tensor<1x512xbf16>
  scf.for %i = %c0 to %short step %c1 {
    evt.store %row, %o[%t, %c0] : tensor<1x512xbf16> -> memref<?x512xbf16>
  }
}

// CHECK-LABEL: evt.device @rotates
evt.device @rotates(%x: memref<?x768xf32>, %q: memref<?x512xbf16>, %values: memref<?x2x?x64xbf16>, %slots: memref<?xi32>,
                    %cos: memref<?x32xf32>, %sin: memref<?x32xf32>, %w: memref<?x64xf32>, %qs: memref<?x32xf32>, %l: index)
    grid(%t, %h) {
  // CHECK: evt.rotate_head %{{.*}}[%{{.*}}, %{{.*}}] tokens 32 columns 64 into %{{.*}}[%{{.*}}, %{{.*}}] by %{{.*}}, %{{.*}} normed %{{.*}} epsilon {{9.99.*E-7|1.0+e-06}} squares %{{.*}} : memref<?x768xf32>, memref<?x512xbf16> by memref<?x32xf32>, memref<?x32xf32> normed memref<?x64xf32> squares memref<?x32xf32>
  evt.rotate_head %x[%t, %h] tokens 32 columns 64 into %q[%l, %h] by %cos, %sin normed %w epsilon 1.0e-6 squares %qs
    : memref<?x768xf32>, memref<?x512xbf16> by memref<?x32xf32>, memref<?x32xf32> normed memref<?x64xf32> squares memref<?x32xf32>
  // CHECK: evt.rotate_head %{{.*}} into %{{.*}} through %{{.*}} : memref<?x768xf32>, memref<?x2x?x64xbf16> through memref<?xi32>
  evt.rotate_head %x[%t, %h] tokens 32 columns 64 into %values[%l, %h] through %slots
    : memref<?x768xf32>, memref<?x2x?x64xbf16> through memref<?xi32>
}

// CHECK-LABEL: evt.device @attends_in_parts
evt.device @attends_in_parts(%q: memref<?x512xbf16>, %qs: memref<?x32xf32>, %keys: memref<?x8x?x128xbf16>,
                             %values: memref<?x8x?x128xbf16>, %ks: memref<?x8x?x8xf32>, %pages: memref<?x?xi32>,
                             %m: memref<?x8x?x?x4xf32>, %sum: memref<?x8x?x?x4xf32>, %acc: memref<?x8x?x?x4x128xf32>,
                             %o: memref<?x512xbf16>, %l: index) grid(%t, %h, %s) {
  %c0 = arith.constant 0 : index
  %c9 = arith.constant 9 : index
  %c64 = arith.constant 64 : index
  // CHECK: evt.attend_parts %{{.*}}[%{{.*}}, %{{.*}}] over %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}[%{{.*}}]] from %{{.*}} to %{{.*}} parts of %{{.*}} settled %{{.*}} into %{{.*}}, %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}] rows 4 pages of 16 scaled 1.250000e-01 : memref<?x512xbf16>, memref<?x8x?x128xbf16>, memref<?x?xi32>, memref<?x8x?x?x4xf32>, memref<?x8x?x?x4x128xf32>
  evt.attend_parts %q[%t, %c0] over %keys, %values[%l, %h, %pages[%t]] from %c0 to %c9 parts of %c64 settled %c0
    into %m, %sum, %acc[%t, %h, %s] rows 4 pages of 16 scaled 0.125
    : memref<?x512xbf16>, memref<?x8x?x128xbf16>, memref<?x?xi32>, memref<?x8x?x?x4xf32>, memref<?x8x?x?x4x128xf32>
  // CHECK: evt.attend_parts {{.*}} normed %{{.*}}[%{{.*}}], %{{.*}} epsilon {{9.99.*E-7|1.0+e-06}} : {{.*}}, memref<?x32xf32>, memref<?x8x?x8xf32>
  evt.attend_parts %q[%t, %c0] over %keys, %values[%l, %h, %pages[%t]] from %c0 to %c9 parts of %c64 settled %c0
    into %m, %sum, %acc[%t, %h, %s] rows 4 pages of 16 scaled 0.125 normed %qs[%c0], %ks epsilon 1.0e-6
    : memref<?x512xbf16>, memref<?x8x?x128xbf16>, memref<?x?xi32>, memref<?x8x?x?x4xf32>, memref<?x8x?x?x4x128xf32>,
      memref<?x32xf32>, memref<?x8x?x8xf32>
  // CHECK: evt.merge_parts %{{.*}}, %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}] to %{{.*}} parts of %{{.*}} into %{{.*}}[%{{.*}}, %{{.*}}] : memref<?x8x?x?x4xf32>, memref<?x8x?x?x4x128xf32>, memref<?x512xbf16>
  evt.merge_parts %m, %sum, %acc[%t, %h] to %c9 parts of %c64 into %o[%t, %c0]
    : memref<?x8x?x?x4xf32>, memref<?x8x?x?x4x128xf32>, memref<?x512xbf16>
}
