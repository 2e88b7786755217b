// A warp's softmax of up to 8 query rows over blocks of 8 positions, on the tensor cores, and the warps' softmaxes as
// one. Which columns a fragment's columns stand for is chosen such that a lane's part of keys and values is 16 bytes:
//
//   scores, rows x positions   lane (g, c) of a block's keys: of position g, columns 32 i + 8 c … + 7
//   values, columns x rows     lane (g, c): of positions 2 c and 2 c + 1, columns 64 j + 8 g … + 7
#pragma once

#include "device/common/attention.h"
#include "device/common/types.h"
#include "device/cuda/memory.h"
#include "device/cuda/ptx.h"

namespace evt::tile {

/// Whether a query's rows are multiplied on the tensor cores, straight from memory.
template <std::int64_t R, std::int64_t D, class T> constexpr bool on_fragments() {
  return sizeof(T) == 2 && D % 64 == 0 && R <= 8;
}

namespace detail {

/// Two numbers, rounded, the first in the low half.
template <class T> __device__ __forceinline__ std::uint32_t packed(float low, float high) {
  if constexpr (__is_same(T, bf16))
    return ptx::pack_bf16(low, high);
  else
    return ptx::pack_f16(low, high);
}

template <class T>
__device__ inline void mma(float (&c)[4], std::uint32_t a0, std::uint32_t a1, std::uint32_t a2, std::uint32_t a3,
                           std::uint32_t b0, std::uint32_t b1) {
  if constexpr (__is_same(T, bf16))
    ptx::mma_bf16(c, a0, a1, a2, a3, b0, b1);
  else
    ptx::mma_f16(c, a0, a1, a2, a3, b0, b1);
}

template <class T> __device__ inline void mma8(float (&c)[4], std::uint32_t a0, std::uint32_t a1, std::uint32_t b0) {
  if constexpr (__is_same(T, bf16))
    ptx::mma8_bf16(c, a0, a1, b0);
  else
    ptx::mma8_f16(c, a0, a1, b0);
}

} // namespace detail

/// Eight numbers times a root, rounded: a key as its step will leave it (models/graph: `settle`), bit for bit.
template <class T> __device__ __forceinline__ uint4 rooted(const uint4 &key, float root) {
  const auto two = [&](std::uint32_t both) {
    const auto half = [&](int shift) { return (float)T::from_bits((std::uint16_t)(both >> shift)) * root; };
    return detail::packed<T>(half(0), half(16));
  };
  return {two(key.x), two(key.y), two(key.z), two(key.w)};
}

/// The root of a norm of D columns, the sum of whose squares is in parts: added up in their order, as by everybody
/// else.
template <int D, int Parts, class Part> __device__ __forceinline__ float root_of_sums(float epsilon, Part part) {
  float all = 0;
#pragma unroll
  for (int i = 0; i < Parts; ++i)
    all += part(i);
  return evt::rsqrt_near(all / (float)D + epsilon);
}

/// Parts of the sums of squares of a key.
template <class S> constexpr int parts_of_key() {
  if constexpr (__is_same(S, NoSquares))
    return 0;
  else
    return S::count;
}

template <std::int64_t R, std::int64_t D, class T> struct BlockSoftmax {
  static constexpr int rows = (int)R, columns = (int)D, room = columns + 4; // floats of a row in scratch memory
  static constexpr int key_pieces = columns / 32, value_pieces = columns / 64;

  float m = -1e30f, sum = 0;       // of row g
  float acc[columns / 16][4] = {}; // [4 j + u]: columns 64 j + 8 g + 2 u and + 1, of rows 2 c and 2 c + 1

  /// A lane's scores of a block: of row g, positions 2 c and 2 c + 1. `query(i)` and `key(i)` are pieces of 8 columns.
  template <class Query, class Key> __device__ __forceinline__ static float2 scores(Query query, Key key) {
    float s[4] = {};
#pragma unroll
    for (int i = 0; i < key_pieces; ++i) {
      const uint4 q = query(i), k = key(i);
      detail::mma<T>(s, q.x, 0, q.y, 0, k.x, k.y);
      detail::mma<T>(s, q.z, 0, q.w, 0, k.z, k.w);
    }
    return {s[0], s[1]};
  }

  /// The same of two blocks, which take turns: products of one block wait for each other.
  template <class Query>
  __device__ __forceinline__ static void scores(float (&score)[4], Query query, const uint4 (&keys)[2][key_pieces]) {
    float s[2][4] = {};
#pragma unroll
    for (int i = 0; i < key_pieces; ++i) {
      const uint4 q = query(i);
#pragma unroll
      for (int b = 0; b < 2; ++b)
        detail::mma<T>(s[b], q.x, 0, q.y, 0, keys[b][i].x, keys[b][i].y);
#pragma unroll
      for (int b = 0; b < 2; ++b)
        detail::mma<T>(s[b], q.z, 0, q.w, 0, keys[b][i].z, keys[b][i].w);
    }
#pragma unroll
    for (int b = 0; b < 2; ++b) {
      score[2 * b] = s[b][0];
      score[2 * b + 1] = s[b][1];
    }
  }

  /// What a lane's positions weigh, two of each block of 8, and what the sums before are multiplied with.
  template <int Blocks> struct WeightsOf {
    std::uint32_t both[Blocks];
    float keeps[2]; // of rows 2 c and 2 c + 1
  };
  using Weights = WeightsOf<1>;
  template <int Count>
  __device__ __forceinline__ WeightsOf<Count / 2> weigh(float (&score)[Count], const bool (&live)[Count], int c) {
    float largest = m;
#pragma unroll
    for (int i = 0; i < Count; ++i)
      largest = live[i] && score[i] > largest ? score[i] : largest;
#pragma unroll
    for (int other = 1; other < 4; other *= 2) {
      const float theirs = __shfl_xor_sync(~0u, largest, other);
      largest = theirs > largest ? theirs : largest;
    }
    const float keep = evt::exp_near(m - largest);
    m = largest;
    sum *= keep;
#pragma unroll
    for (int i = 0; i < Count; ++i) {
      score[i] = live[i] ? evt::exp_near(score[i] - largest) : 0.0f;
      sum += score[i];
    }
    WeightsOf<Count / 2> weights;
#pragma unroll
    for (int i = 0; i < Count / 2; ++i)
      weights.both[i] = detail::packed<T>(score[2 * i], score[2 * i + 1]);
    weights.keeps[0] = __shfl_sync(~0u, keep, 8 * c);
    weights.keeps[1] = __shfl_sync(~0u, keep, 8 * c + 4);
    return weights;
  }
  /// The weights of a first block of 8, where nothing is kept.
  __device__ __forceinline__ std::uint32_t weigh_first(const float (&score)[2], const bool (&live)[2]) {
#pragma unroll
    for (int i = 0; i < 2; ++i)
      m = live[i] && score[i] > m ? score[i] : m;
#pragma unroll
    for (int other = 1; other < 4; other *= 2) {
      const float theirs = __shfl_xor_sync(~0u, m, other);
      m = theirs > m ? theirs : m;
    }
    float weight[2];
#pragma unroll
    for (int i = 0; i < 2; ++i)
      weight[i] = live[i] ? evt::exp_near(score[i] - m) : 0.0f;
    sum = weight[0] + weight[1];
    return detail::packed<T>(weight[0], weight[1]);
  }
  /// The sum of row g, which is in parts over 4 lanes.
  __device__ __forceinline__ float sum_of_lanes() const {
    float all = sum;
#pragma unroll
    for (int other = 1; other < 4; other *= 2)
      all += __shfl_xor_sync(~0u, all, other);
    return all;
  }
  /// Adds values: those of a lane's two positions in piece j.
  __device__ __forceinline__ void add(const Weights &weights, int j, const uint4 &first, const uint4 &second) {
#pragma unroll
    for (int u = 0; u < 4; ++u) {
      float(&sums)[4] = acc[4 * j + u];
#pragma unroll
      for (int i = 0; i < 4; ++i)
        sums[i] *= weights.keeps[i % 2];
      add_products(sums, weights.both[0], u, first, second);
    }
  }
  /// The products alone, of columns 2 u and 2 u + 1 of each lane's 8.
  __device__ __forceinline__ static void add_products(float (&sums)[4], std::uint32_t both, int u, const uint4 &first,
                                                      const uint4 &second) {
    auto word = [&](const uint4 &v) { return u == 0 ? v.x : u == 1 ? v.y : u == 2 ? v.z : v.w; };
    detail::mma8<T>(sums, __byte_perm(word(first), word(second), 0x5410),
                    __byte_perm(word(first), word(second), 0x7632), both);
  }
  /// The same of two blocks: `values[i]` is of position 8 (i / 2) + 2 c + i % 2.
  __device__ __forceinline__ void add(const WeightsOf<2> &weights, int j, const uint4 (&values)[4]) {
#pragma unroll
    for (int u = 0; u < 4; ++u) {
      const auto word = [&](int i) {
        const uint4 &v = values[i];
        return u == 0 ? v.x : u == 1 ? v.y : u == 2 ? v.z : v.w;
      };
      float(&sums)[4] = acc[4 * j + u];
#pragma unroll
      for (int i = 0; i < 4; ++i)
        sums[i] *= weights.keeps[i % 2];
      detail::mma<T>(sums, __byte_perm(word(0), word(1), 0x5410), __byte_perm(word(0), word(1), 0x7632),
                     __byte_perm(word(2), word(3), 0x5410), __byte_perm(word(2), word(3), 0x7632), weights.both[0],
                     weights.both[1]);
    }
  }

  /// The softmaxes of every `Warps` warps as one, through `scratch`, which has room for 8 x R x (D + 4) floats: for
  /// every two columns of a row, `store(row, column, largest, total, values)` is called by one thread, once; the rows
  /// of the first warps come first.
  template <int Warps = compute_warps, class Store>
  __device__ __forceinline__ void merge(int thread, float *scratch, Store store) {
    const int lane = thread % 32, g = lane / 4, c = lane % 4;
    sum = sum_of_lanes();
#pragma unroll
    for (int i = 0; i < 2; ++i)
      if (2 * c + i < rows) {
        float *row = scratch + (thread / 32 * rows + 2 * c + i) * room + 8 * g;
#pragma unroll
        for (int t = 0; t < columns / 16; t += 2)
          *reinterpret_cast<float4 *>(row + t / 4 * 64 + t % 4 * 2) =
              float4{acc[t][i], acc[t][i + 2], acc[t + 1][i], acc[t + 1][i + 2]};
      }
    if (g < rows && c == 0) {
      float *row = scratch + (thread / 32 * rows + g) * room;
      row[columns] = m;
      row[columns + 1] = sum;
    }
    Worker::sync();
    // A warp's 64 columns are of one row; lane i finds what the columns of warp i weigh.
    constexpr int groups = compute_warps / Warps;
#pragma unroll 1
    for (int e = 2 * thread; e < groups * rows * columns; e += 2 * Worker::lanes()) {
      const int row = e / columns, column = e % columns;
      // Row `row` of the first warp that has it, and so on.
      const float *first = scratch + (row / rows * (Warps - 1) * rows + row) * room;
      const float *theirs = first + lane % Warps * rows * room + columns;
      float largest = theirs[0], weight = theirs[0], total = theirs[1];
      float2 a[Warps], value{0, 0};
#pragma unroll
      for (int i = 0; i < Warps; ++i)
        a[i] = *reinterpret_cast<const float2 *>(first + i * rows * room + column);
#pragma unroll
      for (int other = 1; other < Warps; other *= 2)
        largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, other));
      weight = evt::exp_near(weight - largest);
      total *= weight;
#pragma unroll
      for (int other = 1; other < Warps; other *= 2)
        total += __shfl_xor_sync(~0u, total, other);
#pragma unroll
      for (int i = 0; i < Warps; ++i) {
        const float w = __shfl_sync(~0u, weight, i);
        value.x = __fmaf_rn(a[i].x, w, value.x);
        value.y = __fmaf_rn(a[i].y, w, value.y);
      }
      store(row, column, largest, total, value);
    }
  }
};

} // namespace evt::tile
