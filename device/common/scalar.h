// Scalar arithmetic with the meaning of the IR, where C++'s own differs: division towards minus infinity, maxima that
// propagate NaN. The macros serve loops that the compiler's integer-set library prints.
#pragma once

#include "device/common/qualifiers.h"

#include <cstdint>

namespace evt {

#if !defined(__CUDACC__)
/// Who is told that a task divides an integer by 0, which the processor would end the process for: the worker.
struct DivisionWatch {
  void *user = nullptr;
  void (*report)(void *user) = nullptr;
};
inline thread_local DivisionWatch division_watch;

[[gnu::cold, gnu::noinline]] inline void report_division() {
  if (division_watch.report)
    division_watch.report(division_watch.user);
}
#endif

/// What to divide by: 1 instead of 0, after a report. A GPU divides by 0 without a trap, and reports nothing.
template <class T> EVT_DEVICE inline T divisor(T b) {
#if !defined(__CUDACC__)
  if (b == 0) [[unlikely]] {
    report_division();
    return 1;
  }
#endif
  return b;
}

/// arith.divsi and remsi, divui and remui. The smallest number divided by -1 does not fit, and is itself.
template <class T> EVT_DEVICE inline T quotient(T a, T b) {
  b = divisor(b);
  return T(-1) < T(0) && b == T(-1) ? T(std::uint64_t(0) - std::uint64_t(a)) : T(a / b);
}
template <class T> EVT_DEVICE inline T remainder(T a, T b) {
  b = divisor(b);
  return T(-1) < T(0) && b == T(-1) ? T(0) : T(a % b);
}

EVT_DEVICE inline std::int64_t floordiv(std::int64_t a, std::int64_t b) {
  b = divisor(b);
  return a / b - ((a % b != 0) && ((a < 0) != (b < 0)));
}
EVT_DEVICE inline std::int64_t ceildiv(std::int64_t a, std::int64_t b) {
  b = divisor(b);
  return a / b + ((a % b != 0) && ((a < 0) == (b < 0)));
}
EVT_DEVICE inline std::int64_t mod(std::int64_t a, std::int64_t b) { return a - floordiv(a, b) * b; }
EVT_DEVICE inline std::int64_t least(std::int64_t a, std::int64_t b) { return a < b ? a : b; }
EVT_DEVICE inline std::int64_t most(std::int64_t a, std::int64_t b) { return a > b ? a : b; }

/// arith.maximumf and minimumf: NaN if either is, and -0 is below +0. Equal operands differ at most in the sign of
/// zero, so combining their bits picks the right zero without a branch.
EVT_DEVICE inline float maximum(float a, float b) {
  float equal = __builtin_bit_cast(float, __builtin_bit_cast(std::uint32_t, a) & __builtin_bit_cast(std::uint32_t, b));
  return a != a ? a : (b != b ? b : (a == b ? equal : (a > b ? a : b)));
}
EVT_DEVICE inline float minimum(float a, float b) {
  float equal = __builtin_bit_cast(float, __builtin_bit_cast(std::uint32_t, a) | __builtin_bit_cast(std::uint32_t, b));
  return a != a ? a : (b != b ? b : (a == b ? equal : (a < b ? a : b)));
}
/// arith.maxnumf: the other operand where one is NaN.
EVT_DEVICE inline float maxnum(float a, float b) { return a != a ? b : (b != b ? a : (a > b ? a : b)); }
EVT_DEVICE inline float minnum(float a, float b) { return a != a ? b : (b != b ? a : (a < b ? a : b)); }

} // namespace evt
