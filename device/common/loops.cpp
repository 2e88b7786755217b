// Loops as generated code writes them. Each line that starts with LOOP( or CONVERT( holds one, and
// loops_vectorize.cmake checks that the compiler reports it as vectorized.
#include "device/common/math.h"
#include "device/common/types.h"

#define LOOP(name, expression)                                                                                         \
  void name(float *__restrict y, const float *__restrict s) {                                                          \
    for (int i = 0; i < 1000; ++i) {                                                                                   \
      const float x = s[i];                                                                                            \
      y[i] = expression;                                                                                               \
    }                                                                                                                  \
  }
#define CONVERT(name, To, From)                                                                                        \
  void name(To *__restrict y, const From *__restrict x) {                                                              \
    for (int i = 0; i < 1000; ++i)                                                                                     \
      y[i] = To(x[i]);                                                                                                 \
  }

LOOP(loop_exp, evt::exp(x))
LOOP(loop_exp2, evt::exp2(x))
LOOP(loop_log, evt::log(x))
LOOP(loop_log2, evt::log2(x))
LOOP(loop_sqrt, evt::sqrt(x))
LOOP(loop_rsqrt, evt::rsqrt(x))
LOOP(loop_tanh, evt::tanh(x))
LOOP(loop_erf, evt::erf(x))
LOOP(loop_sin, evt::sin(x))
LOOP(loop_cos, evt::cos(x))
LOOP(loop_abs, evt::abs(x))
LOOP(loop_floor, evt::floor(x))
LOOP(loop_ceil, evt::ceil(x))
LOOP(loop_powf, evt::powf(x, 2.5f))
LOOP(loop_sigmoid, 1.0f / (1.0f + evt::exp(-x)))
LOOP(loop_silu, x / (1.0f + evt::exp(-x)))
LOOP(loop_gelu, 0.5f * x * (1.0f + evt::erf(x * 0.70710678f)))
LOOP(loop_gelu_tanh, 0.5f * x * (1.0f + evt::tanh(0.79788456f * (x + 0.044715f * x * x * x))))
CONVERT(loop_to_bf16, evt::bf16, float)
CONVERT(loop_from_bf16, float, evt::bf16)
CONVERT(loop_to_f16, evt::f16, float)
CONVERT(loop_from_f16, float, evt::f16)
