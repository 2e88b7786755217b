// Many kernels in one shared object.
//
// Starting the C++ compiler and reading the device headers costs more than compiling one small kernel, so the fuzzer
// compiles some dozens at once. Each kernel still has an artifact of its own: a directory with its manifest, whose
// `entry` names the kernel's entry points, and a link to the shared object.
#pragma once

#include <string>
#include <vector>

namespace evt::fuzz {

struct Kernel {
  std::string entry;
  std::string source;
  std::string manifest; // as the compiler emitted it
};

/// Compiles the kernels with `optimization` (-O0, -O1) and writes the artifact of each to `folder`/<entry>. Throws
/// std::runtime_error with the host compiler's messages.
void compileBatch(const std::vector<Kernel> &kernels, const std::string &folder, const std::string &name,
                  const std::string &optimization);

} // namespace evt::fuzz
