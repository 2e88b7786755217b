#include "models/weights/StepWeights.h"

#include "models/weights/TemporaryFolder_fixture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>

namespace evt::models {
namespace {

ModelConfig tinyModel(Family family, bool tied) {
  ModelConfig model;
  model.family = family;
  model.hasQkNorm = family == Family::qwen3;
  model.tied = tied;
  model.hidden = 8;
  model.layers = 3;
  model.heads = 4;
  model.kvHeads = 2;
  model.headDim = 6;
  model.feedForward = 10;
  model.vocabulary = 14;
  return model;
}

// The value at a place of a named tensor, in single precision; not representable in bf16, so that rounding shows.
float valueAt(const std::string &name, uint64_t row, uint64_t column) {
  uint64_t hash = std::hash<std::string>()(name) % 1000;
  return static_cast<float>(std::sin(0.37 * hash + 1.9 * row + 0.11 * column));
}

// Types alternate, so that each conversion happens and mixed checkpoints are read.
constexpr ElementType types[] = {ElementType::f32, ElementType::f16, ElementType::bf16};

struct Store {
  TemporaryFolder folder;
  std::map<std::string, ElementType> typeOf;

  explicit Store(const ModelConfig &model) {
    std::vector<TensorType> tensors;
    std::string data;
    for (const ExpectedTensor &expected : expectedTensors(model)) {
      TensorType tensor{expected.name, types[tensors.size() % 3], expected.shape};
      typeOf[tensor.name] = tensor.type;
      std::vector<char> bytes(tensor.bytes());
      uint64_t columns = tensor.shape.back();
      for (uint64_t i = 0; i < tensor.elements(); ++i) {
        float value = valueAt(tensor.name, i / columns, i % columns);
        convert(ElementType::f32, &value, tensor.type, bytes.data() + i * bytesOf(tensor.type), 1);
      }
      data.append(bytes.begin(), bytes.end());
      tensors.push_back(tensor);
    }
    folder.write("model.safetensors", formatHeader(tensors) + data);
  }

