// Event tensors derived from what tasks read and write, for a program that declares none.
//
// For each pair of calls with a direct dependence that no chain of others implies, the tasks a consumer needs are a set
// of producer coordinates. The event has the coordinates the consumer tells apart:
//
//   total(i) needs partial(i, 0..3)             coordinate j is always needed whole: it is dropped and
//                                               becomes the count: shape [n], notify (i, j) -> (i),
//                                               wait (i) -> (i), count 4
//   head(h) needs qkv(7 h .. 7 h + 6)           aligned groups of seven become one element
//                                               notify (j) -> (j floordiv 7), wait (h) -> (h), count 7
//   step(t, i) needs step(t - 1, i - 1 .. i + 1)   a range of elements: wait [t - 1, i - 1 to i + 1], count 1
//
// Consumers of one producer that tell the same coordinates apart share one event. Where no program can write such an
// event, or finding it takes too long, a coarser one is taken (EventPlan.h).
#ifndef EVT_COMPILER_ANALYSIS_INFER_H
#define EVT_COMPILER_ANALYSIS_INFER_H

#include "compiler/analysis/Findings.h"
#include "compiler/analysis/IndexBox.h"
#include "compiler/analysis/TaskGraph.h"

#include <string>
#include <vector>

namespace evt {

/// What one consumer waits for, in the order of its waits.
struct InferredWait {
  int consumer = -1;
  std::vector<IndexBox> boxes; // one wait each
  bool coarser = false;        // orders more than the dependence asks for
  std::string why;             // if coarser
};

struct InferredEvent {
  std::string name;
  int producer = -1;
  std::vector<isl::pw_aff> shape;  // the extents, expressions of the symbols
  std::vector<isl::pw_aff> notify; // the element, expressions of the producer's coordinates
  /// The count is the product of these, expressions of the element's coordinates and symbols; none: 1.
  std::vector<isl::pw_aff> countFactors;
  Polynomial count;
  std::vector<InferredWait> waits;

  isl::set elements;  // { E0[…] }, the shape as a set; the tuple is named after the event's future index
  isl::map notifyMap; // { producer -> element }
};

struct Inference {
  std::vector<InferredEvent> events;
  /// Dependences for which no event could be derived, one message each.
  std::vector<Note> failures;
};

/// Derives events for all dependences of `graph`, whose own events are kept and not looked at.
Inference inferEvents(const TaskGraph &graph, const ProofLimits &limits = {});

/// The graph with the events added: every inferred wait comes after the waits a call has, before all its accesses.
TaskGraph withEvents(const TaskGraph &graph, const Inference &inference);

} // namespace evt

#endif
