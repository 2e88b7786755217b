#include "models/weights/Checkpoint.h"

#include "models/weights/StepWeights.h"
#include "models/weights/TemporaryFolder_fixture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace evt::models {
namespace {

using testing::ElementsAre;

ModelConfig tinyModel() {
  ModelConfig model;
  model.hidden = 4;
  model.layers = 2;
  model.heads = 2;
  model.kvHeads = 1;
  model.headDim = 6;
  model.feedForward = 10;
  model.vocabulary = 8;
  return model;
}

using Tensors = std::vector<TensorType>;

// A file of these tensors; element bytes are all `fill`.
std::string fileOf(const Tensors &tensors, char fill = 'x') {
  std::string file = formatHeader(tensors);
  for (const TensorType &tensor : tensors)
    file += std::string(tensor.bytes(), fill);
  return file;
}

// What transformers writes for this model, name by name.
Tensors tensorsByHand(bool head = true, bool qkNorm = false) {
  constexpr ElementType bf16 = ElementType::bf16;
  Tensors tensors{{"model.embed_tokens.weight", bf16, {8, 4}}};
  for (std::string layer : {"model.layers.0.", "model.layers.1."}) {
    tensors.push_back({layer + "input_layernorm.weight", bf16, {4}});
    tensors.push_back({layer + "self_attn.q_proj.weight", bf16, {12, 4}});
    tensors.push_back({layer + "self_attn.k_proj.weight", bf16, {6, 4}});
    tensors.push_back({layer + "self_attn.v_proj.weight", bf16, {6, 4}});
    if (qkNorm) {
      tensors.push_back({layer + "self_attn.q_norm.weight", bf16, {6}});
      tensors.push_back({layer + "self_attn.k_norm.weight", bf16, {6}});
    }
    tensors.push_back({layer + "self_attn.o_proj.weight", bf16, {4, 12}});
    tensors.push_back({layer + "post_attention_layernorm.weight", bf16, {4}});
    tensors.push_back({layer + "mlp.gate_proj.weight", bf16, {10, 4}});
    tensors.push_back({layer + "mlp.up_proj.weight", bf16, {10, 4}});
    tensors.push_back({layer + "mlp.down_proj.weight", bf16, {4, 10}});
  }
  tensors.push_back({"model.norm.weight", bf16, {4}});
  if (head)
    tensors.push_back({"lm_head.weight", bf16, {8, 4}});
  return tensors;
}

std::string opened(const TemporaryFolder &folder, const ModelConfig &model) {
  return refusal(folder, [&] { openCheckpoint(folder.path, model); });
}

TEST(Checkpoint, AcceptsBothFamilies) {
  TemporaryFolder folder;
  folder.write("model.safetensors", fileOf(tensorsByHand()));
  EXPECT_EQ(opened(folder, tinyModel()), "accepted");
  ModelConfig model = tinyModel();
  model.family = Family::qwen3;
  model.hasQkNorm = true;
  folder.write("model.safetensors", fileOf(tensorsByHand(true, true)));
  EXPECT_EQ(opened(folder, model), "accepted");
  Checkpoint checkpoint = Checkpoint::open(folder.path);
  EXPECT_EQ(checkpoint.tensors().size(), tensorsByHand(true, true).size());
  ASSERT_NE(checkpoint.find("model.norm.weight"), nullptr);
  EXPECT_EQ(checkpoint.find("model.norm.weight")->data.size(), 8u);
  EXPECT_EQ(checkpoint.find("norm.weight"), nullptr);
  EXPECT_THAT(checkpoint.fileNames(), ElementsAre("model.safetensors"));
}

TEST(Checkpoint, OrderOfUse) {
  std::vector<ExpectedTensor> expected = expectedTensors(tinyModel());
  Tensors tensors = tensorsByHand();
  ASSERT_EQ(expected.size(), tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    EXPECT_EQ(expected[i].name, tensors[i].name);
    EXPECT_EQ(expected[i].shape, tensors[i].shape);
  }
}

TEST(Checkpoint, TiedHeads) {
  TemporaryFolder folder;
  ModelConfig model = tinyModel();
  model.tied = true;
  folder.write("model.safetensors", fileOf(tensorsByHand(false)));
  EXPECT_EQ(opened(folder, model), "accepted");
  EXPECT_EQ(opened(folder, tinyModel()), "'DIR': tensor 'lm_head.weight' is missing, required [8, 4]");
  std::string both = fileOf(tensorsByHand(true));
  folder.write("model.safetensors", both);
  EXPECT_EQ(opened(folder, model), "accepted");
  both.back() = 'y'; // the head's last element
  folder.write("model.safetensors", both);
  EXPECT_EQ(opened(folder, model), "'DIR': tensor 'lm_head.weight' differs from 'model.embed_tokens.weight', which it "
                                   "is tied to (tie_word_embeddings)");
}

TEST(Checkpoint, NamesEveryMisfit) {
  TemporaryFolder folder;
  Tensors tensors = tensorsByHand();
  tensors[2].shape = {4, 12}; // as many elements, transposed
  tensors[3].name = "model.layers.0.self_attn.k_proj.bias";
  folder.write("model.safetensors", fileOf(tensors));
  EXPECT_EQ(opened(folder, tinyModel()),
            "'DIR' has 3 problems:\n"
            "  tensor 'model.layers.0.self_attn.q_proj.weight' is [4, 12], required [12, 4]\n"
            "  tensor 'model.layers.0.self_attn.k_proj.weight' is missing, required [6, 4]\n"
            "  tensor 'model.layers.0.self_attn.k_proj.bias' is not one of this model's");
  ModelConfig deeper = tinyModel();
  deeper.layers = 5;
  folder.write("model.safetensors", fileOf(tensorsByHand()));
  EXPECT_THAT(opened(folder, deeper), testing::StartsWith("'DIR' has 27 problems:\n"));
  EXPECT_THAT(opened(folder, deeper), testing::EndsWith("\n  and 7 more"));
}

TEST(Checkpoint, NothingThere) {
  TemporaryFolder folder;
  EXPECT_EQ(opened(folder, tinyModel()),
            "'DIR': has no checkpoint, required model.safetensors or model.safetensors.index.json");
}

class Sharded : public testing::Test {
protected:
  Sharded() {
    Tensors tensors = tensorsByHand();
    first.assign(tensors.begin(), tensors.begin() + 5);
    second.assign(tensors.begin() + 5, tensors.end());
    write();
  }
  void write(const std::string &more = "") {
    std::string map;
    for (const TensorType &tensor : first)
      map += (map.empty() ? "\"" : ", \"") + tensor.name + "\": \"model-00001-of-00002.safetensors\"";
    for (const TensorType &tensor : second)
      map += ", \"" + tensor.name + "\": \"model-00002-of-00002.safetensors\"";
    folder.write("model.safetensors.index.json",
                 R"({"metadata": {"total_size": 1}, "weight_map": {)" + map + more + "}}");
    folder.write("model-00001-of-00002.safetensors", fileOf(first));
    folder.write("model-00002-of-00002.safetensors", fileOf(second));
  }
  std::string opened() const {
    return models::refusal(folder, [&] { openCheckpoint(folder.path, tinyModel()); });
  }

