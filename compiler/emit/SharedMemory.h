// CUDA: how a kernel divides a block's shared memory (SharedLayout in device/cuda/kernel.h).
#pragma once

#include "StreamCode.h"

#include <string>

namespace evt::emit {

/// From its beginning: the ring of tiles, the ring of weights, and a place for the sums of its products or the tiles of
/// tasks that do neither. Beside it, as static shared memory, is what a block knows of a launch.
struct SharedMemory {
  /// Of one kernel. Tasks that neither stream nor multiply tiles have `tiles` bytes; the rings get the rest. Not enough
  /// room is said in `why`.
  SharedMemory(const ir::Signature &signature, const StreamPlan &streams, const StreamPlan::Variant &variant,
               int64_t tiles, std::string &why);

  int64_t slots = 0, stageBytes = 0, fragments = 0, tiles = 0;
  int64_t tileSlots = 0, tileBytes = 0, leastTileBytes = 0; // of the ring of tiles, and a stage of it

  int64_t bytes() const;
  /// The value of a SharedLayout.
  std::string text() const;

private:
  int64_t sumsBytes() const;
};

} // namespace evt::emit
