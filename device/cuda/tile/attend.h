// Attention of a few query rows over a range of positions in a paged cache (evt.attend), as a softmax in parts, by all
// compute threads.
//
// Up to 8 rows on the tensor cores: attend_blocks.h, or attend_fed.h where there is a ring for it. More: warps
// take blocks of 16 positions in turn; each keeps a softmax of its own, and in the end these are merged in the warps'
// order. Keys and values go from memory to registers, as fragments of the tensor cores: which columns a fragment's
// columns stand for is free, as long as both operands agree, so they are chosen such that a lane's part is 16 bytes.
//
//   scores (16 rows x 8 positions)    lane (g, c) of a key's fragment: of position g, columns 32 i + 8 c … + 7
//   values (16 rows x 8 columns)      lane (g, c): of positions 2c, 2c + 1, 2c + 8, 2c + 9, columns 64 j + 8 g … + 7,
//                                     which are column g of eight fragments
//
// Rows beyond 16 are a pass of their own. Columns that are not a multiple of 64, and f32, take a plain way: a warp for
// a position, its lanes sharing the columns.
#pragma once

#include "device/common/attention.h"
#include "device/common/math.h"
#include "device/common/types.h"
#include "device/cuda/memory.h"
#include "device/cuda/ptx.h"
#include "device/cuda/tile/attend_blocks.h"
#include "device/cuda/tile/attend_fed.h"

namespace evt::tile {

namespace detail {

/// The slot of a position; -1 if it has none.
template <int Page>
__device__ inline int slot_of(const Memory<std::int32_t, 2> &pages, std::int64_t request, int position,
                              std::int64_t slots) {
  const int column = position / Page;
  if (request < 0 || request >= pages.dims[0] || column >= pages.dims[1])
    return -1;
  const std::int64_t page = pages.data[request * pages.dims[1] + column], slot = page * Page + position % Page;
  return page < 0 || slot >= slots ? -1 : (int)slot;
}

template <class T> __device__ inline const T *cache_row(const Memory<T, 4> &m, const CacheRow &at, std::int64_t slot) {
  return m.data + ((at.layer * m.dims[1] + at.head) * m.dims[2] + slot) * m.dims[3];
}

/// What is left to multiply the key of a position with. All parts are on their way at once.
template <int D, class S>
__device__ inline float root_of_norm(const S &squares, const CacheRow &at, int slot, int position) {
  if constexpr (!__is_same(S, NoSquares))
    if (slot >= 0 && position >= squares.from) {
      const float *row = cache_row(squares.parts, at, slot);
      float part[S::count];
#pragma unroll
      for (int i = 0; i < S::count; ++i)
        part[i] = row[i];
      return root_of_sums<D, S::count>(squares.epsilon, [&](int i) { return part[i]; });
    }
  return 1.0f;
}

/// What a warp knows of its rows g and g + 8.
template <int D> struct WarpSoftmax {
  float m[2], sum[2], acc[2][D / 8][2]; // [..][8 j + e]: columns 64 j + 16 c + e and, second, + 8
};

/// One warp's blocks of positions, for rows first_row … + 15.
template <int R, int D, int Page, class T, class S>
__device__ inline void attend_on_fragments(WarpSoftmax<D> &state, const T *query, const float *scales, int first_row,
                                           const Memory<T, 4> &keys, const Memory<T, 4> &values,
                                           const Memory<std::int32_t, 2> &pages, const S &squares, const CacheRow &at,
                                           int begin, int end) {
  const int thread = Worker::kept_lane(), warp = thread / 32, lane = thread % 32, g = lane / 4, c = lane % 4;
  uint4 q[2][D / 32];
  float scale[2];
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const int row = first_row + 8 * h + g;
    scale[h] = row < R ? scales[row] : 0.0f;
    state.m[h] = -1e30f;
    state.sum[h] = 0;
#pragma unroll
    for (int i = 0; i < D / 32; ++i)
      q[h][i] = row < R ? *reinterpret_cast<const uint4 *>(query + row * D + 32 * i + 8 * c) : uint4{0, 0, 0, 0};
#pragma unroll
    for (int n = 0; n < D / 8; ++n)
      state.acc[h][n][0] = state.acc[h][n][1] = 0;
  }

