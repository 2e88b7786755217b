#include "tools/evt/demo/Decoding.h"

#include "runtime/artifact/Fingerprint.h"
#include "tools/evt/demo/Reference.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

namespace evt::tool::demo {
namespace {

using runtime::DataType;
using runtime::HostTensor;

HostTensor copyOf(const HostTensor &tensor) {
  HostTensor copy(tensor.type(), tensor.shape());
  std::memcpy(copy.data(), tensor.data(), tensor.bytes());
  return copy;
}

// The arguments of one launch, in the graph's order.
struct StepArguments {
  StepArguments(const runtime::Manifest &manifest, Model &model, const Batch &batch)
      : tokens(DataType::i32, {batch.size}), pos(DataType::i32, {batch.size}), keys(copyOf(batch.keys)),
        values(copyOf(batch.values)), logits(DataType::f32, {batch.size, vocabulary}) {
    const std::pair<const char *, HostTensor *> own[] = {
        {"tokens", &tokens}, {"pos", &pos}, {"keys", &keys}, {"values", &values}, {"logits", &logits}};
    for (const runtime::Argument &argument : manifest.arguments) {
      HostTensor *tensor = nullptr;
      for (auto &[name, candidate] : own)
        if (argument.name == name)
          tensor = candidate;
      if (!tensor && !model.tensors.count(argument.name))
        throw std::logic_error("the decoder has an argument '" + argument.name + "' that the demo does not know");
      views.push_back((tensor ? *tensor : model[argument.name]).dlpack());
    }
    for (const DLTensor &view : views)
      arguments.push_back({&view, 0});
  }
  StepArguments(const StepArguments &) = delete;

  HostTensor tokens, pos, keys, values, logits;
  std::vector<DLTensor> views;
  std::vector<evt_value> arguments;
};

size_t mostLikely(const double *logits) {
  return static_cast<size_t>(std::max_element(logits, logits + vocabulary) - logits);
}

void compare(const HostTensor &found, const std::vector<double> &expected, DecodingResult &result) {
  double errors = 0, squares = 0;
  std::vector<double> row(expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    row[i] = found.get(static_cast<int64_t>(i));
    double error = std::isnan(row[i]) ? std::numeric_limits<double>::infinity() : std::fabs(row[i] - expected[i]);
    result.largestError = std::max(result.largestError, error);
    errors += error * error;
    squares += expected[i] * expected[i];
  }
  result.relativeError = std::max(result.relativeError, std::sqrt(errors / squares));
  result.logits += static_cast<int64_t>(expected.size());
  for (size_t at = 0; at < expected.size(); at += vocabulary, ++result.choices)
    result.sameChoice += mostLikely(row.data() + at) == mostLikely(expected.data() + at);
}

} // namespace

Script::Script(const Model &model, const Batch &batch, int64_t steps) {
  Reference reference(model, batch);
  std::vector<int32_t> next = batch.firstTokens;
  for (int64_t step = 0; step < steps; ++step) {
    tokens.push_back(next);
    std::vector<double> all;
    for (size_t r = 0; r < next.size(); ++r) {
      Reference::Vector row = reference.step(r, next[r]);
      next[r] = static_cast<int32_t>(mostLikely(row.data()));
      all.insert(all.end(), row.begin(), row.end());
    }
    logits.push_back(std::move(all));
  }
}

DecodingResult decode(runtime::Program &program, Model &model, const Batch &batch, const Script &script,
                      const runtime::LaunchOptions &options, const std::shared_ptr<observe::Recorder> &recorder) {
  StepArguments step(program.manifest(), model, batch);
  DecodingResult result;
  std::string bytes;
  for (size_t s = 0; s < script.tokens.size(); ++s) {
    for (size_t r = 0; r < script.tokens[s].size(); ++r) {
      step.tokens.setInteger(static_cast<int64_t>(r), script.tokens[s][r]);
      step.pos.setInteger(static_cast<int64_t>(r), batch.start[r] + static_cast<int64_t>(s));
    }
    for (int64_t i = 0; i < step.logits.elements(); ++i)
      step.logits.set(i, std::numeric_limits<double>::quiet_NaN());
    runtime::LaunchOptions launch = options;
    if (recorder && s + 1 == script.tokens.size())
      launch.hooks = recorder->hooks();
    result.seconds.push_back(program.launch(step.arguments, launch).seconds);
    compare(step.logits, script.logits[s], result);
    bytes.append(static_cast<const char *>(step.logits.data()), step.logits.bytes());
  }
  result.fingerprint = runtime::fnv1a64(bytes);
  return result;
}

runtime::Binding bindingOf(runtime::Program &program, Model &model, const Batch &batch) {
  StepArguments step(program.manifest(), model, batch);
  return program.prepare(step.arguments);
}

} // namespace evt::tool::demo
