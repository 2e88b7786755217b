// The name of an architecture that GPU code was compiled for, and which GPUs can run it.
//
//   sm_90     GPUs of compute capability 9.0 and later of the same major number: 9.0, 9.1, …
//   sm_90a    architecture-specific instructions: 9.0 and no other
//   sm_121    the last digit is the minor number: 12.1
#ifndef EVT_RUNTIME_ARTIFACT_GPUARCHITECTURE_H
#define EVT_RUNTIME_ARTIFACT_GPUARCHITECTURE_H

#include <optional>
#include <string>
#include <string_view>

namespace evt::runtime {

struct GpuArchitecture {
  std::string name;
  int major, minor;
  bool exact; // named with an 'a'

  // Nothing if it is not such a name.
  static std::optional<GpuArchitecture> parse(std::string_view name);

  // On a GPU of this compute capability.
  bool runsOn(int major, int minor) const;
};

} // namespace evt::runtime

#endif
