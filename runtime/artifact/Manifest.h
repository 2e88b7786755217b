// What an artifact's manifest.json says, read and checked. docs/design/artifact.md defines the format; this is its
// image in C++: indices instead of names, expressions ready to evaluate, every reference known to be in range.
#ifndef EVT_RUNTIME_ARTIFACT_MANIFEST_H
#define EVT_RUNTIME_ARTIFACT_MANIFEST_H

#include "device/common/abi.h"
#include "runtime/artifact/Expression.h"
#include "runtime/artifact/GpuArchitecture.h"
#include "runtime/tensor/DataType.h"
#include "runtime/tensor/PackedTiles.h"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace evt::runtime {

// The manifest format this reader understands.
inline constexpr int64_t manifestFormat = 1;

// Where a symbol's value comes from: a dimension of a tensor argument, or an index argument.
struct SymbolSource {
  uint32_t argument;
  std::optional<uint32_t> dim;
};

struct Symbol {
  std::string name;
  int64_t min, max; // inclusive
  std::vector<SymbolSource> from;
};

enum class Access : uint8_t { read, write, readwrite };

struct Argument {
  enum class Kind : uint8_t { tensor, index };
  std::string name;
  Kind kind;
  // of a tensor:
  DataType type = DataType::f32;
  std::vector<Expression> dims;
  Access access = Access::read;
  bool immutable = false;
  int64_t align = 1;
  std::optional<TileShape> packed; // how the kernel wants its last two dimensions
  // of an index:
  uint32_t symbol = 0;
};

// A tensor the kernel addresses: an argument, or a buffer of the workspace.
struct Memory {
  std::string name;
  std::optional<uint32_t> argument;
  DataType type;
  std::vector<Expression> dims;
};

struct Event {
  std::string name;
  std::vector<Expression> dims;
  std::string count; // for people: the kernel knows the counts
};

struct Ragged {
  uint32_t first; // coordinates first (group) and first + 1 (row tile) share extents[first], which is the bound
  Expression bound;
};

// What a call must do at least, counted by the compiler.
struct CallCost {
  Expression ops, bytes;
  Expression phases; // how often its tasks have to wait for each other
  int64_t waits;     // of a task; ranges count once
  std::vector<std::string> assumptions;
};

// The same for the whole graph; bytes are those of its arguments.
struct GraphCost {
  Expression ops, bytes;
};

struct Call {
  std::string name;
  std::string device;
  std::vector<std::string> coords;
  std::vector<Expression> extents;
  std::optional<Ragged> ragged;
  std::optional<uint32_t> repeat;
  std::optional<CallCost> cost;
};

struct Region {
  std::string name;
  std::string kind;
  std::optional<uint32_t> event; // of kind "event"
  Expression bytes;
  bool zero;
};

struct ScheduleSupport {
  bool supported = false;
  std::string why; // ... if it is not
};

// In the order of evt_schedule, which is also the order of preference.
inline constexpr std::array<std::string_view, 3> scheduleNames = {"static", "ticket", "dynamic"};

struct ArtifactFile {
  std::string name;
  uint64_t bytes;
  uint64_t fnv1a64;
};

// Of the target "cuda": how the kernel is launched, and its code for each architecture.
struct CudaSection {
  struct Cubin {
    GpuArchitecture architecture;
    std::vector<std::string> files; // names in `files`; each kernel is in one of them
  };
  // A memory as the copy engine fetches it: tiles of its last two dimensions, 64 columns after 64 columns, swizzled by
  // 128 bytes; of one that is packed, whole packed tiles as they are.
  struct TensorMap {
    uint32_t memory;
    uint32_t rows, columns; // of a tile
    bool mayReadOutside;    // of its rows: what is there need not be zero
  };
  // Kernels that lack the code of some calls: they serve the launches in which those have no tasks.
  struct Variant {
    uint32_t threads;              // of a block
    uint32_t sharedBytes;          // dynamic shared memory of a block
    std::string suffix;            // of the kernels' names
    std::vector<uint32_t> without; // calls
  };
  std::vector<Variant> variants; // the first that serves a launch is taken; at least one
  std::vector<Cubin> cubins;
  std::vector<TensorMap> tensorMaps;
};

struct Manifest {
  std::string tool;
  std::string target;
  std::string architecture;
  std::vector<std::string> features;
  std::optional<CudaSection> cuda; // exactly if the target is "cuda"
  std::string graph;
  std::string kernel;               // a name in `files`: a shared object of the host, whatever the target
  std::string entry = "evt_kernel"; // what the names of the kernel's entry points start with
  std::vector<ArtifactFile> files;
  std::vector<Symbol> symbols;
  std::vector<Argument> arguments;
  std::vector<Memory> memories;
  std::vector<Event> events;
  std::vector<Call> calls;
  std::vector<Expression> repeats; // extents
  std::vector<Region> regions;
  std::array<ScheduleSupport, 3> schedules;
  std::optional<Expression> queueBound;
  std::optional<GraphCost> cost;        // every call then has one, too
  std::vector<std::string> obligations; // JSON text of each, for people
};

// Throws Error: artifact if the text is malformed or does not have its own checksum; incompatible if it is of another
// format or for another kernel interface. `file` starts every message.
Manifest parseManifest(const std::string &text, const std::string &file);

} // namespace evt::runtime

#endif
