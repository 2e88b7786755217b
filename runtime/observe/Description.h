// What the numbers in an observer's log mean.
//
// Hooks (device/common/abi.h) speak in indices: call 1, task 7, event 0, element 3. A ProgramDescription gives them
// names and shapes, with every symbol already replaced by its value for the launch that was observed. Whoever
// launches fills it from the artifact's manifest; nothing here reads files.
//
// Worked example, the row sums of docs/design/artifact.md launched with n = 2:
//
//   memories  {"x", {2, 4096}}, {"p", {2, 4}}, {"y", {2}}
//   events    {"done", {2}}
//   calls     {"partial", "partial", coords {"i", "j"}, extents {2, 4}},  {"total", "total", {"i"}, {2}}
//
//   call 0, coordinates 1 3                 reads  partial(i=1, j=3)
//   event 0, element 1                      reads  done[1]
//   memory 1, offset 1 0, size 1 4          reads  p[1, 0:4]            (half open; a range of one is its index)
#ifndef EVT_RUNTIME_OBSERVE_DESCRIPTION_H
#define EVT_RUNTIME_OBSERVE_DESCRIPTION_H

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace evt::observe {

struct MemoryDescription {
  std::string name;
  std::vector<int64_t> shape;
  bool planned = false; // undefined until a task writes it
};

struct EventDescription {
  std::string name;
  std::vector<int64_t> shape;
};

struct CallDescription {
  std::string name;
  std::string device;              // the device function; several calls may share one
  std::vector<std::string> coords; // names of the task coordinates, iterations of repeats first
  std::vector<int64_t> extents;    // a task's linear index is row-major over these
  bool ragged = false;             // `extents` is then a bound: fewer tasks may run, each at most once
  std::optional<int64_t> tasks{};  // how many tasks run, where a ragged call's caller knows it
  int repeat = -1;                 // the repeat around the call, or -1; its iteration is the first coordinate
};

struct ProgramDescription {
  std::string name;
  std::vector<MemoryDescription> memories;
  std::vector<EventDescription> events;
  std::vector<CallDescription> calls;
};

// The product of the entries; a shape without entries has one element.
int64_t elementCount(std::span<const int64_t> shape);

// Row-major coordinates of a linear index.
std::vector<int64_t> unflatten(int64_t linear, std::span<const int64_t> shape);

// "partial(i=1, j=3)". Coordinates beyond the named ones are called d0, d1, … by position.
std::string taskName(const ProgramDescription &program, uint32_t call, std::span<const int64_t> coord);

// The same from a linear index; "task 17 of partial" where the index alone does not give the coordinates.
std::string taskName(const ProgramDescription &program, uint32_t call, int64_t task);

// "done[1]"; an event without dimensions is just "done".
std::string elementName(const ProgramDescription &program, uint32_t event, int64_t element);

// "p[1, 0:4]".
std::string boxName(const ProgramDescription &program, uint32_t memory, std::span<const int64_t> offset,
                    std::span<const int64_t> size);

// The device function's name, or the call's where none was given.
const std::string &deviceName(const CallDescription &call);

} // namespace evt::observe
#endif
