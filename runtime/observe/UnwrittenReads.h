// UnwrittenReads: reads of planned memory that no task of a run writes.
//
// What a planned buffer holds before it is written is undefined: whoever reads it gets what an earlier launch left
// there. Whether the writes come before the reads is asked elsewhere (ConflictSearch.h); here it is enough that there
// are any.
#ifndef EVT_RUNTIME_OBSERVE_UNWRITTENREADS_H
#define EVT_RUNTIME_OBSERVE_UNWRITTENREADS_H

#include "device/common/abi.h"
#include "runtime/observe/Description.h"
#include "runtime/observe/ListInterner.h"

#include <optional>
#include <span>
#include <vector>

namespace evt::observe {

struct UnwrittenRead {
  uint32_t task;
  uint32_t memory;
  std::span<const int64_t> offset, size;
  std::vector<int64_t> element; // the first one that nobody writes
};

class UnwrittenReads {
public:
  explicit UnwrittenReads(const ProgramDescription &program) : program(program) {}

  void add(uint32_t task, uint32_t memory, std::span<const int64_t> offset, std::span<const int64_t> size,
           evt_access_kind kind);
  // One for each task and memory, the first in the order of adding. The spans live as long as this.
  std::vector<UnwrittenRead> find() const;

private:
  struct Read {
    uint32_t task, box;
  };
  const ProgramDescription &program;
  ListInterner<int64_t> boxes; // memory, offsets, sizes
  std::vector<uint32_t> written;
  std::vector<Read> reads;
};

} // namespace evt::observe
#endif
