// A manifest with its symbols' values put in: the actual shapes of one launch.
//
// Tasks are numbered call by call in `done` order: task t of call c has the flat number calls[c].firstTask + t.
#ifndef EVT_RUNTIME_ARTIFACT_SHAPES_H
#define EVT_RUNTIME_ARTIFACT_SHAPES_H

#include "runtime/artifact/Manifest.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace evt::runtime {

struct Shapes {
  struct Extents {
    std::vector<int64_t> dims;
    int64_t elements;
  };
  struct CallExtents {
    std::vector<int64_t> extents; // of the linear index: a ragged pair of coordinates has one
    int64_t tasks;
    int64_t firstTask;
  };
  std::vector<Extents> memories;
  std::vector<int64_t> memoryBytes;
  std::vector<Extents> events;
  std::vector<CallExtents> calls;
  std::vector<int64_t> regionBytes;
  int64_t tasks; // of all calls
};

// Throws Error: argument if a size is negative or overflows for these values, artifact if a region of counters is
// smaller than its event.
Shapes resolveShapes(const Manifest &manifest, std::span<const int64_t> symbols);

// Rows that the copy engine is told a memory has. A buffer of the workspace may have room for whole tiles: where what
// is outside of its extents is not used, fetching it is faster than having the copy engine fill in zeros.
int64_t fetchedRows(const Memory &memory, const CudaSection::TensorMap &map, int64_t rows);

// Rows of its tiles that are fetched: of such a buffer with few, no more than those, in whole groups of 8. The kernel
// counts on that many (device/cuda/tile_ring.h, fetched_rows).
int64_t fetchedTileRows(const Memory &memory, const CudaSection::TensorMap &map, int64_t rows);

// Row-major coordinates of a linear index, as "[3, 0]"; "[]" for rank 0.
std::string describeElement(int64_t element, std::span<const int64_t> dims);

} // namespace evt::runtime

#endif
