// A product becomes roles: loads of what nobody writes ahead, other loads behind the task's events, the loop, the rest.
// RUN: %evt-opt %s --evt-split-roles > %t
// RUN: FileCheck %s < %t
// What was split reads as it was printed, and has nothing left to split.
// RUN: %evt-opt %t --evt-split-roles | diff %t -

// CHECK-LABEL: evt.device @product
evt.device @product(%x: memref<?x512xbf16>, %w: memref<1024x512xbf16>, %y: memref<?x1024xf32>) grid(%i, %j) {
  // CHECK-DAG: %[[ROW:.*]] = affine.apply {{.*}}(%i)
  // CHECK-DAG: %[[COLUMN:.*]] = affine.apply {{.*}}(%j)
  %c0 = arith.constant 0 : index
  %c256 = arith.constant 256 : index
  %c512 = arith.constant 512 : index
  %row = affine.apply affine_map<(d0) -> (d0 * 8)>(%i)
  %column = affine.apply affine_map<(d0) -> (d0 * 8)>(%j)
  %zero = arith.constant dense<0.0> : tensor<8x8xf32>
  // CHECK: %[[W:.*]] = evt.ring "w" stages(4) ahead : <tensor<8x256xbf16>>
  // CHECK-NEXT: %[[X:.*]] = evt.ring "x" stages(4) : <tensor<8x256xbf16>>
  // CHECK-NEXT: %[[SUM:.*]] = evt.ring "sum0" stages(2) : <tensor<8x8xf32>>
  // CHECK-NEXT: evt.role "loader" {
  // CHECK-NEXT: scf.for %[[K:.*]] = %{{.*}} to %{{.*}} step %{{.*}} {
  // CHECK-NEXT: %[[B:.*]] = evt.load %w[%[[COLUMN]], %[[K]]]
  // CHECK-NEXT: evt.put %[[B]], %[[W]] : <tensor<8x256xbf16>>
  // CHECK-NEXT: }
  // CHECK-NEXT: }
  // CHECK-NEXT: evt.role "rows" {
  // CHECK-NEXT: scf.for %[[K2:.*]] = %{{.*}} to %{{.*}} step %{{.*}} {
  // CHECK-NEXT: %[[A:.*]] = evt.load %x[%[[ROW]], %[[K2]]]
  // CHECK-NEXT: evt.put %[[A]], %[[X]] : <tensor<8x256xbf16>>
  // CHECK: evt.role "compute" {
  // CHECK-NEXT: %[[ACC:.*]] = scf.for
  // CHECK-NEXT: evt.get %[[X]] : <tensor<8x256xbf16>>
  // CHECK-NEXT: evt.get %[[W]] : <tensor<8x256xbf16>>
  // CHECK-NOT: evt.load
  // CHECK: linalg.matmul_transpose_b
  // CHECK: evt.put %[[ACC]], %[[SUM]] : <tensor<8x8xf32>>
  // CHECK-NEXT: }
  // CHECK-NEXT: evt.role "epilogue" {
  // CHECK-NEXT: evt.load %y
  // CHECK-NEXT: %[[S:.*]] = evt.get %[[SUM]] : <tensor<8x8xf32>>
  // CHECK-NEXT: arith.addf
  // CHECK-NEXT: evt.store
  // CHECK-NEXT: }
  // CHECK-NEXT: }
  %old = evt.load %y[%row, %column] : memref<?x1024xf32> -> tensor<8x8xf32>
  %acc = scf.for %k = %c0 to %c512 step %c256 iter_args(%in = %zero) -> (tensor<8x8xf32>) {
    %a16 = evt.load %x[%row, %k] : memref<?x512xbf16> -> tensor<8x256xbf16>
    %b16 = evt.load %w[%column, %k] : memref<1024x512xbf16> -> tensor<8x256xbf16>
    %a = arith.extf %a16 : tensor<8x256xbf16> to tensor<8x256xf32>
    %b = arith.extf %b16 : tensor<8x256xbf16> to tensor<8x256xf32>
    %out = linalg.matmul_transpose_b ins(%a, %b : tensor<8x256xf32>, tensor<8x256xf32>)
        outs(%in : tensor<8x8xf32>) -> tensor<8x8xf32>
    scf.yield %out : tensor<8x8xf32>
  }
  %new = arith.addf %acc, %old : tensor<8x8xf32>
  evt.store %new, %y[%row, %column] : tensor<8x8xf32> -> memref<?x1024xf32>
}

