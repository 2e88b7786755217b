// The whole kernel of a graph as C++, and the manifest that goes with it.
#pragma once

#include "GraphCode.h"
#include "ProtocolCode.h"
#include "ScheduleCode.h"

namespace evt::emit {

/// What the analyses found out that the emitted code depends on.
struct ScheduleFacts {
  Carried carried;
  Triggers triggers;
  std::vector<std::string> obligations; // by name, for the manifest

  /// Why the dynamic schedule is impossible; empty if it is not.
  std::string dynamicRefusal() const;
};

/// The kernel's source; empty after a diagnostic.
std::string emitKernel(const GraphCode &graph, const ScheduleFacts &facts);

/// The manifest, but for what only the compiled file knows (`files`, `cpu`).
nlohmann::ordered_json emitManifest(const GraphCode &graph, const ScheduleFacts &facts);

/// The version of the tool that writes manifests.
inline constexpr const char *toolVersion = "0.1.0";

} // namespace evt::emit
