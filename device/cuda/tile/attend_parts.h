// Attention of a few query rows, part by part of a request's positions, into memory (evt.attend_parts), and the merge
// of those parts (evt.merge_parts), by all compute threads.
//
// The warps take a part's blocks of 8 positions in turn, each with a softmax of its own, which are merged in the warps'
// order. So the bits of a part do not depend on which task has it. Keys and values go from memory to registers, as
// fragments of the tensor cores; which columns a fragment's columns stand for is chosen such that a lane's part is 16
// bytes:
//
//   scores, rows x positions   lane (g, c) of a block's keys: of position g, columns 32 i + 8 c … + 7
//   values, columns x rows     lane (g, c): of positions 2 c and 2 c + 1, columns 64 j + 8 g … + 7
//
// A task's time is that of memory, once for every step that depends on the one before. So
//   - what a warp reads first (its page, then keys and values of its first block) is on its way before the task's
//   events
//     are waited for, as far as positions are settled; what is not is read after them, together with the query;
//   - keys of the next block are asked for when the scores of this one are known, values when they have been added:
//     the registers are free then, and half of what a block needs is always on its way.
// Registers are scarce, and what does not fit in them goes far: shared memory leaves the cache of the SM no room.
#pragma once

#include "device/cuda/tile/attend.h"

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

/// Whether a query's rows are multiplied on the tensor cores, straight from memory.
template <std::int64_t R, std::int64_t D, class T> constexpr bool on_fragments() {
  return sizeof(T) == 2 && D % 64 == 0 && R <= 8;
}
/// Floats of scratch memory. The emitter counts the same, and asserts it.
template <std::int64_t R, std::int64_t D, class T> constexpr int parts_scratch() {
  return on_fragments<R, D, T>() ? 8 * (int)R * ((int)D + 4 + (int)D / 2) : (int)(8 * R * (D + 2) + R * (2 * D + 3));
}

namespace detail {

template <class T> __device__ inline void mma8(float (&c)[4], std::uint32_t a0, std::uint32_t a1, std::uint32_t b0) {
  if constexpr (__is_same(T, bf16))
    ptx::mma8_bf16(c, a0, a1, b0);
  else
    ptx::mma8_f16(c, a0, a1, b0);
}

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
    const int parts = (int)squares.parts.dims[3];
    float all = 0;
#pragma unroll 8
    for (int p = 0; p < parts; ++p)
      all += element(query_squares.memory, query.token, query_squares.column + row * parts + p);
    return query.scale * ptx::rsqrt_near(all / (float)D + squares.epsilon);
  }
}

} // namespace detail

