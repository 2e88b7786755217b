// Every operation of arith and math that a device function is documented to have is emitted for both targets.
// RUN: %evt show %s --stage source | FileCheck %s
// RUN: not %evt compile %s --target cuda --nvcc /bin/false -o %t.evt 2>&1 | FileCheck %s --check-prefix=CUDA
// CUDA: the emitted source does not compile
// CUDA-SAME: /bin/false failed

// CHECK: body_floats
evt.device @floats(%x: memref<?xf32>, %y: memref<?xf32>) grid(%i) {
  %a = evt.load %x[%i] : memref<?xf32> -> tensor<8xf32>
  %0 = math.exp %a : tensor<8xf32>
  %1 = math.exp2 %0 : tensor<8xf32>
  %2 = math.log %1 : tensor<8xf32>
  %3 = math.log2 %2 : tensor<8xf32>
  %4 = math.sqrt %3 : tensor<8xf32>
  %5 = math.rsqrt %4 : tensor<8xf32>
  %6 = math.tanh %5 : tensor<8xf32>
  %7 = math.erf %6 : tensor<8xf32>
  %8 = math.sin %7 : tensor<8xf32>
  %9 = math.cos %8 : tensor<8xf32>
  %10 = math.absf %9 : tensor<8xf32>
  %11 = math.floor %10 : tensor<8xf32>
  %12 = math.ceil %11 : tensor<8xf32>
  %13 = math.powf %12, %a : tensor<8xf32>
  %14 = math.fma %13, %a, %a : tensor<8xf32>
  %15 = arith.addf %14, %a : tensor<8xf32>
  %16 = arith.subf %15, %a : tensor<8xf32>
  %17 = arith.mulf %16, %a : tensor<8xf32>
  %18 = arith.divf %17, %a : tensor<8xf32>
  %19 = arith.negf %18 : tensor<8xf32>
  %20 = arith.maximumf %19, %a : tensor<8xf32>
  %21 = arith.minimumf %20, %a : tensor<8xf32>
  %22 = arith.maxnumf %21, %a : tensor<8xf32>
  %23 = arith.minnumf %22, %a : tensor<8xf32>
  %24 = arith.cmpf olt, %23, %a : tensor<8xf32>
  %25 = arith.select %24, %23, %a : tensor<8xi1>, tensor<8xf32>
  evt.store %25, %y[%i] : tensor<8xf32> -> memref<?xf32>
}
// CHECK: body_integers
evt.device @integers(%x: memref<?xi32>, %y: memref<?xi32>) grid(%i) {
  %a = evt.load %x[%i] : memref<?xi32> -> tensor<8xi32>
  %0 = arith.addi %a, %a : tensor<8xi32>
  %1 = arith.subi %0, %a : tensor<8xi32>
  %2 = arith.muli %1, %a : tensor<8xi32>
  %3 = arith.divsi %2, %a : tensor<8xi32>
  %4 = arith.divui %3, %a : tensor<8xi32>
  %5 = arith.remsi %4, %a : tensor<8xi32>
  %6 = arith.remui %5, %a : tensor<8xi32>
  %7 = arith.floordivsi %6, %a : tensor<8xi32>
  %8 = arith.ceildivsi %7, %a : tensor<8xi32>
  %9 = arith.minsi %8, %a : tensor<8xi32>
  %10 = arith.maxsi %9, %a : tensor<8xi32>
  %11 = arith.andi %10, %a : tensor<8xi32>
  %12 = arith.ori %11, %a : tensor<8xi32>
  %13 = arith.xori %12, %a : tensor<8xi32>
  %14 = arith.shli %13, %a : tensor<8xi32>
  %15 = arith.shrsi %14, %a : tensor<8xi32>
  %16 = arith.shrui %15, %a : tensor<8xi32>
  %17 = arith.cmpi slt, %16, %a : tensor<8xi32>
  %18 = arith.select %17, %16, %a : tensor<8xi1>, tensor<8xi32>
  evt.store %18, %y[%i] : tensor<8xi32> -> memref<?xi32>
}
// CHECK: body_conversions
evt.device @conversions(%x: memref<?xi32>, %y: memref<?xi32>) grid(%i) {
  %one = arith.constant dense<1> : tensor<8xi32>
  %a = evt.load %x[%i] : memref<?xi32> -> tensor<8xi32>
  %0 = arith.sitofp %a : tensor<8xi32> to tensor<8xf32>
  %1 = arith.truncf %0 : tensor<8xf32> to tensor<8xbf16>
  %2 = arith.extf %1 : tensor<8xbf16> to tensor<8xf32>
  %3 = arith.fptosi %2 : tensor<8xf32> to tensor<8xi32>
  %4 = arith.uitofp %3 : tensor<8xi32> to tensor<8xf32>
  %5 = arith.fptosi %4 : tensor<8xf32> to tensor<8xi32>
  %6 = arith.extsi %5 : tensor<8xi32> to tensor<8xi64>
  %7 = arith.trunci %6 : tensor<8xi64> to tensor<8xi32>
  %8 = arith.extui %7 : tensor<8xi32> to tensor<8xi64>
  %9 = arith.index_cast %8 : tensor<8xi64> to tensor<8xindex>
  %10 = arith.index_castui %9 : tensor<8xindex> to tensor<8xi32>
  %11 = arith.addi %10, %one : tensor<8xi32>
  evt.store %11, %y[%i] : tensor<8xi32> -> memref<?xi32>
}
evt.graph @arithmetic(%x: memref<?xf32> {evt.immutable}, %i: memref<?xi32> {evt.immutable}, %a: memref<?xf32>, %b: memref<?xi32>, %c: memref<?xi32>) {
  %n = evt.symbol "n" (%x[0], %i[0], %a[0], %b[0], %c[0]) : memref<?xf32>, memref<?xi32>, memref<?xf32>, memref<?xi32>, memref<?xi32>
  %c8 = arith.constant 8 : index
  %tiles = arith.ceildivsi %n, %c8 : index
  evt.call @floats(%x, %a) grid(%tiles) : (memref<?xf32>, memref<?xf32>)
  evt.call @integers(%i, %b) grid(%tiles) : (memref<?xi32>, memref<?xi32>)
  evt.call @conversions(%i, %c) grid(%tiles) : (memref<?xi32>, memref<?xi32>)
}
