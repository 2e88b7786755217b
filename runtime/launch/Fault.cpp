#include "runtime/launch/Fault.h"

namespace evt::runtime {
namespace {

template <typename Part> bool has(const std::vector<Part> &parts, int64_t index) {
  return index >= 0 && index < static_cast<int64_t>(parts.size());
}

/// "total(1)". The linear index does not tell the coordinates of a task of a ragged grid.
std::string taskName(const Call &call, const Shapes::CallExtents &extents, int64_t task) {
  if (task < 0 || call.ragged)
    return "a task of call '" + call.name + "'";
  std::string coords = describeElement(task, extents.extents);
  return call.name + "(" + coords.substr(1, coords.size() - 2) + ")";
}

} // namespace

std::string describeFault(const Manifest &manifest, const Shapes &shapes, uint32_t code, const evt_fault &fault) {
  size_t a = static_cast<size_t>(fault.a);
  switch (code) {
  case EVT_ABORT_BOUND:
    if (has(manifest.calls, fault.a))
      return "ragged grid of call '" + manifest.calls[a].name + "' needs " + std::to_string(fault.b) +
             " row tiles, its declared bound is " + std::to_string(fault.c);
    break;
  case EVT_ABORT_OVERRUN:
    if (has(manifest.events, fault.a))
      return "element " + manifest.events[a].name + describeElement(fault.b, shapes.events[a].dims) +
             " received more notifications than its count of " + std::to_string(fault.c);
    break;
  case EVT_ABORT_INDEX:
    if (has(manifest.events, fault.a) && has(shapes.events[a].dims, fault.b))
      return "a notify of event '" + manifest.events[a].name + "' has index " + std::to_string(fault.c) +
             " in dimension " + std::to_string(fault.b) + ", required 0.." +
             std::to_string(shapes.events[a].dims[static_cast<size_t>(fault.b)] - 1);
    break;
  case EVT_ABORT_DIVISION:
    if (has(manifest.calls, fault.a))
      return taskName(manifest.calls[a], shapes.calls[a], fault.b) + " divides an integer by 0";
    break;
  default:
    break;
  }
  return "kernel stopped with fault " + std::to_string(code) + " (" + std::to_string(fault.a) + ", " +
         std::to_string(fault.b) + ", " + std::to_string(fault.c) + "), which this runtime does not know";
}

} // namespace evt::runtime
