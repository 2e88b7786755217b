// Whether this machine can run a kernel that was compiled for given CPU features: asked before the kernel is loaded,
// since the answer afterwards would be an illegal instruction.
#ifndef EVT_RUNTIME_ARTIFACT_CPUFEATURES_H
#define EVT_RUNTIME_ARTIFACT_CPUFEATURES_H

#include <string_view>

namespace evt::runtime {

std::string_view hostArchitecture(); // "x86_64", "aarch64", or "unknown"

enum class Feature { present, absent, unknown };

// By GCC's name of the feature ("avx2", "fma", "avx512f", …). Unknown: this runtime has no test for that name.
Feature hostFeature(std::string_view name);

} // namespace evt::runtime

#endif
