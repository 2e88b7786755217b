#include "device/common/math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace {

using Function = float (*)(float);
using Reference = double (*)(double);

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

float from_bits(std::uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}
std::uint32_t to_bits(float x) {
  std::uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}

// The distance between a float and the exact value, in spacings of floats around the exact value. Past the largest
// float the spacing goes on, so that infinity is the right answer from half a spacing beyond it.
double error_in_ulps(float got, double exact) {
  if (std::isnan(exact) || std::isnan(got))
    return std::isnan(exact) && std::isnan(got) ? 0.0 : inf;
  if (std::isinf(exact))
    return got == static_cast<float>(exact) ? 0.0 : inf;
  if (exact == 0.0)
    return got == 0.0f ? 0.0 : inf;
  const double spacing = std::ldexp(1.0, std::max(std::ilogb(exact), -126) - 23);
  if (std::isinf(got))
    return std::abs(exact) >= 0x1p128 - 0x1p103 ? 0.0 : inf;
  return std::abs(got - exact) / spacing;
}

// Every `stride`-th float from -NaN to +NaN, in all binades alike, plus a run of neighbours around each of `dense`.
std::vector<float> samples(std::uint32_t stride, const std::vector<float> &dense) {
  std::vector<float> xs;
  for (std::uint64_t bits = 0; bits < (1ull << 32); bits += stride)
    xs.push_back(from_bits(static_cast<std::uint32_t>(bits)));
  for (float center : dense)
    for (std::int64_t d = -20000; d <= 20000; ++d)
      xs.push_back(from_bits(static_cast<std::uint32_t>(static_cast<std::int64_t>(to_bits(center)) + d)));
  return xs;
}

template <float (*F)(float)> [[gnu::noinline]] void in_a_loop(float *y, const float *x, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i)
    y[i] = F(x[i]);
}
template <float (*F)(float)> [[gnu::noinline]] float alone(float x) { return F(x); }

// Bounds the error over the samples, and checks that a loop over many gives the bits of one call for one.
template <float (*F)(float)> void check(Reference reference, double bound, const std::vector<float> &dense) {
  const std::vector<float> xs = samples(1021, dense);
  std::vector<float> ys(xs.size());
  in_a_loop<F>(ys.data(), xs.data(), xs.size());
  double worst = -1.0;
  float worst_at = 0.0f;
  std::size_t differing = 0;
  for (std::size_t i = 0; i < xs.size(); ++i) {
    const double error = error_in_ulps(ys[i], reference(xs[i]));
    if (error > worst) {
      worst = error;
      worst_at = xs[i];
    }
    const float one = alone<F>(xs[i]);
    differing += std::isnan(one) ? !std::isnan(ys[i]) : to_bits(one) != to_bits(ys[i]);
  }
  EXPECT_LE(worst, bound) << "at " << worst_at;
  EXPECT_EQ(differing, 0u);
  ::testing::Test::RecordProperty("worst_ulps", std::to_string(worst));
  std::printf("  worst error %.3f ulp at %.9g\n", worst, worst_at);
}

