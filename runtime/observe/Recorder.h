// Recorder: the observer behind `evt run --check`, `--trace` and `evt show`.
//
// It fills an evt_hooks table. Each worker appends to a log of its own: no lock, no atomic, no cache line shared with
// another worker, no reallocation (a full block is followed by a new one). A hook costs a bounds check and a few
// stores, plus one clock read where the record is timed (task and wait, begin and end).
//
//   Recorder recorder(workers);
//   launch.hooks = recorder.hooks();
//   … run the kernel to its end, join the workers …
//   LogReader reader = recorder.read(worker);
//   for (Record record; reader.next(record);) …
//
// A log is read only after its worker has stopped. Records of one worker are in the order in which it called the
// hooks; nothing is said about the order between workers except by their times, and the checker uses none of those.
#ifndef EVT_RUNTIME_OBSERVE_RECORDER_H
#define EVT_RUNTIME_OBSERVE_RECORDER_H

#include "device/common/abi.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace evt::observe {

enum class RecordKind : uint8_t { TaskBegin, TaskEnd, WaitBegin, WaitEnd, Notify, Access };

struct Record {
  RecordKind kind;
  evt_access_kind access = EVT_READ; // Access
  uint32_t id = 0;                   // TaskBegin: call; WaitBegin, Notify: event; Access: memory
  int64_t index = 0;                 // TaskBegin: task; WaitBegin, Notify: element
  int64_t count = 0;                 // WaitBegin
  uint64_t time = 0;                 // TaskBegin, TaskEnd, WaitBegin, WaitEnd: nanoseconds of the recorder's clock
  std::span<const int64_t> coord{};  // TaskBegin: coordinates; Access: offset
  std::span<const int64_t> size{};   // Access
};

struct RecorderOptions {
  bool accesses = true;                       // a trace needs none
  bool notifies = true;                       // a trace needs none
  size_t maxBytesPerWorker = size_t(4) << 30; // beyond it a log ends early and says so
  uint64_t (*clock)() = nullptr;              // nanoseconds; null is the steady clock
};

// Records in memory, in blocks; a record never straddles two.
class WorkerLog {
public:
  struct Block {
    std::unique_ptr<int64_t[]> words;
    size_t used = 0;
  };
  // Room for `count` words, or null when the log is full.
  int64_t *append(size_t count) {
    if (static_cast<size_t>(end - cursor) < count && !grow(count))
      return nullptr;
    int64_t *place = cursor;
    cursor += count;
    return place;
  }
  void clear(size_t maxBytes);
  bool full() const { return overflowed; }
  size_t blockCount() const { return blocks.size(); }
  std::span<const int64_t> block(size_t index) const;

private:
  bool grow(size_t count);
  int64_t *cursor = nullptr;
  int64_t *end = nullptr;
  std::vector<Block> blocks;
  size_t bytes = 0;
  size_t limit = 0;
  bool overflowed = false;
};

// A place in a log; copying it remembers the place.
class LogReader {
public:
  explicit LogReader(const WorkerLog &log) : log(&log) {}
  bool next(Record &record);

private:
  const WorkerLog *log;
  size_t block = 0;
  size_t offset = 0;
};

class Recorder {
public:
  explicit Recorder(uint32_t workers, RecorderOptions options = {});
  Recorder(const Recorder &) = delete;
  Recorder &operator=(const Recorder &) = delete;

  const evt_hooks *hooks() const { return &table; }
  uint32_t workers() const { return static_cast<uint32_t>(lanes.size()); }
  LogReader read(uint32_t worker) const { return LogReader(lanes[worker].log); }
  // Whether a worker's log ended early: memory ran out, or maxBytesPerWorker was reached.
  bool truncated(uint32_t worker) const { return lanes[worker].log.full(); }
  const RecorderOptions &options() const { return settings; }
  // Forgets everything, for the next launch.
  void clear();

private:
  // 128 bytes: adjacent-line prefetch makes pairs of lines travel together.
  struct alignas(128) Lane {
    WorkerLog log;
  };
  friend struct RecorderHooks;
  RecorderOptions settings;
  evt_hooks table{};
  std::vector<Lane> lanes;
};

} // namespace evt::observe
#endif