/// One task. `ahead` may be called before the task's events are waited for, `run` after them.
template <std::int64_t R, std::int64_t D, std::int64_t Page, class T, class S> class PartsAttention {
public:
  __device__ __forceinline__ PartsAttention(const Memory<T, 4> &keys, const Memory<T, 4> &values,
                                            const Memory<std::int32_t, 2> &pages, const S &squares, const CacheRow &at,
                                            std::int64_t from, std::int64_t to, std::int64_t part,
                                            std::int64_t settled_below, const Memory<float, 5> &m)
      : slots((int)keys.dims[1]), stride((int)keys.dims[2]),
        columns_there(at.request >= 0 && at.request < pages.dims[0] ? (int)pages.dims[1] : 0), begin((int)from),
        end(at.layer >= 0 && at.layer < keys.dims[0] && at.head >= 0 && at.head < keys.dims[2] && part > 0 && from >= 0
                ? (int)to
                : 0),
        size((int)part), parts((int)m.dims[3]), settled((int)settled_below) {
    const std::int64_t row = at.layer * keys.dims[1] * keys.dims[2] + at.head;
    page_row = pages.data + at.request * pages.dims[1];
    key_row = keys.data + row * columns;
    value_row = values.data + row * columns;
    if constexpr (key_parts)
      squares_row = squares.parts.data + row * key_parts;
  }

  __device__ __forceinline__ void ahead() {
    if constexpr (fragments) {
      part = 0;
      first = begin + 8 * warp();
      find();
      keys_of(0, settled);
      values_of(0, settled);
    }
  }

  /// `scratch` has room for parts_scratch() floats.
  template <class Q>
  __device__ __forceinline__ void run(Worker &w, const QueryRows<T> &query, const Q &query_squares,
                                      const Memory<T, 4> &keys, const Memory<T, 4> &values,
                                      const Memory<std::int32_t, 2> &pages, const S &squares, const CacheRow &at,
                                      const PartsAt &into, float *scratch) {
    if (!into.exists())
      return;
    if constexpr (fragments)
      on_tensor_cores(query, query_squares, squares, into, scratch);
    else
      plainly(w, query, query_squares, keys, values, pages, squares, at, into, scratch);
  }

private:
  static constexpr bool fragments = on_fragments<R, D, T>();
  static constexpr int rows = (int)R, columns = (int)D, room = columns + 4; // floats of a row in scratch memory
  static constexpr int key_pieces = fragments ? columns / 32 : 1, value_pieces = fragments ? columns / 64 : 1;
  static constexpr int all = 1 << 30; // positions
  static constexpr int key_parts = [] {
    if constexpr (__is_same(S, NoSquares))
      return 0;
    else
      return S::count;
  }();

  // Of the layer and head: slot 0.
  const T *key_row, *value_row;
  const float *squares_row;
  const std::int32_t *page_row;
  const int thread = Worker::lane();
  const int slots, stride, columns_there, begin, end, size, parts, settled;
  // The next block that this warp multiplies: where it is, and what of it was asked for.
  int part, first;
  int slot; // of position lane % 8
  uint4 k[key_pieces], v[2][value_pieces];
  float k_squares[(key_parts + 3) / 4 ? (key_parts + 3) / 4 : 1]; // every fourth of position lane % 8

  __device__ int warp() const { return thread / 32; }
  __device__ int limit() const {
    const int own = begin + (part + 1) * size;
    return own < end ? own : end;
  }
  __device__ void go_on() {
    first += 8 * compute_warps;
    if (first >= limit()) {
      ++part;
      first = begin + part * size + 8 * warp();
    }
  }
  /// The slots of the next block's positions; lanes that have none ask for nothing.
  __device__ void find() {
    const int position = first + thread % 8, column = position / (int)Page;
    slot = -1;
    if (part < parts && position < limit() && column < columns_there) {
      const std::int64_t page = page_row[column], there = page * Page + position % (int)Page;
      slot = page < 0 || there >= slots ? -1 : (int)there;
    }
  }
  /// Asks for the keys of positions `from` … `to` of the next block.
  __device__ __forceinline__ void keys_of(int from, int to) {
    const int lane = thread % 32, g = lane / 4, c = lane % 4;
    const int s = __shfl_sync(~0u, slot, g);
    if (from <= first + g && first + g < to) {
      const T *row = key_row + (std::int64_t)s * stride * columns + 8 * c;
#pragma unroll
      for (int i = 0; i < key_pieces; ++i)
        k[i] = s < 0 ? uint4{0, 0, 0, 0} : *reinterpret_cast<const uint4 *>(row + 32 * i);
    }
    if constexpr (key_parts) {
      if (from <= first + lane % 8 && first + lane % 8 < to) {
        const float *row = squares_row + (std::int64_t)slot * stride * key_parts;
#pragma unroll
        for (int i = 0; i < (key_parts + 3) / 4; ++i)
          k_squares[i] = slot < 0 || 4 * i + lane / 8 >= key_parts ? 0.0f : row[4 * i + lane / 8];
      }
    }
  }
  __device__ __forceinline__ void values_of(int from, int to) {
    const int lane = thread % 32, g = lane / 4, c = lane % 4;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int s = __shfl_sync(~0u, slot, 2 * c + i), position = first + 2 * c + i;
      if (from <= position && position < to) {
        const T *row = value_row + (std::int64_t)s * stride * columns + 8 * g;
#pragma unroll
        for (int j = 0; j < value_pieces; ++j)
          v[i][j] = s < 0 ? uint4{0, 0, 0, 0} : *reinterpret_cast<const uint4 *>(row + 64 * j);
      }
    }
  }

  template <class Q>
  __device__ __forceinline__ void on_tensor_cores(const QueryRows<T> &query, const Q &query_squares, const S &squares,
                                                  const PartsAt &into, float *scratch) {
    const int lane = thread % 32, g = lane / 4, c = lane % 4;
    // A lane's part of the query waits in scratch memory between blocks, where it takes no registers.
    const std::uint32_t own =
        ptx::shared_address(scratch + 8 * rows * room) + 16 * (warp() * key_pieces * rows * 4 + g % rows * 4 + c);
    {
      uint4 q[key_pieces];
      query_rows(query, q);
      if (g < rows)
#pragma unroll
        for (int i = 0; i < key_pieces; ++i)
          ptx::store_shared(own + 64 * rows * i, q[i]);
    }
    keys_of(settled, all);
    values_of(settled, all);
    const float scale = g < rows ? detail::scale_of<columns>(query, query_squares, squares, g) : 0.0f;

#pragma unroll 1
    for (int now = 0; now < parts && begin + now * size < end; ++now) {
      float m = -1e30f, sum = 0;       // of row g
      float acc[columns / 16][4] = {}; // [4 j + u]: columns 64 j + 8 g + 2 u and + 1, of rows 2 c and 2 c + 1
#pragma unroll 1
      while (part == now && first < limit()) {
        float s[4] = {};
#pragma unroll
        for (int i = 0; i < key_pieces; ++i) {
          uint4 q{0, 0, 0, 0};
          if (g < rows)
            q = ptx::load_shared(own + 64 * rows * i);
          detail::mma<T>(s, q.x, 0, q.y, 0, k[i].x, k[i].y);
          detail::mma<T>(s, q.z, 0, q.w, 0, k[i].z, k[i].w);
        }
        float root = 1;
        if constexpr (key_parts) {
          float sums = 0;
#pragma unroll
          for (int i = 0; i < (key_parts + 3) / 4; ++i)
            sums += k_squares[i];
          sums += __shfl_xor_sync(~0u, sums, 8);
          sums += __shfl_xor_sync(~0u, sums, 16);
          root = ptx::rsqrt_near(sums / (float)columns + squares.epsilon);
        }
        float score[2], largest = m;
        bool live[2];
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          live[i] = __shfl_sync(~0u, slot, 2 * c + i) >= 0;
          score[i] = s[i] * (key_parts ? scale * __shfl_sync(~0u, root, 2 * c + i) : scale);
          largest = live[i] && score[i] > largest ? score[i] : largest;
        }
        go_on();
        find();
        keys_of(0, all);
#pragma unroll
        for (int other = 1; other < 4; other *= 2) {
          const float theirs = __shfl_xor_sync(~0u, largest, other);
          largest = theirs > largest ? theirs : largest;
        }
        const float keep = ptx::exp_near(m - largest);
        m = largest;
        sum *= keep;
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          score[i] = live[i] ? ptx::exp_near(score[i] - largest) : 0.0f;
          sum += score[i];
        }
        const std::uint32_t weights = detail::packed<T>(score[0], score[1]);
        const float keeps[2] = {__shfl_sync(~0u, keep, 8 * c), __shfl_sync(~0u, keep, 8 * c + 4)};
#pragma unroll
        for (int j = 0; j < value_pieces; ++j)
#pragma unroll
          for (int u = 0; u < 4; ++u) {
            auto word = [&](int i) { return u == 0 ? v[i][j].x : u == 1 ? v[i][j].y : u == 2 ? v[i][j].z : v[i][j].w; };
            float(&sums)[4] = acc[4 * j + u];
#pragma unroll
            for (int i = 0; i < 4; ++i)
              sums[i] *= keeps[i % 2];
            detail::mma8<T>(sums, __byte_perm(word(0), word(1), 0x5410), __byte_perm(word(0), word(1), 0x7632),
                            weights);
          }
        values_of(0, all);
      }
      if (part == now) { // it has no block in this part
        ++part;
        first = begin + part * size + 8 * warp();
        find();
        keys_of(0, all);
        values_of(0, all);
      }
