#include "runtime/artifact/CpuFeatures.h"

namespace evt::runtime {

std::string_view hostArchitecture() {
#if defined(__x86_64__)
  return "x86_64";
#elif defined(__aarch64__)
  return "aarch64";
#else
  return "unknown";
#endif
}

Feature hostFeature(std::string_view name) {
#if defined(__x86_64__)
// The compiler's builtin takes a literal, so each name is spelled out.
#define EVT_FEATURE(literal)                                                                                           \
  if (name == literal)                                                                                                 \
    return __builtin_cpu_supports(literal) ? Feature::present : Feature::absent;
  EVT_FEATURE("sse")
  EVT_FEATURE("sse2")
  EVT_FEATURE("sse3")
  EVT_FEATURE("ssse3")
  EVT_FEATURE("sse4.1")
  EVT_FEATURE("sse4.2")
  EVT_FEATURE("popcnt")
  EVT_FEATURE("avx")
  EVT_FEATURE("avx2")
  EVT_FEATURE("fma")
  EVT_FEATURE("f16c")
  EVT_FEATURE("bmi")
  EVT_FEATURE("bmi2")
  EVT_FEATURE("avx512f")
  EVT_FEATURE("avx512vl")
  EVT_FEATURE("avx512bw")
  EVT_FEATURE("avx512dq")
  EVT_FEATURE("avx512cd")
  EVT_FEATURE("avx512vnni")
  EVT_FEATURE("avx512bf16")
  EVT_FEATURE("avx512vbmi")
  EVT_FEATURE("avx512vbmi2")
  EVT_FEATURE("avx512ifma")
  EVT_FEATURE("avx512bitalg")
  EVT_FEATURE("avx512vpopcntdq")
#undef EVT_FEATURE
#endif
  (void)name;
  return Feature::unknown;
}

} // namespace evt::runtime
