// Arguments of a launch, checked against the manifest: what may go wrong is found here, before anything runs.
//
// For every tensor: device, type, rank, strides, alignment and extents; for every symbol: that all its sources agree
// and that its value is in range; between tensors: that nothing written overlaps anything else, since the proof of the
// graph treats each argument as memory of its own. A message names the argument, what was found and what is required.
#ifndef EVT_RUNTIME_LAUNCH_BINDING_H
#define EVT_RUNTIME_LAUNCH_BINDING_H

#include "evt/evt.h"
#include "runtime/artifact/Manifest.h"
#include "runtime/artifact/Shapes.h"

#include <span>
#include <vector>

namespace evt::runtime {

// Where a launch takes its tensors from.
struct Placement {
  DLDevice device{kDLCPU, 0}; // tensors there are used in place
  bool copiesHost = false;    // tensors in host memory are taken too, at any address: they are copied
};

struct Binding {
  std::vector<int64_t> symbols;
  std::vector<void *> tensors; // address of each tensor argument, in order
  std::vector<bool> inPlace;   // whether that is an address of the placement's device
  Shapes shapes;
};

// Throws Error (argument), or what resolveShapes throws.
Binding bindArguments(const Manifest &manifest, std::span<const evt_value> values, Placement placement = {});

} // namespace evt::runtime

#endif
