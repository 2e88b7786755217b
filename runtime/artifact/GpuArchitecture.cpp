#include "runtime/artifact/GpuArchitecture.h"

#include <charconv>

namespace evt::runtime {

std::optional<GpuArchitecture> GpuArchitecture::parse(std::string_view name) {
  constexpr std::string_view prefix = "sm_";
  if (!name.starts_with(prefix))
    return std::nullopt;
  std::string_view digits = name.substr(prefix.size());
  bool exact = digits.ends_with('a');
  if (exact)
    digits.remove_suffix(1);
  if (digits.size() < 2 || digits.size() > 4 || digits.front() == '0' ||
      digits.find_first_not_of("0123456789") != std::string_view::npos)
    return std::nullopt;
  int number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return GpuArchitecture{std::string(name), number / 10, number % 10, exact};
}

bool GpuArchitecture::runsOn(int gpuMajor, int gpuMinor) const {
  return gpuMajor == major && (exact ? gpuMinor == minor : gpuMinor >= minor);
}

} // namespace evt::runtime
