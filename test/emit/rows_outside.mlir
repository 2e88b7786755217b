// Rows that are not there count as zero. Where the result has no more rows than they are, nobody stores what follows
// from those outside, and another row may be read instead; where it has, they are zero.
// RUN: %evt show --target cuda --stage source --graph alike %s | FileCheck %s --check-prefix=ALIKE
// RUN: %evt show --target cuda --stage source --graph other %s | FileCheck %s --check-prefix=OTHER
// ALIKE-LABEL: void rows_product(
// ALIKE: const evt::Row row({{.*}}, true);
// OTHER-LABEL: void rows_product(
// OTHER: const evt::Row row({{.*}}, false);

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

evt.graph @alike(%x: memref<?x512xbf16> {evt.immutable}, %w: memref<64x512xbf16> {evt.immutable}, %y: memref<?x64xf32>) {
  %n = evt.symbol "n" (%x[0], %y[0]) range(1, 8) : memref<?x512xbf16>, memref<?x64xf32>
  %tiles = affine.apply affine_map<()[s0] -> (s0 ceildiv 8)>()[%n]
  %columns = arith.constant 8 : index
  evt.call @product(%x, %w, %y) grid(%tiles, %columns) : (memref<?x512xbf16>, memref<64x512xbf16>, memref<?x64xf32>)
}

evt.graph @other(%x: memref<?x512xbf16> {evt.immutable}, %w: memref<64x512xbf16> {evt.immutable}, %y: memref<?x64xf32>) {
  %n = evt.symbol "n" (%x[0]) range(1, 8) : memref<?x512xbf16>
  %m = evt.symbol "m" (%y[0]) range(1, 8) : memref<?x64xf32>
  %tiles = affine.apply affine_map<()[s0] -> (s0 ceildiv 8)>()[%m]
  %columns = arith.constant 8 : index
  evt.call @product(%x, %w, %y) grid(%tiles, %columns) : (memref<?x512xbf16>, memref<64x512xbf16>, memref<?x64xf32>)
}
