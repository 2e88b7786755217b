// Attention of a few query rows, part by part of a request's positions, into memory (evt.attend_parts), and the merge
// of those parts (evt.merge_parts), by all compute threads.
#pragma once

#include "device/cuda/tile/attend.h"
#include "device/cuda/tile/attend_long.h"
#include "device/cuda/tile/attend_short.h"

namespace evt::tile {

/// Where a task leaves its parts.
struct PartsAt {
  const Memory<float, 5> &m, &sum;
  const Memory<float, 6> &acc;
  std::int64_t i, j, s;
  __device__ bool exists() const {
    return i >= 0 && i < m.dims[0] && j >= 0 && j < m.dims[1] && s >= 0 && s < m.dims[2];
  }
  __device__ std::int64_t first() const { return ((i * m.dims[1] + j) * m.dims[2] + s) * m.dims[3]; }
};

/// Floats of scratch memory. The emitter counts the same, and asserts it.
template <std::int64_t R, std::int64_t D, class T> constexpr int parts_scratch() {
  return on_fragments<R, D, T>() ? 8 * (int)R * ((int)D + 4) + (int)(R * D) / 2
                                 : (int)(8 * R * (D + 4) + R * (2 * D + 3));
}

namespace detail {

/// Element (row, column) of a memory, 0 outside.
template <class T> __device__ inline float element(const Memory<T, 2> &m, std::int64_t row, std::int64_t column) {
  const bool inside = row >= 0 && row < m.dims[0] && column >= 0 && column < m.dims[1];
  return inside ? (float)m.data[row * m.dims[1] + column] : 0.0f;
}

template <int D, class Q, class S, class T>
__device__ inline float scale_of(const QueryRows<T> &query, const Q &query_squares, const S &squares, int row) {
  if constexpr (__is_same(Q, NoSquares)) {
    return query.scale;
  } else {
    constexpr int parts = S::count;
    const Memory<float, 2> &m = query_squares.memory;
    const std::int64_t first = query_squares.column + row * parts;
    float part[parts] = {};
    if (query.token >= 0 && query.token < m.dims[0] && first >= 0 && first + parts <= m.dims[1]) {
      const float *from = m.data + query.token * m.dims[1] + first;
#pragma unroll
      for (int p = 0; p < parts; ++p)
        part[p] = from[p];
    }
    return query.scale * root_of_sums<D, parts>(squares.epsilon, [&](int p) { return part[p]; });
  }
}

} // namespace detail

/// One task. `ahead` may be called before the task's events are waited for, `run` after them. `Stages` is the ring that
/// loaders feed keys and values through, if they do (feed_parts.h).
template <std::int64_t R, std::int64_t D, std::int64_t Page, StreamStages Stages, class T, class S>
class PartsAttention {
public:
  __device__ __forceinline__ PartsAttention(const Worker &w, const Memory<T, 4> &keys, const Memory<T, 4> &values,
                                            const Memory<std::int32_t, 2> &pages, const S &squares, const CacheRow &at,
                                            std::int64_t from, std::int64_t to, std::int64_t part,
                                            std::int64_t settled_below, const Memory<float, 5> &m)
      : blocks(keys, values, pages, squares, at, from, to, part, (int)m.dims[3], settled_below),
        is_fed(positions > 0 && w.fed_stages > 0) {}

  __device__ __forceinline__ void ahead() {
    if (!is_fed)
      blocks.ahead();
  }