#pragma unroll
      for (int other = 1; other < 4; other *= 2)
        sum += __shfl_xor_sync(~0u, sum, other);

      // The warps' softmaxes as one, through scratch memory.
      if (now)
        Worker::sync(); // the part before has been read
#pragma unroll
      for (int i = 0; i < 2; ++i)
        if (2 * c + i < rows) {
          float *row = scratch + (warp() * rows + 2 * c + i) * room + 8 * g;
#pragma unroll
          for (int t = 0; t < columns / 16; t += 2)
            *reinterpret_cast<float4 *>(row + t / 4 * 64 + t % 4 * 2) =
                float4{acc[t][i], acc[t][i + 2], acc[t + 1][i], acc[t + 1][i + 2]};
        }
      if (g < rows && c == 0) {
        float *row = scratch + (warp() * rows + g) * room;
        row[columns] = m;
        row[columns + 1] = sum;
      }
      Worker::sync();
      const std::int64_t target = (into.first() + now) * rows;
      // A warp's 64 columns are of one row; lane i finds what the columns of warp i weigh.
#pragma unroll 1
      for (int e = 2 * thread; e < rows * columns; e += 2 * Worker::lanes()) {
        const int row = e / columns, column = e % columns;
        const float *theirs = scratch + (lane % compute_warps * rows + row) * room + columns;
        float largest = theirs[0], weight = theirs[0], total = theirs[1];
        float2 a[compute_warps], value{0, 0};
#pragma unroll
        for (int i = 0; i < compute_warps; ++i)
          a[i] = *reinterpret_cast<const float2 *>(scratch + (i * rows + row) * room + column);
#pragma unroll
        for (int other = 1; other < compute_warps; other *= 2)
          largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, other));
        weight = ptx::exp_near(weight - largest);
        total *= weight;
