// Tile programs: moving tiles between memory and values, and the named tile operations.
#ifndef EVT_TILE_OPS_TD
#define EVT_TILE_OPS_TD

include "EvtGraphOps.td"
include "mlir/Interfaces/InferTypeOpInterface.td"

def LoadOp : Evt_Op<"load", [AttrSizedOperandSegments]> {
  let summary = "loads a tile from memory";
  let description = [{
    Reads the box of static size that starts at the offsets. What lies outside the memory is filled with `fill`
    (default 0), so ragged edges need no special case. The tile may drop dimensions of size 1: leading ones by default, others
    when `sizes` spells out the box.

    ```mlir
    %a = evt.load %x[%i, %k] : memref<?x4096xf32> -> tensor<1x1024xf32>
    %b = evt.load %kv[%page, %c0, %h, %c0] sizes [1, 16, 1, 64] : memref<?x16x8x64xf32> -> tensor<16x64xf32>
    %m = evt.load %s[%i] fill -1.0e30 : memref<?xf32> -> tensor<64xf32>
    ```

    With a table, row `r` of the tile is row `table[offset + r]` of the memory; a row whose table entry is outside the table or
    the memory is filled. Rows are the dimension whose offset is written as a position in the table: any one, if the box has
    size 1 in all dimensions before it:

    ```mlir
    %g = evt.load %x[%rows[%s], %k] : memref<?x64xf32>, memref<?xi32> -> tensor<16x64xf32>
    %v = evt.load %values[%l, %slots[%s], %h, %c0] sizes [1, 8, 1, 64] : memref<?x?x8x64xf32>, memref<?xi32> -> tensor<8x64xf32>
    ```
  }];
  let arguments = (ins Arg<AnyMemRef, "", [MemRead]>:$memory, Arg<Optional<AnyMemRef>, "", [MemRead]>:$table,
                       Variadic<Index>:$offsets, DenseI64ArrayAttr:$sizes, F64Attr:$fill,
                       DefaultValuedAttr<I64Attr, "0">:$table_dim);
  let results = (outs AnyStaticShapeTensor:$tile);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def StoreOp : Evt_Op<"store", [AttrSizedOperandSegments]> {
  let summary = "stores a tile to memory, clipped to its shape";
  let description = [{
    What lies outside the memory is dropped. With a table, which names rows as for `evt.load`, row `r` of the tile goes to row
    `table[offset + r]`; rows whose entry lies outside are dropped, and of several rows that go to the same one the last stays.

    ```mlir
    evt.store %sum, %p[%i, %j] : tensor<1x1xf32> -> memref<?x4xf32>
    evt.store %t, %y[%rows[%s], %k] : tensor<16x64xf32> -> memref<?x64xf32>, memref<?xi32>
    evt.store %head, %keys[%l, %slots[%s], %h, %c0] sizes [1, 8, 1, 64] : tensor<8x64xbf16> -> memref<?x?x8x64xbf16>, memref<?xi32>
    ```
  }];
  let arguments = (ins AnyStaticShapeTensor:$tile, Arg<AnyMemRef, "", [MemWrite]>:$memory,
                       Arg<Optional<AnyMemRef>, "", [MemRead]>:$table, Variadic<Index>:$offsets,
                       DenseI64ArrayAttr:$sizes, DefaultValuedAttr<I64Attr, "0">:$table_dim);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

// No declared effects, which means any: a declaration has no result and must not be removed as dead.
class Evt_DeclaredAccess<string mnemonic> : Evt_Op<mnemonic, [AttrSizedOperandSegments]> {
  let arguments = (ins AnyMemRef:$memory, Optional<AnyMemRef>:$table, Variadic<Index>:$offsets,
                       DenseI64ArrayAttr:$sizes, DefaultValuedAttr<I64Attr, "0">:$table_dim);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def ReadsOp : Evt_DeclaredAccess<"reads"> {
  let summary = "declares that a foreign device function reads a box of memory";
  let description = [{
    To the analysis it is what an `evt.load` of the box is, table included; it runs nothing. The box is clipped to the memory's
    shape: what lies outside is not read, so a size beyond the shape means the rest of the dimension.

    ```mlir
    evt.reads %x[%i, %k] sizes [8, 64] : memref<?x4096xf32>
    evt.reads %y[%rows[%s], %k] sizes [16, 64] : memref<?x64xf32>, memref<?xi32>
    ```
  }];
}

def WritesOp : Evt_DeclaredAccess<"writes"> {
  let summary = "declares that a foreign device function writes a box of memory";
  let description = [{
    To the analysis it is what an `evt.store` to the box is, table included; it runs nothing. The box is clipped to the memory's
    shape: what lies outside is not written. Data that is updated in place is declared twice, read and written.

    ```mlir
    evt.writes %y[%i, %k] sizes [8, 64] : memref<?x4096xf32>
    ```
  }];
}

def ValidOp : Evt_Op<"valid", [Pure]> {
  let summary = "the live extent of a tile in one dimension";
  let description = [{
    How many of `size` elements from `offset` on lie inside dimension `dim` of the memory: what softmax, maxima and means over a
    ragged tile must respect.

    ```mlir
    %live = evt.valid %x[%i] dim 0 size 64 : memref<?xf32>
    ```
  }];
  let arguments = (ins AnyMemRef:$memory, Index:$offset, I64Attr:$dim, I64Attr:$size);
  let results = (outs Index:$extent);
  let assemblyFormat = "$memory `[` $offset `]` `dim` $dim `size` $size attr-dict `:` type($memory)";
  let hasVerifier = 1;
}

def IotaOp : Evt_Op<"iota", [Pure]> {
  let summary = "a tile that counts along one dimension";
  let description = [{
    ```mlir
    %c = evt.iota dim 1 : tensor<4x64xi32>
    ```
  }];
  let arguments = (ins I64Attr:$dim);
  let results = (outs AnyStaticShapeTensor:$tile);
  let assemblyFormat = "`dim` $dim attr-dict `:` type($tile)";
  let hasVerifier = 1;
}

def TopKOp : Evt_Op<"topk", [Pure]> {
  let summary = "the k largest entries of each row, in descending order";
  let description = [{
    Ties go to the lower index, so the result is a function of the values alone.

    ```mlir
    %v, %i = evt.topk %x : tensor<4x64xf32> -> tensor<4x8xf32>, tensor<4x8xi32>
    ```
  }];
  let arguments = (ins AnyStaticShapeTensor:$input);
  let results = (outs AnyStaticShapeTensor:$values, AnyStaticShapeTensor:$indices);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($values) `,` type($indices)";
  let hasVerifier = 1;
}

def PrefixSumOp : Evt_Op<"prefix_sum", [Pure, SameOperandsAndResultType]> {
  let summary = "running sum along one dimension";
  let description = [{
    `exclusive` leaves the element itself out. Positions in routing come from prefix sums rather than from atomics, so
    they do not depend on timing.

    ```mlir
    %p = evt.prefix_sum %x dim 0 exclusive : tensor<64x8xi32>
    ```
  }];
  let arguments = (ins AnyStaticShapeTensor:$input, I64Attr:$dim, UnitAttr:$exclusive);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "$input `dim` $dim (`exclusive` $exclusive^)? attr-dict `:` type($input)";
  let hasVerifier = 1;
}

#endif
