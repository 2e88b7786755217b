// Named tile operations of attention.
#ifndef EVT_ATTENTION_OPS_TD
#define EVT_ATTENTION_OPS_TD

include "EvtGraphOps.td"

def AttendOp : Evt_Op<"attend"> {
  let summary = "attention of a few query rows over a range of a request's keys and values";
  let description = [{
    Keys and values lie in a cache of slots, `[layer, slot, head, column]`, that is handed out in pages: position `p` of a request is
    slot `pages[request, p floordiv P] * P + p mod P`, with `P` slots a page. A position whose page is not in the table, or whose
    slot is not in the cache, does not count; nothing of it is read.

    The query's rows share a key/value head. With `s(r, p) = scales[r] * (query[r] · keys[p])` over the positions `p` of
    `from … to`, the results are a softmax in parts, as other ranges of positions can be merged with it:

    - `m[r]`, the largest `s(r, p)`, or -1e30 if there is no position;
    - `sum[r]`, the sum of `w(r, p) = exp(s(r, p) - m[r])`;
    - `acc[r]`, the sum of `w(r, p) * values[p]`, with the weights rounded to the cache's type.

    Products are of the cache's type with sums in f32; their order depends on the range's length alone.

    ```mlir
    %m, %sum, %acc = evt.attend %q scaled %scales over %keys, %values[%l, %pages[%r], %h] from %begin to %end pages of 64
      : tensor<4x128xbf16>, memref<?x?x8x128xbf16>, memref<?x?xi32> -> tensor<4x128xf32>
    ```

    Keys may have been stored without the root of their norm. Then `squares`, `[layer, slot, head, part]`, holds the sums of
    squares of parts of what the norm is of, and `s(r, p)` is also multiplied with
    `rsqrt((sum over the parts) / columns + epsilon)`:

    ```mlir
    %m, %sum, %acc = evt.attend %q scaled %scales over %keys, %values[%l, %pages[%r], %h] from %begin to %end pages of 64
      normed %squares epsilon 1.0e-6
      : tensor<4x128xbf16>, memref<?x?x8x128xbf16>, memref<?x?xi32> -> tensor<4x128xf32>, memref<?x?x8x8xf32>
    ```
  }];
  let arguments = (ins AnyStaticShapeTensor:$query, AnyStaticShapeTensor:$scales, Arg<AnyMemRef, "", [MemRead]>:$keys,
                       Arg<AnyMemRef, "", [MemRead]>:$values, Arg<AnyMemRef, "", [MemRead]>:$pages,
                       Arg<Optional<AnyMemRef>, "", [MemRead]>:$squares, Index:$layer, Index:$request, Index:$head,
                       Index:$begin, Index:$end, I64Attr:$page_slots, DefaultValuedAttr<F64Attr, "0.0">:$epsilon);
  let results = (outs AnyStaticShapeTensor:$m, AnyStaticShapeTensor:$sum, AnyStaticShapeTensor:$acc);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def MergeOp : Evt_Op<"merge", [TypesMatchWith<"sums have the type of the maxima", "m", "sum", "$_self">]> {
  let summary = "merges the parts of a softmax that evt.attend left in memory";
  let description = [{
    Parts `s` of `0 … parts - 1` of an attention are `m[i, j, s, row]`, `sum[i, j, s, row]` and `acc[i, j, s, row, column]`. With
    `w(s) = exp(m(s) - largest m)`, the result is the sum of `w(s) * acc(s)` over the sum of `w(s) * sum(s)`, both in the
    order of the parts; 0 where that is 0. Parts beyond the memory do not count.

    ```mlir
    %o = evt.merge %m, %sum, %acc[%t, %h] parts %n
      : memref<?x8x?x4xf32>, memref<?x8x?x4x128xf32> -> tensor<4x128xf32>
    ```
  }];
  let arguments = (ins Arg<AnyMemRef, "", [MemRead]>:$m, Arg<AnyMemRef, "", [MemRead]>:$sum,
                       Arg<AnyMemRef, "", [MemRead]>:$acc, Index:$i, Index:$j, Index:$parts);
  let results = (outs AnyStaticShapeTensor:$merged);
  let assemblyFormat = [{
    $m `,` $sum `,` $acc `[` $i `,` $j `]` `parts` $parts attr-dict `:` type($m) `,` type($acc) `->` type($merged)
  }];
  let hasVerifier = 1;
}

#endif
