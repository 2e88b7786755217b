// Named tile operations of attention.
#ifndef EVT_ATTENTION_OPS_TD
#define EVT_ATTENTION_OPS_TD

include "EvtGraphOps.td"

def AttendOp : Evt_Op<"attend"> {
  let summary = "attention of a few query rows over a range of a request's keys and values";
  let description = [{
    Keys and values lie in a cache of slots, `[layer, head, slot, column]`, that is handed out in pages: position `p` of a request is
    slot `pages[request, p floordiv P] * P + p mod P`, with `P` slots a page. A position whose page is not in the table, or whose
    slot is not in the cache, does not count; nothing of it is read.

    The query's rows share a key/value head. With `s(r, p) = scales[r] * (query[r] · keys[p])` over the positions `p` of
    `from … to`, the results are a softmax in parts, as other ranges of positions can be merged with it:

    - `m[r]`, the largest `s(r, p)`, or -1e30 if there is no position;
    - `sum[r]`, the sum of `w(r, p) = exp(s(r, p) - m[r])`;
    - `acc[r]`, the sum of `w(r, p) * values[p]`, with the weights rounded to the cache's type.

    Products are of the cache's type with sums in f32; their order depends on the range's length and on `heads` alone.

    ```mlir
    %m, %sum, %acc = evt.attend %q scaled %scales over %keys, %values[%l, %h, %pages[%r]] from %begin to %end pages of 64
      : tensor<4x128xbf16>, memref<?x?x8x128xbf16>, memref<?x?xi32> -> tensor<4x128xf32>
    ```

    With `heads N` the query has the rows of N key/value heads, those of `%h` first, then those of `%h + 1` and so on, as many of
    each. A row attends to its head's keys and values:

    ```mlir
    %m, %sum, %acc = evt.attend %q scaled %scales over %keys, %values[%l, %h, %pages[%r]] from %begin to %end pages of 64 heads 2
      : tensor<8x128xbf16>, memref<?x?x8x128xbf16>, memref<?x?xi32> -> tensor<8x128xf32>
    ```

    With `settled %s` (behind `to %end`), positions below `%s` are not written while the graph runs: the program promises it, and
    they may be read before the task's events are waited for. Nothing proves the promise; `evt run --check` checks it in a run.
  }];
  let arguments = (ins AnyStaticShapeTensor:$query, AnyStaticShapeTensor:$scales, Arg<AnyMemRef, "", [MemRead]>:$keys,
                       Arg<AnyMemRef, "", [MemRead]>:$values, Arg<AnyMemRef, "", [MemRead]>:$pages, Index:$layer,
                       Index:$request, Index:$head, Index:$begin, Index:$end, Optional<Index>:$settled,
                       I64Attr:$page_slots, DefaultValuedAttr<I64Attr, "1">:$heads);
  let results = (outs AnyStaticShapeTensor:$m, AnyStaticShapeTensor:$sum, AnyStaticShapeTensor:$acc);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Rows of the query that share a key/value head.
    int64_t getRows() {
      return mlir::cast<mlir::RankedTensorType>(getQuery().getType()).getDimSize(0) / (int64_t)getHeads();
    }
  }];
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

