// The instructions of Hopper that C++ has no words for, one function each, and what roles are built from.
#pragma once

#ifdef EVT_SIMULATED
#include "device/cuda/simulated/instructions.h" // the same functions, on a CPU
#else
#include "device/cuda/instructions.h"
#endif

namespace evt::ptx {

/// The number of this thread, in a register from then on, by all lanes of a warp: asking takes long, and the assembler
/// would rather ask again, for each use, than keep it.
__device__ __forceinline__ int kept_thread() {
  const int number = thread();
  const int kept = __shfl_sync(~0u, number, number % 32);
  __builtin_assume(kept >= 0 && kept < 1024);
  return kept;
}
__device__ __forceinline__ Barriers barriers_at(const std::uint64_t *first) { return {kept(shared_address(first))}; }

__device__ __forceinline__ void barrier_wait(Barrier barrier, std::uint32_t parity) {
  while (!barrier_try(barrier, parity))
    ;
}

/// The barriers of a block, for the rings of device/common/rings.h. What a group of threads does together, a warp does.
struct Sync {
  using Barriers = ptx::Barriers;
  using Barrier = ptx::Barrier;
  __device__ __forceinline__ static void wait(Barrier barrier, std::uint32_t parity) { barrier_wait(barrier, parity); }
  __device__ __forceinline__ static void arrive(Barrier barrier) { barrier_arrive(barrier); }
  __device__ __forceinline__ static void arrive_once(Barrier barrier) {
    __syncwarp();
    if (threadIdx.x % 32 == 0)
      barrier_arrive(barrier);
  }
  /// For another warp, too.
  __device__ __forceinline__ static void arrive_twice(Barrier barrier) {
    __syncwarp();
    if (threadIdx.x % 32 == 0)
      barrier_arrive(barrier, 2);
  }
};

} // namespace evt::ptx
