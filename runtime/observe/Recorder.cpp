#include "runtime/observe/Recorder.h"

#include <chrono>
#include <new>

namespace evt::observe {

namespace {

constexpr size_t kBlockWords = 32768;

// First word of a record: kind, evt_access_kind, number of coordinates, id.
int64_t header(RecordKind kind, uint32_t id, uint32_t rank = 0, uint32_t access = EVT_READ) {
  return static_cast<int64_t>(static_cast<uint64_t>(id) << 32 | static_cast<uint64_t>(rank & 0xffffu) << 16 |
                              static_cast<uint64_t>(access & 3u) << 8 | static_cast<uint64_t>(kind));
}

uint64_t steadyNanoseconds() {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

} // namespace

bool WorkerLog::grow(size_t count) {
  if (overflowed)
    return false;
  size_t words = count > kBlockWords ? count : kBlockWords;
  if (bytes + words * sizeof(int64_t) > limit) {
    overflowed = true;
    return false;
  }
  // Called from a kernel's thread through C: running out of memory must not throw there.
  try {
    blocks.reserve(blocks.size() + 1);
    Block next{std::unique_ptr<int64_t[]>(new int64_t[words])};
    if (!blocks.empty())
      blocks.back().used = static_cast<size_t>(cursor - blocks.back().words.get());
    blocks.push_back(std::move(next));
  } catch (const std::bad_alloc &) {
    overflowed = true;
    return false;
  }
  bytes += words * sizeof(int64_t);
  cursor = blocks.back().words.get();
  end = cursor + words;
  return true;
}

void WorkerLog::clear(size_t maxBytes) {
  blocks.clear();
  cursor = end = nullptr;
  bytes = 0;
  limit = maxBytes;
  overflowed = false;
}

std::span<const int64_t> WorkerLog::block(size_t index) const {
  const Block &block = blocks[index];
  size_t used = index + 1 == blocks.size() ? static_cast<size_t>(cursor - block.words.get()) : block.used;
  return {block.words.get(), used};
}

bool LogReader::next(Record &record) {
  while (block < log->blockCount() && offset == log->block(block).size()) {
    ++block;
    offset = 0;
  }
  if (block >= log->blockCount())
    return false;
  const int64_t *word = log->block(block).data() + offset;
  uint64_t first = static_cast<uint64_t>(word[0]);
  size_t rank = first >> 16 & 0xffffu;
  record = Record{static_cast<RecordKind>(first & 0xffu), static_cast<evt_access_kind>(first >> 8 & 3u),
                  static_cast<uint32_t>(first >> 32)};
  switch (record.kind) {
  case RecordKind::TaskBegin:
    record.time = static_cast<uint64_t>(word[1]);
    record.index = word[2];
    record.coord = {word + 3, rank};
    offset += 3 + rank;
    break;
  case RecordKind::TaskEnd:
  case RecordKind::WaitEnd:
    record.time = static_cast<uint64_t>(word[1]);
    offset += 2;
    break;
  case RecordKind::WaitBegin:
    record.time = static_cast<uint64_t>(word[1]);
    record.index = word[2];
    record.count = word[3];
    offset += 4;
    break;
  case RecordKind::Notify:
    record.index = word[1];
    offset += 2;
    break;
  case RecordKind::Access:
    record.coord = {word + 1, rank};
    record.size = {word + 1 + rank, rank};
    offset += 1 + 2 * rank;
    break;
  }
  return true;
}

struct RecorderHooks {
  static Recorder &recorder(void *user) { return *static_cast<Recorder *>(user); }
  static int64_t now(const Recorder &recorder) { return static_cast<int64_t>(recorder.settings.clock()); }
  static int64_t *append(Recorder &recorder, uint32_t worker, size_t words) {
    return recorder.lanes[worker].log.append(words);
  }

  static void taskBegin(void *user, uint32_t worker, uint32_t call, int64_t task, const int64_t *coord, uint32_t rank) {
    Recorder &self = recorder(user);
    int64_t *word = append(self, worker, 3 + rank);
    if (!word)
      return;
    word[0] = header(RecordKind::TaskBegin, call, rank);
    word[2] = task;
    for (uint32_t d = 0; d < rank; ++d)
      word[3 + d] = coord[d];
    word[1] = now(self);
  }
  static void timed(void *user, uint32_t worker, RecordKind kind) {
    Recorder &self = recorder(user);
    int64_t time = now(self);
    if (int64_t *word = append(self, worker, 2)) {
      word[0] = header(kind, 0);
      word[1] = time;
    }
  }
  static void taskEnd(void *user, uint32_t worker) { timed(user, worker, RecordKind::TaskEnd); }
  static void waitEnd(void *user, uint32_t worker) { timed(user, worker, RecordKind::WaitEnd); }
  static void waitBegin(void *user, uint32_t worker, uint32_t event, int64_t element, int64_t count) {
    Recorder &self = recorder(user);
    if (int64_t *word = append(self, worker, 4)) {
      word[0] = header(RecordKind::WaitBegin, event);
      word[2] = element;
      word[3] = count;
      word[1] = now(self);
    }
  }
  static void notify(void *user, uint32_t worker, uint32_t event, int64_t element) {
    if (int64_t *word = append(recorder(user), worker, 2)) {
      word[0] = header(RecordKind::Notify, event);
      word[1] = element;
    }
  }
  static void access(void *user, uint32_t worker, uint32_t memory, uint32_t kind, const int64_t *offset,
                     const int64_t *size, uint32_t rank) {
    int64_t *word = append(recorder(user), worker, 1 + 2 * size_t(rank));
    if (!word)
      return;
    word[0] = header(RecordKind::Access, memory, rank, kind);
    for (uint32_t d = 0; d < rank; ++d) {
      word[1 + d] = offset[d];
      word[1 + rank + d] = size[d];
    }
  }
  static void ignoreNotify(void *, uint32_t, uint32_t, int64_t) {}
  static void ignoreAccess(void *, uint32_t, uint32_t, uint32_t, const int64_t *, const int64_t *, uint32_t) {}
};

Recorder::Recorder(uint32_t workers, RecorderOptions options) : settings(options), lanes(workers) {
  if (!settings.clock)
    settings.clock = steadyNanoseconds;
  table.user = this;
  table.task_begin = RecorderHooks::taskBegin;
  table.task_end = RecorderHooks::taskEnd;
  table.wait_begin = RecorderHooks::waitBegin;
  table.wait_end = RecorderHooks::waitEnd;
  table.notify = settings.notifies ? RecorderHooks::notify : RecorderHooks::ignoreNotify;
  table.access = settings.accesses ? RecorderHooks::access : RecorderHooks::ignoreAccess;
  clear();
}

void Recorder::clear() {
  for (Lane &lane : lanes)
    lane.log.clear(settings.maxBytesPerWorker);
}

} // namespace evt::observe
