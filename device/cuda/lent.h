// Stages of a block's ring, lent to a task that multiplies nothing: memory of its own until it ends.
//
// The loaders hand the stages over as they are, without a copy; compute receives them, and gives them back, like
// stages with something in them. So the ring stays one order of stages, and what is not lent goes on running ahead.
#pragma once

#include "device/cuda/worker.h"

#include <cstdint>

namespace evt {

/// A ring that lends; 0 slots: nothing. It begins `before` bytes before the tiles of tasks.
struct Lender {
  int slots, stage_bytes, before;
};

/// What is lent to a task whose warps want `bytes` each: `stages`, of which each has room for `warps`.
struct Loan {
  int stages = 0, warps = 0, bytes = 0;
};

/// At most half of a ring is lent, or nothing.
__host__ __device__ constexpr Loan loan_of(const Lender &from, int bytes) {
  const int warps = from.stage_bytes / bytes, stages = warps ? (compute_warps + warps - 1) / warps : from.slots;
  return 2 * stages <= from.slots ? Loan{stages, warps, bytes} : Loan{};
}

/// Compute, while a task runs to which stages are lent: a warp's own part of them, in shared memory.
template <Lender From, Loan What> __device__ __forceinline__ std::uint32_t lent_room(const Worker &w, int warp) {
  const int place = w.lent + warp / What.warps, slot = place < From.slots ? place : place - From.slots;
  return ptx::shared_address(w.tile<char>(0)) - From.before + slot * From.stage_bytes + warp % What.warps * What.bytes;
}

} // namespace evt
