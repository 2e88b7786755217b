// Elementary functions of floats, for generated code.
//
// Written as straight-line code without branches, tables or calls, so that a loop over a tile that calls them becomes
// vector code, and so that an element's value is the same in the loop's vector body, in its scalar tail and in any
// other loop: libm promises neither. Fused multiply-adds are explicit (`fma`); nothing here depends on the compiler
// being allowed to reassociate or to contract.
//
// Arguments are all floats: infinities, NaNs, subnormals and signed zeros get the results of C's Annex F. Errors, in
// units in the last place, over all of the argument's range (math_test.cpp bounds them by these numbers):
//
//   exp 1   exp2 1   log 1   log2 1.25   tanh 1.5   erf 1   sin 0.6   cos 0.6   powf 0.6   sqrt 0.5   rsqrt 1.5
//
// Compile with -fno-math-errno -fno-trapping-math: no value changes, but without them the compiler keeps branches for
// the sake of errno and of exception flags nobody reads, and sqrt, log, sin and others stay scalar.
//
// Polynomials are minimax fits, their coefficients rounded to float one after the other with the rest fitted again.
#ifndef EVT_DEVICE_COMMON_MATH_H
#define EVT_DEVICE_COMMON_MATH_H

#include <cstdint>

namespace evt {
namespace detail {

#if defined(__CUDACC__)
#define EVT_MATH __device__ __forceinline__
#else
#define EVT_MATH [[gnu::always_inline]] inline
#endif

EVT_MATH std::int32_t as_int(float x) { return __builtin_bit_cast(std::int32_t, x); }
EVT_MATH std::uint32_t as_uint(float x) { return __builtin_bit_cast(std::uint32_t, x); }
EVT_MATH float as_float(std::uint32_t bits) { return __builtin_bit_cast(float, bits); }
EVT_MATH std::uint64_t as_uint(double x) { return __builtin_bit_cast(std::uint64_t, x); }
EVT_MATH double as_double(std::uint64_t bits) { return __builtin_bit_cast(double, bits); }
EVT_MATH double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }

inline constexpr float infinity = __builtin_huge_valf();
inline constexpr float not_a_number = __builtin_nanf("");

// Adding this to |x| < 2^22 rounds x to an integer, which then stands in the low bits of the sum; subtracting it
// gives the integer as a float. The same in double, for |x| < 2^51.
inline constexpr float rounder = 0x1.8p23f;
inline constexpr double rounder_double = 0x1.8p52;

EVT_MATH float with_sign_of(float magnitude, float sign) {
  return as_float((as_uint(magnitude) & 0x7fffffffu) | (as_uint(sign) & 0x80000000u));
}

} // namespace detail

EVT_MATH float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
EVT_MATH float abs(float x) { return __builtin_fabsf(x); }
EVT_MATH float floor(float x) { return __builtin_floorf(x); }
EVT_MATH float ceil(float x) { return __builtin_ceilf(x); }

EVT_MATH float sqrt(float x) { return __builtin_sqrtf(x); }
EVT_MATH float rsqrt(float x) { return 1.0f / evt::sqrt(x); }
EVT_MATH float exp(float x);
EVT_MATH float exp2(float x);

