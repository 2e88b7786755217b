// Device functions and the operations on tiles.
// RUN: %evt-opt %s > %t.once && %evt-opt %t.once > %t.twice && diff %t.once %t.twice
// RUN: FileCheck %s < %t.twice
// RUN: %evt-opt %s --mlir-print-op-generic | %evt-opt > %t.generic && diff %t.once %t.generic

// CHECK-LABEL: evt.device @moves(%x: memref<?x5x7xf32>, %y: memref<?xbf16>, %rows: memref<?xi32>, %n: index) grid(%i, %j) {
evt.device @moves(%x: memref<?x5x7xf32>, %y: memref<?xbf16>, %rows: memref<?xi32>, %n: index) grid(%i, %j) {
  // CHECK-NEXT: %c0 = arith.constant 0 : index
  %c0 = arith.constant 0 : index
  // Leading dimensions of size 1 are dropped without saying so.
  // CHECK-NEXT: %[[A:.*]] = evt.load %x[%i, %j, %c0] : memref<?x5x7xf32> -> tensor<3x7xf32>
  %a = evt.load %x[%i, %j, %c0] : memref<?x5x7xf32> -> tensor<3x7xf32>
  // CHECK-NEXT: evt.load %x[%i, %j, %c0] sizes [3, 1, 7] : memref<?x5x7xf32> -> tensor<3x7xf32>
  %b = evt.load %x[%i, %j, %c0] sizes [3, 1, 7] : memref<?x5x7xf32> -> tensor<3x7xf32>
  // CHECK-NEXT: evt.load %y[%i] fill -1.500000e+00 : memref<?xbf16> -> tensor<9xbf16>
  %c = evt.load %y[%i] fill -1.5 : memref<?xbf16> -> tensor<9xbf16>
  // CHECK-NEXT: evt.load %y[%i] fill -0.000000e+00 : memref<?xbf16> -> tensor<9xbf16>
  %d = evt.load %y[%i] fill -0.0 : memref<?xbf16> -> tensor<9xbf16>
  // CHECK-NEXT: evt.load %x[%rows[%i], %j, %c0] sizes [3, 1, 7] fill 2.500000e-01 : memref<?x5x7xf32>, memref<?xi32> -> tensor<3x7xf32>
  %e = evt.load %x[%rows[%i], %j, %c0] sizes [3, 1, 7] fill 0.25 : memref<?x5x7xf32>, memref<?xi32> -> tensor<3x7xf32>
  // CHECK-NEXT: evt.store %[[A]], %x[%i, %j, %c0] : tensor<3x7xf32> -> memref<?x5x7xf32>
  evt.store %a, %x[%i, %j, %c0] : tensor<3x7xf32> -> memref<?x5x7xf32>
  // CHECK-NEXT: evt.store %[[A]], %x[%rows[%i], %j, %c0] sizes [3, 1, 7] : tensor<3x7xf32> -> memref<?x5x7xf32>, memref<?xi32>
  evt.store %a, %x[%rows[%i], %j, %c0] sizes [3, 1, 7] : tensor<3x7xf32> -> memref<?x5x7xf32>, memref<?xi32>
  // Any one dimension can go through a table, if the sizes before it are 1.
  // CHECK-NEXT: evt.load %x[%i, %rows[%j], %c0] fill 2.500000e-01 : memref<?x5x7xf32>, memref<?xi32> -> tensor<3x7xf32>
  %f = evt.load %x[%i, %rows[%j], %c0] fill 0.25 : memref<?x5x7xf32>, memref<?xi32> -> tensor<3x7xf32>
  // CHECK-NEXT: evt.store %[[A]], %x[%i, %rows[%j], %c0] : tensor<3x7xf32> -> memref<?x5x7xf32>, memref<?xi32>
  evt.store %a, %x[%i, %rows[%j], %c0] : tensor<3x7xf32> -> memref<?x5x7xf32>, memref<?xi32>
  // CHECK-NEXT: evt.load %x[%i, %j, %rows[%c0]] : memref<?x5x7xf32>, memref<?xi32> -> tensor<1x7xf32>
  %g = evt.load %x[%i, %j, %rows[%c0]] : memref<?x5x7xf32>, memref<?xi32> -> tensor<1x7xf32>
  // CHECK-NEXT: evt.read %rows[%i] : memref<?xi32>
  %r = evt.read %rows[%i] : memref<?xi32>
  // CHECK-NEXT: evt.valid %x[%j] dim 1 size 3 : memref<?x5x7xf32>
  %v = evt.valid %x[%j] dim 1 size 3 : memref<?x5x7xf32>
}

// CHECK-LABEL: evt.device @scalar(%x: memref<i32>) grid() {
evt.device @scalar(%x: memref<i32>) grid() {
  // CHECK-NEXT: evt.load %x[] : memref<i32> -> tensor<i32>
  %a = evt.load %x[] : memref<i32> -> tensor<i32>
  // CHECK-NEXT: evt.store %{{.*}}, %x[] : tensor<i32> -> memref<i32>
  evt.store %a, %x[] : tensor<i32> -> memref<i32>
}

// CHECK-LABEL: evt.device @computes
evt.device @computes(%x: memref<?x9xf32>) grid(%i) {
  %c0 = arith.constant 0 : index
  %t = evt.load %x[%i, %c0] : memref<?x9xf32> -> tensor<3x9xf32>
  // CHECK: evt.topk %{{.*}} : tensor<3x9xf32> -> tensor<3x2xf32>, tensor<3x2xi32>
  %best, %which = evt.topk %t : tensor<3x9xf32> -> tensor<3x2xf32>, tensor<3x2xi32>
  // CHECK-NEXT: evt.prefix_sum %{{.*}} dim 1 : tensor<3x2xi32>
  %p = evt.prefix_sum %which dim 1 : tensor<3x2xi32>
  // CHECK-NEXT: evt.prefix_sum %{{.*}} dim 0 exclusive : tensor<3x2xi32>
  %q = evt.prefix_sum %which dim 0 exclusive : tensor<3x2xi32>
  // CHECK-NEXT: evt.iota dim 1 : tensor<3x2xi64>
  %k = evt.iota dim 1 : tensor<3x2xi64>
}
