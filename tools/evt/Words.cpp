#include "tools/evt/Words.h"

#include <fmt/format.h>

namespace evt::tool {

std::string joined(const std::vector<std::string> &parts, const std::string &separator) {
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i)
    text += (i ? separator : "") + parts[i];
  return text;
}

std::string counted(uint64_t count, const std::string &noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string duration(double seconds) {
  return seconds < 1 ? fmt::format("{:.3f} ms", seconds * 1e3) : fmt::format("{:.2f} s", seconds);
}

std::string shortNumber(double value) { return fmt::format("{:.3g}", value); }

} // namespace evt::tool
