// Products that stream their weights: the ring between loader and compute, the sums between compute and epilogue.
//
// Weights are packed so that 8 rows x 32 columns are 512 neighbouring bytes, lane l's 16 of them being row l/4, columns
// 8 (l%4)..+7: a stage is one contiguous copy, and a lane's two fragments are one 16-byte read without bank conflicts.
// The 16-byte pieces of a row have traded places, for products on the tensor cores (tiled.h).
// Within 32 columns the tensor core is given columns in the order of the lanes, for rows and weights alike; the order
// of a sum depends on K alone.
//
// What is in flight is bounded apart from what is buffered: more than some 40 KB an SM queue up in the memory system,
// and then the last tile of a phase waits behind other SMs' run-ahead.
#pragma once

#include "device/cuda/memory.h"
#include "device/cuda/read_rows.h"
#include "device/cuda/worker.h"

namespace evt {

//===-- the ring --------------------------------------------------------------------------------------------------===//

/// As many as the bytes allow, and the ring.
__host__ __device__ constexpr int stages_in_flight(int bytes, int stage_bytes, int slots) {
  int stages = bytes / stage_bytes;
  while (stages > 1 && !rounds_stay_apart(slots, stages, loaders))
    --stages;
  return stages < 1 ? 1 : stages;
}

struct Ring : StageRing<ptx::Sync> {
  const char *stages;
  std::uint32_t address; // of the stages, in shared memory
  int stage_bytes;

  /// Loader, one thread: fetches its next stage.
  __device__ __forceinline__ void send(const char *from, std::uint32_t bytes, bool calmly) {
    StageRing::send<loaders>([=](ptx::Barrier arrived) { ptx::barrier_expect(arrived, bytes); },
                             [=, this](int slot, ptx::Barrier arrived) {
                               ptx::bulk_load_once(address + (std::uint32_t)(slot * stage_bytes), from, bytes, arrived);
                             },
                             calmly);
  }
  /// Compute, every warp: the next stage, once it is there.
  __device__ __forceinline__ const char *receive() { return stages + StageRing::receive() * stage_bytes; }
  /// Its address in shared memory.
  __device__ __forceinline__ std::uint32_t receive_address() {
    return address + (std::uint32_t)(StageRing::receive() * stage_bytes);
  }
  /// Compute, a warp: waits for the next stages together, lane i for stage i; as many as there are lanes, or slots.
  __device__ __forceinline__ void await(int count) const {
    const int lane = (int)threadIdx.x % 32;
    Cursor own = at;
    own.skip(lane, slots);
    if (lane < count)
      ptx::barrier_wait(full[own.slot], own.round);
    __syncwarp();
  }
  /// Where stage i of these is.
  __device__ __forceinline__ std::uint32_t address_of(int i) const {
    Cursor own = at;
    own.skip(i, slots);
    return address + (std::uint32_t)(own.slot * stage_bytes);
  }
  /// Gives them back.
  __device__ __forceinline__ void release(int count) {
    const int lane = (int)threadIdx.x % 32;
    Cursor own = at;
    own.skip(lane, slots);
    __syncwarp();
    if (lane < count)
      ptx::barrier_arrive(empty[own.slot]);
    at.skip(count, slots);
    oldest = at;
  }
  using StageRing::release;
  /// Compute: the same ring from such a stage on; nothing is kept from task to task.
  __device__ __forceinline__ Ring from(Cursor stage) const {
    Ring ring = *this;
    ring.at = ring.oldest = stage;
    return ring;
  }
  /// Compute: lets so many stages pass.
  __device__ void pass(int count) {
#pragma unroll 1
    for (int i = 0; i < count; ++i) {
      StageRing::receive();
      release();
    }
  }
};

/// What a kernel has of such a ring.
struct StreamStages {
  int slots = 0, bytes = 0;
};

/// A packed tile; the emitted source checks that it is what the compiler has in mind (compiler/layout).
inline constexpr int packed_rows = 8, packed_columns = 32;
/// Where in a tile the 16-byte piece lies that a lane reads.
__host__ __device__ constexpr int packed_piece(int lane) { return lane ^ (lane / 8 % 4); }

/// The packed place of row `offset[Rank-2]` and column `offset[Rank-1]`, where a packed tile begins.
template <class T, int Rank>
__device__ inline const T *packed(const Memory<T, Rank> &m, const std::int64_t (&offset)[Rank]) {
  std::int64_t lead = 0;
#pragma unroll
  for (int d = 0; d < Rank - 2; ++d)
    lead = lead * m.dims[d] + offset[d];
  const std::int64_t rows = m.dims[Rank - 2], columns = m.dims[Rank - 1];
  return m.data + lead * rows * columns + offset[Rank - 2] * columns + offset[Rank - 1] * packed_rows;
}

//===-- products --------------------------------------------------------------------------------------------------===//

/// sums[f] = this warp's share of rows times fragment f of weights, along stages of `Blocks` pieces each, the last one
/// of what is left. The pieces of a stage are read while those of the one before are multiplied; a stage is given back
/// when its pieces have been used.
///
/// A tensor core multiplies 16 rows, of which there are 8. Rows 8 to 15 stand for the same ones with the second half of
/// a piece's columns, so both halves are multiplied from the registers in which the rows are: the first half of the
/// weights gives its sums in rows 0 to 7 of one product, the second in rows 8 to 15 of the other. Nobody looks at what
/// else there is.
template <int Blocks, int Fragments, bool Bfloat16, int Pieces>
__device__ __forceinline__ void multiply(Ring &ring, const uint4 (&rows)[Pieces], float (&sums)[Fragments][2]) {
  constexpr int stages = (Pieces + Blocks - 1) / Blocks, last = Pieces - (stages - 1) * Blocks;
  const auto blocks = [](int stage) { return stage + 1 < stages ? Blocks : last; };
  float part[2][Fragments][4] = {};
  const int number = ptx::kept_thread();
  const auto first = [=](int count) { return number / 32 * count * 32 + packed_piece(number % 32); };
  ring.oldest = ring.at; // nothing is kept from task to task
  uint4 piece[2][Blocks];
#pragma unroll
  for (int n = 0; n <= stages * Fragments; ++n) {
    if (n < stages * Fragments) {
      const int count = blocks(n / Fragments); // a warp's share
      const uint4 *stage = reinterpret_cast<const uint4 *>(ring.receive()) + first(count);
#pragma unroll
      for (int b = 0; b < count; ++b)
        piece[n % 2][b] = stage[b * 32];
    }
    if (n > 0) {
      const int s = (n - 1) / Fragments, f = (n - 1) % Fragments;
#pragma unroll
      for (int b = 0; b < blocks(s); ++b) {
        const uint4 w = piece[(n - 1) % 2][b], a = rows[s * Blocks + b];
        if constexpr (Bfloat16) {
          ptx::mma_bf16(part[0][f], a.x, a.y, a.z, a.w, w.x, w.y);
          ptx::mma_bf16(part[1][f], a.x, a.y, a.z, a.w, w.z, w.w);
        } else {
          ptx::mma_f16(part[0][f], a.x, a.y, a.z, a.w, w.x, w.y);
          ptx::mma_f16(part[1][f], a.x, a.y, a.z, a.w, w.z, w.w);
        }
      }
      ring.release(); // its products were issued, so its loads are over
    }
  }
#pragma unroll
  for (int f = 0; f < Fragments; ++f) {
    sums[f][0] = part[0][f][0] + part[1][f][2];
    sums[f][1] = part[0][f][1] + part[1][f][3];
  }
}

//===-- from compute to epilogue ----------------------------------------------------------------------------------===//

struct Results : ResultRing<ptx::Sync> {
  static constexpr int slots = 4;
  float *sums;   // [slot][warp][fragment][lane][2]
  int fragments; // room of a slot