def AttendTokensOp : Evt_Op<"attend_tokens", [AllTypesMatch<["query", "out"]>,
                                                AllTypesMatch<["requests", "positions"]>,
                                                AllTypesMatch<["keys", "values"]>]> {
  let summary = "attention of consecutive tokens of a step: those in long runs";
  let description = [{
    Tokens of a step are entries of `requests` and `positions`. A *run* is a longest stretch of tokens of one request whose positions go
    up by 1: a chunk of a prompt, or one new token. Of the `tokens` tokens from `token` on, those whose run has at least `enough`
    tokens, in the tile or beyond it, attend to the positions of their request from 0 up to their own; the results go to `out`.
    Nothing is written for other tokens: `evt.short_tokens` says which they are.

    Query and result are `[token, query head * column]`, and `group` query heads share key/value head `head`. Keys and values
    lie in pages as for `evt.attend`. A score is `scale * (query · key)`; a token that attends to nothing gets 0.

    ```mlir
    evt.attend_tokens %q[%t, %h] into %o tokens 32 of %requests, %positions runs of 16 over %keys, %values[%l] through %pages of 64
      group 4 scale 0.125
      : memref<?x2048xbf16>, memref<?xi32>, memref<?x8x?x64xbf16>, memref<?x?xi32>
    ```
  }];
  let arguments = (ins Arg<AnyMemRef, "", [MemRead]>:$query, Arg<AnyMemRef, "", [MemWrite]>:$out,
                       Arg<AnyMemRef, "", [MemRead]>:$requests, Arg<AnyMemRef, "", [MemRead]>:$positions,
                       Arg<AnyMemRef, "", [MemRead]>:$keys, Arg<AnyMemRef, "", [MemRead]>:$values,
                       Arg<AnyMemRef, "", [MemRead]>:$pages, Index:$token, Index:$head, Index:$layer,
                       I64Attr:$tokens, I64Attr:$enough, I64Attr:$page_slots, I64Attr:$group, F64Attr:$scale);
  let assemblyFormat = [{
    $query `[` $token `,` $head `]` `into` $out `tokens` $tokens `of` $requests `,` $positions `runs` `of` $enough
    `over` $keys `,` $values `[` $layer `]` `through` $pages `of` $page_slots `group` $group `scale` $scale attr-dict
    `:` type($query) `,` type($requests) `,` type($keys) `,` type($pages)
  }];
  let hasVerifier = 1;
}

def RotateHeadOp : Evt_Op<"rotate_head", [AttrSizedOperandSegments]> {
  let summary = "a head of consecutive tokens: its norm's weights, its rotation, and where it goes";
  let description = [{
    Of the `tokens` tokens from `token` on, the columns of one head that a product left in `x`, f32, from `column` on. The head goes to
    `out` as head `head`: `[token, head * columns]`, or to a cache, `[layer, head, slot, columns]`, where a table says each token's slot. A
    token that has no slot is left out, and of several with one slot the last stays.

    With cosines and sines, `[token, columns / 2]`, columns `i` and `i + columns / 2` are rotated. With a norm's weights,
    `[layer, columns]`, the head is normed before: column `i` is multiplied with `weights[layer, i]` and with
    `rsqrt((sum of the squares of all columns) / columns + epsilon)`.

    Others may store heads without that root, with sums of squares beside them from which readers find it (`evt.attend_parts`). For those
    readers, `squares` gets what says of this head that its root is 1: `16 (1 - epsilon)` for each of its `columns / 16` parts, in the
    place of `out` with parts for columns.

    ```mlir
    evt.rotate_head %x[%t, %c] tokens 32 columns 64 into %q[%l, %h] by %cos, %sin normed %w epsilon 1.0e-6
      : memref<?x768xf32>, memref<?x512xbf16> by memref<?x32xf32>, memref<?x32xf32> normed memref<?x64xf32>
    evt.rotate_head %x[%t, %c] tokens 32 columns 64 into %values[%l, %h] through %slots
      : memref<?x768xf32>, memref<?x?x2x64xbf16> through memref<?xi32>
    ```
  }];
  let arguments = (ins Arg<AnyMemRef, "", [MemRead]>:$x, Arg<AnyMemRef, "", [MemWrite]>:$out,
                       Arg<Optional<AnyMemRef>, "", [MemRead]>:$slots, Arg<Optional<AnyMemRef>, "", [MemRead]>:$cosines,
                       Arg<Optional<AnyMemRef>, "", [MemRead]>:$sines, Arg<Optional<AnyMemRef>, "", [MemRead]>:$weights,
                       Arg<Optional<AnyMemRef>, "", [MemWrite]>:$squares, Index:$token, Index:$column, Index:$layer,
                       Index:$head, I64Attr:$tokens, I64Attr:$columns, DefaultValuedAttr<F64Attr, "0.0">:$epsilon);
  let assemblyFormat = [{
    $x `[` $token `,` $column `]` `tokens` $tokens `columns` $columns `into` $out `[` $layer `,` $head `]`
    (`through` $slots^)? (`by` $cosines^ `,` $sines)? (`normed` $weights^ `epsilon` $epsilon)? (`squares` $squares^)? attr-dict
    `:` type($x) `,` type($out) (`through` type($slots)^)? (`by` type($cosines)^ `,` type($sines))?
    (`normed` type($weights)^)? (`squares` type($squares)^)?
  }];
  let hasVerifier = 1;
}

