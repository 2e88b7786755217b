// Into how many parts a request's attention is cut: what the step's program and whoever launches it must agree on.
//
// A part has fewestPositions positions, or as many times more as leave at most mostParts parts. So it depends on the
// request's own length alone, and its results on nobody else in the batch. How many of them a task has is up to the
// launch.
#ifndef EVT_MODELS_CONFIG_SPLITS_H
#define EVT_MODELS_CONFIG_SPLITS_H

#include <algorithm>
#include <cstdint>

namespace evt::models {

inline constexpr int64_t mostParts = 32, fewestPositions = 64;

/// How a launch deals the parts of each token and head out to tasks.
struct Split {
  int64_t tasks; // the step's `splits`
  int64_t share; // parts of each
};

/// That of a step with so many pairs of a token and a key/value head, whose longest request has so many positions: as
/// many tasks as there are workers for.
inline Split splitOf(int64_t positions, int64_t pairs, int64_t workers) {
  const int64_t parts = std::clamp((positions + fewestPositions - 1) / fewestPositions, int64_t(1), mostParts);
  const int64_t most = std::clamp(workers / std::max<int64_t>(pairs, 1), int64_t(1), parts);
  const int64_t share = (parts + most - 1) / most;
  return {(parts + share - 1) / share, share};
}

} // namespace evt::models

#endif