  // What is expected of an argument's element in the type `to`: through the type in the file.
  float expected(const std::string &tensor, uint64_t row, uint64_t column, ElementType to) const {
    float value = valueAt(tensor, row, column);
    for (ElementType type : {typeOf.at(tensor), to}) {
      uint32_t bits = 0;
      convert(ElementType::f32, &value, type, &bits, 1);
      convert(type, &bits, ElementType::f32, &value, 1);
    }
    return value;
  }
};

// The tensor and row that element (layer, row) of an argument is from, written out case by case.
std::pair<std::string, uint64_t> origin(const ModelConfig &model, const std::string &argument, int64_t layer,
                                        int64_t row) {
  std::string prefix = "model.layers." + std::to_string(layer) + ".";
  if (argument == "embedding")
    return {"model.embed_tokens.weight", row};
  if (argument == "head")
    return {model.tied ? "model.embed_tokens.weight" : "lm_head.weight", row};
  if (argument == "final_norm")
    return {"model.norm.weight", 0};
  if (argument == "qkv") { // 4 heads of 6, then 2, then 2
    if (row < 24)
      return {prefix + "self_attn.q_proj.weight", row};
    return row < 36 ? std::pair(prefix + "self_attn.k_proj.weight", uint64_t(row - 24))
                    : std::pair(prefix + "self_attn.v_proj.weight", uint64_t(row - 36));
  }
  static const std::map<std::string, std::string> others{{"attn_norm", "input_layernorm"},
                                                         {"q_norm", "self_attn.q_norm"},
                                                         {"k_norm", "self_attn.k_norm"},
                                                         {"o", "self_attn.o_proj"},
                                                         {"mlp_norm", "post_attention_layernorm"},
                                                         {"gate", "mlp.gate_proj"},
                                                         {"up", "mlp.up_proj"},
                                                         {"down", "mlp.down_proj"}};
  return {prefix + others.at(argument) + ".weight", row};
}

std::string shapes(const ModelConfig &model) {
  std::string text;
  for (const StepArgument &argument : stepArguments(model))
    text += argument.name + shapeText(argument.shape) + " ";
  return text;
}

TEST(StepWeights, Shapes) {
  EXPECT_EQ(shapes(tinyModel(Family::qwen3, false)),
            "embedding[14, 8] attn_norm[3, 8] qkv[3, 48, 8] q_norm[3, 6] k_norm[3, 6] o[3, 8, 24] mlp_norm[3, 8] "
            "gate[3, 10, 8] up[3, 10, 8] down[3, 8, 10] final_norm[8] head[14, 8] ");
  EXPECT_EQ(shapes(tinyModel(Family::llama, true)),
            "embedding[14, 8] attn_norm[3, 8] qkv[3, 48, 8] o[3, 8, 24] mlp_norm[3, 8] gate[3, 10, 8] up[3, 10, 8] "
            "down[3, 8, 10] final_norm[8] head[14, 8] ");
}

TEST(StepWeights, EveryElement) {
  for (ModelConfig model : {tinyModel(Family::qwen3, false), tinyModel(Family::llama, true)}) {
    Store store(model);
    Checkpoint checkpoint = openCheckpoint(store.folder.path, model);
    for (ElementType to : types) {
      for (const StepArgument &argument : stepArguments(model)) {
        std::vector<std::byte> bytes(argument.elements() * bytesOf(to));
        assemble(checkpoint, argument, to, bytes);
        std::vector<float> values(argument.elements());
        convert(to, bytes.data(), ElementType::f32, values.data(), values.size());
        bool matrix = argument.shape.size() == (argument.layered ? 3 : 2);
        int64_t columns = argument.shape.back(), rows = matrix ? argument.shape[argument.layered] : 1;
        for (size_t i = 0; i < values.size(); ++i) {
          int64_t line = static_cast<int64_t>(i) / columns;
          auto [tensor, row] = origin(model, argument.name, line / rows, line % rows);
          ASSERT_EQ(values[i], store.expected(tensor, row, i % columns, to)) << argument.name << " " << i;
        }
      }
    }
  }
}

// Pieces of any size, beginning anywhere, are those of the whole.
TEST(StepWeights, RangesAndChunks) {
  ModelConfig model = tinyModel(Family::qwen3, false);
  Store store(model);
  Checkpoint checkpoint = openCheckpoint(store.folder.path, model);
  for (const StepArgument &argument : stepArguments(model)) {
    std::vector<std::byte> whole(argument.elements() * 2);
    assemble(checkpoint, argument, ElementType::bf16, whole, 1);
    for (size_t chunkBytes : {1, 14, 98, 1 << 20}) {
      std::vector<std::byte> pieces(whole.size());
      uint64_t next = 0;
      assembleInChunks(
          checkpoint, argument, ElementType::bf16, chunkBytes,
          [&](uint64_t offset, std::span<const std::byte> bytes) {
            ASSERT_EQ(offset, next);
            ASSERT_LE(bytes.size(), std::max<size_t>(2, chunkBytes));
            std::memcpy(pieces.data() + offset, bytes.data(), bytes.size());
            next += bytes.size();
          },
          1);
      EXPECT_EQ(pieces, whole) << argument.name << " " << chunkBytes;
    }
    for (uint64_t first = 0; first < argument.elements(); first += 5) {
      std::vector<std::byte> range((argument.elements() - first) * 2);
      assembleRange(checkpoint, argument, ElementType::bf16, first, range);
      ASSERT_EQ(std::memcmp(range.data(), whole.data() + first * 2, range.size()), 0);
    }
  }
}

TEST(StepWeights, OtherModel) {
  Store store(tinyModel(Family::llama, true));
  Checkpoint checkpoint = Checkpoint::open(store.folder.path);
  ModelConfig other = tinyModel(Family::qwen3, false);
  other.feedForward = 12;
  std::map<std::string, std::string> found;
  for (const StepArgument &argument : stepArguments(other)) {
    std::vector<std::byte> bytes(argument.elements() * 2);
    found[argument.name] = refusal(store.folder, [&] { assemble(checkpoint, argument, ElementType::bf16, bytes, 1); });
  }
  EXPECT_EQ(found["o"], "accepted");
  EXPECT_EQ(found["head"], "'DIR': tensor 'lm_head.weight' is missing, required [14, 8]");
  EXPECT_EQ(found["q_norm"], "'DIR': tensor 'model.layers.0.self_attn.q_norm.weight' is missing, required [6]");
  EXPECT_EQ(found["down"], "'DIR': tensor 'model.layers.0.mlp.down_proj.weight' is [8, 10], required [8, 12]");
}

} // namespace
} // namespace evt::models
