#include "models/config/ModelConfig.h"

#include "models/config/Json.h"
#include "models/config/Problems.h"

#include <nlohmann/json.hpp>

#include <cmath>

namespace evt::models {
namespace {

using nlohmann::json;

// What transformers' class of a family has, beyond what all share.
struct FamilyFacts {
  Family family;
  const char *architecture;
  const char *modelType;
  bool hasQkNorm;
  bool derivesHeads; // absent num_key_value_heads and head_dim follow from the others
};

constexpr FamilyFacts families[] = {
    {Family::llama, "LlamaForCausalLM", "llama", false, true},
    {Family::qwen3, "Qwen3ForCausalLM", "qwen3", true, false},
};

// Limits that keep every product of sizes, up to a whole checkpoint's bytes, far inside 64 bits.
constexpr int64_t maxWidth = int64_t(1) << 20;
constexpr int64_t maxLayers = int64_t(1) << 14;
constexpr int64_t maxTokens = (int64_t(1) << 31) - 1;

// One object of the file. Absent and null are the same, as they are to transformers.
class Section {
public:
  Section(const json &object, std::string prefix, std::vector<std::string> &problems)
      : object_(object), prefix_(std::move(prefix)), problems_(problems) {}

  const json *find(const char *key) const {
    auto found = object_.find(key);
    return found == object_.end() || found->is_null() ? nullptr : &*found;
  }

  void report(const std::string &key, const std::string &text) { problems_.push_back(prefix_ + key + " " + text); }

  void missing(const char *key) { report(key, "is missing"); }

  void wrong(const char *key, const json &found, const std::string &required) {
    std::string text = found.dump();
    if (text.size() > 60)
      text = std::string("an ") + found.type_name() + " of " + std::to_string(found.size()) + " entries";
    report(key, "is " + text + ", required " + required);
  }

  std::optional<int64_t> integer(const char *key, int64_t least, int64_t most) {
    const json *found = find(key);
    if (!found)
      return std::nullopt;
    if (!inRange(*found, least, most)) {
      wrong(key, *found, "an integer of " + std::to_string(least) + " to " + std::to_string(most));
      return least; // reported: what follows from it is checked with a harmless value
    }
    return found->get<int64_t>();
  }

  int64_t requiredInteger(const char *key, int64_t most) {
    std::optional<int64_t> value = integer(key, 1, most);
    if (!value)
      missing(key);
    return value.value_or(1);
  }

  std::optional<double> number(const char *key, double above, const std::string &required) {
    const json *found = find(key);
    if (!found)
      return std::nullopt;
    if (!found->is_number() || !std::isfinite(found->get<double>()) || !(found->get<double>() > above)) {
      wrong(key, *found, required);
      return std::nullopt;
    }
    return found->get<double>();
  }

  double requiredNumber(const char *key, double above = 0, const std::string &required = "a number above 0") {
    if (!find(key))
      missing(key);
    return number(key, above, required).value_or(1);
  }

  bool flag(const char *key) {
    const json *found = find(key);
    if (!found)
      return false;
    if (!found->is_boolean()) {
      wrong(key, *found, "true or false");
      return false;
    }
    return found->get<bool>();
  }

  void requireFalse(const char *key) {
    if (flag(key))
      wrong(key, *find(key), "false");
  }

