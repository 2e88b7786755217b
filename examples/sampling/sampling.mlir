// The next token of every request, from its logits: two operations, and an event between them.
//
// How a request chooses is in its row of `rates` and `choices` (docs/ops/evt.md, evt.draw). A task of @draw finds a
// candidate among 2048 tokens; when the candidates of a request are there, @sample makes one token of them. Requests with
// penalties look for their past in `history`, which is stored in pages of 4 slots.
evt.device @draw(%logits: memref<?x?xf32>, %rates: memref<?x8xf32>, %choices: memref<?x8xi32>, %history: memref<?xi32>,
                 %pages: memref<?x?xi32>, %scaled: memref<?x?xf32>, %parts: memref<?x3x4xf32>) grid(%r, %c) {
  %c0 = arith.constant 0 : index
  %column = affine.apply affine_map<(d0) -> (d0 * 2048)>(%c)
  %part = evt.draw %logits[%r, %column] chunks of 2048 by %rates, %choices history %history, %pages pages of 4 into %scaled
    : memref<?x?xf32>, memref<?x8xf32>, memref<?x8xi32>, memref<?xi32>, memref<?x?xi32>, memref<?x?xf32> -> tensor<4xf32>
  evt.store %part, %parts[%r, %c, %c0] : tensor<4xf32> -> memref<?x3x4xf32>
}
evt.device @sample(%parts: memref<?x3x4xf32>, %scaled: memref<?x?xf32>, %logits: memref<?x?xf32>, %rates: memref<?x8xf32>,
                   %choices: memref<?x8xi32>, %tokens: memref<?xi32>, %logprobs: memref<?xf32>) grid(%r) {
  %token, %logprob = evt.sample %parts, %scaled, %logits[%r] chunks of 2048 by %rates, %choices
    : memref<?x3x4xf32>, memref<?x?xf32>, memref<?x?xf32>, memref<?x8xf32>, memref<?x8xi32> -> tensor<1xi32>, tensor<1xf32>
  evt.store %token, %tokens[%r] : tensor<1xi32> -> memref<?xi32>
  evt.store %logprob, %logprobs[%r] : tensor<1xf32> -> memref<?xf32>
}

evt.graph @sampling(%logits: memref<?x?xf32> {evt.immutable}, %rates: memref<?x8xf32> {evt.immutable},
                    %choices: memref<?x8xi32> {evt.immutable}, %history: memref<?xi32> {evt.immutable},
                    %pages: memref<?x?xi32> {evt.immutable}, %tokens: memref<?xi32>, %logprobs: memref<?xf32>) {
  %requests = evt.symbol "requests" (%logits[0], %rates[0], %choices[0], %tokens[0], %logprobs[0])
    : memref<?x?xf32>, memref<?x8xf32>, memref<?x8xi32>, memref<?xi32>, memref<?xf32>
  %vocabulary = evt.symbol "vocabulary" (%logits[1]) range(1, 6144) : memref<?x?xf32>
  %slots = evt.symbol "slots" (%history[0]) : memref<?xi32>
  %page_rows = evt.symbol "page_rows" (%pages[0]) : memref<?x?xi32>
  %page_columns = evt.symbol "page_columns" (%pages[1]) range(1, 1024) : memref<?x?xi32>
  %c3 = arith.constant 3 : index
  %scaled = evt.alloc(%requests, %vocabulary) : memref<?x?xf32>
  %parts = evt.alloc(%requests) : memref<?x3x4xf32>
  %drawn = evt.event(%requests) count(3) : !evt.event<?>
  evt.call @draw(%logits, %rates, %choices, %history, %pages, %scaled, %parts) grid(%requests, %c3)
    notify(%drawn[(r, c) -> (r)])
    : (memref<?x?xf32>, memref<?x8xf32>, memref<?x8xi32>, memref<?xi32>, memref<?x?xi32>, memref<?x?xf32>, memref<?x3x4xf32>)
  evt.call @sample(%parts, %scaled, %logits, %rates, %choices, %tokens, %logprobs) grid(%requests)
    wait(%drawn[(r) -> (r)])
    : (memref<?x3x4xf32>, memref<?x?xf32>, memref<?x?xf32>, memref<?x8xf32>, memref<?x8xi32>, memref<?xi32>, memref<?xf32>)
}
