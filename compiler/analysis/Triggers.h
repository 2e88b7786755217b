// Code for the dynamic schedule: which tasks an element wakes, which tasks wait for nothing, how much a task waits for.
//
// When done[e0] of the row sum is complete, the tasks that waited for it are enumerated by
//
//   push_total(e0);
//
// and for a stencil, whose task waits for a row of three neighbours of the step before,
//
//   for (int64_t c1 = max(0, e1 - 1); c1 <= min(n - 1, e1 + 1); c1 += 1)
//     push_step(e0 + 1, c1);
//
// The text is C. It uses the symbols by name, the element's coordinates e0, e1, …, int64_t, and the functions (or
// macros) min, max and floord(a, b), the quotient rounded down. A task counts the elements it waits for down from
// its *need*; it is ready at zero. Elements with count 0 are complete from the start and are not waited for.
#ifndef EVT_COMPILER_ANALYSIS_TRIGGERS_H
#define EVT_COMPILER_ANALYSIS_TRIGGERS_H

#include "compiler/analysis/TaskGraph.h"

#include <optional>
#include <string>

namespace evt {

/// The elements that tasks of a call really wait for through one of its waits: those that someone notifies. If that is
/// not known (the event's notifies or count rest on data), all elements of the wait.
isl::map awaitedElements(const TaskGraph &graph, int call, unsigned wait);

/// How many of the last grid coordinates have no say in what a task waits for. Tasks that differ in these only become
/// ready together: one counter and one range of task indices serve them all. 0 for a ragged call.
unsigned sharedTail(const TaskGraph &graph, int call);

/// What an element's coordinates are called in code, beside symbols of these names: e0, e1, … unless one is such a
/// name.
std::string elementPrefix(const std::vector<std::string> &symbols);

/// Loops over the tasks of `call` that wait for element (e0, e1, …; see elementPrefix) through its wait number `wait`;
/// `statement(c0, …);` for each, c0, … being the task's coordinates but the last `tail`, which is at most sharedTail.
/// Tasks of a ragged call that do not exist are among them. None if the wait's element is read from memory.
std::optional<std::string> wokenTasks(const TaskGraph &graph, int call, unsigned wait, const std::string &statement,
                                      unsigned tail = 0);

/// Loops over the tasks of `call` that wait for nothing. None if a wait's element is read from memory.
std::optional<std::string> rootTasks(const TaskGraph &graph, int call, const std::string &statement);

/// The number of elements a task waits for, over all waits, as a C expression of its coordinates c0, c1, …. None if a
/// wait's element is read from memory or the elements of a wait are no box.
std::optional<std::string> neededElements(const TaskGraph &graph, int call);

} // namespace evt

#endif