  __device__ float2 *place(int warp, int fragment) const {
    return reinterpret_cast<float2 *>(sums) + ((at.slot * compute_warps + warp) * fragments + fragment) * 32 +
           ptx::kept_thread() % 32;
  }

  /// Compute, every warp.
  template <int Fragments> __device__ __forceinline__ void put(const float (&s)[Fragments][2]) {
    begin_put();
    const int warp = ptx::kept_thread() / 32;
#pragma unroll
    for (int f = 0; f < Fragments; ++f)
      *place(warp, f) = {s[f][0], s[f][1]};
    end_put(slots);
  }

  /// Epilogue, one warp: adds what the warps found, in their order, and frees the slot.
  template <int Fragments> __device__ __forceinline__ void take(float (&s)[Fragments * 2]) {
    begin_take();
#pragma unroll
    for (int f = 0; f < Fragments; ++f) {
      float2 sum = *place(0, f);
#pragma unroll
      for (int warp = 1; warp < compute_warps; ++warp) {
        const float2 v = *place(warp, f);
        sum.x += v.x;
        sum.y += v.y;
      }
      s[2 * f] = sum.x;
      s[2 * f + 1] = sum.y;
    }
    end_take();
  }
  /// The same for a task that nobody ends.
  __device__ void drop() {
    begin_take();
    end_take();
  }
};

/// Values that the ends of all tasks of a key need, one for each of 8 rows: the compute warps find them while the rows
/// are on their way, warp w those of row w.
struct Kept {
  static constexpr int most = 4;
};
__device__ __forceinline__ void keep(float *kept, int value, float found) {
  if (threadIdx.x % 32 == 0)
    kept[value * 8 + (int)threadIdx.x / 32] = found;
}

} // namespace evt