  for (int first = begin + 16 * warp; first < end; first += 16 * compute_warps) {
    // Lane l < 16 finds position l's place, and the others learn of it.
    const int mine = first + lane % 16;
    const int slot = mine < end ? slot_of<Page>(pages, at.request, mine, keys.dims[2]) : -1;
    uint4 k[2][D / 32], v[4][D / 64];
    const float root = root_of_norm<D>(squares, at, slot, mine);
#pragma unroll
    for (int tile = 0; tile < 2; ++tile) {
      const int s = __shfl_sync(~0u, slot, 8 * tile + g);
      const T *row = cache_row(keys, at, s < 0 ? 0 : s) + 8 * c;
#pragma unroll
      for (int i = 0; i < D / 32; ++i)
        k[tile][i] = s < 0 ? uint4{0, 0, 0, 0} : *reinterpret_cast<const uint4 *>(row + 32 * i);
      if constexpr (!__is_same(S, NoSquares)) {
        const float own = __shfl_sync(~0u, root, 8 * tile + g);
#pragma unroll
        for (int i = 0; i < D / 32; ++i)
          k[tile][i] = rooted<T>(k[tile][i], own);
      }
    }
    bool live[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int s = __shfl_sync(~0u, slot, 2 * c + i % 2 + i / 2 * 8);
      live[i] = s >= 0;
      const T *row = cache_row(values, at, s < 0 ? 0 : s) + 8 * g;
#pragma unroll
      for (int j = 0; j < D / 64; ++j)
        v[i][j] = s < 0 ? uint4{0, 0, 0, 0} : *reinterpret_cast<const uint4 *>(row + 64 * j);
    }
    float s[2][4] = {};
#pragma unroll
    for (int tile = 0; tile < 2; ++tile)
#pragma unroll
      for (int i = 0; i < D / 32; ++i) {
        mma<T>(s[tile], q[0][i].x, q[1][i].x, q[0][i].y, q[1][i].y, k[tile][i].x, k[tile][i].y);
        mma<T>(s[tile], q[0][i].z, q[1][i].z, q[0][i].w, q[1][i].w, k[tile][i].z, k[tile][i].w);
      }

    std::uint32_t weights[2][2] = {}; // [half][tile]
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float score[4], largest = state.m[h];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        score[i] = s[i / 2][2 * h + i % 2] * scale[h];
        largest = live[i] && score[i] > largest ? score[i] : largest;
      }
#pragma unroll
      for (int other = 1; other < 4; other *= 2) {
        const float theirs = __shfl_xor_sync(~0u, largest, other);
        largest = theirs > largest ? theirs : largest;
      }
      const float keep = evt::exp_near(state.m[h] - largest);
      state.m[h] = largest;
      float sum = 0;
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        score[i] = live[i] ? evt::exp_near(score[i] - largest) : 0.0f;
        sum += score[i];
      }
      state.sum[h] = state.sum[h] * keep + sum;
      weights[h][0] = packed<T>(score[0], score[1]);
      weights[h][1] = packed<T>(score[2], score[3]);
#pragma unroll
      for (int n = 0; n < D / 8; ++n) {
        state.acc[h][n][0] *= keep;
        state.acc[h][n][1] *= keep;
      }
    }
#pragma unroll
    for (int j = 0; j < D / 64; ++j)
#pragma unroll
      for (int e = 0; e < 8; ++e) {
        auto word = [&](int i) {
          return e / 2 == 0 ? v[i][j].x : e / 2 == 1 ? v[i][j].y : e / 2 == 2 ? v[i][j].z : v[i][j].w;
        };
        const std::uint32_t pick = e % 2 ? 0x7632 : 0x5410;
        const std::uint32_t b0 = __byte_perm(word(0), word(1), pick), b1 = __byte_perm(word(2), word(3), pick);
        float d[4] = {state.acc[0][8 * j + e][0], state.acc[0][8 * j + e][1], state.acc[1][8 * j + e][0],
                      state.acc[1][8 * j + e][1]};
        mma<T>(d, weights[0][0], weights[1][0], weights[0][1], weights[1][1], b0, b1);
        state.acc[0][8 * j + e][0] = d[0];
        state.acc[0][8 * j + e][1] = d[1];
        state.acc[1][8 * j + e][0] = d[2];
        state.acc[1][8 * j + e][1] = d[3];
      }
  }
#pragma unroll
  for (int h = 0; h < 2; ++h)
#pragma unroll
    for (int other = 1; other < 4; other *= 2)
      state.sum[h] += __shfl_xor_sync(~0u, state.sum[h], other);
}

/// Rows of a warp's part in scratch memory: the accumulator, then the largest score and the sum.
template <int R, int D> __device__ inline float *part_of(float *scratch, int warp, int row) {
  return scratch + (warp * R + row) * (D + 2);
}

