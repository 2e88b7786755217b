// One hardware vector of floats, as wide as the machine the kernel is compiled for.
//
// Written with the compiler's vector extension rather than with <immintrin.h>, which alone takes longer to compile
// than a whole emitted kernel. The one operation the extension lacks is fma: `a * b + c` would round twice, since
// generated code is compiled with -ffp-contract=off.
#ifndef EVT_DEVICE_CPU_TILE_VECTOR_H
#define EVT_DEVICE_CPU_TILE_VECTOR_H

#include <cstdint>
#include <cstring>

namespace evt::tile {

#if defined(__AVX512F__)
inline constexpr int vec_lanes = 16;     // floats in a register
inline constexpr int vec_registers = 32; // registers a kernel may fill
#elif defined(__AVX__)
inline constexpr int vec_lanes = 8;
inline constexpr int vec_registers = 16;
#else
inline constexpr int vec_lanes = 4;
inline constexpr int vec_registers = 16;
#endif

typedef float Vec __attribute__((vector_size(vec_lanes * sizeof(float))));
typedef std::int32_t VecMask __attribute__((vector_size(vec_lanes * sizeof(float))));

[[gnu::always_inline]] inline Vec vec_load(const float *p) {
  Vec v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}

[[gnu::always_inline]] inline void vec_store(float *p, Vec v) { __builtin_memcpy(p, &v, sizeof v); }

[[gnu::always_inline]] inline Vec vec_broadcast(float x) { return x - Vec{}; }

// The first `count` lanes from memory, the others 0; reads nothing past p[count - 1].
inline Vec vec_load_first(const float *p, int count) {
  Vec v{};
  std::memcpy(&v, p, static_cast<std::size_t>(count) * sizeof(float));
  return v;
}

inline void vec_store_first(float *p, Vec v, int count) {
  std::memcpy(p, &v, static_cast<std::size_t>(count) * sizeof(float));
}

// a * b + c in every lane, rounded once.
[[gnu::always_inline]] inline Vec vec_fma(Vec a, Vec b, Vec c) {
#if defined(__clang__)
  return __builtin_elementwise_fma(a, b, c);
#elif defined(__AVX512F__)
  return __builtin_ia32_vfmaddps512_mask(a, b, c, -1, 4); // 4: the current rounding direction
#elif defined(__FMA__) && defined(__AVX__)
  return __builtin_ia32_vfmaddps256(a, b, c);
#else
  Vec r;
  for (int i = 0; i < vec_lanes; ++i)
    r[i] = __builtin_fmaf(a[i], b[i], c[i]);
  return r;
#endif
}

namespace detail {

// Exchanges, in rows r and r + D of a square, the lanes whose bit D differs from the row's: one of log2(lanes) steps
// of a transposition.
template <int D, int... Lane> struct Lanes {};
template <int D, int... L> [[gnu::always_inline]] inline void vec_exchange(Vec &low, Vec &high, Lanes<D, L...>) {
  const Vec a = low, b = high;
  low = __builtin_shufflevector(a, b, ((L & D) == 0 ? L : vec_lanes + L - D)...);
  high = __builtin_shufflevector(a, b, ((L & D) == 0 ? L + D : vec_lanes + L)...);
}

template <int D> [[gnu::always_inline]] inline void vec_transpose_steps(Vec *square) {
#if defined(__AVX512F__)
  using All = Lanes<D, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15>;
#elif defined(__AVX__)
  using All = Lanes<D, 0, 1, 2, 3, 4, 5, 6, 7>;
#else
  using All = Lanes<D, 0, 1, 2, 3>;
#endif
#pragma GCC unroll 16
  for (int r = 0; r < vec_lanes; ++r)
    if ((r & D) == 0)
      vec_exchange(square[r], square[r + D], All{});
  if constexpr (D > 1)
    vec_transpose_steps<D / 2>(square);
}

} // namespace detail

// square[r][l] <-> square[l][r], for vec_lanes vectors.
[[gnu::always_inline]] inline void vec_transpose(Vec *square) { detail::vec_transpose_steps<vec_lanes / 2>(square); }

} // namespace evt::tile
#endif
