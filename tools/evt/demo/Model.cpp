#include "tools/evt/demo/Model.h"

#include "runtime/tensor/Generator.h"

#include <cmath>
#include <limits>

namespace evt::tool::demo {
namespace {

using runtime::DataType;
using runtime::HostTensor;

HostTensor uniform(DataType type, std::vector<int64_t> shape, double lo, double hi, uint64_t seed) {
  runtime::GeneratorSpec spec;
  spec.kind = runtime::GeneratorSpec::Kind::random;
  spec.shape = std::move(shape);
  spec.lo = lo;
  spec.hi = hi;
  return runtime::generate(spec, type, seed);
}

// Products with such a matrix keep the size of what they multiply.
HostTensor weights(std::vector<int64_t> shape, uint64_t seed) {
  double scale = std::sqrt(3.0 / static_cast<double>(shape.back()));
  return uniform(DataType::bf16, std::move(shape), -scale, scale, seed);
}

HostTensor rotation(int64_t context, double (*function)(double)) {
  HostTensor table(DataType::f32, {context, headSize / 2});
  for (int64_t p = 0; p < context; ++p)
    for (int64_t i = 0; i < headSize / 2; ++i)
      table.set(p * headSize / 2 + i,
                function(static_cast<double>(p) / std::pow(10000.0, static_cast<double>(2 * i) / headSize)));
  return table;
}

} // namespace

Model::Model(int64_t layers, int64_t context, uint64_t seed) : layers(layers), context(context) {
  const std::pair<const char *, std::vector<int64_t>> matrices[] = {
      {"embedding", {vocabulary, hidden}},
      {"w_qkv", {layers, (heads + 2 * kvHeads) * headSize, hidden}},
      {"w_out", {layers, hidden, heads * headSize}},
      {"w_gate", {layers, feedForward, hidden}},
      {"w_up", {layers, feedForward, hidden}},
      {"w_down", {layers, hidden, feedForward}},
      {"w_head", {vocabulary, hidden}}};
  for (auto &[name, shape] : matrices)
    tensors.emplace(name, weights(shape, ++seed));
  tensors.emplace("w_norm1", uniform(DataType::f32, {layers, hidden}, 0.75, 1.25, ++seed));
  tensors.emplace("w_norm2", uniform(DataType::f32, {layers, hidden}, 0.75, 1.25, ++seed));
  tensors.emplace("w_norm3", uniform(DataType::f32, {1, hidden}, 0.75, 1.25, ++seed));
  tensors.emplace("cos", rotation(context, std::cos));
  tensors.emplace("sin", rotation(context, std::sin));
}

Batch::Batch(const Model &model, int64_t size, uint64_t seed)
    : size(size), keys(uniform(DataType::f32, {model.layers, size, model.context, kvHeads, headSize}, -1, 1, seed)),
      values(uniform(DataType::f32, {model.layers, size, model.context, kvHeads, headSize}, -1, 1, seed + 1)) {
  for (int64_t r = 0; r < size; ++r) {
    start.push_back(static_cast<int32_t>(11 * r % 24));
    firstTokens.push_back(static_cast<int32_t>((seed + 131 * static_cast<uint64_t>(r)) % vocabulary));
  }
  constexpr int64_t row = kvHeads * headSize;
  for (int64_t l = 0; l < model.layers; ++l)
    for (int64_t r = 0; r < size; ++r)
      for (int64_t at = start[static_cast<size_t>(r)] * row; at < model.context * row; ++at)
        for (HostTensor *cache : {&keys, &values})
          cache->set((l * size + r) * model.context * row + at, std::numeric_limits<double>::quiet_NaN());
}

} // namespace evt::tool::demo