  static bool inRange(const json &value, int64_t least, int64_t most) {
    if (value.is_number_unsigned())
      return value.get<uint64_t>() <= static_cast<uint64_t>(most) &&
             value.get<uint64_t>() >= static_cast<uint64_t>(least);
    return value.is_number_integer() && value.get<int64_t>() >= least && value.get<int64_t>() <= most;
  }

private:
  const json &object_;
  std::string prefix_;
  std::vector<std::string> &problems_;
};

std::string knownArchitectures() {
  std::string text;
  for (const FamilyFacts &facts : families)
    text += (text.empty() ? "" : ", ") + std::string(facts.architecture);
  return text;
}

const FamilyFacts *readFamily(Section &config) {
  const json *names = config.find("architectures");
  if (!names) {
    config.missing("architectures");
    return nullptr;
  }
  for (const FamilyFacts &facts : families) {
    if (*names != json::array({facts.architecture}))
      continue;
    const json *type = config.find("model_type");
    if (type && *type != facts.modelType)
      config.wrong("model_type", *type, json(facts.modelType).dump() + ", since architectures is " + names->dump());
    return &facts;
  }
  config.wrong("architectures", *names, "one of " + knownArchitectures());
  return nullptr;
}

Llama3Scaling readLlama3(Section &section) {
  Llama3Scaling scaling;
  scaling.factor = section.requiredNumber("factor");
  scaling.lowFrequencyFactor = section.requiredNumber("low_freq_factor");
  scaling.highFrequencyFactor = section.requiredNumber("high_freq_factor");
  scaling.originalMaxPositions = section.requiredInteger("original_max_position_embeddings", maxTokens);
  if (section.find("low_freq_factor") && section.find("high_freq_factor") &&
      scaling.highFrequencyFactor <= scaling.lowFrequencyFactor)
    section.wrong("high_freq_factor", *section.find("high_freq_factor"),
                  "more than low_freq_factor, which is " + section.find("low_freq_factor")->dump());
  return scaling;
}

void requireWholeRotation(Section &section) {
  const json *part = section.find("partial_rotary_factor");
  if (part && *part != 1)
    section.wrong("partial_rotary_factor", *part, "1");
}

// Files of transformers 4 have rope_theta and rope_scaling, those of version 5 rope_parameters with both in it.
void readRope(Section &config, ModelConfig &model, std::vector<std::string> &problems) {
  requireWholeRotation(config);
  std::optional<double> theta = config.number("rope_theta", 0, "a number above 0");
  bool hasTheta = config.find("rope_theta");
  bool scaled = false;
  for (const char *key : {"rope_scaling", "rope_parameters"}) {
    const json *object = config.find(key);
    if (!object)
      continue;
    if (!object->is_object()) {
      config.wrong(key, *object, "an object or null");
      continue;
    }
    Section section(*object, std::string(key) + ".", problems);
    requireWholeRotation(section);
    if (std::optional<double> inner = section.number("rope_theta", 0, "a number above 0")) {
      if (theta && *theta != *inner)
        section.wrong("rope_theta", *section.find("rope_theta"),
                      "what rope_theta is: " + config.find("rope_theta")->dump());
      theta = inner;
    }
    hasTheta = hasTheta || section.find("rope_theta");
    const json *type = section.find("rope_type");
    const json *older = section.find("type"); // the name before version 4.43
    if (type && older && *type != *older)
      section.wrong("type", *older, "what rope_type is: " + type->dump());
    type = type ? type : older;
    if (!type)
      section.missing("rope_type");
    else if (*type == "llama3" && !scaled)
      model.ropeScaling = readLlama3(section), scaled = true;
    else if (*type != "default" && *type != "llama3")
      section.wrong("rope_type", *type, R"("default" or "llama3")");
  }
  if (!hasTheta)
    config.missing("rope_theta");
  model.ropeTheta = theta.value_or(1);
}

void refuseOtherComputations(Section &config, const FamilyFacts *facts) {
  config.requireFalse("attention_bias");
  config.requireFalse("mlp_bias");
  config.requireFalse("use_sliding_window");
  // Qwen3 has a width even where no window is used; a family without the switch that has one means it.
  const json *window = config.find("sliding_window");
  if (window && facts && facts->family != Family::qwen3)
    config.wrong("sliding_window", *window, "null");
  if (const json *types = config.find("layer_types")) {
    for (const json &type : *types) {
      if (type != "full_attention") {
        config.report("layer_types", "has " + type.dump() + R"(, required "full_attention" for all layers)");
        break;
      }
    }
  }
  const json *activation = config.find("hidden_act");
  if (activation && *activation != "silu")
    config.wrong("hidden_act", *activation, R"("silu")");
  if (config.find("quantization_config"))
    config.report("quantization_config", "is there, required weights that are not quantized");
}

void readHeads(Section &config, const FamilyFacts *facts, ModelConfig &model, bool sizesAreThere) {
  bool derives = !facts || facts->derivesHeads;
  std::optional<int64_t> groups = config.integer("num_key_value_heads", 1, maxWidth);
  std::optional<int64_t> width = config.integer("head_dim", 2, maxWidth);
  if (!groups && !derives)
    config.missing("num_key_value_heads");
  if (!width && !derives)
    config.missing("head_dim");
  model.kvHeads = groups.value_or(model.heads);
  model.headDim = width.value_or(2);
  if (!sizesAreThere)
    return;
  if (!width && derives) {
    if (model.hidden % model.heads)
      config.report("head_dim", "is missing, and hidden_size " + std::to_string(model.hidden) + " is no multiple of " +
                                    "num_attention_heads " + std::to_string(model.heads));
    else
      model.headDim = model.hidden / model.heads;
  }
  if (model.headDim % 2)
    config.report("head_dim", "is " + std::to_string(model.headDim) + ", required an even number");
  if (model.heads % model.kvHeads)
    config.report("num_key_value_heads", "is " + std::to_string(model.kvHeads) + ", required a divisor of " +
                                             "num_attention_heads, which is " + std::to_string(model.heads));
  if (model.heads * model.headDim > maxWidth)
    config.report("head_dim", "is " + std::to_string(model.headDim) + ", required at most " + std::to_string(maxWidth) +
                                  " with num_attention_heads, which is " + std::to_string(model.heads) +
                                  ", multiplied");
}

void readTokens(Section &config, ModelConfig &model) {
  model.bos = config.integer("bos_token_id", 0, maxTokens);
  const json *end = config.find("eos_token_id");
  if (!end)
    return;
  for (const json &token : end->is_array() ? *end : json::array({*end})) {
    if (!Section::inRange(token, 0, maxTokens)) {
      config.wrong("eos_token_id", *end, "a token or a list of tokens");
      return;
    }
    model.eos.push_back(token.get<int64_t>());
  }
}

} // namespace

std::string_view architectureName(Family family) {
  for (const FamilyFacts &facts : families)
    if (facts.family == family)
      return facts.architecture;
  return "";
}

ModelConfig parseModelConfig(std::string_view text, const std::string &where) {
  json object = parseObject(text, where);
  std::vector<std::string> problems;
  Section config(object, "", problems);
  ModelConfig model;
  const FamilyFacts *facts = readFamily(config);
  if (facts) {
    model.family = facts->family;
    model.hasQkNorm = facts->hasQkNorm;
  }
  size_t before = problems.size();
  model.hidden = config.requiredInteger("hidden_size", maxWidth);
  model.heads = config.requiredInteger("num_attention_heads", maxWidth);
  bool sizesAreThere = problems.size() == before;
  readHeads(config, facts, model, sizesAreThere);
  model.layers = config.requiredInteger("num_hidden_layers", maxLayers);
  model.feedForward = config.requiredInteger("intermediate_size", maxWidth);
  model.vocabulary = config.requiredInteger("vocab_size", maxTokens);
  model.maxPositions = config.requiredInteger("max_position_embeddings", maxTokens);
  model.normEpsilon = config.requiredNumber("rms_norm_eps");
  readRope(config, model, problems);
  model.tied = config.flag("tie_word_embeddings");
  model.initializerRange = config.number("initializer_range", 0, "a number above 0").value_or(0.02);
  refuseOtherComputations(config, facts);
  readTokens(config, model);
  if (!problems.empty())
    throw Problems(where, std::move(problems));
  return model;
}

ModelConfig readModelConfig(const std::string &path) { return parseModelConfig(readText(path), path); }

} // namespace evt::models
