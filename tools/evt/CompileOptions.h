// Options of every command that compiles a program.
#ifndef EVT_TOOLS_EVT_COMPILEOPTIONS_H
#define EVT_TOOLS_EVT_COMPILEOPTIONS_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
} // namespace CLI

namespace evt::tool {

struct CompileOptions {
  std::string graph; // empty: the only one of the module
  std::string target = "cpu";
  std::string cxx = "c++";
  std::string march = "native";
  std::vector<std::string> cxxFlags;
  std::string nvcc = "nvcc";
  std::vector<std::string> architectures; // of CUDA; empty: sm_90a
  std::vector<std::string> nvccFlags;
  std::vector<std::string> schedules; // that the artifact holds; empty: all
  bool verify = true;
  bool roles = false; // of the CPU: products are split into roles
  /// Of a model's step: the most of each, the positions of a page of the cache, whether events are coarse, and whether
  /// all batches give the same bits.
  struct Step {
    static constexpr int64_t usualContext = 32768;
    int64_t tokens = 2048, requests = 256, pageSlots = 64;
    std::optional<int64_t> context; // none given: usualContext
    bool allToAll = false;
    bool sameBits = false;
  } step;
  std::vector<const CLI::Option *> declared; // by the functions below
};

/// --graph
void addGraphOption(CLI::App *command, CompileOptions &options);
/// --max-tokens, --max-requests, --max-context, --page-size, --all-to-all, --same-bits
void addStepOptions(CLI::App *command, CompileOptions &options);
/// --graph, --target, --cxx, --march, --cxxflag, --nvcc, --arch, --nvccflag, --only-schedule, --roles, --no-verify
void addCompileOptions(CLI::App *command, CompileOptions &options);

/// Throws Failure (wrong input) if the command line has any of them: what is compiled already takes none.
void refuseCompileOptions(const std::string &artifact, const CompileOptions &options);

} // namespace evt::tool

#endif
