// The text of one conflict: both tasks, both boxes, what they share, and which event falls short of ordering them; and
// of one write of what was promised to be settled.
#ifndef EVT_RUNTIME_OBSERVE_CONFLICTMESSAGE_H
#define EVT_RUNTIME_OBSERVE_CONFLICTMESSAGE_H

#include "runtime/observe/ObservedRun.h"

#include <set>
#include <string>
#include <utility>

namespace evt::observe {

// Which events each call notified and waited for anywhere in the run: pairs of call and event.
struct EventUse {
  std::set<std::pair<uint32_t, uint32_t>> notified;
  std::set<std::pair<uint32_t, uint32_t>> waited;
};

// One side of a conflict.
struct AccessInTask {
  const ObservedTask &task;
  uint32_t step; // of the access, counted from 0 in its task
  std::span<const int64_t> offset;
  std::span<const int64_t> size;
  bool write;
};

// `first` is the earlier task in program order.
std::string conflictMessage(const ProgramDescription &program, const EventUse &use, uint32_t memory,
                            const AccessInTask &first, const AccessInTask &second);

// `read` is of what nobody is to write.
std::string brokenPromiseMessage(const ProgramDescription &program, uint32_t memory, const AccessInTask &read,
                                 const AccessInTask &write);

} // namespace evt::observe
#endif
