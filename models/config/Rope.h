// The frequencies of rotary position embedding.
//
// A head of D elements is D / 2 pairs; element i is paired with element i + D / 2. At position p, pair i is rotated by
// the angle p * f(i), with
//
//   f(i) = theta ^ (-2 i / D)                        rope of type default
//
// Type llama3 stretches a model to more positions than it was first trained with. With wave = 2 pi / f(i), the number
// of positions that a pair takes for a turn, and the original number of positions N:
//
//   wave < N / high:  f(i)                           turns often: as it was
//   wave > N / low:   f(i) / factor                  never made a whole turn: slowed down
//   between:          (1 - s) f(i) / factor + s f(i) with s = (N / wave - low) / (high - low)
//
// Worked example, theta = 10000, D = 4, factor = 8, low = 1, high = 4, N = 1024: f(0) = 1 has a wave of 6.28 positions,
// less than 256, and stays 1; f(1) = 0.01 has one of 628.3, between 256 and 1024, so s = (1024 / 628.3 - 1) / 3 =
// 0.2099 and the frequency becomes 0.01 * (0.7901 / 8 + 0.2099) = 0.003087.
//
// transformers computes the same in single precision; these are in double, so they differ by about 1e-7 of the value.
#ifndef EVT_MODELS_CONFIG_ROPE_H
#define EVT_MODELS_CONFIG_ROPE_H

#include "models/config/ModelConfig.h"

#include <vector>

namespace evt::models {

/// headDim / 2 frequencies, in radians a position.
std::vector<double> ropeFrequencies(const ModelConfig &model);

} // namespace evt::models

#endif
