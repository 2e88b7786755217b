// How to order one pair of calls by an event: the event's coordinates, and what each consumer waits for.
//
// Plans are tried from the precise to the coarse, and the first that a program can write is taken:
//
//   1. an event with the coordinates the consumer tells apart, and boxes of them that are just what is needed;
//   2. boxes at constant offsets, or a box around what is needed: some tasks wait for more than they need;
//   3. the same boxes, where a bound that no affine expression gives is replaced by the end of the dimension;
//   4. an event with the first coordinates of the producer only, and waits for whole steps of them that come before.
//      One of these is always possible: an event without coordinates where all of the producer comes before, and in a
//      common repeat one with its iterations.
//
// None but the first orders just what is needed, but all of them go forward in program order, so no circle can arise.
#ifndef EVT_COMPILER_ANALYSIS_EVENTPLAN_H
#define EVT_COMPILER_ANALYSIS_EVENTPLAN_H

#include "compiler/analysis/IndexBox.h"
#include "compiler/analysis/TaskGraph.h"

#include <functional>
#include <optional>
#include <set>
#include <vector>

namespace evt {

/// How an event sees one coordinate of its producer: not at all (0), as it is (1), or in aligned groups of that size.
using Grouping = std::vector<int64_t>;

/// { task -> element } for a grouping, the element's tuple named `name`.
isl::map elementMap(const Call &producer, const Grouping &grouping, const std::string &name);

/// All that must be ordered between two calls.
struct Need {
  int producer = -1;
  int consumer = -1;
  isl::map relation; // producer -> consumer
  isl::map reduced;  // without the pairs that chains of other needs imply
  bool dataDependent = false;
  std::set<int> memories;
};

struct EventPlan {
  enum class Kind {
    Exact,       // orders what is needed and nothing else
    MoreTasks,   // every task that needs something waits for just that, but others wait, too
    Around,      // boxes around what is needed
    EarlierSteps // all steps of the producer that come before and are not farther away than any that is needed
  };
  Grouping grouping;
  std::vector<IndexBox> boxes;
  isl::map induced; // producer -> consumer
  Kind kind = Kind::Around;
};

/// The extents of the event with a grouping of the producer's coordinates; none if no program can write that event.
using EventExtents = std::function<std::optional<std::vector<isl::pw_aff>>(const Grouping &)>;

/// Finds plans for a need. How long it may take is the caller's OperationLimit, which throws isl::exception_quota.
class EventPlanner {
public:
  EventPlanner(const TaskGraph &graph, const Need &need, EventExtents extents);

  /// Plans 1 to 3.
  std::optional<EventPlan> precise() const;
  /// Plan 4.
  std::optional<EventPlan> steps() const;

private:
  isl::map elementsOf(const Grouping &grouping) const;
  std::vector<Grouping> groupingsFor(const isl::map &needed) const;
  EventPlan finish(const Grouping &grouping, const std::vector<IndexBox> &boxes) const;
  std::optional<EventPlan> byOffsets(const Grouping &grouping, const isl::map &awaited) const;
  std::optional<EventPlan> relaxed(EventPlan plan) const;
  std::vector<IndexBox> earlierSteps(const Grouping &grouping, const std::vector<isl::pw_aff> &extents) const;
  bool isSound(const EventPlan &plan) const;
  bool isWritable(const EventPlan &plan) const;

  const Need &need;
  const Call &producer;
  const Call &consumer;
  EventExtents extents;
  isl::set context, domain;
  isl::map forward;
};

} // namespace evt

#endif
