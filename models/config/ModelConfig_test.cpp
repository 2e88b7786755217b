#include "models/config/ModelConfig.h"

#include "models/config/Problems.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace evt::models {
namespace {

using testing::ElementsAre;

// As published, with keys that change nothing.
constexpr const char *llama32 = R"({"architectures": ["LlamaForCausalLM"], "attention_bias": false,
  "attention_dropout": 0.0, "bos_token_id": 128000, "eos_token_id": [128001, 128008, 128009], "head_dim": 64,
  "hidden_act": "silu", "hidden_size": 2048, "initializer_range": 0.02, "intermediate_size": 8192,
  "max_position_embeddings": 131072, "mlp_bias": false, "model_type": "llama", "num_attention_heads": 32,
  "num_hidden_layers": 16, "num_key_value_heads": 8, "pretraining_tp": 1, "rms_norm_eps": 1e-05,
  "rope_scaling": {"factor": 32.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0,
                   "original_max_position_embeddings": 8192, "rope_type": "llama3"},
  "rope_theta": 500000.0, "tie_word_embeddings": true, "torch_dtype": "bfloat16", "vocab_size": 128256})";

constexpr const char *qwen3 = R"({"architectures": ["Qwen3ForCausalLM"], "attention_bias": false,
  "bos_token_id": 151643, "eos_token_id": 151645, "head_dim": 128, "hidden_act": "silu", "hidden_size": 2560,
  "intermediate_size": 9728, "max_position_embeddings": 40960, "max_window_layers": 36, "model_type": "qwen3",
  "num_attention_heads": 32, "num_hidden_layers": 36, "num_key_value_heads": 8, "rms_norm_eps": 1e-06,
  "rope_scaling": null, "rope_theta": 1000000, "sliding_window": null, "tie_word_embeddings": true,
  "use_sliding_window": false, "vocab_size": 151936})";

// The text with another value for `key`, or without it if the value is empty.
std::string with(std::string text, const std::string &key, const std::string &value) {
  size_t at = text.find("\"" + key + "\":");
  EXPECT_NE(at, std::string::npos) << key;
  size_t end = at;
  for (int depth = 0; depth > 0 || (text[end] != ',' && text[end] != '}'); ++end)
    depth += text[end] == '{' || text[end] == '[' ? 1 : text[end] == '}' || text[end] == ']' ? -1 : 0;
  if (value.empty()) {
    if (text[end] == ',')
      ++end;
    else
      at = text.rfind(',', at);
    return text.erase(at, end - at);
  }
  return text.replace(at, end - at, "\"" + key + "\": " + value);
}

std::string also(std::string text, const std::string &entry) { return text.insert(1, entry + ", "); }

std::string refusal(const std::string &text) {
  try {
    parseModelConfig(text, "dir/config.json");
  } catch (const Problems &problems) {
    return problems.what();
  }
  return "accepted";
}

std::string only(const std::string &problem) { return "'dir/config.json': " + problem; }

TEST(ModelConfig, ReadsLlama) {
  ModelConfig model = parseModelConfig(llama32, "config.json");
  EXPECT_EQ(architectureName(model.family), "LlamaForCausalLM");
  EXPECT_EQ(model.hidden, 2048);
  EXPECT_EQ(model.layers, 16);
  EXPECT_EQ(model.heads, 32);
  EXPECT_EQ(model.kvHeads, 8);
  EXPECT_EQ(model.headDim, 64);
  EXPECT_EQ(model.feedForward, 8192);
  EXPECT_EQ(model.vocabulary, 128256);
  EXPECT_EQ(model.maxPositions, 131072);
  EXPECT_EQ(model.normEpsilon, 1e-5);
  EXPECT_EQ(model.ropeTheta, 500000);
  ASSERT_TRUE(model.ropeScaling);
  EXPECT_EQ(model.ropeScaling->factor, 32);
  EXPECT_EQ(model.ropeScaling->lowFrequencyFactor, 1);
  EXPECT_EQ(model.ropeScaling->highFrequencyFactor, 4);
  EXPECT_EQ(model.ropeScaling->originalMaxPositions, 8192);
  EXPECT_TRUE(model.tied);
  EXPECT_FALSE(model.hasQkNorm);
  EXPECT_EQ(model.initializerRange, 0.02);
  EXPECT_EQ(model.bos, 128000);
  EXPECT_THAT(model.eos, ElementsAre(128001, 128008, 128009));
}

