// Random weights of a model: a checkpoint of the right shapes where the real one is too large, or not at hand.
//
// Matrices are N(0, s) with s the configuration's initializer_range (0.02 if it has none), as transformers initializes
// them. Norms are 1 + N(0, 0.1): transformers starts them at 1, with which a step that forgot them, or took one for the
// other, could look right.
//
// An element's value is a function of the seed, the tensor's name and the element's index, and of nothing else: neither
// threads nor files change it, and one tensor can be made without those before it. With mix() the output function of
// SplitMix64,
//
//   key  = mix(seed ^ fnv1a64(name))
//   bits = mix(key + (index + 1) * 0x9e3779b97f4a7c15)      number index of the SplitMix64 sequence that starts at key
//   p    = ((bits >> 12) + 0.5) / 2^52                      uniform, between 0 and 1
//   N    = Acklam's rational approximation of the normal distribution's quantile function at p
//
// It is computed in double with additions, multiplications, divisions and square roots alone, the logarithm of the
// tails included, all of which IEEE 754 defines to the last bit; so every machine writes the same file.
#ifndef EVT_MODELS_WEIGHTS_RANDOMWEIGHTS_H
#define EVT_MODELS_WEIGHTS_RANDOMWEIGHTS_H

#include "models/config/ModelConfig.h"
#include "models/weights/CheckpointWriter.h"
#include "models/weights/ElementType.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace evt::models {

/// The numbers that one tensor's elements are made of.
class NormalSequence {
public:
  NormalSequence(uint64_t seed, std::string_view name);
  /// Of N(0, 1).
  double at(uint64_t index) const;

private:
  uint64_t key_;
};

/// The normal distribution's quantile function, to about 1e-9 of its value; p is between 0 and 1.
double normalQuantile(double p);

/// Fills `out` with elements of type `type`, from element `first` on, of a tensor that is mean + N(0, deviation).
void fillNormal(const NormalSequence &sequence, double mean, double deviation, ElementType type, uint64_t first,
                std::span<std::byte> out);

/// Writes the model's checkpoint into a folder, every tensor of type `type`. Returns the names of the files.
std::vector<std::string> writeRandomCheckpoint(const std::string &folder, const ModelConfig &model, ElementType type,
                                               uint64_t seed, const WriteOptions &options);

} // namespace evt::models

#endif
