#include "models/serve/Sampling.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <stdexcept>

namespace evt::models {
namespace {

/// A number in a range, which the message says in words.
struct NumberField {
  const char *key;
  double Sampling::*member;
  double low, high;
  bool mayBeZero; // though it is below `low`
  const char *required;
};

// Scores are logits over the temperature: much lower ones would overflow.
constexpr NumberField numbers[] = {
    {"temperature", &Sampling::temperature, 0.001, 1000, true, "0, or 0.001 to 1000"},
    {"top_p", &Sampling::topP, 0, 1, true, "0 to 1"},
    {"min_p", &Sampling::minP, 0, 1, true, "0 to 1"},
    {"repetition_penalty", &Sampling::repetitionPenalty, 0.001, 1000, false, "0.001 to 1000"},
    {"presence_penalty", &Sampling::presencePenalty, -100, 100, true, "-100 to 100"},
    {"frequency_penalty", &Sampling::frequencyPenalty, -100, 100, true, "-100 to 100"},
};

[[noreturn]] void refuse(const std::string &key, const nlohmann::json &value, const std::string &required) {
  throw std::invalid_argument("'" + key + "' is " + value.dump() + ", required " + required);
}

} // namespace

bool readSamplingField(Sampling &sampling, const std::string &key, const nlohmann::json &value) {
  for (const NumberField &field : numbers) {
    if (key != field.key)
      continue;
    const double number = value.is_number() ? value.get<double>() : NAN;
    if (!(number >= field.low && number <= field.high) && !(field.mayBeZero && number == 0))
      refuse(key, value, field.required);
    sampling.*field.member = number;
    return true;
  }
  if (key == "top_k") {
    if (!value.is_number_integer() || value.get<int64_t>() < 0 || value.get<int64_t>() > INT32_MAX)
      refuse(key, value, "a whole number; 0 is all tokens");
    sampling.topK = value.get<int64_t>();
    return true;
  }
  if (key == "seed") {
    if (!value.is_number_unsigned())
      refuse(key, value, "a whole number of 0 to 18446744073709551615");
    sampling.seed = value.get<uint64_t>();
    return true;
  }
  if (key == "logprobs") {
    if (!value.is_boolean())
      refuse(key, value, "true or false");
    sampling.logprobs = value.get<bool>();
    return true;
  }
  return false;
}

std::string samplingFields() {
  return "temperature, top_k, top_p, min_p, seed, repetition_penalty, presence_penalty, frequency_penalty, logprobs";
}

void SamplingTables::add(const Sampling &how, int64_t position, int64_t prompt, int64_t row) {
  for (double rate : {how.temperature, how.topP, how.minP, how.repetitionPenalty, how.presencePenalty,
                      how.frequencyPenalty, 0.0, 0.0})
    rates.push_back(static_cast<float>(rate));
  const auto low = static_cast<int32_t>(static_cast<uint32_t>(how.seed)),
             high = static_cast<int32_t>(static_cast<uint32_t>(how.seed >> 32));
  for (int64_t choice : {how.topK, static_cast<int64_t>(low), static_cast<int64_t>(high), position, prompt, row,
                         static_cast<int64_t>(how.logprobs), int64_t{0}})
    choices.push_back(static_cast<int32_t>(choice));
}

} // namespace evt::models
