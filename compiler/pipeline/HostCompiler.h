// The compilers that turn emitted source into kernels: the host's for the CPU, NVIDIA's for CUDA.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace evt::pipeline {

struct HostCompiler {
  std::string program = "c++";
  std::string march = "native"; // empty: the compiler's own baseline
  std::string optimization = "-O3";
  std::string includeRoot;             // the folder that holds device/
  std::vector<std::string> extraFlags; // e.g. -fsanitize=thread

  /// Compiles `source` to the shared object `output`. Returns what went wrong, or an empty string.
  std::string compile(const std::string &source, const std::string &output) const;
  /// The CPU features the code may use, by GCC's names.
  std::vector<std::string> features() const;
};

/// What a thread or a block of a kernel needs, by NVIDIA's assembler.
struct KernelResources {
  std::string kernel;
  int64_t registers = 0, spilledBytes = 0; // of a thread
  int64_t barriers = 0, sharedBytes = 0;   // of a block, besides what is given at launch
  bool ignoresRoles = false;               // somewhere in the source, roles of a block do not trade registers
  bool multipliesOneByOne = false;         // products of tiles wait for each other
};
/// From what the assembler says when it is asked to (-v).
std::vector<KernelResources> readResources(llvm::StringRef said);

struct CudaCompiler {
  std::string program = "nvcc";
  std::vector<std::string> architectures{"sm_90a"};
  std::string includeRoot;
  std::vector<std::string> extraFlags;

  /// Compiles `source` to the cubin `output`. Returns what went wrong, or an empty string; what the kernels need comes
  /// through `resources`. May be called by several threads. `definition`, like NAME=1, chooses a part of the source.
  std::string compile(const std::string &source, const std::string &architecture, const std::string &output,
                      std::vector<KernelResources> &resources, const std::string &definition = "") const;
};

/// The path of NVIDIA's compiler: in PATH, or where the toolkit installs itself; empty if it is not there.
std::string findCudaCompiler(const std::string &program);

/// The folder that has device/ and examples/: of the installation that this tool is part of (share/evt), or the source
/// tree it was built from.
std::string findDeviceHeaders(const char *argv0);

} // namespace evt::pipeline
