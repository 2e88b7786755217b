// Reductions of one dimension of a tile, in an order that depends on the extent of that dimension only.
//
//   reduce<Op, Outer, R, Inner>(dst, src)    dst[o][i] = op(dst[o][i], src[o][0][i], …, src[o][R-1][i])
//
// A tile of any rank is seen as Outer x R x Inner around the reduced dimension. The order: L = 16 partial results,
// fewer when R < 16 (the largest power of two up to R). Partial l starts with row l and takes rows l + L, l + 2L, …;
// then the upper half is folded into the lower half until one is left, and that is combined into dst. For R = 6, L = 4:
//
//   p0 = r0 op r4   p1 = r1 op r5   p2 = r2   p3 = r3       ->   dst op ((p0 op p2) op (p1 op p3))
//
// So a sum's error grows with R/16 rather than with R, and the loop vectorizes even for Inner = 1 without any licence
// to reassociate.
#ifndef EVT_DEVICE_CPU_TILE_REDUCE_H
#define EVT_DEVICE_CPU_TILE_REDUCE_H

#include <cstdint>

namespace evt::tile {
namespace detail {

// Integer arithmetic wraps.
template <typename T> struct Wrapping { using type = T; };
template <> struct Wrapping<std::int32_t> { using type = std::uint32_t; };
template <> struct Wrapping<std::int64_t> { using type = std::uint64_t; };

} // namespace detail

struct Add {
  template <typename T> [[gnu::always_inline]] static T apply(T a, T b) {
    using U = typename detail::Wrapping<T>::type;
    return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
  }
};

struct Mul {
  template <typename T> [[gnu::always_inline]] static T apply(T a, T b) {
    using U = typename detail::Wrapping<T>::type;
    return static_cast<T>(static_cast<U>(a) * static_cast<U>(b));
  }
};

// Of floats as arith.maximumf and arith.minimumf: a NaN in either operand gives a NaN, and -0 is less than +0.
struct Max {
  template <typename T> [[gnu::always_inline]] static T apply(T a, T b) { return a > b ? a : b; }
  [[gnu::always_inline]] static float apply(float a, float b) {
    const float zeros =
        __builtin_bit_cast(float, __builtin_bit_cast(std::uint32_t, a) & __builtin_bit_cast(std::uint32_t, b));
    const float larger = a > b ? a : b; // b when either is a NaN
    const float ordered = a == b ? zeros : larger;
    return a != a ? a : ordered;
  }
};

struct Min {
  template <typename T> [[gnu::always_inline]] static T apply(T a, T b) { return a < b ? a : b; }
  [[gnu::always_inline]] static float apply(float a, float b) {
    const float zeros =
        __builtin_bit_cast(float, __builtin_bit_cast(std::uint32_t, a) | __builtin_bit_cast(std::uint32_t, b));
    const float smaller = a < b ? a : b;
    const float ordered = a == b ? zeros : smaller;
    return a != a ? a : ordered;
  }
};

namespace detail {

constexpr std::int64_t reduce_partials(std::int64_t r) {
  std::int64_t l = 16;
  while (l > r)
    l /= 2;
  return l;
}

// What a partial result is kept as: the elements themselves …
template <typename Op, typename T> struct Partial {
  [[gnu::always_inline]] static T enter(T x) { return x; }
  [[gnu::always_inline]] static T leave(T x) { return x; }
};

// … except for maxima and minima of floats. Those are several dependent instructions; the integers below have the
// order of the floats, with -0 under +0 and NaNs beyond the end that wins, and their maximum is one.
template <bool NanIsLargest> struct OrderedFloat {
  [[gnu::always_inline]] static std::int32_t enter(float x) {
    const std::uint32_t bits = __builtin_bit_cast(std::uint32_t, x);
    const std::uint32_t nan = NanIsLargest ? bits & 0x7fffffffu : bits | 0x80000000u;
    return flip(static_cast<std::int32_t>(x != x ? nan : bits));
  }
  [[gnu::always_inline]] static float leave(std::int32_t key) { return __builtin_bit_cast(float, flip(key)); }

private:
  // Negative floats grow downwards: turning their lower bits round makes them grow upwards, and back.
  [[gnu::always_inline]] static std::int32_t flip(std::int32_t bits) { return bits ^ ((bits >> 31) & 0x7fffffff); }
};
template <> struct Partial<Max, float> : OrderedFloat<true> {};
template <> struct Partial<Min, float> : OrderedFloat<false> {};

// `Columns` neighbouring columns of one outer index; rows are `Inner` elements apart. Partials are columns wide, and
// when the columns are the whole row, a step over L rows is one run of contiguous elements.
template <typename Op, std::int64_t R, std::int64_t Inner, std::int64_t Columns, typename T>
void reduce_columns(T *dst, const T *src) {
  constexpr std::int64_t L = reduce_partials(R), whole = R / L * L;
  using P = Partial<Op, T>;
  decltype(P::enter(T{})) partial[L * Columns];
  auto each = [](std::int64_t rows, auto &&step) {
    if constexpr (Columns == Inner) {
      for (std::int64_t i = 0; i < rows * Columns; ++i)
        step(i, i);
    } else {
      for (std::int64_t l = 0; l < rows; ++l)
        for (std::int64_t c = 0; c < Columns; ++c)
          step(l * Columns + c, l * Inner + c);
    }
  };
  each(L, [&](std::int64_t p, std::int64_t s) { partial[p] = P::enter(src[s]); });
  for (std::int64_t r = L; r < whole; r += L) {
    const T *rows = src + r * Inner;
    each(L, [&](std::int64_t p, std::int64_t s) { partial[p] = Op::apply(partial[p], P::enter(rows[s])); });
  }
  const T *rest = src + whole * Inner;
  each(R - whole, [&](std::int64_t p, std::int64_t s) { partial[p] = Op::apply(partial[p], P::enter(rest[s])); });
  for (std::int64_t half = L / 2; half > 0; half /= 2)
    for (std::int64_t i = 0; i < half * Columns; ++i)
      partial[i] = Op::apply(partial[i], partial[half * Columns + i]);
  for (std::int64_t c = 0; c < Columns; ++c)
    dst[c] = Op::apply(dst[c], P::leave(partial[c]));
}

} // namespace detail

template <typename Op, std::int64_t Outer, std::int64_t R, std::int64_t Inner, typename T>
void reduce(T *dst, const T *src) {
  static_assert(Outer > 0 && R > 0 && Inner > 0);
  constexpr std::int64_t columns = Inner < 16 ? Inner : 16, left = Inner % columns;
  for (std::int64_t o = 0; o < Outer; ++o, dst += Inner, src += R * Inner) {
    for (std::int64_t i = 0; i + columns <= Inner; i += columns)
      detail::reduce_columns<Op, R, Inner, columns>(dst + i, src + i);
    if constexpr (left > 0)
      detail::reduce_columns<Op, R, Inner, left>(dst + (Inner - left), src + (Inner - left));
  }
}

} // namespace evt::tile
#endif
