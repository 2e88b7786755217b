#include "runtime/observe/ConflictSearch.h"

#include <algorithm>

namespace evt::observe {

namespace {
// Fewer new accessors than this are quicker compared again than skipped.
constexpr size_t kCheckpointEvery = 16;
} // namespace

void ConflictSearch::add(uint32_t step, uint32_t memory, std::span<const int64_t> offset, std::span<const int64_t> size,
                         evt_access_kind kind) {
  if (std::ranges::any_of(size, [](int64_t extent) { return extent <= 0; }))
    return;
  std::vector<int64_t> list{memory};
  list.insert(list.end(), offset.begin(), offset.end());
  list.insert(list.end(), size.begin(), size.end());
  starts.resize(size_t(step) + 1, accesses.size());
  accesses.push_back({boxes.intern(list), kind});
}

std::span<const ConflictSearch::Access> ConflictSearch::accessesOf(uint32_t step) const {
  if (step >= starts.size())
    return {};
  size_t end = step + 1 < starts.size() ? starts[step + 1] : accesses.size();
  return {accesses.data() + starts[step], accesses.data() + end};
}

void ConflictSearch::prepare(const EventOrder &topological) {
  order = &topological;
  writers.resize(boxes.count());
  readers.resize(boxes.count());
  std::vector<uint8_t> written(boxes.count()), read(boxes.count());
  for (const Access &access : accesses)
    if (!access.isSettled())
      (access.writes() ? written : read)[access.box] = 1;
  struct Entries {
    std::vector<BoxTree::Entry> written, read;
  };
  std::map<uint32_t, Entries> entries;
  for (uint32_t id = 0; id < boxes.count(); ++id)
    if (written[id])
      entries[memoryOf(id)].written.push_back({id, box(id)});
  for (uint32_t id = 0; id < boxes.count(); ++id)
    if (auto memory = entries.find(memoryOf(id)); read[id] && memory != entries.end())
      memory->second.read.push_back({id, box(id)});
  for (auto &[memory, lists] : entries) {
    size_t rank = lists.written.front().box.size() / 2;
    trees[memory] = {BoxTree(std::move(lists.written), rank), BoxTree(std::move(lists.read), rank)};
  }
}

void ConflictSearch::compare(Accessors &earlier, uint32_t box, bool earlierWrites, uint32_t step, uint32_t position,
                             Access access, const AncestorSet &ancestors) {
  size_t start = 0;
  for (size_t c = earlier.checkpoints.size(); c-- > 0;)
    if (ancestors.contains(earlier.checkpoints[c].position)) {
      start = earlier.checkpoints[c].covered;
      break;
    }
  bool allOrdered = true;
  for (size_t k = start; k < earlier.positions.size(); ++k) {
    if (ancestors.contains(earlier.positions[k]))
      continue;
    allOrdered = false;
    uint32_t other = order->stepAt(earlier.positions[k]);
    Conflict conflict{{other, box, earlierWrites}, {step, access.box, access.writes()}};
    uint32_t otherTask = taskOfStep[other];
    if (otherTask > taskOfStep[step])
      std::swap(conflict.first, conflict.second);
    found.push_back({memoryOf(box), otherTask, conflict});
  }
  size_t covered = earlier.checkpoints.empty() ? 0 : earlier.checkpoints.back().covered;
  if (access.writes() && allOrdered && earlier.positions.size() >= covered + kCheckpointEvery)
    earlier.checkpoints.push_back({position, earlier.positions.size()});
}

void ConflictSearch::visit(uint32_t step, uint32_t position, const AncestorSet &ancestors) {
  found.clear();
  std::span<const Access> mine = accessesOf(step);
  for (const Access &access : mine) {
    auto tree = trees.find(memoryOf(access.box));
    if (tree == trees.end() || access.isSettled())
      continue;
    tree->second.written.overlapping(box(access.box), [&](uint32_t other) {
      compare(writers[other], other, true, step, position, access, ancestors);
    });
    if (access.writes())
      tree->second.read.overlapping(box(access.box), [&](uint32_t other) {
        compare(readers[other], other, false, step, position, access, ancestors);
      });
  }
  for (const Access &access : mine) {
    if (access.isSettled())
      continue;
    std::vector<uint32_t> &positions = (access.writes() ? writers : readers)[access.box].positions;
    if (positions.empty() || positions.back() != position)
      positions.push_back(position);
  }
  if (!found.empty())
    record();
}

void ConflictSearch::record() {
  // One pair of tasks counts once a memory, spelled out by its first conflicting accesses.
  auto pair = [](const Found &f) { return std::tuple(f.memory, f.task); };
  std::ranges::stable_sort(found, {}, pair);
  found.erase(
      std::unique(found.begin(), found.end(), [&](const Found &a, const Found &b) { return pair(a) == pair(b); }),
      found.end());
  auto several = [&](uint32_t step) {
    uint32_t task = taskOfStep[step];
    return (step > 0 && taskOfStep[step - 1] == task) || (step + 1 < taskOfStep.size() && taskOfStep[step + 1] == task);
  };
  for (const Found &f : found) {
    uint32_t first = taskOfStep[f.conflict.first.step], second = taskOfStep[f.conflict.second.step];
    if ((several(f.conflict.first.step) || several(f.conflict.second.step)) &&
        !counted.emplace(first, second, f.memory).second)
      continue;
    Group<Conflict> &group = groups[{callOfTask[first], callOfTask[second], f.memory}];
    if (group.total++ < examples)
      group.examples.push_back(f.conflict);
  }
}

std::map<ConflictSearch::Key, ConflictSearch::Group<BrokenPromise>> ConflictSearch::brokenPromises() const {
  std::map<Key, Group<BrokenPromise>> broken;
  std::set<std::tuple<uint32_t, uint32_t, uint32_t>> pairs; // of tasks, once a memory
  for (uint32_t step = 0; step < starts.size(); ++step)
    for (const Access &access : accessesOf(step)) {
      const uint32_t memory = memoryOf(access.box), reader = taskOfStep[step];
      auto tree = trees.find(memory);
      if (!access.isSettled() || tree == trees.end())
        continue;
      tree->second.written.overlapping(box(access.box), [&](uint32_t other) {
        for (uint32_t position : writers[other].positions) {
          const uint32_t writing = order->stepAt(position), writer = taskOfStep[writing];
          if (!pairs.emplace(reader, writer, memory).second)
            continue;
          Group<BrokenPromise> &group = broken[{callOfTask[reader], callOfTask[writer], memory}];
          if (group.total++ < examples)
            group.examples.push_back({{step, access.box, false}, {writing, other, true}});
        }
      });
    }
  return broken;
}

} // namespace evt::observe
