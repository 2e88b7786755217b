// The plain polyhedral model of a graph function: what the proofs, the inference of events and the schedules work on.
//
// A program is a sequence of *calls*; each call is a set of *tasks* (integer points). Tasks read and write elements of
// *memories*, wait for and notify elements of *events*. All of it is integer sets over the program's *symbols* (isl
// parameters), so that one model stands for every shape. The row-sum program
//
//   call @partial grid(n, 4) notify(done[(i, j) -> (i)])         // reads x, writes p[i, j]
//   call @total   grid(n)    wait(done[(i) -> (i)])              // reads p[i, 0..3], writes y[i]
//
// is, with `[n] ->` before each set:
//
//   memories  M0 = x, M1 = p : { M1[a, b] : 0 <= a < n and 0 <= b < 4 },  M2 = y
//   events    E0 = done : { E0[e] : 0 <= e < n }, count { E0[e] -> 4 }
//   calls     C0 = partial : { C0[i, j] : 0 <= i < n and 0 <= j < 4 }
//               write    { C0[i, j] -> M1[i, j] }
//               notify   { C0[i, j] -> E0[i] }
//               order    { C0[i, j] -> [0, i, j] }
//             C1 = total : { C1[i] : 0 <= i < n }
//               read     { C1[i] -> M1[i, b] : 0 <= b < 4 }
//               wait     { C1[i] -> E0[i] }
//               order    { C1[i] -> [1, i, 0] }
//
// Tuple names are "C", "M", "E" followed by the index into `calls`, `memories`, `events`. The iteration of an
// evt.repeat is a leading task coordinate like any other: a model of 64 layers is the model of one layer with a
// coordinate l, and nothing here grows with 64.
//
// Program order is the meaning of the program run one task after the other: `order` gives every task a timestamp, all
// of the same length, distinct, compared lexicographically. For calls inside a repeat it starts
// [position of the repeat, l, position inside the repeat, …].
#ifndef EVT_COMPILER_ANALYSIS_TASKGRAPH_H
#define EVT_COMPILER_ANALYSIS_TASKGRAPH_H

#include "compiler/analysis/IntegerSet.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace evt {

/// A value known only at run time, between min and max. It is an isl parameter of the same name.
struct Symbol {
  std::string name;
  int64_t min = 0;
  int64_t max = 0;
};

struct Memory {
  std::string name;
  isl::set shape; // { M3[a, b] : 0 <= a < n and … }
  std::string location;
};

struct Event {
  std::string name;
  isl::set shape; // { E0[e] : … }
  /// Over the shape: how many notifications complete an element. Absent: read from memory at run time.
  std::optional<Polynomial> count;
  std::string countText; // as the user wrote it
  /// The event that must be complete before a count in memory may be read, or -1.
  int guardEvent = -1;
  std::string location;
};

struct Access {
  int memory = -1;
  bool write = false;
  isl::map relation; // { C2[l, i, j] -> M3[a, b] }, clipped to the shape
  /// False: an index is read from memory, and the relation holds every element that could be meant.
  bool exact = true;
  /// How many of the call's waits come before it. Accesses of the body follow all waits.
  unsigned afterWaits = 0;
  std::string location;
  std::string text;
};

/// A task notifies (waits for) every element that the relation gives for it, each once per EventUse. If `exact` is
/// false, an index is read from memory and the relation holds every element that could be meant: such a notify
/// notifies at least one of them, or none if `orNone`; such a wait waits for some of them or none.
struct EventUse {
  int event = -1;
  isl::map relation; // { C2[…] -> E0[…] }; waits are clipped to the event's shape, notifies are not
  bool exact = true;
  std::string location;
  bool orNone = false; // of an inexact notify: how often a loop runs is read from memory, too
};

struct Call {
  std::string name;
  std::vector<std::string> coordNames; // iterations of the repeats around the call come first
  unsigned iterationDims = 0;          // how many of the coordinates are such iterations
  isl::set domain;                     // { C2[l, i, j] : … }
  std::vector<Access> accesses;
  std::vector<EventUse> waits; // in the order the task performs them
  std::vector<EventUse> notifies;
  isl::map order; // { C2[l, i, j] -> [t0, t1, …] }
  /// True: which tasks exist is read from memory, and the domain holds every task that could.
  bool ragged = false;
  std::string location;
};

struct TaskGraph {
  ContextOwner owner; // first: destroyed last
  std::vector<Symbol> symbols;
  isl::set context; // parameter set: the symbols' ranges and what else is known about them
  std::vector<Memory> memories;
  std::vector<Event> events;
  std::vector<Call> calls;

  isl::ctx ctx() const { return owner.get(); }
};

} // namespace evt

#endif
