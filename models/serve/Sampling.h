// How a request chooses its next token: what may be asked for, and the rows of a step's tables that say it.
//
// With a temperature of 0, the most likely token is taken, and top_k, top_p and min_p have no effect.
// docs/design/step.md says what each of these means; evt.draw and evt.sample (docs/ops/evt.md) to the last detail.
#ifndef EVT_MODELS_SERVE_SAMPLING_H
#define EVT_MODELS_SERVE_SAMPLING_H

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace evt::models {

struct Sampling {
  double temperature = 0;
  int64_t topK = 0; // 0: all
  double topP = 1, minP = 0;
  double repetitionPenalty = 1, presencePenalty = 0, frequencyPenalty = 0;
  uint64_t seed = 0;
  bool logprobs = false; // the tokens' log-probabilities are wanted
};

/// Takes a field of a request, such as "top_p". False if it is none of sampling. Throws std::invalid_argument, with the
/// value found and those required, for a value that it cannot have.
bool readSamplingField(Sampling &sampling, const std::string &key, const nlohmann::json &value);

/// The fields that readSamplingField() knows, for messages: "temperature, top_k, …".
std::string samplingFields();

/// Rows of `rates` and `choices`, one for each request of a step.
struct SamplingTables {
  static constexpr int64_t columns = 8;
  std::vector<float> rates;
  std::vector<int32_t> choices;

  /// `position` is that of the token that will be chosen, `prompt` how many tokens of the request are its prompt, `row`
  /// its row of the page table.
  void add(const Sampling &how, int64_t position, int64_t prompt, int64_t row);
};

} // namespace evt::models

#endif
