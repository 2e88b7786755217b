// The model of examples/decoder with random weights, and requests to decode with it.
//
// Shapes are those of decoder.mlir; the number of layers, the batch and the context are free. Tensors have the names of
// the graph's arguments.
#ifndef EVT_TOOLS_EVT_DEMO_MODEL_H
#define EVT_TOOLS_EVT_DEMO_MODEL_H

#include "runtime/tensor/HostTensor.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace evt::tool::demo {

inline constexpr int64_t hidden = 256, heads = 4, kvHeads = 2, headSize = 64, feedForward = 704, vocabulary = 1000;

struct Model {
  Model(int64_t layers, int64_t context, uint64_t seed);

  int64_t layers, context;
  std::map<std::string, runtime::HostTensor> tensors;

  runtime::HostTensor &operator[](const std::string &name) { return tensors.at(name); }
  const runtime::HostTensor &operator[](const std::string &name) const { return tensors.at(name); }
};

/// A batch in the middle of decoding: request r has `start[r]` tokens in its cache. Behind them the cache holds NaN.
struct Batch {
  Batch(const Model &model, int64_t size, uint64_t seed);

  int64_t size;
  std::vector<int32_t> start;
  std::vector<int32_t> firstTokens;
  runtime::HostTensor keys, values; // layers x batch x context x kvHeads x headSize
};

} // namespace evt::tool::demo

#endif
