#include "runtime/observe/Description.h"

namespace evt::observe {

int64_t elementCount(std::span<const int64_t> shape) {
  int64_t product = 1;
  for (int64_t extent : shape)
    product *= extent;
  return product;
}

std::vector<int64_t> unflatten(int64_t linear, std::span<const int64_t> shape) {
  std::vector<int64_t> coord(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    coord[d] = shape[d] > 0 ? linear % shape[d] : 0;
    linear = shape[d] > 0 ? linear / shape[d] : 0;
  }
  return coord;
}

std::string taskName(const ProgramDescription &program, uint32_t call, std::span<const int64_t> coord) {
  const CallDescription &description = program.calls[call];
  std::string text = description.name + "(";
  for (size_t d = 0; d < coord.size(); ++d) {
    if (d > 0)
      text += ", ";
    text += d < description.coords.size() ? description.coords[d] : "d" + std::to_string(d);
    text += "=" + std::to_string(coord[d]);
  }
  return text + ")";
}

std::string taskName(const ProgramDescription &program, uint32_t call, int64_t task) {
  const CallDescription &description = program.calls[call];
  if (description.ragged)
    return "task " + std::to_string(task) + " of " + description.name;
  return taskName(program, call, unflatten(task, description.extents));
}

std::string elementName(const ProgramDescription &program, uint32_t event, int64_t element) {
  const EventDescription &description = program.events[event];
  if (description.shape.empty())
    return description.name;
  std::string text = description.name + "[";
  std::vector<int64_t> index = unflatten(element, description.shape);
  for (size_t d = 0; d < index.size(); ++d)
    text += (d > 0 ? ", " : "") + std::to_string(index[d]);
  return text + "]";
}

std::string boxName(const ProgramDescription &program, uint32_t memory, std::span<const int64_t> offset,
                    std::span<const int64_t> size) {
  std::string text = program.memories[memory].name;
  if (offset.empty())
    return text;
  text += "[";
  for (size_t d = 0; d < offset.size(); ++d) {
    text += (d > 0 ? ", " : "") + std::to_string(offset[d]);
    if (size[d] != 1)
      text += ":" + std::to_string(offset[d] + size[d]);
  }
  return text + "]";
}

const std::string &deviceName(const CallDescription &call) { return call.device.empty() ? call.name : call.device; }

} // namespace evt::observe
