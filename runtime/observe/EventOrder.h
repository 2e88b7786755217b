// EventOrder: what the events of a run put before what.
//
// The nodes are *steps*: stretches of a task in which all waits come first, then accesses, then notifies. Most tasks
// are one step; a task that waits again after it has accessed memory, or goes on accessing after a notify, has
// several. Step v is after step u if there is a path
//
//   u ──notify──▶ element ──wait──▶ … ──▶ v          or        u ──next step of the same task──▶ v
//
// Which worker ran what, and when, plays no part: a run that came out right by luck is still unordered here.
//
// Ancestor sets are bit sets over a topological numbering, and few of them exist:
//   - elements notified by the same steps form one class, and steps that waited for the same classes share one set;
//   - a set is built when the first of its steps comes up and freed after the last step that needs it;
//   - step number t has at most t ancestors, so its set has t bits;
//   - while a set is built, a predecessor already in it is skipped: it brings nothing new (sets are closed).
// n steps need at most n*n/16 bytes; what a run needs is computed exactly before any set is built.
#ifndef EVT_RUNTIME_OBSERVE_EVENTORDER_H
#define EVT_RUNTIME_OBSERVE_EVENTORDER_H

#include "runtime/observe/ListInterner.h"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace evt::observe {

// The ancestors of a step, as positions in the topological order.
class AncestorSet {
public:
  bool contains(uint32_t position) const {
    size_t word = position / 64;
    return word < words.size() && (words[word] >> (position % 64) & 1u) != 0;
  }
  void insert(uint32_t position) { words[position / 64] |= uint64_t(1) << (position % 64); }
  void resize(uint32_t positions) { words.resize((size_t(positions) + 63) / 64); }
  void merge(const AncestorSet &other) {
    for (size_t w = 0; w < other.words.size(); ++w)
      words[w] |= other.words[w];
  }
  void release() { words = {}; }
  static uint64_t bytes(uint32_t positions) { return (uint64_t(positions) + 63) / 64 * 8; }

private:
  std::vector<uint64_t> words;
};

class EventOrder {
public:
  // Steps are numbered in program order. Build in two passes: declare every element's notifiers, then every step's
  // waits, step by step.
  using ElementClass = uint32_t;
  ElementClass elementNotifiedBy(std::span<const uint32_t> steps) { return notifiers.intern(steps); }
  // `classes` is sorted here; `previous` is the step before this one in the same task, or kNone.
  void addStep(std::vector<ElementClass> &classes, uint32_t previous);

  // Numbers the steps topologically, in program order wherever the events leave a choice. False if there is a circle.
  bool sort();

  // Steps on one circle, each notifying what the next one waits for, first one the smallest; after sort() failed.
  std::vector<uint32_t> circle() const;

  // Bytes the ancestor sets will take at the worst moment; after sort().
  uint64_t peakBytes() const;

  // Visits every step in topological order with its ancestors, themselves positions in that order.
  void sweep(const std::function<void(uint32_t step, uint32_t position, const AncestorSet &ancestors)> &visit);

  uint32_t stepCount() const { return static_cast<uint32_t>(waitClass.size()); }
  uint32_t stepAt(uint32_t position) const { return order[position]; }

private:
  static constexpr uint32_t kUnset = UINT32_MAX;
  void computeLifetimes();

  ListInterner<uint32_t> notifiers;     // element class -> steps
  ListInterner<ElementClass> waitLists; // wait class -> element classes
  std::vector<uint32_t> waitClass;      // step -> wait class
  std::vector<uint32_t> order;          // position -> step
  std::vector<uint32_t> position;       // step -> position, kUnset while on or behind a circle
  std::vector<uint32_t> firstUse;       // wait class -> position at which its set is built
  std::vector<uint32_t> lastUse;        // wait class -> position after which it is freed

public:
  static constexpr uint32_t kNone = UINT32_MAX;
};

} // namespace evt::observe
#endif