  /// `scratch` has room for parts_scratch() floats.
  template <class Q>
  __device__ __forceinline__ void run(Worker &w, const QueryRows<T> &query, const Q &query_squares,
                                      const Memory<T, 4> &keys, const Memory<T, 4> &values,
                                      const Memory<std::int32_t, 2> &pages, const S &squares, const CacheRow &at,
                                      const PartsAt &into, float *scratch) {
    if (!into.exists()) {
      if (is_fed)
        w.ring->from(w.fed_from).pass(w.fed_stages);
      return;
    }
    const int thread = Worker::kept_lane(), lane = thread % 32, g = lane / 4, c = lane % 4;
    // All that comes from memory is asked for before any of it is waited for. The query waits in scratch memory, where
    // it takes no registers, its pieces as lanes read them.
    uint4 own[query_each];
#pragma unroll
    for (int e = 0; e < query_each; ++e)
      own[e] = query_piece(query, thread + e * Worker::lanes());
    if (!is_fed)
      blocks.rest();
    const float scale = g < rows ? detail::scale_of<columns>(query, query_squares, squares, g) : 0.0f;
    const std::uint32_t shared = ptx::shared_address(scratch + 8 * rows * Blocks::Softmax::room);
#pragma unroll
    for (int e = 0; e < query_each; ++e)
      if (thread + e * Worker::lanes() < query_pieces)
        ptx::store_shared(shared + 16 * (thread + e * Worker::lanes()), own[e]);
    Worker::sync();
    const std::uint32_t at_row = shared + 16 * (4 * (g % rows) + c);
    const auto piece = [&](int i) { return g < rows ? ptx::load_shared(at_row + 64 * rows * i) : uint4{0, 0, 0, 0}; };
    const std::int64_t first = into.first();
    const auto store = [&](int part, int row, int column, float m, float sum, float2 value) {
      const std::int64_t at = (first + part) * rows + row;
      *reinterpret_cast<float2 *>(into.acc.data + at * columns + column) = value;
      if (column == 0) {
        into.m.data[at] = m;
        into.sum.data[at] = sum;
      }
    };
    if constexpr (positions > 0) {
      const auto &cache = blocks.cache;
      if constexpr (feeds_short_parts<R, D, T>(Stages))
        if (is_fed && cache.size <= short_part)
          return attend_short_parts<R, D, Page, positions>(
              w.ring->from(w.fed_from), w.fed_stages, keys, values, at, cache, squares, blocks.settled, piece, scale,
              [&](int part, int row, int column, float4 value) {
                *reinterpret_cast<float4 *>(into.acc.data + ((first + part) * rows + row) * columns + column) = value;
              },
              [&](int part, int row, float m, float sum) {
                into.m.data[(first + part) * rows + row] = m;
                into.sum.data[(first + part) * rows + row] = sum;
              });
      if (is_fed)
        return attend_long_parts<R, D, Page, positions>(w.ring->from(w.fed_from), keys, values, at, cache, squares,
                                                        blocks.settled, piece, scale, scratch, store);
    }
    blocks.run(piece, scale, squares, scratch, store);
  }

private:
  static constexpr int positions = streamed_positions<R, D, T>(Stages);
  using Blocks = BlockAttention<R, D, Page, T, S>;
  static constexpr int rows = (int)R, columns = (int)D, key_pieces = columns / 32;
  Blocks blocks;
  const bool is_fed;

  static constexpr int query_pieces = rows * columns / 8; // of 8 columns
  static constexpr int query_each = (query_pieces + Worker::lanes() - 1) / Worker::lanes();

