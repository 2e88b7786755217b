// The whole kernel of a graph as C++, and the manifest that goes with it.
#pragma once

#include "GraphCode.h"
#include "ProtocolCode.h"
#include "ScheduleCode.h"
#include "StreamCode.h"
#include "TileCode.h"

#include "compiler/analysis/CallBorders.h"

namespace evt::emit {

/// What the analyses found out that the emitted code depends on.
struct ScheduleFacts {
  Carried carried;
  Triggers triggers;
  std::string refusesDynamic;           // why, where it is no single wait's; empty if it does not
  std::vector<unsigned> sharedTail;     // of each call: last coordinates that do not change what a task waits for
  std::vector<bool> mayStartReady;      // of each call: some task might wait for nothing
  std::vector<std::vector<bool>> apart; // of two calls: no launch has tasks of both
  std::vector<CallBorders> borders;     // between which the same calls have tasks, for the manifest
  std::vector<std::string> obligations; // by name, for the manifest
  bool verified = false;                // obligations are all that is not proved
  std::vector<std::string> wanted;      // schedules the kernel is to have; none named: all

  bool wants(llvm::StringRef schedule) const;
  /// Why there is no dynamic schedule; empty if there is.
  std::string dynamicRefusal() const;
};

/// Why a schedule is not there that is not wanted.
inline constexpr const char *notWanted = "it was left out when the program was compiled";

/// What the names of a kernel's entry points start with, unless its manifest has an `entry`.
inline constexpr const char *defaultEntry = "evt_kernel";

/// The kernel's source; empty after a diagnostic. With an entry of its own a kernel is in a namespace of that name, so
/// that one file can hold several.
std::string emitKernel(const GraphCode &graph, const ScheduleFacts &facts, const std::string &entry = defaultEntry);

/// What chooses the kernels of one variant, by its number, when the source of several is compiled; without it, all are.
inline constexpr const char *variantMacro = "EVT_VARIANT";

/// The kernel for CUDA, and what a launch of it needs to know.
struct CudaKernel {
  std::string source;  // empty after a diagnostic
  std::string explain; // a host library that enumerates tasks, for the watchdog's report
  struct Variant {
    std::string suffix; // what follows the schedule in the kernels' names
    int64_t threads = 0, sharedBytes = 0;
    std::vector<unsigned> without; // calls that have no tasks where it is launched
  };
  std::vector<Variant> variants; // the first whose calls have no tasks is launched
  std::vector<unsigned> packed;  // graph arguments whose last two dimensions are tiles of 8 x 32
  std::vector<StreamPlan::Map> maps;
  std::vector<unsigned> aligned; // memories that must begin at a multiple of 16 bytes
  EarlyRows early;
};
CudaKernel emitCudaKernel(const GraphCode &graph, const ScheduleFacts &facts);

/// The manifest, but for what only the compiled file knows (`files`, `cpu`).
nlohmann::ordered_json emitManifest(const GraphCode &graph, const ScheduleFacts &facts);
/// Adds to it that these arguments are packed, and how, also as a layout (compiler/layout).
void statePacked(nlohmann::ordered_json &manifest, const GraphCode &graph, llvm::ArrayRef<unsigned> packed);
/// Adds the regions that early rows need.
void stateEarly(nlohmann::ordered_json &manifest, const GraphCode &graph, const EarlyRows &early);

/// The version of the tool that writes manifests.
inline constexpr const char *toolVersion = "0.1.0";

} // namespace evt::emit