#pragma unroll
        for (int other = 1; other < compute_warps; other *= 2)
          total += __shfl_xor_sync(~0u, total, other);
#pragma unroll
        for (int i = 0; i < compute_warps; ++i) {
          const float w = __shfl_sync(~0u, weight, i);
          value.x = __fmaf_rn(a[i].x, w, value.x);
          value.y = __fmaf_rn(a[i].y, w, value.y);
        }
        *reinterpret_cast<float2 *>(into.acc.data + target * columns + e) = value;
        if (column == 0) {
          into.m.data[target + row] = largest;
          into.sum.data[target + row] = total;
        }
      }
    }
  }

  __device__ __forceinline__ void query_rows(const QueryRows<T> &query, uint4 (&q)[key_pieces]) {
    const int lane = thread % 32, g = lane / 4, c = lane % 4;
    const Memory<T, 2> &m = query.memory;
    const bool inside =
        query.token >= 0 && query.token < m.dims[0] && query.column >= 0 && query.column + rows * columns <= m.dims[1];
    const T *row = m.data + query.token * m.dims[1] + query.column + g * columns + 8 * c;
    if (inside && reinterpret_cast<std::uintptr_t>(row) % 16 == 0) {
#pragma unroll
      for (int i = 0; i < key_pieces; ++i)
        q[i] = g < rows ? *reinterpret_cast<const uint4 *>(row + 32 * i) : uint4{0, 0, 0, 0};
    } else {
#pragma unroll
      for (int i = 0; i < key_pieces; ++i) {
        std::uint32_t word[4];
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          auto one = [&](int at) {
            return g < rows ? detail::element(m, query.token, query.column + g * columns + 32 * i + 8 * c + at) : 0.0f;
          };
          word[e] = detail::packed<T>(one(2 * e), one(2 * e + 1));
        }
        q[i] = {word[0], word[1], word[2], word[3]};
      }
    }
  }

  /// Any type, any number of rows and columns: the query goes to scratch memory, a part at a time.
  template <class Q>
  __device__ __forceinline__ void plainly(Worker &w, const QueryRows<T> &query, const Q &query_squares,
                                          const Memory<T, 4> &keys, const Memory<T, 4> &values,
                                          const Memory<std::int32_t, 2> &pages, const S &squares, const CacheRow &at,
                                          const PartsAt &into, float *scratch) {
    float *warps = scratch, *acc = warps + 8 * rows * (columns + 2), *m = acc + rows * columns, *sum = m + rows;
    float *scales = sum + rows;
    T *q = reinterpret_cast<T *>(scales + rows);
    for (int e = thread; e < rows * columns; e += Worker::lanes())
      q[e] = T(detail::element(query.memory, query.token, query.column + e));
    for (int r = thread; r < rows; r += Worker::lanes())
      scales[r] = detail::scale_of<columns>(query, query_squares, squares, r);
    Worker::sync();
    for (int part = 0; part < parts && begin + part * size < end; ++part) {
      const std::int64_t from = begin + part * size, to = from + size < end ? from + size : end;
      attend<R, D, Page>(w, m, sum, acc, q, scales, keys, values, pages, squares, at, from, to, warps);
      Worker::sync();
      const std::int64_t target = (into.first() + part) * rows;
      for (int e = thread; e < rows * columns; e += Worker::lanes())
        into.acc.data[target * columns + e] = acc[e];
      for (int r = thread; r < rows; r += Worker::lanes()) {
        into.m.data[target + r] = m[r];
        into.sum.data[target + r] = sum[r];
      }
      Worker::sync();
    }
  }
};

/// evt.merge_parts: a warp has 64 columns of a row at a time, two of them a lane, and all it reads of 16 parts is on its
/// way at once. Lane p finds what part p weighs.
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
  const int thread = Worker::lane(), lane = thread % 32;
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
      const float keep = ptx::exp_near(largest - larger);
      largest = larger;
      weight = mine < parts ? ptx::exp_near(weight - larger) : 0.0f;
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