/// The rows of one head, or with keys and values that are fed those of all `Heads`.
template <std::int64_t R, std::int64_t D, std::int64_t Page, std::int64_t Heads, TileStages Stages, class T, class S>
__device__ __forceinline__ void attend_heads(Worker &w, float *m, float *sum, float *acc, const T *query,
                                             const float *scales, const Memory<T, 4> &keys, const Memory<T, 4> &values,
                                             const Memory<std::int32_t, 2> &pages, const S &squares, const CacheRow &at,
                                             std::int64_t from, std::int64_t to, float *scratch) {
  constexpr int rows = (int)R, columns = (int)D, all = (int)(Heads * R);
  constexpr bool fed = is_fed<R, D, Heads, T>(Stages);
  static_assert(fed || Heads == 1);
  const int thread = Worker::kept_lane(), warp = thread / 32, lane = thread % 32;
  const bool exists = at.layer >= 0 && at.layer < keys.dims[0] && at.head >= 0 && at.head < keys.dims[1];
  const int begin = from < 0 ? 0 : (int)from, end = exists ? (int)to : 0;
  if constexpr (on_fragments<R, D, T>()) {
    if (begin >= end) {
      for (int i = thread; i < all * columns; i += Worker::lanes())
        acc[i] = 0;
      for (int i = thread; i < all; i += Worker::lanes()) {
        m[i] = -1e30f;
        sum[i] = 0;
      }
      return;
    }
    const int g = lane / 4, row = warp / (compute_warps / (int)Heads) * rows + g;
    const T *own = query + row * columns + 8 * (lane % 4);
    const auto piece = [&](int i) {
      return g < rows ? *reinterpret_cast<const uint4 *>(own + 32 * i) : uint4{0, 0, 0, 0};
    };
    const float scale = g < rows ? scales[row] : 0.0f;
    const auto store = [&](int row, int column, float largest, float total, float2 value) {
      *reinterpret_cast<float2 *>(acc + row * columns + column) = value;
      if (column == 0) {
        m[row] = largest;
        sum[row] = total;
      }
    };
    if constexpr (fed) {
      attend_fed<R, D, Heads, T>(*w.tile_ring, thread, begin, end, piece, scale, scratch, store);
    } else {
      using Blocks = BlockAttention<R, D, Page, T, S>;
      Blocks blocks(keys, values, pages, squares, at, begin, end, end - begin, 1, Blocks::all);
      blocks.ahead();
      blocks.run(piece, scale, squares, scratch,
                 [&](int, int row, int column, float largest, float total, float2 value) {
                   store(row, column, largest, total, value);
                 });
    }
  } else {
    if constexpr (sizeof(T) == 2 && D % 64 == 0) {
#pragma unroll 1
      for (int first = 0; first < rows; first += 16) {
        WarpSoftmax<columns> state;
        attend_on_fragments<rows, columns, (int)Page>(state, query, scales, first, keys, values, pages, squares, at,
                                                      begin, end);
        const int g = lane / 4, c = lane % 4;
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          const int row = first + 8 * h + g;
          if (row >= rows)
            continue;
          float *part = part_of<rows, columns>(scratch, warp, row);
#pragma unroll
          for (int n = 0; n < columns / 8; ++n)
#pragma unroll
            for (int i = 0; i < 2; ++i)
              part[n / 8 * 64 + 16 * c + 8 * i + n % 8] = state.acc[h][n][i];
          if (c == 0) {
            part[columns] = state.m[h];
            part[columns + 1] = state.sum[h];
          }
        }
      }
    } else {
      constexpr int mine = (columns + 31) / 32; // columns of a lane
#pragma unroll 1
      for (int row = 0; row < rows; ++row) {
        float largest = -1e30f, total = 0, sums[mine] = {};
        for (int block = begin + 16 * warp; block < end; block += 16 * compute_warps)
          for (int p = block; p < block + 16 && p < end; ++p) {
            const int slot = slot_of<(int)Page>(pages, at.request, p, keys.dims[2]);
            if (slot < 0)
              continue;
            const T *key = cache_row(keys, at, slot), *value = cache_row(values, at, slot);
            [[maybe_unused]] const float root = root_of_norm<columns>(squares, at, slot, p);
            const auto key_at = [&](int i) {
              return __is_same(S, NoSquares) ? (float)key[i] : (float)T((float)key[i] * root);
            };
            float score = 0;
#pragma unroll
            for (int i = 0; i < mine; ++i)
              if (lane + 32 * i < columns)
                score = __fmaf_rn((float)query[row * columns + lane + 32 * i], key_at(lane + 32 * i), score);
#pragma unroll
            for (int other = 16; other; other /= 2)
              score += __shfl_xor_sync(~0u, score, other);
            score *= scales[row];
            const float larger = score > largest ? score : largest, keep = evt::exp(largest - larger);
            const float weight = evt::exp(score - larger);
            largest = larger;
            total = total * keep + weight;
#pragma unroll
            for (int i = 0; i < mine; ++i)
              if (lane + 32 * i < columns)
                sums[i] = __fmaf_rn((float)T(weight), (float)value[lane + 32 * i], sums[i] * keep);
          }
        float *part = part_of<rows, columns>(scratch, warp, row);
#pragma unroll
        for (int i = 0; i < mine; ++i)
          if (lane + 32 * i < columns)
            part[lane + 32 * i] = sums[i];
        if (lane == 0) {
          part[columns] = largest;
          part[columns + 1] = total;
        }
      }
    }
    Worker::sync();
    for (int i = Worker::lane(); i < rows * columns; i += Worker::lanes()) {
      const int row = i / columns, column = i % columns;
      float largest = -1e30f, total = 0, value = 0;
#pragma unroll
      for (int w = 0; w < compute_warps; ++w)
        largest = fmaxf(largest, part_of<rows, columns>(scratch, w, row)[columns]);
#pragma unroll
      for (int w = 0; w < compute_warps; ++w) {
        const float *part = part_of<rows, columns>(scratch, w, row);
        const float keep = evt::exp_near(part[columns] - largest);
        total = __fmaf_rn(part[columns + 1], keep, total);
        value = __fmaf_rn(part[column], keep, value);
      }
      acc[i] = value;
      if (column == 0) {
        m[row] = largest;
        sum[row] = total;
      }
    }
  }
}

} // namespace detail