TEST(ModelConfig, ReadsQwen3) {
  ModelConfig model = parseModelConfig(qwen3, "config.json");
  EXPECT_EQ(model.family, Family::qwen3);
  EXPECT_EQ(model.headDim, 128); // not hidden / heads
  EXPECT_EQ(model.hidden / model.heads, 80);
  EXPECT_FALSE(model.ropeScaling);
  EXPECT_TRUE(model.hasQkNorm);
  EXPECT_THAT(model.eos, ElementsAre(151645));
}

TEST(ModelConfig, AbsentKeysMeanWhatTransformersMeans) {
  std::string text = llama32;
  for (const char *key : {"head_dim", "num_key_value_heads", "rope_scaling", "tie_word_embeddings", "attention_bias",
                          "hidden_act", "bos_token_id", "eos_token_id", "initializer_range"})
    text = with(text, key, "");
  ModelConfig model = parseModelConfig(text, "config.json");
  EXPECT_EQ(model.headDim, 64);
  EXPECT_EQ(model.kvHeads, 32);
  EXPECT_FALSE(model.ropeScaling);
  EXPECT_FALSE(model.tied);
  EXPECT_EQ(model.initializerRange, 0.02);
  EXPECT_FALSE(model.bos);
  EXPECT_TRUE(model.eos.empty());
}

TEST(ModelConfig, ReadsBothSpellingsOfRope) {
  // before 4.43: "type"; from version 5 on: rope_parameters
  EXPECT_EQ(refusal(with(llama32, "rope_scaling", R"({"type": "default"})")), "accepted");
  std::string newer = with(with(llama32, "rope_scaling", ""), "rope_theta",
                           R"(null, "rope_parameters": {"rope_theta": 1e6, "rope_type": "llama3", "factor": 8.0,
                              "high_freq_factor": 4, "low_freq_factor": 1, "original_max_position_embeddings": 64})");
  ModelConfig model = parseModelConfig(newer, "config.json");
  EXPECT_EQ(model.ropeTheta, 1e6);
  ASSERT_TRUE(model.ropeScaling);
  EXPECT_EQ(model.ropeScaling->originalMaxPositions, 64);
}

TEST(ModelConfig, NamesWhatIsMissing) {
  for (const char *key : {"architectures", "hidden_size", "num_attention_heads", "num_hidden_layers",
                          "intermediate_size", "vocab_size", "max_position_embeddings", "rms_norm_eps", "rope_theta"})
    EXPECT_EQ(refusal(with(llama32, key, "")), only(key + std::string(" is missing")));
  for (const char *key : {"head_dim", "num_key_value_heads"})
    EXPECT_EQ(refusal(with(qwen3, key, "")), only(key + std::string(" is missing")));
  for (const char *key :
       {"factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings", "rope_type"})
    EXPECT_EQ(refusal(with(llama32, key, "")), only("rope_scaling." + std::string(key) + " is missing"));
}

TEST(ModelConfig, NamesWhatIsUnsupported) {
  EXPECT_EQ(refusal(with(qwen3, "architectures", R"(["Qwen3MoeForCausalLM"])")),
            only(R"(architectures is ["Qwen3MoeForCausalLM"], required one of LlamaForCausalLM, Qwen3ForCausalLM)"));
  EXPECT_EQ(refusal(with(llama32, "hidden_act", "\"gelu\"")), only(R"(hidden_act is "gelu", required "silu")"));
  EXPECT_EQ(refusal(with(llama32, "attention_bias", "true")), only("attention_bias is true, required false"));
  EXPECT_EQ(refusal(with(llama32, "mlp_bias", "true")), only("mlp_bias is true, required false"));
  EXPECT_EQ(refusal(with(qwen3, "use_sliding_window", "true")), only("use_sliding_window is true, required false"));
  EXPECT_EQ(refusal(with(qwen3, "sliding_window", "4096")), "accepted"); // not used
  EXPECT_EQ(refusal(also(llama32, R"("sliding_window": 4096)")), only("sliding_window is 4096, required null"));
  EXPECT_EQ(refusal(also(qwen3, R"("layer_types": ["full_attention", "sliding_attention"])")),
            only(R"(layer_types has "sliding_attention", required "full_attention" for all layers)"));
  EXPECT_EQ(refusal(also(llama32, R"("quantization_config": {"bits": 4})")),
            only("quantization_config is there, required weights that are not quantized"));
  EXPECT_EQ(refusal(with(qwen3, "rope_scaling", R"({"rope_type": "yarn", "factor": 4.0})")),
            only(R"(rope_scaling.rope_type is "yarn", required "default" or "llama3")"));
  EXPECT_EQ(refusal(also(llama32, R"("partial_rotary_factor": 0.5)")),
            only("partial_rotary_factor is 0.5, required 1"));
}