// Near the result, in as few instructions as the machine has: for weights of a softmax, roots of norms, and programs
// that ask for it (fastmath<afn> and <arcp>). On CUDA within 2^-21 of it, exp within (|x| + 4) 2^-23, by what the PTX
// manual says of its instructions; subnormals are 0, and so is what is divided by more than 2^126. Elsewhere they are
// the functions above.
#if defined(__CUDACC__)
EVT_MATH float exp2_near(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
EVT_MATH float exp_near(float x) { return evt::exp2_near(x * 1.44269504f); }
EVT_MATH float rsqrt_near(float x) {
  float y;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
EVT_MATH float divide_near(float x, float y) {
  float reciprocal;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(reciprocal) : "f"(y));
  return x * reciprocal;
}
#else
EVT_MATH float exp2_near(float x) { return evt::exp2(x); }
EVT_MATH float exp_near(float x) { return evt::exp(x); }
EVT_MATH float rsqrt_near(float x) { return evt::rsqrt(x); }
EVT_MATH float divide_near(float x, float y) { return x / y; }
#endif

namespace detail {

// p * 2^n for p near 1 and -150 <= n <= 128, n as the low bits of rounder + n. In two factors, since 2^n itself may
// be out of range; the first product is exact, so that a subnormal result is rounded once.
EVT_MATH float scale(float p, float rounded) {
  const std::int32_t n = as_int(rounded) - as_int(rounder), half = n >> 1;
  return p * as_float(static_cast<std::uint32_t>(half + 127) << 23) *
         as_float(static_cast<std::uint32_t>(n - half + 127) << 23);
}

inline constexpr float ln2_high = 0x1.62e43p-1f, ln2_low = -0x1.05c61p-29f;
inline constexpr float log2e_high = 0x1.715476p0f, log2e_low = 0x1.4ae0cp-26f;

} // namespace detail

// exp(x) = 2^n exp(r), n = round(x / ln 2), |r| <= ln 2 / 2.
EVT_MATH float exp(float x) {
  using namespace detail;
  x = x < -104.0f ? -104.0f : x; // rounds to 0 from -103.98 down, to infinity from 88.73 up
  x = x > 89.0f ? 89.0f : x;
  const float rounded = evt::fma(x, log2e_high, rounder), n = rounded - rounder;
  const float r = evt::fma(n, -ln2_low, evt::fma(n, -ln2_high, x));
  float p = 0x1.6a4b98p-10f;
  p = evt::fma(p, r, 0x1.123e5cp-7f);
  p = evt::fma(p, r, 0x1.5558bap-5f);
  p = evt::fma(p, r, 0x1.55548cp-3f);
  p = evt::fma(p, r, 0x1.fffffcp-2f);
  p = evt::fma(p, r * r, r) + 1.0f;
  return scale(p, rounded);
}

// 2^x = 2^n 2^r, n = round(x), |r| <= 1/2.
EVT_MATH float exp2(float x) {
  using namespace detail;
  x = x < -151.0f ? -151.0f : x;
  x = x > 128.0f ? 128.0f : x;
  const float rounded = x + rounder, r = x - (rounded - rounder);
  float p = 0x1.417a0ep-13f;
  p = evt::fma(p, r, 0x1.5f0f72p-10f);
  p = evt::fma(p, r, 0x1.3b2ddap-7f);
  p = evt::fma(p, r, 0x1.c6af72p-5f);
  p = evt::fma(p, r, 0x1.ebfbdcp-3f);
  p = evt::fma(p, r, 0x1.62e43p-1f);
  p = evt::fma(p, r, 1.0f);
  return scale(p, rounded);
}

namespace detail {

// x = 2^e (1 + f) with 2/3 <= 1 + f < 4/3, and log(1 + f) = f + rest; for positive finite x, subnormals included.
struct LogParts {
  float e, f, rest;
};
EVT_MATH LogParts log_parts(float x) {
  const bool subnormal = x < 0x1p-126f;
  const float scaled = x * 0x1p23f, normal = subnormal ? scaled : x;
  const std::uint32_t from = as_uint(normal) - as_uint(0x1.555556p-1f); // 2/3
  const std::int32_t exponent = static_cast<std::int32_t>(from) >> 23;
  LogParts parts;
  parts.f = as_float(as_uint(normal) - (static_cast<std::uint32_t>(exponent) << 23)) - 1.0f;
  parts.e = static_cast<float>(exponent) + (subnormal ? -23.0f : 0.0f);
  const float f = parts.f;
  float p = -0x1.07c878p-3f;
  p = evt::fma(p, f, 0x1.1e678cp-3f);
  p = evt::fma(p, f, -0x1.f332fep-4f);
  p = evt::fma(p, f, 0x1.1ed662p-3f);
  p = evt::fma(p, f, -0x1.559c44p-3f);
  p = evt::fma(p, f, 0x1.99d044p-3f);
  p = evt::fma(p, f, -0x1.fffefcp-3f);
  p = evt::fma(p, f, 0x1.555506p-2f);
  parts.rest = evt::fma(p, f, -0.5f) * (f * f);
  return parts;
}

// What log and log2 are at 0, below 0, at infinity and at a NaN; `value` elsewhere.
EVT_MATH float log_special(float x, float value) {
  const float large = x < infinity ? value : x; // infinity and NaN: themselves
  const float zero = x == 0.0f ? -infinity : large;
  return x < 0.0f ? not_a_number : zero;
}

} // namespace detail

EVT_MATH float log(float x) {
  using namespace detail;
  const LogParts parts = log_parts(x);
  const float low = evt::fma(parts.e, ln2_low, parts.rest) + parts.f;
  return log_special(x, evt::fma(parts.e, ln2_high, low));
}

EVT_MATH float log2(float x) {
  using namespace detail;
  const LogParts parts = log_parts(x);
  const float high = parts.f * log2e_high; // f log2(e) = high + low
  const float low = evt::fma(parts.f, log2e_low, evt::fma(parts.f, log2e_high, -high));
  const float sum = parts.e + high, lost = (parts.e - sum) + high; // |e| >= |high|, or e = 0
  return log_special(x, sum + (lost + evt::fma(parts.rest, log2e_high, low)));
}

// An odd polynomial below 0.625; above, 1 - 2 / (exp(2|x|) + 1).
EVT_MATH float tanh(float x) {
  using namespace detail;
  const float s = x * x;
  float near = -0x1.767a14p-8f;
  near = evt::fma(near, s, 0x1.524c4p-6f);
  near = evt::fma(near, s, -0x1.b842c4p-5f);
  near = evt::fma(near, s, 0x1.11075ep-3f);
  near = evt::fma(near, s, -0x1.555534p-2f);
  near = evt::fma(near * s, x, x);
  float a = abs(x);
  const bool is_near = a < 0.625f;
  a = a > 10.0f ? 10.0f : a; // rounds to 1 from 9.02 up
  const float far = 1.0f - 2.0f / (evt::exp(a + a) + 1.0f);
  return with_sign_of(is_near ? near : far, x);
}

// An odd polynomial below 1; above, 1 - exp(polynomial), which fits log(erfc) with room to spare.
EVT_MATH float erf(float x) {
  using namespace detail;
  const float s = x * x;
  float near = 0x1.4771fcp-14f;
  near = evt::fma(near, s, -0x1.a3515ep-11f);
  near = evt::fma(near, s, 0x1.53f224p-8f);
  near = evt::fma(near, s, -0x1.b7f71ap-6f);
  near = evt::fma(near, s, 0x1.ce2ce6p-4f);
  near = evt::fma(near, s, -0x1.81273ep-2f);
  near = evt::fma(near, s, 0x1.06eba8p-3f);
  near = evt::fma(near, x, x);
  float a = abs(x);
  const bool is_near = a < 1.0f;
  a = a > 4.0f ? 4.0f : a; // rounds to 1 from 3.92 up
  float far = 0x1.86dddcp-13f;
  far = evt::fma(far, a, -0x1.825ab2p-9f);
  far = evt::fma(far, a, 0x1.65cb36p-6f);
  far = evt::fma(far, a, -0x1.a6531ep-4f);
  far = evt::fma(far, a, -0x1.46bafp-1f);
  far = evt::fma(far, a, -0x1.2088eap0f);
  far = evt::fma(far, a, -0x1.661ce4p-12f);
  far = with_sign_of(1.0f - evt::exp(far), x);
  return is_near ? near : far;
}

namespace detail {

// x reduced to a quadrant: x = quadrant * pi/2 + r (mod 2 pi), |r| <= pi/4, in double.
//
// Up to 2^48 that is x - n pi/2 with pi/2 in two doubles. Above, x is a multiple of 2^25 (a float has 24 bits), and
// x = (x 2^-k) 2^k = (x 2^-k) (2^k mod 2 pi): a shorter number with the same sine. One k per 22 binades.
struct Quadrant {
  double r;
  std::uint64_t n;
};
EVT_MATH Quadrant quadrant(float x) {
  const double a = __builtin_fabsf(x);
  double step = 1.0, high = 1.0, low = 0.0;
  step = a >= 0x1p48 ? 0x1p-25 : step;
  high = a >= 0x1p48 ? -0x1.c9b6498c1137fp0 : high;
  low = a >= 0x1p48 ? -0x1.2643605c762f1p-57 : low;
  step = a >= 0x1p70 ? 0x1p-47 : step;
  high = a >= 0x1p70 ? -0x1.89d0120259a97p1 : high;
  low = a >= 0x1p70 ? -0x1.6cc942274dc45p-54 : low;
  step = a >= 0x1p92 ? 0x1p-69 : step;
  high = a >= 0x1p92 ? -0x1.82ac8377ff216p-1 : high;
  low = a >= 0x1p92 ? 0x1.17955574142a1p-56 : low;
  step = a >= 0x1p114 ? 0x1p-91 : step;
  high = a >= 0x1p114 ? -0x1.214a9b91233b2p1 : high;
  low = a >= 0x1p114 ? 0x1.45f5262caae07p-54 : low;
  const double q = static_cast<double>(x) * step, y = q * high;
  const double y_low = detail::fma(q, low, detail::fma(q, high, -y));
  const double rounded = detail::fma(y, 0x1.45f306dc9c883p-1, rounder_double), n = rounded - rounder_double;
  const double r = detail::fma(n, -0x1.921fb54442d18p0, y) + detail::fma(n, -0x1.1a62633145c07p-54, y_low);
  return {r, as_uint(rounded)};
}

EVT_MATH double sin_near_0(double r) {
  const double s = r * r;
  double p = 1.0 / 362880;
  p = detail::fma(p, s, -1.0 / 5040);
  p = detail::fma(p, s, 1.0 / 120);
  p = detail::fma(p, s, -1.0 / 6);
  return detail::fma(p, s * r, r);
}
EVT_MATH double cos_near_0(double r) {
  const double s = r * r;
  double p = -1.0 / 3628800;
  p = detail::fma(p, s, 1.0 / 40320);
  p = detail::fma(p, s, -1.0 / 720);
  p = detail::fma(p, s, 1.0 / 24);
  p = detail::fma(p, s, -0.5);
  return detail::fma(p, s, 1.0);
}

// sin(r + n pi/2)
EVT_MATH float sin_in_quadrant(double r, std::uint64_t n) {
  const double s = sin_near_0(r), c = cos_near_0(r);
  const std::uint64_t odd = 0 - (n & 1), sign = (n & 2) << 62;
  return static_cast<float>(as_double(((as_uint(s) & ~odd) | (as_uint(c) & odd)) ^ sign));
}

} // namespace detail

EVT_MATH float sin(float x) {
  const detail::Quadrant q = detail::quadrant(x);
  const float y = detail::sin_in_quadrant(q.r, q.n);
  return x == 0.0f ? x : y;
}

EVT_MATH float cos(float x) {
  const detail::Quadrant q = detail::quadrant(x);
  return detail::sin_in_quadrant(q.r, q.n + 1);
}

// x^y = 2^(y log2 |x|) in double, then the special cases of C's pow.
EVT_MATH float powf(float x, float y) {
  using namespace detail;
  const float magnitude = abs(x);
  // log2: |x| = 2^e m with sqrt(1/2) <= m < sqrt(2), log m = 2 atanh(s).
  const std::uint64_t bits = as_uint(static_cast<double>(magnitude));
  const std::uint64_t from = bits - as_uint(0x1.6a09e667f3bcdp-1);
  const double m = as_double(bits - (from & 0xfff0000000000000u));
  const std::uint64_t biased = (from + (std::uint64_t{1023} << 52)) >> 52;
  const double e = as_double(0x4330000000000000u | biased) - (0x1p52 + 1023.0);
  const double s = (m - 1.0) / (m + 1.0), s2 = s * s;
  double p = 1.0 / 15;
  p = detail::fma(p, s2, 1.0 / 13);
  p = detail::fma(p, s2, 1.0 / 11);
  p = detail::fma(p, s2, 1.0 / 9);
  p = detail::fma(p, s2, 1.0 / 7);
  p = detail::fma(p, s2, 1.0 / 5);
  p = detail::fma(p, s2, 1.0 / 3);
  p = detail::fma(p, s2, 1.0);
  const double finite = detail::fma(s * p, 0x1.71547652b82fep1, e);
  const double bounded = magnitude < infinity ? finite : __builtin_huge_val();
  const double log2x = magnitude == 0.0f ? -__builtin_huge_val() : bounded;
  // 2^t, its own exponent added to that of the polynomial.
  double t = magnitude == 1.0f ? 0.0 : y * log2x;
  t = t < -200.0 ? -200.0 : t;
  t = t > 200.0 ? 200.0 : t;
  const double rounded = t + rounder_double, r = t - (rounded - rounder_double);
  double g = 0x1.62c0223a5c822p-20;
  g = detail::fma(g, r, 0x1.ffcbfc588b0c5p-17);
  g = detail::fma(g, r, 0x1.430912f86c786p-13);
  g = detail::fma(g, r, 0x1.5d87fe78a673p-10);
  g = detail::fma(g, r, 0x1.3b2ab6fba4e77p-7);
  g = detail::fma(g, r, 0x1.c6b08d704a0bfp-5);
  g = detail::fma(g, r, 0x1.ebfbdff82c58ep-3);
  g = detail::fma(g, r, 0x1.62e42fefa39efp-1);
  g = detail::fma(g, r, 1.0);
  const float power = static_cast<float>(as_double(as_uint(g) + (as_uint(rounded) << 52)));

  const float half = y * 0.5f;
  const bool whole = floor(y) == y, even = floor(half) == half;
  const std::uint32_t sign = as_uint(x) & 0x80000000u, sign_if_odd = whole & !even ? sign : 0u;
  const float is_signed = as_float(as_uint(power) | sign_if_odd);
  const float real = (x < 0.0f) & !whole & (magnitude < infinity) ? not_a_number : is_signed;
  const float ordered = (x != x) | (y != y) ? not_a_number : real;
  return (y == 0.0f) | (x == 1.0f) ? 1.0f : ordered;
}

#undef EVT_MATH

} // namespace evt
#endif
