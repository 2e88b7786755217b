// Into how many parts a request's attention is cut: what the step's program and whoever launches it must agree on.
//
// A part has fewestPositions positions, or as many times more as leave at most mostSplits parts. So it depends on the
// request's own length alone, and its results on nobody else in the batch.
#ifndef EVT_MODELS_CONFIG_SPLITS_H
#define EVT_MODELS_CONFIG_SPLITS_H

#include <algorithm>
#include <cstdint>

namespace evt::models {

inline constexpr int64_t mostSplits = 16, fewestPositions = 64;

/// The `splits` of a step whose longest request has so many positions.
inline int64_t splitsOf(int64_t positions) {
  return std::clamp((positions + fewestPositions - 1) / fewestPositions, int64_t(1), mostSplits);
}

} // namespace evt::models

#endif
