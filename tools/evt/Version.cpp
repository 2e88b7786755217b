#include "tools/evt/Version.h"

#include "device/common/abi.h"
#include "evt/evt.h"
#include "runtime/artifact/Manifest.h"
#include "runtime/cuda/Gpu.h"
#include "tools/evt/Frontend.h"

#include <iostream>

namespace evt::tool {

void addVersion(Commands &commands) {
  commands.add("version", "print the versions of the tool and its formats",
               "Prints the version of the tool, of the formats and interfaces it reads and writes, and of the compiler "
               "inside it, and the GPU that artifacts of the target cuda would run on.",
               {"evt version", "evt --version"}, [] {
                 std::string compiler = frontendVersion();
                 std::cout << "evt " EVT_VERSION "\n"
                           << "artifact format   " << runtime::manifestFormat << "\n"
                           << "kernel interface  " << EVT_ABI_VERSION << "\n"
                           << "C interface       " << EVT_API_VERSION << "\n"
                           << "compiler          " << (compiler.empty() ? "not built in" : compiler) << "\n"
                           << "GPU               " << runtime::cuda::describeGpu() << "\n";
               });
}

} // namespace evt::tool
