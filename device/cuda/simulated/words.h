// What a kernel for CUDA takes for granted of its compiler, for a compiler of the host. It is included before anything
// else (-include).
#pragma once

#include "device/cuda/simulated/gpu.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __noinline__ [[gnu::noinline]]
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(bytes) alignas(bytes)
#define __builtin_assume(condition) ((void)0)
#define threadIdx (::evt::simulated::running->index)
#define blockIdx (::evt::simulated::running->block_index)

//===-- vectors ---------------------------------------------------------------------------------------------------===//

struct alignas(8) float2 {
  float x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
struct alignas(8) int2 {
  int x, y;
};
struct alignas(16) int4 {
  int x, y, z, w;
};

//===-- numbers ---------------------------------------------------------------------------------------------------===//

inline float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline int __float_as_int(float x) { return std::bit_cast<int>(x); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __popc(unsigned x) { return std::popcount(x); }
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
  const std::uint64_t both = (std::uint64_t)b << 32 | a;
  unsigned result = 0;
  for (unsigned i = 0; i < 4; ++i)
    result |= (unsigned)(both >> 8 * (selector >> 4 * i & 7) & 0xff) << 8 * i;
  return result;
}

//===-- memory ----------------------------------------------------------------------------------------------------===//

template <class T> T __ldcg(const T *p) { return *p; }
inline void __threadfence() {}

// One thread runs at a time, so what it does to memory at once is atomic. The host looks at some of it, too.
template <class T> T atomicExch(T *p, std::type_identity_t<T> v) {
  evt::simulated::has_changed();
  return __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST);
}
template <class T> T atomicCAS(T *p, std::type_identity_t<T> expected, std::type_identity_t<T> v) {
  evt::simulated::has_changed();
  __atomic_compare_exchange_n(p, &expected, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  return expected;
}
template <class T> T atomicAdd(T *p, std::type_identity_t<T> v) {
  evt::simulated::has_changed();
  const T old = *p;
  *p = old + v;
  return old;
}
template <class T> T atomicOr(T *p, std::type_identity_t<T> v) {
  evt::simulated::has_changed();
  return __atomic_fetch_or(p, v, __ATOMIC_SEQ_CST);
}

//===-- a warp ----------------------------------------------------------------------------------------------------===//

namespace evt::simulated {

template <class T> T shuffle(unsigned mask, T value, unsigned from) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 1);
  std::uint32_t words[2] = {};
  std::memcpy(words, &value, sizeof(T));
  const Lanes &lanes = exchange(Together::shuffle, mask, words, 2);
  if (from < 32 && lanes.there >> from & 1)
    std::memcpy(&value, lanes.word[from], sizeof(T));
  return value;
}
inline unsigned vote(unsigned mask, bool mine) {
  const std::uint32_t word = mine;
  const Lanes &lanes = exchange(Together::vote, mask, &word, 1);
  unsigned set = 0;
  for (unsigned l = 0; l < 32; ++l)
    set |= (lanes.there >> l & 1 & lanes.word[l][0]) << l;
  return set;
}
template <class Combine> unsigned reduce(unsigned mask, unsigned value, Combine combine) {
  const Lanes &lanes = exchange(Together::reduce, mask, &value, 1);
  for (unsigned l = 0; l < 32; ++l)
    if (lanes.there >> l & 1 && l != running->lane)
      value = combine(value, lanes.word[l][0]);
  return value;
}

} // namespace evt::simulated

inline void __syncwarp(unsigned mask = ~0u) {
  evt::simulated::exchange(evt::simulated::Together::meet, mask, nullptr, 0);
}
// Lanes beyond the `width` that a lane is among give it its own value.
template <class T> T __shfl_sync(unsigned mask, T value, int lane, int width = 32) {
  const unsigned mine = evt::simulated::running->lane, first = mine - mine % (unsigned)width;
  return evt::simulated::shuffle(mask, value, first + (unsigned)lane % (unsigned)width);
}
template <class T> T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32) {
  const unsigned mine = evt::simulated::running->lane, from = mine ^ (unsigned)bits;
  return evt::simulated::shuffle(mask, value, from / (unsigned)width <= mine / (unsigned)width ? from : mine);
}
template <class T> T __shfl_down_sync(unsigned mask, T value, unsigned by, int width = 32) {
  const unsigned mine = evt::simulated::running->lane, from = mine + by;
  return evt::simulated::shuffle(mask, value, from / (unsigned)width == mine / (unsigned)width ? from : mine);
}
inline unsigned __ballot_sync(unsigned mask, bool mine) { return evt::simulated::vote(mask, mine); }
inline bool __any_sync(unsigned mask, bool mine) { return evt::simulated::vote(mask, mine) != 0; }
inline bool __all_sync(unsigned mask, bool mine) { return evt::simulated::vote(mask, !mine) == 0; }
template <class T> unsigned __match_any_sync(unsigned mask, T value) {
  static_assert(sizeof(T) == 4);
  const std::uint32_t mine = std::bit_cast<std::uint32_t>(value);
  const evt::simulated::Lanes &lanes = evt::simulated::exchange(evt::simulated::Together::match, mask, &mine, 1);
  unsigned same = 0;
  for (unsigned l = 0; l < 32; ++l)
    same |= (unsigned)(lanes.there >> l & 1 && lanes.word[l][0] == mine) << l;
  return same;
}
inline unsigned __reduce_add_sync(unsigned mask, unsigned value) {
  return evt::simulated::reduce(mask, value, [](unsigned a, unsigned b) { return a + b; });
}
inline unsigned __reduce_max_sync(unsigned mask, unsigned value) {
  return evt::simulated::reduce(mask, value, [](unsigned a, unsigned b) { return a > b ? a : b; });
}
inline int __reduce_max_sync(unsigned mask, int value) {
  return (int)evt::simulated::reduce(mask, (unsigned)value,
                                     [](unsigned a, unsigned b) { return (int)a > (int)b ? a : b; });
}

inline void __syncthreads() { evt::simulated::meet(0, 0, false); }
