// Tensors made from a line of text, for tests, benchmarks and the command line.
//
//   text                               value
//   random(37x4096)                    floats in [-1, 1); integers in [0, 10); i1 0 or 1
//   random(8,seed=7,lo=0,hi=50)        ... with another seed or range: [lo, hi)
//   zeros(3x4)
//   full(3x4,1.5)
//   iota(64)                           0, 1, 2, … in row-major order
//   perm(64)                           a random permutation of 0 … 63; optional seed=
//   lengths(8,max=100)                 random lengths in [0, 100], about a quarter of them 0; optional seed=
//   random()                           an empty shape is a scalar
//   name.npy                           the file's tensor, whose type must match
//   12                                 an integer, for index arguments
//
// The same text, type and seed give the same values on every machine: the generator is SplitMix64 and conversions are
// exact in double before the final rounding.
#ifndef EVT_RUNTIME_TENSOR_GENERATOR_H
#define EVT_RUNTIME_TENSOR_GENERATOR_H

#include "runtime/tensor/HostTensor.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace evt::runtime {

struct GeneratorSpec {
  enum class Kind { random, zeros, full, iota, perm, lengths };
  Kind kind = Kind::zeros;
  std::vector<int64_t> shape;
  double value = 0;             // full
  std::optional<uint64_t> seed; // random, perm, lengths
  std::optional<double> lo, hi; // random
  int64_t max = 0;              // lengths
};

struct NpyFile {
  std::string path;
};

// What a piece of text denotes: a recipe for a tensor, a file, or an integer.
using ValueSpec = std::variant<GeneratorSpec, NpyFile, int64_t>;

// Throws Error (argument) with the text and what is wrong with it.
ValueSpec parseValue(std::string_view text);

// `seed` is used where the text gives none: pass a different one for each argument.
HostTensor generate(const GeneratorSpec &spec, DataType type, uint64_t seed = 0);

} // namespace evt::runtime

#endif