def ShortTokensOp : Evt_Op<"short_tokens", [AllTypesMatch<["requests", "positions"]>]> {
  let summary = "how many tokens of a step are in short runs";
  let description = [{
    Of the `count` tokens from `token` on, how many are in runs (see `evt.attend_tokens`) of less than `enough`. As the bound of a
    loop it lets tasks do nothing. What a loop stores that runs only for a token of a short run, the bound being that of one token,
    goes to other rows than what `evt.attend_tokens` writes with the same tables and the same `enough`: nothing has to
    order the two.

    ```mlir
    %short = evt.short_tokens %requests, %positions[%t] count 1 runs of 16 : memref<?xi32>
    scf.for %i = %c0 to %short step %c1 {
      evt.store %row, %o[%t, %c0] : tensor<1x2048xbf16> -> memref<?x2048xbf16>
    }
    ```
  }];
  let arguments = (ins Arg<AnyMemRef, "", [MemRead]>:$requests, Arg<AnyMemRef, "", [MemRead]>:$positions, Index:$token,
                       I64Attr:$count, I64Attr:$enough);
  let results = (outs Index:$found);
  let assemblyFormat = [{
    $requests `,` $positions `[` $token `]` `count` $count `runs` `of` $enough attr-dict `:` type($requests)
  }];
  let hasVerifier = 1;
}

