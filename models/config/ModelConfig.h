// What a checkpoint's config.json says about its model.
//
// Dense decoders of two families are known, each named by the class that the file's `architectures` gives:
//
//   LlamaForCausalLM   Llama 3, 3.1, 3.2: 1B to 405B
//   Qwen3ForCausalLM   Qwen3, dense: 0.6B to 32B; norms of each head's queries and keys
//
// Sizes are values, never cases: a model of another size is another file. One layer computes
//
//   h += o(attention(rope(norm(q(x))), rope(norm(k(x))), v(x)))   with x = attn_norm(h); norm only if hasQkNorm
//   h += down(silu(gate(x)) * up(x))                              with x = mlp_norm(h)
//
// and the logits are head(final_norm(h)). What would compute something else is refused rather than ignored: biases,
// sliding windows, other activations, other kinds of rope, quantized weights. Keys that change nothing are ignored.
// Where transformers has a default for an absent key, that default holds here too.
#ifndef EVT_MODELS_CONFIG_MODELCONFIG_H
#define EVT_MODELS_CONFIG_MODELCONFIG_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace evt::models {

enum class Family { llama, qwen3 };

/// The class of transformers: "LlamaForCausalLM".
std::string_view architectureName(Family family);

/// The parameters of rope scaling of type llama3; Rope.h says what they do.
struct Llama3Scaling {
  double factor = 1;
  double lowFrequencyFactor = 1;
  double highFrequencyFactor = 4;
  int64_t originalMaxPositions = 0;
};

struct ModelConfig {
  Family family = Family::llama;
  int64_t hidden = 0;       // hidden_size
  int64_t layers = 0;       // num_hidden_layers
  int64_t heads = 0;        // num_attention_heads
  int64_t kvHeads = 0;      // num_key_value_heads; divides heads
  int64_t headDim = 0;      // head_dim; even; heads * headDim need not be hidden
  int64_t feedForward = 0;  // intermediate_size
  int64_t vocabulary = 0;   // vocab_size
  int64_t maxPositions = 0; // max_position_embeddings: what the model was made for, with rope scaling if it has any
  double normEpsilon = 0;
  double ropeTheta = 0;
  std::optional<Llama3Scaling> ropeScaling; // absent: rope of type default
  bool tied = false;                        // the head is the embedding
  bool hasQkNorm = false;
  double initializerRange = 0.02; // standard deviation of random weights
  std::optional<int64_t> bos;
  std::vector<int64_t> eos; // any of them ends a text
};

/// Both throw Problems with everything that is missing, unsupported or contradictory. `where` is the file's name.
ModelConfig readModelConfig(const std::string &path);
ModelConfig parseModelConfig(std::string_view text, const std::string &where);

} // namespace evt::models

#endif
