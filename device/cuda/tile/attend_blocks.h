// Attention of up to 8 query rows over positions of a paged cache, on the tensor cores, by all compute threads: what
// evt.attend and evt.attend_parts have in common.
//
// The warps take blocks of 8 positions in turn, each with a softmax of its own, which are merged in the warps' order.
// So the bits of a part do not depend on which task has it. Keys and values go from memory to registers, as fragments
// of the tensor cores (attend_softmax.h); attend_fed.h has the same by way of shared memory.
//
// A task's time is that of memory, once for every step that depends on the one before. So
//   - what a warp reads first (its page, then keys and values of its first block) can be on its way before the task's
//     events are waited for, as far as positions are settled; what is not is read after them, together with the query;
//   - keys of the next block are asked for when the scores of this one are known, values when they have been added:
//     the registers are free then, and half of what a block needs is always on its way.
// Registers are scarce, and what does not fit in them goes far: shared memory leaves the cache of the SM no room.
#pragma once

#include "device/common/attention.h"
#include "device/common/math.h"
#include "device/common/types.h"
#include "device/cuda/memory.h"
#include "device/cuda/ptx.h"
#include "device/cuda/tile/attend_softmax.h"
#include "device/cuda/tile/positions.h"

namespace evt::tile {

/// Positions `from` … `to` - 1 of a request, in parts of `part` positions; the first `count` of them. Those below
/// `settled_below` may be read before a task's events are waited for, which `ahead` does; `rest` and `run` come after
/// them.
template <std::int64_t R, std::int64_t D, std::int64_t Page, class T, class S> class BlockAttention {
public:
  static_assert(on_fragments<R, D, T>());
  using Softmax = BlockSoftmax<R, D, T>;
  static constexpr int columns = Softmax::columns, key_pieces = Softmax::key_pieces;
  static constexpr int value_pieces = Softmax::value_pieces;
  static constexpr int all = 1 << 30; // positions

  __device__ __forceinline__ BlockAttention(const Memory<T, 4> &keys, const Memory<T, 4> &values,
                                            const Memory<std::int32_t, 2> &pages, const S &squares, const CacheRow &at,
                                            std::int64_t from, std::int64_t to, std::int64_t part, int count,
                                            std::int64_t settled_below)
      : cache(keys, pages, at, from, to, part, count), settled((int)settled_below) {
    const std::int64_t row = (at.layer * keys.dims[1] + at.head) * keys.dims[2];
    key_row = keys.data + row * columns;
    value_row = values.data + row * columns;
    if constexpr (key_parts) {
      squares_row = squares.parts.data + row * key_parts;
      rootless = (int)squares.from;
    }
  }

  __device__ __forceinline__ void ahead() {
    part = 0;
    first = cache.begin + 8 * warp();
    find();
    keys_of(0, settled);
    values_of(0, settled);
  }

  /// What `ahead` could not ask for.
  __device__ __forceinline__ void rest() {
    if (first + 8 <= settled)
      return;
    keys_of(settled, all);
    values_of(settled, all);
  }

  /// `query(i)` is a lane's piece i of the query: of row lane / 4, columns 32 i + 8 (lane % 4) … + 7; `scale` what the
  /// scores of that row are multiplied with. `scratch` has room for 8 x R x (D + 4) floats. For each part that has
  /// positions, and every two columns of a row, `store(part, row, column, largest, total, values)` is called by one
  /// thread, once.
  template <class Query, class Store>
  __device__ __forceinline__ void run(Query query, float scale, const S &squares, float *scratch, Store store) {
    const int c = thread % 4;
#pragma unroll 1
    for (int now = 0; cache.has(now); ++now) {
      Softmax softmax;
#pragma unroll 1
      while (part == now && first < cache.limit_of(part)) {
        if constexpr (key_parts > 0)
          if (needs_roots())
            apply_roots(squares.epsilon);
        const float2 s = Softmax::scores(query, [&](int i) { return k[i]; });
        float score[2] = {s.x * scale, s.y * scale};
        bool live[2];
#pragma unroll
        for (int i = 0; i < 2; ++i)
          live[i] = __shfl_sync(~0u, slot, 2 * c + i) >= 0;
        go_on();
        const bool goes_on = has_block();
        if (goes_on) {
          find();
          keys_of(0, all);
        }
        const typename Softmax::Weights weights = softmax.weigh(score, live, c);
#pragma unroll
        for (int j = 0; j < value_pieces; ++j)
          softmax.add(weights, j, v[0][j], v[1][j]);
        if (goes_on)
          values_of(0, all);
      }
      if (part == now) { // it has no block in this part
        ++part;
        first = cache.first_of(part) + 8 * warp();
        if (has_block()) {
          find();
          keys_of(0, all);
          values_of(0, all);
        }
      }
      if (now)
        Worker::sync(); // the part before has been read
      softmax.merge(thread, scratch, [&](int row, int column, float largest, float total, float2 value) {
        store(now, row, column, largest, total, value);
      });
    }
  }

  const PartPositions<Page> cache;
  const int settled;

private:
  static constexpr int key_parts = parts_of_key<S>();

  // Of the layer and head: slot 0.
  const T *key_row, *value_row;
  const float *squares_row;
  int rootless; // the first position whose key was stored without the root of its norm
  const int thread = Worker::kept_lane();
  // The next block that this warp multiplies: where it is, and what of it was asked for.
  int part, first;
  int slot; // of position lane % 8
  uint4 k[key_pieces], v[2][value_pieces];
  float k_squares[key_parts ? key_parts : 1]; // of position lane / 4

  __device__ int warp() const { return thread / 32; }
  __device__ void go_on() {
    first += 8 * compute_warps;
    if (first >= cache.limit_of(part)) {
      ++part;
      first = cache.first_of(part) + 8 * warp();
    }
  }
  __device__ bool needs_roots() const { return first + 8 > rootless; } // the next block
  /// The keys of the block that were stored without the root of their norm get it.
  __device__ __forceinline__ void apply_roots(float epsilon) {
    const int g = thread % 32 / 4;
    const float own = root_of_sums<columns, key_parts>(epsilon, [&](int i) { return k_squares[i]; });
    if (first + g >= rootless)
#pragma unroll
      for (int i = 0; i < key_pieces; ++i)
        k[i] = rooted<T>(k[i], own);
  }
  __device__ bool has_block() const { return part < cache.count && first < cache.limit_of(part); }
  /// The slots of the next block's positions; lanes that have none ask for nothing.
  __device__ void find() {
    const int position = first + thread % 8;
    slot = cache.slot_of(cache.page_of(position, part < cache.count ? cache.limit_of(part) : 0), position);
  }
  /// Asks for the keys of positions `from` … `to` of the next block.
  __device__ __forceinline__ void keys_of(int from, int to) {
    const int lane = thread % 32, g = lane / 4, c = lane % 4;
    const int s = __shfl_sync(~0u, slot, g);
    if (from <= first + g && first + g < to) {
      const T *row = key_row + (std::int64_t)s * columns + 8 * c;
#pragma unroll
      for (int i = 0; i < key_pieces; ++i)
        k[i] = s < 0 ? uint4{0, 0, 0, 0} : *reinterpret_cast<const uint4 *>(row + 32 * i);
      if constexpr (key_parts > 0)
        if (needs_roots()) {
          const float *parts = squares_row + (std::int64_t)s * key_parts;
#pragma unroll
          for (int i = 0; i < key_parts; ++i)
            k_squares[i] = s < 0 ? 0.0f : parts[i];
        }
    }
  }
  __device__ __forceinline__ void values_of(int from, int to) {
    const int lane = thread % 32, g = lane / 4, c = lane % 4;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int s = __shfl_sync(~0u, slot, 2 * c + i), position = first + 2 * c + i;
      if (from <= position && position < to) {
        const T *row = value_row + (std::int64_t)s * columns + 8 * g;
#pragma unroll
        for (int j = 0; j < value_pieces; ++j)
          v[i][j] = s < 0 ? uint4{0, 0, 0, 0} : *reinterpret_cast<const uint4 *>(row + 64 * j);
      }
    }
  }
};

} // namespace evt::tile
