#include "models/weights/RandomWeights.h"

#include "models/weights/StepWeights.h"

#include <array>
#include <cmath>

namespace evt::models {
namespace {

constexpr double normDeviation = 0.1;

uint64_t mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

uint64_t fnv1a64(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (unsigned char c : text)
    hash = (hash ^ c) * 0x100000001b3;
  return hash;
}

// The natural logarithm of 0 < x, with arithmetic that every machine rounds alike: x = m 2^e with m near 1, and
// log m = 2 (s + s^3 / 3 + s^5 / 5 + …) with s = (m - 1) / (m + 1), |s| < 0.172.
double logarithm(double x) {
  int exponent = 0;
  double m = std::frexp(x, &exponent);
  if (m < 0.70710678118654752) {
    m *= 2;
    --exponent;
  }
  double s = (m - 1) / (m + 1), square = s * s, sum = 0;
  for (int k = 21; k >= 1; k -= 2)
    sum = sum * square + 1.0 / k;
  return 2 * s * sum + exponent * 0.69314718055994531;
}

template <size_t n> double polynomial(const std::array<double, n> &coefficients, double x) {
  double value = coefficients[0];
  for (size_t i = 1; i < n; ++i)
    value = value * x + coefficients[i];
  return value;
}

} // namespace

double normalQuantile(double p) {
  constexpr std::array a{-3.969683028665376e+01, 2.209460984245205e+02,  -2.759285104469687e+02,
                         1.383577518672690e+02,  -3.066479806614716e+01, 2.506628277459239e+00};
  constexpr std::array b{-5.447609879822406e+01, 1.615858368580409e+02,  -1.556989798598866e+02,
                         6.680131188771972e+01,  -1.328068155288572e+01, 1.0};
  constexpr std::array c{-7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e+00,
                         -2.549732539343734e+00, 4.374664141464968e+00,  2.938163982698783e+00};
  constexpr std::array d{7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00, 3.754408661907416e+00,
                         1.0};
  constexpr double tail = 0.02425;
  if (p < tail || p > 1 - tail) {
    double q = std::sqrt(-2 * logarithm(p < tail ? p : 1 - p));
    double value = polynomial(c, q) / polynomial(d, q);
    return p < tail ? value : -value;
  }
  double q = p - 0.5, r = q * q;
  return polynomial(a, r) * q / polynomial(b, r);
}

NormalSequence::NormalSequence(uint64_t seed, std::string_view name) : key_(mix(seed ^ fnv1a64(name))) {}

double NormalSequence::at(uint64_t index) const {
  uint64_t bits = mix(key_ + (index + 1) * 0x9e3779b97f4a7c15);
  return normalQuantile((static_cast<double>(bits >> 12) + 0.5) * 0x1p-52);
}

void fillNormal(const NormalSequence &sequence, double mean, double deviation, ElementType type, uint64_t first,
                std::span<std::byte> out) {
  std::array<float, 1024> values;
  size_t size = bytesOf(type), count = out.size() / size;
  for (size_t done = 0; done < count;) {
    size_t now = std::min(values.size(), count - done);
    for (size_t i = 0; i < now; ++i)
      values[i] = static_cast<float>(mean + deviation * sequence.at(first + done + i));
    convert(ElementType::f32, values.data(), type, out.data() + done * size, now);
    done += now;
  }
}

std::vector<std::string> writeRandomCheckpoint(const std::string &folder, const ModelConfig &model, ElementType type,
                                               uint64_t seed, const WriteOptions &options) {
  std::vector<TensorType> tensors;
  std::vector<NormalSequence> sequences;
  for (const ExpectedTensor &tensor : expectedTensors(model)) {
    tensors.push_back({tensor.name, type, tensor.shape});
    sequences.emplace_back(seed, tensor.name);
  }
  auto fill = [&](size_t tensor, uint64_t first, std::span<std::byte> out) {
    bool norm = tensors[tensor].shape.size() == 1; // the only vectors
    fillNormal(sequences[tensor], norm ? 1 : 0, norm ? normDeviation : model.initializerRange, type, first, out);
  };
  return writeCheckpoint(folder, tensors, fill, options);
}

} // namespace evt::models