TEST(Math, Exp) {
  check<evt::exp>([](double x) { return std::exp(x); }, 1.0, {0.0f, -0.0f, 1.0f, 88.72f, -87.33f, -103.97f, 0.34657f});
}
TEST(Math, Exp2) {
  check<evt::exp2>([](double x) { return std::exp2(x); }, 1.0, {0.5f, -0.5f, 127.99f, -126.0f, -149.5f, 1.5f});
}
TEST(Math, Log) {
  check<evt::log>([](double x) { return std::log(x); }, 1.0, {1.0f, 0.6666667f, 1.3333334f, 2.0f, 1e-40f, 3e38f});
}
TEST(Math, Log2) {
  check<evt::log2>([](double x) { return std::log2(x); }, 1.25, {1.0f, 0.6666667f, 1.3333334f, 2.0f, 0.5f, 1e-40f});
}
TEST(Math, Tanh) {
  check<evt::tanh>([](double x) { return std::tanh(x); }, 1.5, {0.0f, 0.17f, 0.625f, 0.55f, 1.0f, 9.01f, -0.3f});
}
TEST(Math, Erf) {
  check<evt::erf>([](double x) { return std::erf(x); }, 1.0, {0.0f, 0.5f, 1.0f, -1.0f, 2.0f, 3.9f});
}
TEST(Math, Sin) {
  check<evt::sin>(
      [](double x) { return std::sin(x); }, 0.6,
      {0.0f, 0.785f, 3.1415927f, -3.1415927f, 6.2831855f, 1e5f, 0x1p48f, 0x1p70f, 0x1p92f, 0x1p114f, 3e38f});
}
TEST(Math, Cos) {
  check<evt::cos>([](double x) { return std::cos(x); }, 0.6,
                  {0.0f, 0.785f, 1.5707964f, -1.5707964f, 1e5f, 0x1p48f, 0x1p70f, 0x1p92f, 0x1p114f, 3e38f});
}
TEST(Math, Sqrt) {
  check<evt::sqrt>([](double x) { return std::sqrt(x); }, 0.5, {1.0f, 2.0f, 1e-40f});
}
TEST(Math, Rsqrt) {
  check<evt::rsqrt>([](double x) { return 1.0 / std::sqrt(x); }, 1.5, {1.0f, 2.0f, 1e-40f});
}
TEST(Math, Abs) {
  check<evt::abs>([](double x) { return std::fabs(x); }, 0.0, {1.0f});
}
TEST(Math, Floor) {
  check<evt::floor>([](double x) { return std::floor(x); }, 0.0, {1.0f, -1.0f, 8388608.0f});
}
TEST(Math, Ceil) {
  check<evt::ceil>([](double x) { return std::ceil(x); }, 0.0, {1.0f, -1.0f, 8388608.0f});
}

// A float's own multiples of pi/2 worst for a reduction: the sine of these is about 2^-30 away from 0.
TEST(Math, SinOfFloatsNearestToMultiplesOfHalfPi) {
  for (float x : {16367173.0f * 0x1p72f, 13127982.0f, 10741887.0f, 0x1.47d0fep34f, 0x1.f9cbep7f}) {
    EXPECT_LE(error_in_ulps(evt::sin(x), std::sin(static_cast<double>(x))), 0.6) << x;
    EXPECT_LE(error_in_ulps(evt::cos(x), std::cos(static_cast<double>(x))), 0.6) << x;
  }
}

struct Special {
  const char *name;
  Function function;
  float x, y;
};

TEST(Math, Specials) {
  const Special specials[] = {
      {"exp", evt::exp, inf, inf},          {"exp", evt::exp, -inf, 0.0f},        {"exp", evt::exp, -0.0f, 1.0f},
      {"exp2", evt::exp2, inf, inf},        {"exp2", evt::exp2, -inf, 0.0f},      {"exp2", evt::exp2, 3.0f, 8.0f},
      {"exp2", evt::exp2, -149.0f, 1e-45f}, {"exp2", evt::exp2, 128.0f, inf},     {"exp", evt::exp, 89.0f, inf},
      {"log", evt::log, 0.0f, -inf},        {"log", evt::log, -0.0f, -inf},       {"log", evt::log, inf, inf},
      {"log", evt::log, -1.0f, nan},        {"log", evt::log, -inf, nan},         {"log", evt::log, 1.0f, 0.0f},
      {"log2", evt::log2, 0.0f, -inf},      {"log2", evt::log2, inf, inf},        {"log2", evt::log2, -1.0f, nan},
      {"log2", evt::log2, 8.0f, 3.0f},      {"log2", evt::log2, 1e-45f, -149.0f}, {"tanh", evt::tanh, inf, 1.0f},
      {"tanh", evt::tanh, -inf, -1.0f},     {"tanh", evt::tanh, -0.0f, -0.0f},    {"tanh", evt::tanh, 1e-45f, 1e-45f},
      {"erf", evt::erf, inf, 1.0f},         {"erf", evt::erf, -inf, -1.0f},       {"erf", evt::erf, -0.0f, -0.0f},
      {"sin", evt::sin, inf, nan},          {"sin", evt::sin, -inf, nan},         {"sin", evt::sin, -0.0f, -0.0f},
      {"sin", evt::sin, 1e-45f, 1e-45f},    {"cos", evt::cos, inf, nan},          {"cos", evt::cos, 0.0f, 1.0f},
      {"sqrt", evt::sqrt, -0.0f, -0.0f},    {"sqrt", evt::sqrt, -1.0f, nan},      {"sqrt", evt::sqrt, inf, inf},
      {"rsqrt", evt::rsqrt, inf, 0.0f},     {"rsqrt", evt::rsqrt, 0.0f, inf},     {"rsqrt", evt::rsqrt, -0.0f, -inf},
      {"rsqrt", evt::rsqrt, -1.0f, nan},    {"abs", evt::abs, -0.0f, 0.0f},       {"floor", evt::floor, -0.5f, -1.0f},
      {"floor", evt::floor, -0.0f, -0.0f},  {"ceil", evt::ceil, -0.5f, -0.0f},
  };
  for (const Special &s : specials) {
    const float y = s.function(s.x);
    if (std::isnan(s.y))
      EXPECT_TRUE(std::isnan(y)) << s.name << "(" << s.x << ") = " << y;
    else
      EXPECT_EQ(to_bits(y), to_bits(s.y)) << s.name << "(" << s.x << ") = " << y << ", not " << s.y;
  }
  for (Function f :
       {Function{evt::exp}, Function{evt::exp2}, Function{evt::log}, Function{evt::log2}, Function{evt::tanh},
        Function{evt::erf}, Function{evt::sin}, Function{evt::cos}, Function{evt::sqrt}, Function{evt::rsqrt}}) {
    EXPECT_TRUE(std::isnan(f(nan)));
    EXPECT_TRUE(std::isnan(f(-nan)));
  }
}

