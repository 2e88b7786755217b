// What a machine can do at best, measured once by `evt bench ceilings` and kept in a file: the limits that `evt bench
// --sol` compares a program with.
//
//   {"format": 1, "tool": "evt 0.1.0", "measured": "2026-11-15T10:00:00Z",
//    "cpu": {"name": "…", "threads": 2, "read_bytes_per_second": 2.1e10, "f32_flops": 1.2e11},
//    "gpu": {"name": "NVIDIA H200", "multiprocessors": 132, "bulk_read_bytes_per_second": 4.71e12, …}}
//
// Either section may be absent. A number that is not above 0 makes the file unusable.
#ifndef EVT_TOOLS_EVT_CEILINGS_CEILINGS_H
#define EVT_TOOLS_EVT_CEILINGS_CEILINGS_H

#include "tools/evt/OutputFile.h"

#include <optional>
#include <string>

namespace evt::tool {

struct CpuCeilings {
  std::string name;
  unsigned threads = 0;
  double readBytesPerSecond = 0; // all threads, each its own part of a buffer beyond the caches
  double f32Flops = 0; // all threads, fused multiply-adds where the CPU has them, an addition and a product each
};

struct GpuCeilings {
  std::string name;
  unsigned multiprocessors = 0;
  double bulkReadBytesPerSecond = 0; // cp.async.bulk into shared memory, each SM its own run
  double readBytesPerSecond = 0;     // loads of 16 bytes
  double copyBytesPerSecond = 0;     // bytes read and written
  double eventOneWaySeconds = 0;     // one notify to one waiter
  double eventAllSeconds = 0;        // every SM notifies one counter and waits for all
  double barrierSeconds = 0;         // the same for all threads of the SMs' blocks
  double ticketSeconds = 0;          // between two numbers of one counter, all SMs asking
  double ticketLatencySeconds = 0;   // one SM asking, each number after the one before
  double graphNodeSeconds = 0;       // an empty kernel after another in a CUDA graph
  double launchSeconds = 0;          // an empty kernel after another, launched one by one
  std::optional<double> bf16Flops;   // tensor cores on tiles in shared memory; absent where the GPU has no wgmma

  // The faster of the two ways to read: the limit for whoever only reads.
  double bestReadBytesPerSecond() const;
};

struct Ceilings {
  std::string measured; // when, UTC
  std::optional<CpuCeilings> cpu;
  std::optional<GpuCeilings> gpu;
};

std::string toJson(const Ceilings &ceilings);
// For people: a line for each number.
std::string toText(const Ceilings &ceilings);

// Throws runtime::Error (artifact) that names the file and the place in it.
Ceilings parseCeilings(const std::string &text, const std::string &file);

// Throws Failure: missing if there is no such file, with the command that makes one; wrong input if it cannot be read.
Ceilings readCeilings(const std::string &file);
// The file that toJson's text goes to. Makes the folder. Throws Failure (wrong input).
OutputFile beginCeilings(const std::string &file);

// Where ceilings are kept unless somebody says otherwise: evt/ceilings.json in XDG_CACHE_HOME, or in ~/.cache. Throws
// Failure (missing) if the environment names neither.
std::string defaultCeilingsFile();

} // namespace evt::tool

#endif
