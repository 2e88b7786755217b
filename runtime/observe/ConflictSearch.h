// ConflictSearch: the unordered conflicting accesses of a run.
//
// Steps come up in topological order, each with its ancestors (EventOrder.h). A step is compared with the earlier ones
// that touched an overlapping box, at least one of the two writing; an earlier one that is no ancestor is a conflict.
//
// To compare with few: each distinct box keeps its accessors in order, and *checkpoints* "all of the first k are
// ancestors of step c", left by writers that found just that. A later step that has c among its ancestors skips
// those k. A memory that is written once per layer and read by hundreds is thus never compared across all layers,
// while totals stay exact: a step without c compares with all.
//
// A *settled* read is of elements that nobody is to write while the graph runs (EVT_READ_SETTLED). It may come before
// the waits of its task, so the events order it with nothing: it takes no part in these comparisons, and every write of
// what it reads, before it or after it or in its own task, breaks the promise.
#ifndef EVT_RUNTIME_OBSERVE_CONFLICTSEARCH_H
#define EVT_RUNTIME_OBSERVE_CONFLICTSEARCH_H

#include "device/common/abi.h"
#include "runtime/observe/BoxTree.h"
#include "runtime/observe/EventOrder.h"

#include <map>
#include <set>
#include <span>
#include <tuple>
#include <vector>

namespace evt::observe {

struct ConflictingAccess {
  uint32_t step;
  uint32_t box; // for ConflictSearch::box
  bool write;
};

struct Conflict {
  ConflictingAccess first; // the earlier task in program order
  ConflictingAccess second;
};

// A settled read, and a write of some of what it reads.
struct BrokenPromise {
  ConflictingAccess read;
  ConflictingAccess write;
};

class ConflictSearch {
public:
  // `taskOfStep` and `callOfTask` are complete before the first visit; tasks are numbered in program order.
  ConflictSearch(const std::vector<uint32_t> &taskOfStep, const std::vector<uint32_t> &callOfTask, uint32_t examples)
      : taskOfStep(taskOfStep), callOfTask(callOfTask), examples(examples) {}

  // Steps in increasing order. Empty boxes are ignored.
  void add(uint32_t step, uint32_t memory, std::span<const int64_t> offset, std::span<const int64_t> size,
           evt_access_kind kind);
  // After the last add, before the first visit.
  void prepare(const EventOrder &order);
  void visit(uint32_t step, uint32_t position, const AncestorSet &ancestors);

  // Pairs of tasks by call of the first, call of the second, memory.
  template <class Pair> struct Group {
    uint64_t total = 0;
    std::vector<Pair> examples;
  };
  using Key = std::tuple<uint32_t, uint32_t, uint32_t>;
  const std::map<Key, Group<Conflict>> &conflicts() const { return groups; }

  // After the last visit: pairs of tasks by call of the reader, call of the writer, memory.
  std::map<Key, Group<BrokenPromise>> brokenPromises() const;

  // Offsets, then sizes.
  std::span<const int64_t> box(uint32_t id) const { return boxes[id].subspan(1); }

private:
  struct Access {
    uint32_t box;
    evt_access_kind kind;
    bool writes() const { return kind == EVT_WRITE; }
    bool isSettled() const { return kind == EVT_READ_SETTLED; }
  };
  struct Checkpoint {
    uint32_t position;
    size_t covered; // accessors before it
  };
  struct Accessors {
    std::vector<uint32_t> positions; // increasing
    std::vector<Checkpoint> checkpoints;
  };
  struct Trees {
    BoxTree written, read;
  };
  struct Found {
    uint32_t memory;
    uint32_t task;
    Conflict conflict;
  };
  void compare(Accessors &earlier, uint32_t box, bool earlierWrites, uint32_t step, uint32_t position, Access access,
               const AncestorSet &ancestors);
  void record();
  uint32_t memoryOf(uint32_t box) const { return static_cast<uint32_t>(boxes[box][0]); }
  std::span<const Access> accessesOf(uint32_t step) const;

  const std::vector<uint32_t> &taskOfStep;
  const std::vector<uint32_t> &callOfTask;
  uint32_t examples;
  const EventOrder *order = nullptr;
  ListInterner<int64_t> boxes; // memory, offsets, sizes
  std::vector<Access> accesses;
  std::vector<size_t> starts;                                 // step -> first access
  std::map<uint32_t, Trees> trees;                            // of the memories that are written at all
  std::vector<Accessors> writers, readers;                    // by box
  std::vector<Found> found;                                   // for the step being visited
  std::set<std::tuple<uint32_t, uint32_t, uint32_t>> counted; // pairs of tasks with several steps
  std::map<Key, Group<Conflict>> groups;
};

} // namespace evt::observe
#endif
