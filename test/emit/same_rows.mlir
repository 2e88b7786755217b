// Two calls that multiply the same rows and wait for the same events open them with the same code; one that multiplies
// others has its own.
// RUN: %evt show --target cuda --stage source %s | FileCheck %s
// CHECK-DAG: bool stream_waits_0(
// CHECK-DAG: bool stream_waits_2(
// CHECK-NOT: bool stream_waits_1(
// CHECK: case 0: case 1: return stream_open_0(
// CHECK-NEXT: case 2: return stream_open_2(
// CHECK: case 0: return finish_0(
// CHECK-NEXT: case 1: return finish_1(
// CHECK-NEXT: case 2: return finish_2(

evt.device @product(%x: memref<?x512xbf16>, %w: memref<64x512xbf16>, %y: memref<?x64xf32>) grid(%t, %j) {
  %c0 = arith.constant 0 : index
  %depth = arith.constant 512 : index
  %step = arith.constant 256 : index
  %token = affine.apply affine_map<(d0) -> (d0 * 8)>(%t)
  %row = affine.apply affine_map<(d0) -> (d0 * 8)>(%j)
  %zero = arith.constant dense<0.0> : tensor<8x8xf32>
  %sum = scf.for %k = %c0 to %depth step %step iter_args(%in = %zero) -> (tensor<8x8xf32>) {
    %a16 = evt.load %x[%token, %k] : memref<?x512xbf16> -> tensor<8x256xbf16>
    %a = arith.extf %a16 : tensor<8x256xbf16> to tensor<8x256xf32>
    %w16 = evt.load %w[%row, %k] : memref<64x512xbf16> -> tensor<8x256xbf16>
    %b = arith.extf %w16 : tensor<8x256xbf16> to tensor<8x256xf32>
    %out = linalg.matmul_transpose_b ins(%a, %b : tensor<8x256xf32>, tensor<8x256xf32>) outs(%in : tensor<8x8xf32>) -> tensor<8x8xf32>
    scf.yield %out : tensor<8x8xf32>
  }
  evt.store %sum, %y[%token, %row] : tensor<8x8xf32> -> memref<?x64xf32>
}

evt.graph @three(%x: memref<?x512xbf16> {evt.immutable}, %other: memref<?x512xbf16> {evt.immutable}, %w: memref<64x512xbf16> {evt.immutable}, %v: memref<64x512xbf16> {evt.immutable}, %a: memref<?x64xf32>, %b: memref<?x64xf32>, %c: memref<?x64xf32>) {
  %n = evt.symbol "n" (%x[0], %other[0], %a[0], %b[0], %c[0]) range(1, 8) : memref<?x512xbf16>, memref<?x512xbf16>, memref<?x64xf32>, memref<?x64xf32>, memref<?x64xf32>
  %tiles = affine.apply affine_map<()[s0] -> (s0 ceildiv 8)>()[%n]
  %columns = arith.constant 8 : index
  evt.call @product(%x, %w, %a) grid(%tiles, %columns) : (memref<?x512xbf16>, memref<64x512xbf16>, memref<?x64xf32>)
  evt.call @product(%x, %v, %b) grid(%tiles, %columns) : (memref<?x512xbf16>, memref<64x512xbf16>, memref<?x64xf32>)
  evt.call @product(%other, %w, %c) grid(%tiles, %columns) : (memref<?x512xbf16>, memref<64x512xbf16>, memref<?x64xf32>)
}
