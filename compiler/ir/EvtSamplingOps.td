// Named tile operations of sampling.
#ifndef EVT_SAMPLING_OPS_TD
#define EVT_SAMPLING_OPS_TD

include "EvtGraphOps.td"

def DrawOp : Evt_Op<"draw"> {
  let summary = "a request's candidate for the next token, among a chunk of the vocabulary";
  let description = [{
    Looks at the logits of `row` from `column` on, at most `chunks of` many. How the request chooses is in its row of two tables:

    | `rates`, f32 | | `choices`, i32 | |
    | --- | --- | --- | --- |
    | 0 | temperature; 0 takes the largest logit | 0 | top_k; 0 is all |
    | 1 | top_p; 1 is all | 1, 2 | the seed, low and high half |
    | 2 | min_p; 0 is all | 3 | position of the token that is chosen |
    | 3 | repetition penalty; 0 and 1 are none | 4 | how many of the tokens before it are the prompt |
    | 4 | presence penalty | 5 | the request's row of `pages` |
    | 5 | frequency penalty | 6 | not 0: the log-probability is wanted |

    The remaining columns are not looked at. A logit that is not a number counts as minus infinity. Then, in this order:

    1. *Penalties.* The tokens at positions `0 … position - 1` are in `history`, one for each slot of a cache of pages, see `evt.attend`.
       Of a token that occurs there, a logit `x` becomes `x / repetition` if it is positive, `x * repetition` otherwise; then
       `frequency * count + presence` is subtracted if it occurs `count > 0` times behind the prompt.
    2. *Temperature.* `z = x / temperature`.
    3. *A draw.* Without top_k, top_p and min_p, the candidate is the token with the largest `z + noise`, which has the probability
       `softmax(z)`: `noise = -log(-log(u))`, with `u` from Philox4x32-10 of the seed, the position and the token. With one of them, all `z` go to
       `scaled`, and the candidate is the largest `z`. `scaled` is written for no other request.

    Of equal candidates the lowest token is taken. The result is a part for `evt.sample`: the candidate's value, its column in the chunk, and, if
    the log-probability is wanted, the largest logit and the sum of `exp(logit - largest)`, both before penalties; 0 and 0 otherwise.

    A request that takes the largest logit, with no penalties, reads its logits and its row of the tables, and nothing else.

    ```mlir
    %part = evt.draw %logits[%r, %c] chunks of 2048 by %rates, %choices history %history, %pages pages of 64 into %scaled
      : memref<?x151936xf32>, memref<?x8xf32>, memref<?x8xi32>, memref<?xi32>, memref<?x?xi32>, memref<?x151936xf32> -> tensor<4xf32>
    ```
  }];
  let arguments = (ins Arg<AnyMemRef, "", [MemRead]>:$logits, Arg<AnyMemRef, "", [MemRead]>:$rates,
                       Arg<AnyMemRef, "", [MemRead]>:$choices, Arg<AnyMemRef, "", [MemRead]>:$history,
                       Arg<AnyMemRef, "", [MemRead]>:$pages, Arg<AnyMemRef, "", [MemWrite]>:$scaled, Index:$row,
                       Index:$column, I64Attr:$chunk, I64Attr:$page_slots);
  let results = (outs AnyStaticShapeTensor:$part);
  let assemblyFormat = [{
    $logits `[` $row `,` $column `]` `chunks` `of` $chunk `by` $rates `,` $choices `history` $history `,` $pages `pages` `of` $page_slots
    `into` $scaled attr-dict `:` type($logits) `,` type($rates) `,` type($choices) `,` type($history) `,` type($pages) `,`
    type($scaled) `->` type($part)
  }];
  let hasVerifier = 1;
}

def SampleOp : Evt_Op<"sample"> {
  let summary = "a request's next token, from the candidates of all chunks";
  let description = [{
    `parts` are the results of `evt.draw` for the chunks of `row`, whose number is a constant. Without filters, the token is the best
    candidate, the lowest among equals. With filters, it is drawn from a set of tokens, of which each filter may leave out some, in this order:

    - *top_k* keeps the tokens whose `z` is at least the k-th largest one: more than k where several equal it;
    - *top_p* keeps a token if those of the set with a larger `z` have less than `top_p` of the set's probability. So it keeps the smallest set of
      the most likely tokens that has at least `top_p`, and all that equal the last one; `top_p = 0` keeps the largest `z`;
    - *min_p* keeps the tokens that have at least `min_p` times the probability of the most likely one.

    Probabilities are integers of 2^-40 relative to the largest, so sums have no order. The token is the one of the set with the largest
    `z + noise`, with the noise of `evt.draw`: the one without filters if it is in the set. If no logit is larger than minus infinity, it is token 0.

    `logprob` is the token's logit minus the logarithm of the sum of all exponentials, before penalties, temperature and filters; 0 if it is not
    wanted.

    ```mlir
    %token, %logprob = evt.sample %parts, %scaled, %logits[%r] chunks of 2048 by %rates, %choices
      : memref<?x75x4xf32>, memref<?x151936xf32>, memref<?x151936xf32>, memref<?x8xf32>, memref<?x8xi32> -> tensor<1xi32>, tensor<1xf32>
    ```
  }];
  let arguments = (ins Arg<AnyMemRef, "", [MemRead]>:$parts, Arg<AnyMemRef, "", [MemRead]>:$scaled,
                       Arg<AnyMemRef, "", [MemRead]>:$logits, Arg<AnyMemRef, "", [MemRead]>:$rates,
                       Arg<AnyMemRef, "", [MemRead]>:$choices, Index:$row, I64Attr:$chunk);
  let results = (outs AnyStaticShapeTensor:$token, AnyStaticShapeTensor:$logprob);
  let assemblyFormat = [{
    $parts `,` $scaled `,` $logits `[` $row `]` `chunks` `of` $chunk `by` $rates `,` $choices attr-dict `:` type($parts) `,` type($scaled) `,`
    type($logits) `,` type($rates) `,` type($choices) `->` type($token) `,` type($logprob)
  }];
  let hasVerifier = 1;
}

#endif