  /// Piece n: rows by rows, then by 32 columns.
  __device__ __forceinline__ uint4 query_piece(const QueryRows<T> &query, int n) const {
    if (n >= query_pieces)
      return {0, 0, 0, 0};
    const Memory<T, 2> &m = query.memory;
    const std::int64_t column = query.column + n / 4 % rows * columns + n / (4 * rows) * 32 + n % 4 * 8;
    const bool inside =
        query.token >= 0 && query.token < m.dims[0] && query.column >= 0 && query.column + rows * columns <= m.dims[1];
    const T *from = m.data + query.token * m.dims[1] + column;
    if (inside && reinterpret_cast<std::uintptr_t>(from) % 16 == 0)
      return *reinterpret_cast<const uint4 *>(from);
    std::uint32_t word[4];
#pragma unroll
    for (int e = 0; e < 4; ++e)
      word[e] = detail::packed<T>(detail::element(m, query.token, column + 2 * e),
                                  detail::element(m, query.token, column + 2 * e + 1));
    return {word[0], word[1], word[2], word[3]};
  }
};

/// Any type, any number of rows and columns: the query goes to scratch memory, a part at a time, after the waits.
template <std::int64_t R, std::int64_t D, std::int64_t Page, StreamStages Stages, class T, class S>
requires(!on_fragments<R, D, T>()) class PartsAttention<R, D, Page, Stages, T, S> {
public:
  __device__ __forceinline__ PartsAttention(const Worker &, const Memory<T, 4> &, const Memory<T, 4> &,
                                            const Memory<std::int32_t, 2> &, const S &, const CacheRow &,
                                            std::int64_t from, std::int64_t to, std::int64_t part, std::int64_t,
                                            const Memory<float, 5> &m)
      : begin(from), end(part > 0 && from >= 0 ? to : 0), size(part), parts((int)m.dims[3]) {}

  __device__ __forceinline__ void ahead() {}

  template <class Q>
  __device__ __forceinline__ void run(Worker &w, const QueryRows<T> &query, const Q &query_squares,
                                      const Memory<T, 4> &keys, const Memory<T, 4> &values,
                                      const Memory<std::int32_t, 2> &pages, const S &squares, const CacheRow &at,
                                      const PartsAt &into, float *scratch) {
    constexpr int rows = (int)R, columns = (int)D;
    if (!into.exists())
      return;
    float *warps = scratch, *acc = warps + 8 * rows * (columns + 4);
    T *q = reinterpret_cast<T *>(acc + rows * columns); // read 16 bytes at a time
    float *m = reinterpret_cast<float *>(q + rows * columns), *sum = m + rows, *scales = sum + rows;
    for (int e = Worker::lane(); e < rows * columns; e += Worker::lanes())
      q[e] = T(detail::element(query.memory, query.token, query.column + e));
    for (int r = Worker::lane(); r < rows; r += Worker::lanes())
      scales[r] = detail::scale_of<columns>(query, query_squares, squares, r);
    Worker::sync();
    for (int part = 0; part < parts && begin + part * size < end; ++part) {
      const std::int64_t from = begin + part * size, to = from + size < end ? from + size : end;
      detail::attend_heads<R, D, Page, 1, TileStages{}>(w, m, sum, acc, q, scales, keys, values, pages, squares, at,
                                                        from, to, warps);
      Worker::sync();
      const std::int64_t target = (into.first() + part) * rows;
      for (int e = Worker::lane(); e < rows * columns; e += Worker::lanes())
        into.acc.data[target * columns + e] = acc[e];
      for (int r = Worker::lane(); r < rows; r += Worker::lanes()) {
        into.m.data[target + r] = m[r];
        into.sum.data[target + r] = sum[r];
      }
      Worker::sync();
    }
  }

private:
  const std::int64_t begin, end, size;
  const int parts;
};

/// evt.merge_parts: a warp has 64 columns of a row at a time, two of them a lane, and all it reads of 16 parts is on
/// its way at once. Lane p finds what part p weighs.
template <std::int64_t R, std::int64_t D, class T>
__device__ inline void merge_parts(Worker &, const Memory<float, 5> &m, const Memory<float, 5> &sum,
                                   const Memory<float, 6> &acc, std::int64_t i, std::int64_t j, std::int64_t end,
                                   std::int64_t part, const Memory<T, 2> &to, std::int64_t row, std::int64_t column) {
  static_assert(D % 2 == 0);
  constexpr int rows = (int)R, columns = (int)D, at_once = 16, pieces = (columns + 63) / 64;
  if (i < 0 || i >= m.dims[0] || j < 0 || j >= m.dims[1] || row < 0 || row >= to.dims[0])
    return;
  const std::int64_t there = m.dims[2] * m.dims[3], first = (i * m.dims[1] + j) * there * rows;
  const std::int64_t written = part < 1 || end < 1 ? 0 : (end + part - 1) / part;
  const int parts = (int)(written < there ? written : there);
  const int thread = Worker::kept_lane(), lane = thread % 32;
#pragma unroll 1
  for (int piece = thread / 32; piece < rows * pieces; piece += compute_warps) {
    const int r = piece / pieces, own = piece % pieces * 64 + 2 * lane, e = r * columns + own;
    const bool has_columns = own < columns;
    const float *ms = m.data + first + r, *sums = sum.data + first + r;
    const float *values = acc.data + first * columns + e;
    float largest = -1e30f, total = 0;
    float2 value{0, 0};
    // How many parts were written hangs on a table; nothing waits for that but what is done with them.
#pragma unroll 1
    for (int chunk = 0; chunk < (int)there && (chunk == 0 || chunk < parts); chunk += at_once) {
      const int mine = chunk + lane % at_once;
      float weight = mine < (int)there ? ms[mine * rows] : 0.0f, share = mine < (int)there ? sums[mine * rows] : 0.0f;
      float2 va[at_once];
#pragma unroll
      for (int p = 0; p < at_once; ++p)
        va[p] = has_columns && chunk + p < (int)there
                    ? *reinterpret_cast<const float2 *>(values + (std::int64_t)(chunk + p) * rows * columns)
                    : float2{0, 0};
      float larger = mine < parts ? fmaxf(largest, weight) : largest;
#pragma unroll
      for (int other = 1; other < at_once; other *= 2)
        larger = fmaxf(larger, __shfl_xor_sync(~0u, larger, other));
      const float keep = evt::exp_near(largest - larger);
      largest = larger;
      weight = mine < parts ? evt::exp_near(weight - larger) : 0.0f;
      share = mine < parts ? weight * share : 0.0f;
#pragma unroll
      for (int other = 1; other < at_once; other *= 2)
        share += __shfl_xor_sync(~0u, share, other);
      total = __fmaf_rn(total, keep, share);
      value.x *= keep;
      value.y *= keep;
#pragma unroll
      for (int p = 0; p < at_once; ++p) {
        const float w = __shfl_sync(~0u, weight, p);
        value.x = chunk + p < parts ? __fmaf_rn(w, va[p].x, value.x) : value.x;
        value.y = chunk + p < parts ? __fmaf_rn(w, va[p].y, value.y) : value.y;
      }
    }
    if (!has_columns)
      continue;
    const float inverse = total == 0 ? 0.0f : 1.0f / total;
    value.x *= inverse;
    value.y *= inverse;
    T *target = to.data + row * to.dims[1] + column + e;
    if (sizeof(T) == 2 && column >= 0 && column + e + 2 <= to.dims[1] &&
        reinterpret_cast<std::uintptr_t>(target) % 4 == 0) {
      if constexpr (sizeof(T) == 2)
        *reinterpret_cast<std::uint32_t *>(target) = detail::packed<T>(value.x, value.y);
    } else {
      if (column + e >= 0 && column + e < to.dims[1])
        target[0] = T(value.x);
      if (column + e + 1 >= 0 && column + e + 1 < to.dims[1])
        target[1] = T(value.y);
    }
  }
}

} // namespace evt::tile
