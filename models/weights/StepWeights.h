// The weights a step of the model takes as arguments, and the tensors of a checkpoint they are made of.
//
// A checkpoint has a tensor for each matrix of each layer. A step is one program whose layers are iterations, so its
// arguments are stacked over the layers, and matrices that are applied to the same input are one matrix:
//
//   argument     shape                           parts of a layer, one below the other
//   embedding    [vocabulary, hidden]            model.embed_tokens
//   attn_norm    [layers, hidden]                input_layernorm
//   qkv          [layers, q + 2 k, hidden]       self_attn.q_proj, self_attn.k_proj, self_attn.v_proj
//   q_norm       [layers, headDim]               self_attn.q_norm; only where the model has it, like the next
//   k_norm       [layers, headDim]               self_attn.k_norm
//   o            [layers, hidden, q]             self_attn.o_proj
//   mlp_norm     [layers, hidden]                post_attention_layernorm
//   gate         [layers, feedForward, hidden]   mlp.gate_proj
//   up           [layers, feedForward, hidden]   mlp.up_proj
//   down         [layers, hidden, feedForward]   mlp.down_proj
//   final_norm   [hidden]                        model.norm
//   head         [vocabulary, hidden]            lm_head, or model.embed_tokens where they are tied
//
// with q = heads * headDim and k = kvHeads * headDim. That table is a value, stepArguments(): what a checkpoint must
// hold and how arguments are filled both follow from it. For instance, element (l, r, c) of qkv with q <= r < q + k is
// element (r - q, c) of layer l's k_proj.
#ifndef EVT_MODELS_WEIGHTS_STEPWEIGHTS_H
#define EVT_MODELS_WEIGHTS_STEPWEIGHTS_H

#include "models/config/ModelConfig.h"
#include "models/weights/Checkpoint.h"
#include "models/weights/ElementType.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace evt::models {

inline constexpr const char *embeddingTensor = "model.embed_tokens.weight";
inline constexpr const char *headTensor = "lm_head.weight";

/// A tensor of the checkpoint inside an argument: whole rows of it, or all of a vector.
struct StepPart {
  std::string tensor; // '{}' stands for the layer's number
  std::vector<int64_t> shape;
  int64_t row = 0; // of the layer's matrix where the part begins

  std::string tensorOf(int64_t layer) const;
};

struct StepArgument {
  std::string name;
  std::vector<int64_t> shape; // starts with the number of layers if layered
  bool layered = false;
  std::vector<StepPart> parts; // without gaps

  uint64_t elements() const;
};

/// In the order of the table above.
std::vector<StepArgument> stepArguments(const ModelConfig &model);

struct ExpectedTensor {
  std::string name;
  std::vector<int64_t> shape;
};

/// Every tensor that the model's checkpoint must hold, once, in the order of use. A tied head is not among them.
std::vector<ExpectedTensor> expectedTensors(const ModelConfig &model);

/// Fills `out` with the argument's elements from `first` on, row-major, converted to `type` (ElementType.h says how).
/// `out` must be whole elements inside the argument. May be called by several threads. Throws Problems if a tensor is
/// missing or has another shape, which openCheckpoint() rules out.
void assembleRange(const Checkpoint &checkpoint, const StepArgument &argument, ElementType type, uint64_t first,
                   std::span<std::byte> out);

/// Fills `out`, of exactly the argument's bytes in that type, with all of it. `threads` 0 means one for each core.
void assemble(const Checkpoint &checkpoint, const StepArgument &argument, ElementType type, std::span<std::byte> out,
              unsigned threads = 0);

/// For arguments that should not be in the host's memory as a whole: calls take(offset, bytes) for one piece of at most
/// `chunkBytes` after another. The bytes are valid until take returns.
void assembleInChunks(const Checkpoint &checkpoint, const StepArgument &argument, ElementType type, size_t chunkBytes,
                      const std::function<void(uint64_t offset, std::span<const std::byte> bytes)> &take,
                      unsigned threads = 0);

} // namespace evt::models

#endif
