#include "tools/evt/Expectations.h"

#include "runtime/tensor/Npy.h"
#include "tools/evt/Command.h"
#include "tools/evt/Failure.h"
#include "tools/evt/Words.h"

namespace evt::tool {

void addExpectOptions(CLI::App *command, ExpectOptions &options) {
  addRepeatable(command, "--expect", options.files,
                "compare an output with a .npy file; exit code 1 if it differs; may be repeated")
      ->type_name("NAME=FILE");
  command
      ->add_option("--tol", options.tolerance,
                   "the largest |result - expected| / |expected| of an output of floats; integers must be equal")
      ->type_name("NUMBER")
      ->capture_default_str();
}

void requireTolerance(const ExpectOptions &options) {
  if (!(options.tolerance >= 0))
    throw Failure(ExitCode::wrongInput, "--tol is " + shortNumber(options.tolerance) + ", required at least 0");
}

void Expectations::read(const ExpectOptions &options, Arguments &arguments) {
  tolerance_ = options.tolerance;
  for (const std::string &text : options.files) {
    auto [name, file] = nameAndValue("--expect", text);
    runtime::HostTensor &tensor = arguments.tensor("--expect", name);
    bool isWritten = false;
    for (size_t number : arguments.written())
      isWritten |= &arguments.at(number) == &tensor;
    if (!isWritten)
      throw Failure(ExitCode::wrongInput, "--expect names '" + name + "', which the graph does not write");
    if (!files_.try_emplace(name, file, runtime::readNpy(file)).second)
      throw Failure(ExitCode::wrongInput, "--expect gives '" + name + "' twice, required at most once");
  }
}

std::optional<Expectation> Expectations::of(const std::string &name, const runtime::HostTensor &found) const {
  auto expected = files_.find(name);
  if (expected == files_.end())
    return std::nullopt;
  return compareWith(expected->second.first, found, expected->second.second, tolerance_);
}

} // namespace evt::tool
