// What the tasks of a graph are at one shape, without running them and without the device they would run on.
#ifndef EVT_RUNTIME_LAUNCH_EXPLAIN_H
#define EVT_RUNTIME_LAUNCH_EXPLAIN_H

#include "runtime/artifact/Artifact.h"
#include "runtime/launch/Binding.h"

#include <span>

namespace evt::runtime {

// Calls the hooks for every task in program order with its waits and notifies, and returns the shapes. The arguments
// are host tensors whatever the target. Throws Error: argument, memory; incompatible if the kernel cannot enumerate its
// tasks.
Binding explainGraph(const Artifact &artifact, std::span<const evt_value> values, const evt_hooks &hooks);

} // namespace evt::runtime

#endif