[[gnu::noinline]] void pow_loop(float *z, const float *x, const float *y, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i)
    z[i] = evt::powf(x[i], y[i]);
}

TEST(Math, Pow) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> exponent(-40.0f, 40.0f), mantissa(0.5f, 2.0f), any(-4.0f, 4.0f);
  std::vector<float> xs, ys;
  for (int i = 0; i < 400000; ++i) {
    xs.push_back(mantissa(random));
    ys.push_back(exponent(random));
    xs.push_back(from_bits(static_cast<std::uint32_t>(random())));
    ys.push_back(any(random));
    xs.push_back(any(random));
    ys.push_back(std::round(exponent(random)));
    xs.push_back(from_bits(static_cast<std::uint32_t>(random())));
    ys.push_back(from_bits(static_cast<std::uint32_t>(random())));
    xs.push_back(1.0f + 1e-4f * any(random)); // results spread over the whole range only through huge exponents
    ys.push_back(1e5f * any(random));
  }
  const float specials[] = {0.0f,        -0.0f,      1.0f,       -1.0f,       2.0f,        -2.0f, 0.5f,
                            -0.5f,       3.0f,       -3.0f,      1.5f,        -1.5f,       inf,   -inf,
                            nan,         1e-45f,     -1e-45f,    16777217.0f, 16777216.0f, 1e38f, -1e38f,
                            0.99999994f, 1.0000001f, 8388607.5f, -8388607.0f};
  for (float x : specials)
    for (float y : specials) {
      xs.push_back(x);
      ys.push_back(y);
    }
  std::vector<float> zs(xs.size());
  pow_loop(zs.data(), xs.data(), ys.data(), xs.size());
  double worst = 0.0;
  for (std::size_t i = 0; i < xs.size(); ++i) {
    const double exact = std::pow(static_cast<double>(xs[i]), static_cast<double>(ys[i]));
    const float rounded = static_cast<float>(exact);
    if (rounded == 0.0f || std::isinf(rounded) || std::isnan(rounded)) { // the sign counts
      ASSERT_TRUE(std::isnan(rounded) ? std::isnan(zs[i]) : to_bits(rounded) == to_bits(zs[i]))
          << "pow(" << xs[i] << ", " << ys[i] << ") = " << zs[i] << ", not " << rounded;
      continue;
    }
    const double error = error_in_ulps(zs[i], exact);
    worst = std::max(worst, error);
    ASSERT_LE(error, 0.6) << "pow(" << xs[i] << ", " << ys[i] << ") = " << zs[i] << ", not " << exact;
  }
  std::printf("  worst error %.3f ulp\n", worst);
}

} // namespace
