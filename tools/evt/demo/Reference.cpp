#include "tools/evt/demo/Reference.h"

#include <algorithm>
#include <cmath>

namespace evt::tool::demo {
namespace {

using Vector = Reference::Vector;

// Row-major matrix number `which` of `rows` x x.size() times x.
Vector product(const Vector &matrices, size_t which, size_t rows, const Vector &x) {
  Vector y(rows);
  const double *matrix = matrices.data() + which * rows * x.size();
  for (size_t i = 0; i < rows; ++i)
    for (size_t k = 0; k < x.size(); ++k)
      y[i] += matrix[i * x.size() + k] * x[k];
  return y;
}

Vector normalized(const Vector &x, const Vector &weights, size_t layer) {
  double squares = 0;
  for (double v : x)
    squares += v * v;
  double scale = 1 / std::sqrt(squares / static_cast<double>(x.size()) + 1e-5);
  Vector y(x.size());
  for (size_t i = 0; i < x.size(); ++i)
    y[i] = x[i] * scale * weights[layer * x.size() + i];
  return y;
}

void add(Vector &x, const Vector &y) {
  for (size_t i = 0; i < x.size(); ++i)
    x[i] += y[i];
}

Vector slice(const Vector &x, size_t begin, size_t size) {
  auto first = x.begin() + static_cast<ptrdiff_t>(begin);
  return Vector(first, first + static_cast<ptrdiff_t>(size));
}

Vector doubles(const runtime::HostTensor &tensor) {
  Vector values(static_cast<size_t>(tensor.elements()));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = tensor.get(static_cast<int64_t>(i));
  return values;
}

} // namespace

Reference::Reference(const Model &model, const Batch &batch)
    : layers_(static_cast<size_t>(model.layers)), context_(static_cast<size_t>(model.context)) {
  for (auto &[name, tensor] : model.tensors)
    weights_.emplace(name, doubles(tensor));
  constexpr size_t row = kvHeads * headSize;
  Vector keys = doubles(batch.keys), values = doubles(batch.values);
  size_t size = static_cast<size_t>(batch.size);
  for (size_t r = 0; r < size; ++r) {
    Request request{static_cast<size_t>(batch.start[r]), {}, {}};
    for (size_t l = 0; l < layers_; ++l)
      for (size_t p = 0; p < context_; ++p) {
        size_t at = ((l * size + r) * context_ + p) * row;
        request.keys.push_back(slice(keys, at, row));
        request.values.push_back(slice(values, at, row));
      }
    requests_.push_back(std::move(request));
  }
}

// Column i of a head's first half is turned with column i of its second.
void Reference::rotate(Vector &values, size_t position) const {
  constexpr size_t half = headSize / 2;
  const double *cos = weights_.at("cos").data() + position * half, *sin = weights_.at("sin").data() + position * half;
  for (size_t head = 0; head < values.size(); head += headSize)
    for (size_t i = 0; i < half; ++i) {
      double lo = values[head + i], hi = values[head + half + i];
      values[head + i] = lo * cos[i] - hi * sin[i];
      values[head + half + i] = hi * cos[i] + lo * sin[i];
    }
}

Vector Reference::attention(const Request &request, size_t layer, const Vector &queries) const {
  Vector out(queries.size());
  for (size_t head = 0; head < heads; ++head) {
    size_t kv = head * kvHeads / heads * headSize;
    Vector scores;
    for (size_t p = 0; p <= request.position; ++p) {
      double dot = 0;
      for (size_t i = 0; i < headSize; ++i)
        dot += queries[head * headSize + i] * request.keys[layer * context_ + p][kv + i];
      scores.push_back(dot / std::sqrt(static_cast<double>(headSize)));
    }
    double largest = *std::max_element(scores.begin(), scores.end()), sum = 0;
    for (size_t p = 0; p < scores.size(); ++p) {
      double weight = std::exp(scores[p] - largest);
      sum += weight;
      for (size_t i = 0; i < headSize; ++i)
        out[head * headSize + i] += weight * request.values[layer * context_ + p][kv + i];
    }
    for (size_t i = 0; i < headSize; ++i)
      out[head * headSize + i] /= sum;
  }
  return out;
}

Vector Reference::step(size_t number, int32_t token) {
  Request &request = requests_[number];
  auto w = [this](const char *name) -> const Vector & { return weights_.at(name); };
  Vector x = slice(w("embedding"), static_cast<size_t>(token) * hidden, hidden);
  for (size_t l = 0; l < layers_; ++l) {
    Vector qkv = product(w("w_qkv"), l, (heads + 2 * kvHeads) * headSize, normalized(x, w("w_norm1"), l));
    Vector queries = slice(qkv, 0, heads * headSize);
    Vector keys = slice(qkv, heads * headSize, kvHeads * headSize);
    rotate(queries, request.position);
    rotate(keys, request.position);
    request.keys[l * context_ + request.position] = keys;
    request.values[l * context_ + request.position] = slice(qkv, (heads + kvHeads) * headSize, kvHeads * headSize);
    add(x, product(w("w_out"), l, hidden, attention(request, l, queries)));
    Vector a = normalized(x, w("w_norm2"), l);
    Vector gate = product(w("w_gate"), l, feedForward, a), up = product(w("w_up"), l, feedForward, a);
    for (size_t i = 0; i < gate.size(); ++i)
      gate[i] = gate[i] / (1 + std::exp(-gate[i])) * up[i];
    add(x, product(w("w_down"), l, hidden, gate));
  }
  ++request.position;
  return product(w("w_head"), 0, vocabulary, normalized(x, w("w_norm3"), 0));
}

} // namespace evt::tool::demo