def AttendPartsOp : Evt_Op<"attend_parts", [AttrSizedOperandSegments, AllTypesMatch<["keys", "values"]>,
                                             AllTypesMatch<["m", "sum"]>]> {
  let summary = "attention of a few query rows, part by part of a request's positions, into memory";
  let description = [{
    Row `r` of the query is `q[token, column + r * D …]`, of the cache's `D` columns; keys, values and pages are those of `evt.attend`, and
    so are the results of a part. The positions `begin … end` are cut into parts of `part` positions; part `k` of them is left in
    `m[i, j, s, k, r]`, `sum[i, j, s, k, r]` and `acc[i, j, s, k, r, column]`, for as many parts as these have room for. Parts
    without a position are not written. The order of sums depends on `part` alone, so the same part has the same bits
    whatever task computes it.

    Positions below `settled` are not written while the graph runs: the program promises it, and they may be read before
    the task's events are waited for. Nothing proves the promise; `evt run --check` checks it in a run.

    ```mlir
    evt.attend_parts %q[%t, %c] over %keys, %values[%l, %h, %pages[%r]] from %begin to %length parts of %part settled %settled
      into %m, %sum, %acc[%t, %h, %s] rows 4 pages of 64 scaled 0.125
      : memref<?x512xbf16>, memref<?x?x8x128xbf16>, memref<?x?xi32>, memref<?x8x?x?x4xf32>, memref<?x8x?x?x4x128xf32>
    ```

    Queries, and keys of positions from `settled` on, may have been stored without the roots of their norms, since several tasks have
    parts of them. Then `q_squares[token, squares_column + r * P …]` and `squares[layer, head, slot, …]` hold the `P` sums of squares of
    parts of what the norms are of, and the root is `rsqrt((sum over the parts, in their order) / columns + epsilon)`. Scores are
    multiplied with that of the query; such a key, before its product, with its own, and rounded to the cache's type: a program that
    stores that key in the end leaves the bits that were used. Keys of settled positions are as they are.

    ```mlir
    evt.attend_parts %q[%t, %c] over %keys, %values[%l, %h, %pages[%r]] from %begin to %length parts of %part settled %settled
      into %m, %sum, %acc[%t, %h, %s] rows 4 pages of 64 scaled 0.125 normed %qs[%c2], %ks epsilon 1.0e-6
      : memref<?x512xbf16>, memref<?x?x8x128xbf16>, memref<?x?xi32>, memref<?x8x?x?x4xf32>, memref<?x8x?x?x4x128xf32>,
        memref<?x32xf32>, memref<?x?x8x8xf32>
    ```
  }];
  let arguments = (ins Arg<AnyMemRef, "", [MemRead]>:$q, Index:$token, Index:$column,
                       Arg<AnyMemRef, "", [MemRead]>:$keys, Arg<AnyMemRef, "", [MemRead]>:$values, Index:$layer,
                       Arg<AnyMemRef, "", [MemRead]>:$pages, Index:$request, Index:$head, Index:$begin, Index:$end,
                       Index:$part, Index:$settled, Arg<AnyMemRef, "", [MemWrite]>:$m,
                       Arg<AnyMemRef, "", [MemWrite]>:$sum, Arg<AnyMemRef, "", [MemWrite]>:$acc, Index:$i, Index:$j,
                       Index:$s, Arg<Optional<AnyMemRef>, "", [MemRead]>:$q_squares, Optional<Index>:$squares_column,
                       Arg<Optional<AnyMemRef>, "", [MemRead]>:$squares, I64Attr:$rows, I64Attr:$page_slots,
                       F64Attr:$scale, DefaultValuedAttr<F64Attr, "0.0">:$epsilon);
  let assemblyFormat = [{
    $q `[` $token `,` $column `]` `over` $keys `,` $values `[` $layer `,` $head `,` $pages `[` $request `]` `]` `from` $begin `to` $end
    `parts` `of` $part `settled` $settled `into` $m `,` $sum `,` $acc `[` $i `,` $j `,` $s `]` `rows` $rows `pages` `of` $page_slots
    `scaled` $scale (`normed` $q_squares^ `[` $squares_column `]` `,` $squares `epsilon` $epsilon)? attr-dict
    `:` type($q) `,` type($keys) `,` type($pages) `,` type($m) `,` type($acc) (`,` type($q_squares)^ `,` type($squares))?
  }];
  let hasVerifier = 1;
}

def MergePartsOp : Evt_Op<"merge_parts", [AllTypesMatch<["m", "sum"]>]> {
  let summary = "merges the parts of a softmax that evt.attend_parts left in memory";
  let description = [{
    The parts at `(i, j)` are those of all `s`, each with its `k`, in that order; as many of them are there as `end` positions have, `part`
    in each. With
    `w(p) = exp(m(p) - largest m)`, row `r` of the result is the sum of `w(p) * acc(p)` over the sum of `w(p) * sum(p)`, 0 where that is
    0; it is stored at `to[row, column + r * D …]`, converted to the type there.

    ```mlir
    evt.merge_parts %m, %sum, %acc[%t, %h] to %length parts of %part into %o[%t, %c]
      : memref<?x8x?x?x4xf32>, memref<?x8x?x?x4x128xf32>, memref<?x512xbf16>
    ```
  }];
  let arguments = (ins Arg<AnyMemRef, "", [MemRead]>:$m, Arg<AnyMemRef, "", [MemRead]>:$sum,
                       Arg<AnyMemRef, "", [MemRead]>:$acc, Index:$i, Index:$j, Index:$end, Index:$part,
                       Arg<AnyMemRef, "", [MemWrite]>:$to, Index:$row, Index:$column);
  let assemblyFormat = [{
    $m `,` $sum `,` $acc `[` $i `,` $j `]` `to` $end `parts` `of` $part `into` $to `[` $row `,` $column `]` attr-dict
    `:` type($m) `,` type($acc) `,` type($to)
  }];
  let hasVerifier = 1;
}

#endif
