// A batch decoded with the compiled decoder, step by step, each logit compared with the reference.
#ifndef EVT_TOOLS_EVT_DEMO_DECODING_H
#define EVT_TOOLS_EVT_DEMO_DECODING_H

#include "runtime/launch/Program.h"
#include "runtime/observe/Recorder.h"
#include "tools/evt/demo/Model.h"

#include <memory>
#include <string>
#include <vector>

namespace evt::tool::demo {

/// What the reference says of a batch: the tokens it feeds and the logits it gets, step by step. Tokens are its own
/// most likely ones, so that a run that is wrong cannot lead it astray.
struct Script {
  Script(const Model &model, const Batch &batch, int64_t steps);

  std::vector<std::vector<int32_t>> tokens; // [step][request]
  std::vector<std::vector<double>> logits;  // [step][request * vocabulary + token]
};

struct DecodingResult {
  std::vector<double> seconds; // of each step
  double largestError = 0;     // |logit - reference|
  double relativeError = 0; // the largest of a step, ‖logits - reference‖ / ‖reference‖; infinite where one is NaN
  int64_t logits = 0;       // compared
  int64_t sameChoice = 0; // of tokens: the most likely one is the reference's
  int64_t choices = 0;
  uint64_t fingerprint = 0; // of all logits
};

/// Decodes the script's tokens. With a recorder the last step is observed.
DecodingResult decode(runtime::Program &program, Model &model, const Batch &batch, const Script &script,
                      const runtime::LaunchOptions &options, const std::shared_ptr<observe::Recorder> &recorder = {});

/// The shapes of a launch of this batch, for the observers.
runtime::Binding bindingOf(runtime::Program &program, Model &model, const Batch &batch);

} // namespace evt::tool::demo

#endif
