// The C++ compiler that turns emitted source into a CPU kernel.
#pragma once

#include <string>
#include <vector>

namespace evt::pipeline {

struct HostCompiler {
  std::string program = "c++";
  std::string march = "native";
  std::string includeRoot;             // the folder that holds device/
  std::vector<std::string> extraFlags; // e.g. -fsanitize=thread

  /// Compiles `source` to the shared object `output`. Returns what went wrong, or an empty string.
  std::string compile(const std::string &source, const std::string &output) const;
  /// The CPU features the code may use, by GCC's names.
  std::vector<std::string> features() const;
};

/// Where the device headers are: beside the source tree this tool was built from, or in the installation it is part of.
std::string findDeviceHeaders(const char *argv0);

} // namespace evt::pipeline