/// `query`, `scales` and results have the R rows of each of `Heads` heads. `scratch` has room for 8 x R x (D + 4).
/// Loaders feed what `Stages` have room for. All compute threads; results are there for all after the next barrier.
template <std::int64_t R, std::int64_t D, std::int64_t Page, std::int64_t Heads = 1, TileStages Stages = TileStages{},
          class T>
__device__ inline void attend(Worker &w, float *m, float *sum, float *acc, const T *query, const float *scales,
                              const Memory<T, 4> &keys, const Memory<T, 4> &values,
                              const Memory<std::int32_t, 2> &pages, const CacheRow &at, std::int64_t from,
                              std::int64_t to, float *scratch) {
  if constexpr (Heads == 1 || is_fed<R, D, Heads, T>(Stages)) {
    detail::attend_heads<R, D, Page, Heads, Stages>(w, m, sum, acc, query, scales, keys, values, pages, NoSquares{}, at,
                                                    from, to, scratch);
  } else {
#pragma unroll 1
    for (int h = 0; h < (int)Heads; ++h) {
      if (h)
        Worker::sync(); // the head before has been read
      detail::attend_heads<R, D, Page, 1, TileStages{}>(w, m + h * R, sum + h * R, acc + h * R * D, query + h * R * D,
                                                        scales + h * R, keys, values, pages, NoSquares{},
                                                        {at.layer, at.request, at.head + h}, from, to, scratch);
    }
  }
}

/// The parts 0 … parts - 1 of a softmax as one, divided by its sum. A thread has elements of its own.
template <std::int64_t R, std::int64_t D>
__device__ inline void merge(Worker &, float *merged, const Memory<float, 4> &m, const Memory<float, 4> &sum,
                             const Memory<float, 5> &acc, std::int64_t i, std::int64_t j, std::int64_t most) {
  constexpr int rows = (int)R, columns = (int)D;
  const bool exists = i >= 0 && i < m.dims[0] && j >= 0 && j < m.dims[1];
  const int parts = !exists ? 0 : most < m.dims[2] ? (int)most : (int)m.dims[2];
  const std::int64_t first = (i * m.dims[1] + j) * m.dims[2] * rows;
  for (int e = Worker::lane(); e < rows * columns; e += Worker::lanes()) {
    const int row = e / columns;
    const float *ms = m.data + first + row, *sums = sum.data + first + row, *values = acc.data + first * columns + e;
    float largest = -1e30f, total = 0, value = 0;
#pragma unroll 8
    for (int s = 0; s < parts; ++s)
      largest = fmaxf(largest, ms[s * rows]);
#pragma unroll 8
    for (int s = 0; s < parts; ++s) {
      const float weight = evt::exp_near(ms[s * rows] - largest);
      total = __fmaf_rn(weight, sums[s * rows], total);
      value = __fmaf_rn(weight, values[s * rows * columns], value);
    }
    merged[e] = total == 0 ? 0.0f : value / total;
  }
}

} // namespace evt::tile
