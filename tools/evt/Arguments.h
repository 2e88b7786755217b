// The arguments of a run, from the command line: what is given by name, what follows from it, and what is missing.
//
//   --in x='random(37x4096)'   a generator (runtime/tensor/Generator.h)
//   --in x=x.npy               a file
//   --in x=random              a generator without a shape: the argument's own, from the symbols' values
//   --in steps=12              an index argument
//   --size n=37                the value of a symbol
//
// Symbols get their values from --size and from the dimensions of what is given. Outputs (access write) that are not
// given are allocated from them, and hold NaN (floats) or bytes 0xA5 (others), so that what a graph does not write is
// noticed. Inputs that are not given are refused, all of them in one message with the type and shape needed.
#ifndef EVT_TOOLS_EVT_ARGUMENTS_H
#define EVT_TOOLS_EVT_ARGUMENTS_H

#include "evt/evt.h"
#include "runtime/artifact/Manifest.h"
#include "runtime/tensor/HostTensor.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace CLI {
class App;
}

namespace evt::tool {

struct ArgumentOptions {
  std::vector<std::string> in;   // NAME=VALUE
  std::vector<std::string> size; // SYMBOL=VALUE
  uint64_t seed = 0;
};

/// --in, --size, --seed
void addArgumentOptions(CLI::App *command, ArgumentOptions &options);

class Arguments {
public:
  /// What a missing input becomes.
  enum class Missing { refused, zeros, random }; // random: floats; others are refused

  /// Throws Failure (wrong input) or runtime::Error with the argument's name. The manifest must outlive it.
  Arguments(const runtime::Manifest &manifest, const ArgumentOptions &options, Missing missing = Missing::refused);

  /// For a launch; valid as long as this object.
  std::vector<evt_value> values();

  /// Puts every tensor that the graph writes back to what it was, so that another launch starts like the first.
  void restore();

  /// A tensor argument by name. Throws Failure (wrong input) naming the option and the tensors there are.
  runtime::HostTensor &tensor(const std::string &option, const std::string &name);

  /// Tensors the graph writes, by position.
  std::vector<size_t> written() const;
  runtime::HostTensor &at(size_t argument) { return *entries_[argument].tensor; }

private:
  struct Entry {
    std::optional<runtime::HostTensor> tensor;
    std::optional<runtime::HostTensor> before; // of a tensor the graph reads and writes, or writes where it was given
    int64_t index = 0;
    DLTensor view{};
    bool given = false;
  };

  void takeSize(const std::string &option);
  std::pair<size_t, std::string> claim(const std::string &option); // the argument's number and the value's text
  void requireInputs() const;
  void give(size_t argument, const std::string &text, uint64_t seed);
  void learnSymbols(size_t argument);
  std::vector<int64_t> shapeOf(size_t argument) const;
  void fillMissing(Missing missing);

  const runtime::Manifest &manifest_;
  std::vector<Entry> entries_;
  std::vector<std::optional<int64_t>> symbols_;
};

/// "f32 tensor of n x 4096", "f32 scalar", "index in 0..100"
std::string describeNeed(const runtime::Manifest &manifest, const runtime::Argument &argument);

} // namespace evt::tool

#endif