TEST(ModelConfig, NamesWhatIsContradictory) {
  EXPECT_EQ(refusal(with(llama32, "model_type", "\"mistral\"")),
            only(R"(model_type is "mistral", required "llama", since architectures is ["LlamaForCausalLM"])"));
  EXPECT_EQ(refusal(with(llama32, "num_key_value_heads", "5")),
            only("num_key_value_heads is 5, required a divisor of num_attention_heads, which is 32"));
  EXPECT_EQ(refusal(with(with(llama32, "head_dim", ""), "hidden_size", "2050")),
            only("head_dim is missing, and hidden_size 2050 is no multiple of num_attention_heads 32"));
  EXPECT_EQ(refusal(with(llama32, "head_dim", "63")), only("head_dim is 63, required an even number"));
  EXPECT_EQ(refusal(with(llama32, "high_freq_factor", "1.0")),
            only("rope_scaling.high_freq_factor is 1.0, required more than low_freq_factor, which is 1.0"));
  EXPECT_EQ(refusal(also(llama32, R"("rope_parameters": {"rope_theta": 1, "rope_type": "default"})")),
            only("rope_parameters.rope_theta is 1, required what rope_theta is: 500000.0"));
  EXPECT_EQ(refusal(also(llama32, R"("head_dim": 64)")), only("the key 'head_dim' is there twice"));
}

TEST(ModelConfig, NamesWhatIsOutOfRange) {
  EXPECT_EQ(refusal(with(llama32, "hidden_size", "0")), only("hidden_size is 0, required an integer of 1 to 1048576"));
  EXPECT_EQ(refusal(with(llama32, "hidden_size", "2048.0")),
            only("hidden_size is 2048.0, required an integer of 1 to 1048576"));
  EXPECT_EQ(refusal(with(llama32, "vocab_size", "18446744073709551615")),
            only("vocab_size is 18446744073709551615, required an integer of 1 to 2147483647"));
  EXPECT_EQ(refusal(with(llama32, "head_dim", "1048576")),
            only("head_dim is 1048576, required at most 1048576 with num_attention_heads, which is 32, multiplied"));
  EXPECT_EQ(refusal(with(llama32, "rms_norm_eps", "-1e-5")), only("rms_norm_eps is -1e-05, required a number above 0"));
  EXPECT_EQ(refusal(with(llama32, "tie_word_embeddings", "1")),
            only("tie_word_embeddings is 1, required true or false"));
  EXPECT_EQ(refusal(with(llama32, "eos_token_id", "[1, \"2\"]")),
            only(R"(eos_token_id is [1,"2"], required a token or a list of tokens)"));
  EXPECT_EQ(refusal(with(llama32, "rope_theta", "1e999")), only("is JSON with a value that cannot be represented"));
}

TEST(ModelConfig, ListsAllProblems) {
  EXPECT_EQ(refusal(with(with(llama32, "hidden_act", "\"relu\""), "vocab_size", "")),
            "'dir/config.json' has 2 problems:\n  vocab_size is missing\n  hidden_act is \"relu\", required \"silu\"");
}

TEST(ModelConfig, RefusesWhatIsNoObject) {
  EXPECT_EQ(refusal("{\"a\": "), only("is not JSON from byte 7 on"));
  EXPECT_EQ(refusal("[1]"), only("is JSON of type array, required an object"));
  try {
    readModelConfig("/nowhere/config.json");
    FAIL();
  } catch (const Problems &problems) {
    EXPECT_STREQ(problems.what(), "'/nowhere/config.json': cannot be read: No such file or directory");
  }
}

// No change of one byte does more than accept or refuse.
TEST(ModelConfig, DamagedBytesAreRefusedOrHarmless) {
  std::string text = llama32;
  for (size_t i = 0; i < text.size(); ++i) {
    for (char c : {'\0', '"', '{', ']', '9', '-', 'e', '\xff'}) {
      std::string damaged = text;
      damaged[i] = c;
      EXPECT_NE(refusal(damaged), "");
    }
    EXPECT_NE(refusal(text.substr(0, i)), "accepted");
  }
}

} // namespace
} // namespace evt::models
