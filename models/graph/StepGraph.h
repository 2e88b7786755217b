// The program of one step of a dense decoder: tokens of several requests in, logits and the next tokens out.
//
// One launch takes T tokens of R requests (the newest token of each, or a chunk of a prompt, in any mix) through all
// layers and appends their keys and values to a paged cache. Everything but the model's dimensions is a run-time value.
//
//   argument        type                    what
//   tokens          i32 [T]                 token numbers, a request's in the order of their positions
//   positions       i32 [T]                 of the tokens in their requests
//   requests        i32 [T]                 whose token it is: a row of `pages`
//   slots           i32 [T]                 where its key and value go, see below
//   pages           i32 [rows, columns]     the cache's pages that a request has
//   last            i32 [R]                 the request's last token, whose logits are wanted: a row of `tokens`
//   rates           f32 [R, 8]              how requests choose their next token: columns as evt.draw has them
//   choices         i32 [R, 8]
//   frequencies     f32 [head / 2]          of the rotary embedding
//   weights         bf16; norms f32         as models/weights stacks them; attn_norm has the last norm as one row more
//   keys, values    bf16 [layers, kv heads, slots, head]
//   key_squares     f32 [layers, kv heads, slots, parts]; only where queries and keys are normed: what is left to norm
//   history         i32 [slots]             the tokens, beside their keys
//   logits          f32 [R, vocabulary]
//   next            i32 [R]                 the token that the request has chosen
//   logprobs        f32 [R]                 its log-probability, where that is asked for
//   splits          index                   parts of attention, see below
//   page_size       index                   P, as it was compiled: nothing else is accepted
//
// Position p of request r has slot pages[r, p / P] * P + p % P. models/config/Splits.h says what `splits` is.
//
// Up to 8 tokens go through tasks that stream weights; more through tiles of 128 (docs/design/step.md). With `sameBits`
// all go through tiles, and no number of tokens up to 256 changes the bits of what a request gets.
#pragma once

#include "models/config/ModelConfig.h"
#include "models/config/Splits.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace evt::models {

struct StepLimits {
  int64_t tokens = 2048, requests = 256, context = 32768;
  int64_t pageSlots = 64; // positions a page
  bool allToAll = false;  // tasks wait for all of the call before, instead of those they need: to see what that costs
  bool sameBits = false;  // one way for all batches, for the same bits in all of them; slower with few tokens
};

/// The program, verified; null after diagnostics of the context. Throws std::invalid_argument for dimensions that it
/// cannot have: a hidden size that is not a multiple of 8, a head that is not one of 16.
mlir::OwningOpRef<mlir::ModuleOp> buildStep(mlir::MLIRContext &context, const ModelConfig &model,
                                            const StepLimits &limits);

/// Throws std::invalid_argument for dimensions that such a program cannot have on a GPU, where rows of weights begin at
/// multiples of 16 bytes.
void requireDimensionsOfGpu(const ModelConfig &model);

} // namespace evt::models