// What hangs on a table is read where it is used, in the epilogue.
// CHECK-LABEL: evt.device @placed
// CHECK: evt.role "compute"
// CHECK: evt.role "epilogue" {
// CHECK: %[[SLOT:.*]] = evt.read %slots[%i]
// CHECK: %[[AT:.*]] = affine.apply {{.*}}(%[[SLOT]])
// CHECK: evt.store {{.*}}%y[%[[AT]], {{.*}}]
evt.device @placed(%x: memref<?x512xbf16>, %w: memref<1024x512xbf16>, %y: memref<?x1024xf32>, %slots: memref<?xi32>) grid(%i, %j) {
  %c0 = arith.constant 0 : index
  %c256 = arith.constant 256 : index
  %c512 = arith.constant 512 : index
  %slot = evt.read %slots[%i] : memref<?xi32>
  %at = affine.apply affine_map<(d0) -> (d0 * 8)>(%slot)
  %zero = arith.constant dense<0.0> : tensor<8x8xf32>
  %acc = scf.for %k = %c0 to %c512 step %c256 iter_args(%in = %zero) -> (tensor<8x8xf32>) {
    %a16 = evt.load %x[%i, %k] : memref<?x512xbf16> -> tensor<8x256xbf16>
    %b16 = evt.load %w[%j, %k] : memref<1024x512xbf16> -> tensor<8x256xbf16>
    %a = arith.extf %a16 : tensor<8x256xbf16> to tensor<8x256xf32>
    %b = arith.extf %b16 : tensor<8x256xbf16> to tensor<8x256xf32>
    %out = linalg.matmul_transpose_b ins(%a, %b : tensor<8x256xf32>, tensor<8x256xf32>)
        outs(%in : tensor<8x8xf32>) -> tensor<8x8xf32>
    scf.yield %out : tensor<8x8xf32>
  }
  evt.store %acc, %y[%at, %j] : tensor<8x8xf32> -> memref<?x1024xf32>
}

// A loop whose length is known only at run time is one in each role. A tile that is multiplied with itself is loaded once.
// CHECK-LABEL: evt.device @long
// CHECK: %[[DEPTH:.*]] = memref.dim %x
// CHECK: evt.role "rows" {
// CHECK-NEXT: scf.for %{{.*}} = %{{.*}} to %[[DEPTH]] step
// CHECK-NEXT: evt.load %x
// CHECK-NEXT: evt.put
// CHECK: evt.role "compute" {
// CHECK-NEXT: scf.for %{{.*}} = %{{.*}} to %[[DEPTH]] step
// CHECK-NEXT: evt.get
// CHECK-NOT: evt.get
// CHECK: evt.role "epilogue"
evt.device @long(%x: memref<?x?xf32>, %y: memref<?x?xf32>) grid(%i) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %depth = memref.dim %x, %c1 : memref<?x?xf32>
  %zero = arith.constant dense<0.0> : tensor<8x8xf32>
  %acc = scf.for %k = %c0 to %depth step %c64 iter_args(%in = %zero) -> (tensor<8x8xf32>) {
    %a = evt.load %x[%i, %k] : memref<?x?xf32> -> tensor<8x64xf32>
    %out = linalg.matmul_transpose_b ins(%a, %a : tensor<8x64xf32>, tensor<8x64xf32>)
        outs(%in : tensor<8x8xf32>) -> tensor<8x8xf32>
    scf.yield %out : tensor<8x8xf32>
  }
  evt.store %acc, %y[%i, %c0] : tensor<8x8xf32> -> memref<?x?xf32>
}

// One whose length hangs on data is left alone, and so is what it is called with otherwise.
// CHECK-LABEL: evt.device @data
// CHECK-NOT: evt.role
evt.device @data(%x: memref<?x?xf32>, %slots: memref<?xi32>, %y: memref<?x?xf32>) grid(%i) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %depth = evt.read %slots[%i] : memref<?xi32>
  %zero = arith.constant dense<0.0> : tensor<8x8xf32>
  %acc = scf.for %k = %c0 to %depth step %c64 iter_args(%in = %zero) -> (tensor<8x8xf32>) {
    %a = evt.load %x[%i, %k] : memref<?x?xf32> -> tensor<8x64xf32>
    %out = linalg.matmul_transpose_b ins(%a, %a : tensor<8x64xf32>, tensor<8x64xf32>)
        outs(%in : tensor<8x8xf32>) -> tensor<8x8xf32>
    scf.yield %out : tensor<8x8xf32>
  }
  evt.store %acc, %y[%i, %c0] : tensor<8x8xf32> -> memref<?x?xf32>
}

// CHECK-LABEL: evt.graph @g
evt.graph @g(%x: memref<?x512xbf16>, %w: memref<1024x512xbf16> {evt.immutable}, %y: memref<?x1024xf32>,
             %z: memref<?x?xf32>, %o: memref<?x?xf32>, %slots: memref<?xi32> {evt.immutable}) {
  %n = evt.symbol "n" (%x[0], %y[0]) : memref<?x512xbf16>, memref<?x1024xf32>
  %c128 = arith.constant 128 : index
  %c1 = arith.constant 1 : index
  evt.call @product(%x, %w, %y) grid(%n, %c128) : (memref<?x512xbf16>, memref<1024x512xbf16>, memref<?x1024xf32>)
  evt.call @placed(%x, %w, %y, %slots) grid(%n, %c128) : (memref<?x512xbf16>, memref<1024x512xbf16>, memref<?x1024xf32>, memref<?xi32>)
  evt.call @long(%z, %o) grid(%c1) : (memref<?x?xf32>, memref<?x?xf32>)
  evt.call @data(%z, %slots, %o) grid(%c1) : (memref<?x?xf32>, memref<?xi32>, memref<?x?xf32>)
}
