#include "models/config/Rope.h"

#include <cmath>
#include <numbers>

namespace evt::models {
namespace {

double scaled(double frequency, const Llama3Scaling &scaling) {
  double wave = 2 * std::numbers::pi / frequency;
  double positions = static_cast<double>(scaling.originalMaxPositions);
  if (wave < positions / scaling.highFrequencyFactor)
    return frequency;
  if (wave > positions / scaling.lowFrequencyFactor)
    return frequency / scaling.factor;
  double smooth =
      (positions / wave - scaling.lowFrequencyFactor) / (scaling.highFrequencyFactor - scaling.lowFrequencyFactor);
  return (1 - smooth) * frequency / scaling.factor + smooth * frequency;
}

} // namespace

std::vector<double> ropeFrequencies(const ModelConfig &model) {
  std::vector<double> frequencies;
  for (int64_t i = 0; i < model.headDim / 2; ++i) {
    double frequency = 1 / std::pow(model.ropeTheta, 2.0 * static_cast<double>(i) / static_cast<double>(model.headDim));
    frequencies.push_back(model.ropeScaling ? scaled(frequency, *model.ropeScaling) : frequency);
  }
  return frequencies;
}

} // namespace evt::models