  TemporaryFolder folder;
  Tensors first, second;
};

TEST_F(Sharded, Opens) {
  EXPECT_EQ(opened(), "accepted");
  EXPECT_THAT(Checkpoint::open(folder.path).fileNames(),
              ElementsAre("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"));
}

TEST_F(Sharded, NamesWhatIsWrongWithTheIndex) {
  folder.write("model.safetensors.index.json", "{}");
  EXPECT_EQ(opened(), "'DIR/model.safetensors.index.json': weight_map is missing, required an object that names each "
                      "tensor's file");
  folder.write("model.safetensors.index.json", R"({"weight_map": {}})");
  EXPECT_EQ(opened(), "'DIR/model.safetensors.index.json': weight_map is empty");
  folder.write("model.safetensors.index.json", R"({"weight_map": {"a": "../b", "c": 1}})");
  EXPECT_EQ(opened(), "'DIR/model.safetensors.index.json' has 2 problems:\n"
                      "  tensor 'a' is in \"../b\", required the name of a file beside it\n"
                      "  tensor 'c' is in 1, required the name of a file beside it");
}

TEST_F(Sharded, NamesFilesThatAreMissingOrDamaged) {
  std::filesystem::remove(folder.file("model-00001-of-00002.safetensors"));
  std::string damaged = fileOf(second);
  damaged.pop_back();
  folder.write("model-00002-of-00002.safetensors", damaged);
  EXPECT_EQ(opened(), "'DIR' has 2 problems:\n"
                      "  'model-00001-of-00002.safetensors': cannot be read: No such file or directory\n"
                      "  'model-00002-of-00002.safetensors': tensor 'lm_head.weight': data_offsets is [896,960], "
                      "required an order and at most 959, the bytes after the header");
}

TEST_F(Sharded, NamesTensorsInOtherPlaces) {
  write(R"(, "lost": "model-00001-of-00002.safetensors")");
  EXPECT_EQ(opened(),
            "'DIR': 'model-00001-of-00002.safetensors': tensor 'lost' is missing, which the index puts there");
  write();
  first.push_back({"stray", ElementType::bf16, {1}});
  first.push_back(second.back());
  folder.write("model-00001-of-00002.safetensors", fileOf(first));
  EXPECT_EQ(opened(), "'DIR' has 2 problems:\n"
                      "  'model-00001-of-00002.safetensors': tensor 'lm_head.weight' is here, but the index puts it in "
                      "'model-00002-of-00002.safetensors'\n"
                      "  'model-00001-of-00002.safetensors': tensor 'stray' is not in the index");
}

TEST_F(Sharded, DamagedIndexesAreRefusedOrHarmless) {
  std::string index = folder.read("model.safetensors.index.json");
  for (size_t i = 0; i < index.size(); i += 7) {
    std::string damaged = index;
    damaged[i] = "\"{}\xff,0"[i % 6];
    folder.write("model.safetensors.index.json", damaged);
    EXPECT_NE(opened(), "");
  }
}

} // namespace
} // namespace evt::models
