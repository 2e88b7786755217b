// The memories of a step's program: arguments and buffers, their types and shapes by name, and the sizes that follow
// from a model.
#pragma once

#include "models/config/Splits.h"
#include "models/graph/StepGraph.h"
#include "models/graph/Ways.h"

#include "compiler/builder/Builder.h"

#include <map>
#include <stdexcept>

namespace evt::models {

using namespace evt::builder;

class StepMemories {
public:
  StepMemories(mlir::MLIRContext &context, const ModelConfig &model, const StepLimits &limits)
      : program(context), model(model), limits(limits), d(model.hidden), head(model.headDim), half(model.headDim / 2),
        group(model.heads / model.kvHeads), queries(model.heads * model.headDim),
        projected((model.heads + 2 * model.kvHeads) * model.headDim), parts(half / 8) {
    if (d % 8)
      throw std::invalid_argument("a hidden size of " + std::to_string(d) + ": required a multiple of 8");
    if (head % 16)
      throw std::invalid_argument("a head of " + std::to_string(head) + " columns: required a multiple of 16");
  }

protected:
  std::vector<std::string> argumentNames() const {
    std::vector<std::string> names = {"tokens",  "positions", "requests", "slots",   "pages",
                                      "outputs", "last",      "rates",    "choices", "frequencies"};
    std::vector<std::string> weights = {"embedding", "attn_norm", "qkv"};
    if (model.hasQkNorm)
      weights.insert(weights.end(), {"q_norm", "k_norm"});
    weights.insert(weights.end(), {"o", "mlp_norm", "gate", "up", "down", "head"});
    names.insert(names.end(), weights.begin(), weights.end());
    names.insert(names.end(), {"keys", "values"});
    if (model.hasQkNorm)
      names.push_back("key_squares");
    names.insert(names.end(), {"history", "logits", "next", "logprobs"});
    return names;
  }
  bool isTable(const std::string &name) const {
    return name == "tokens" || name == "positions" || name == "requests" || name == "slots" || name == "pages" ||
           name == "outputs" || name == "last" || name == "rates" || name == "choices" || name == "frequencies";
  }
  bool isWeight(const std::string &name) const {
    return !isTable(name) && name != "keys" && name != "values" && name != "key_squares" && name != "history" &&
           name != "logits" && name != "next" && name != "logprobs";
  }

  void declare(const std::string &name, Element element, std::vector<int64_t> shape) {
    types.insert_or_assign(name, tensor(name, element, std::move(shape)));
  }

  void declareMemories() {
    for (const char *name : {"tokens", "positions", "requests", "slots", "outputs", "last"})
      declare(name, i32, {dyn});
    declare("pages", i32, {dyn, dyn});
    declare("rates", f32, {dyn, 8});
    declare("choices", i32, {dyn, 8});
    declare("history", i32, {dyn});
    declare("logprobs", f32, {dyn});
    declare("scaled", f32, {dyn, model.vocabulary});
    declare("frequencies", f32, {half});
    declare("embedding", bf16, {model.vocabulary, d});
    declare("attn_norm", f32, {dyn, d});
    declare("mlp_norm", f32, {dyn, d});
    declare("qkv", bf16, {dyn, projected, d});
    declare("q_norm", f32, {dyn, head});
    declare("k_norm", f32, {dyn, head});
    declare("o", bf16, {dyn, d, queries});
    declare("gate", bf16, {dyn, model.feedForward, d});
    declare("up", bf16, {dyn, model.feedForward, d});
    declare("down", bf16, {dyn, d, model.feedForward});
    declare("head", bf16, {model.vocabulary, d});
    declare("keys", bf16, {dyn, model.kvHeads, dyn, head});
    declare("values", bf16, {dyn, model.kvHeads, dyn, head});
    declare("key_squares", f32, {dyn, model.kvHeads, dyn, parts});
    declare("logits", f32, {dyn, model.vocabulary});
    declare("next", i32, {dyn});
    // Buffers: the residual stream, what products read of it (times the next norm's weights) and the sums of squares of
    // its columns; queries, parts of attention and their merge, activations; what the head reads.
    for (const Way &way : {fewTokens, manyTokens}) {
      const std::string &w = way.prefix;
      declare(w + "x", f32, {dyn, d});
      declare(w + "xb", bf16, {dyn, d});
      declare(w + "squares", f32, {dyn, d / way.rowsOf(d, 1, true)});
      declare(w + "cosines", f32, {dyn, half});
      declare(w + "sines", f32, {dyn, half});
      declare(w + "q", bf16, {dyn, queries});
      declare(w + "attention", bf16, {dyn, queries});
      declare(w + "h", bf16, {dyn, model.feedForward});
      declare(w + "last_xb", bf16, {dyn, d});
      declare(w + "candidates", f32, {dyn, chunks(), 4});
    }
    declare("deep_squares", f32, {dyn, d / promptTokens.rowsOf(d, 1, true)});
    declare("wide_qkv", f32, {dyn, projected});
    declare("q_squares", f32, {dyn, model.heads * parts});
    declare("part_m", f32, {dyn, model.kvHeads, dyn, dyn, group});
    declare("part_sum", f32, {dyn, model.kvHeads, dyn, dyn, group});
    declare("part_acc", f32, {dyn, model.kvHeads, dyn, dyn, group, head});
  }

  /// Tokens of a head that a task rotates.
  static constexpr int64_t rotatedTokens = 32;
  /// Tokens of a run from which on they attend as tiles. With fewer, most rows of a tile would be empty, and the
  /// tokens' own tasks run beside each other.
  static constexpr int64_t enoughForTiles = 16;
  /// Columns of the logits among which a task finds a candidate.
  static constexpr int64_t chunk = 2048;
  /// Columns of a request's last token that a task norms.
  int64_t lastColumns() const { return fewTokens.step(d); }
  int64_t chunks() const { return (model.vocabulary + chunk - 1) / chunk; }

  Program program;
  const ModelConfig &model;
  const StepLimits limits;
  const int64_t d, head, half, group, queries, projected, parts; // parts: sums of squares of a head
  std::map<std::string, Argument> types;
};

} // namespace evt::models
