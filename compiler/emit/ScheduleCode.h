// C++ that hands tasks to workers: the static, ticket and dynamic schedules of a graph.
//
// All three run the same tasks with the same protocols; they differ in who runs which task when. Nothing is enumerated
// beforehand: a schedule is loops over the run-time extents.
//
//   static   every worker walks the calls in program order and runs its share of each. A coordinate along which the
//            call depends on itself is walked in order by all workers; the share is taken of the others.
//   ticket   every worker walks the calls in program order and, in each, takes the next number of one counter that
//            runs over all calls. A number stands for a few neighbouring tasks.
//   dynamic  device/cpu/dynamic.h.
#pragma once

#include "CodeWriter.h"
#include "GraphCode.h"

namespace evt::emit {

/// For each call and grid coordinate (iterations first): does the call depend on itself along it?
using Carried = std::vector<std::vector<bool>>;

/// How a call's tasks are run.
enum class TaskForm {
  onTheSpot,    // by the worker whose schedule comes to it (CPU)
  inRoles,      // the same, but for its roles before the last, which threads of the worker run ahead of it (CPU)
  handedOver,   // by the compute warps, to which the schedule hands it over (CUDA)
  streamed,     // the same, its weights fetched ahead and its end left to the epilogue warps (CUDA)
  tiled,        // the same, its tiles fetched ahead and multiplied on the tensor cores (CUDA)
  onCompletion, // by the epilogue warp that completes the event it waits for: no schedule hands it out (CUDA)
  joined,       // by the compute warps of the block that completes it: the same
  reported      // not at all: it only tells what it waits for and notifies
};
using TaskForms = std::vector<TaskForm>;
inline bool isHandedOut(TaskForm form) { return form != TaskForm::onCompletion && form != TaskForm::joined; }

/// For each call, what its place in a schedule begins with where not all kernels have its code: `if constexpr (Tiles)
/// `. None if all do.
using Guards = std::vector<std::string>;

/// A call that runs where an event's element is completed.
struct Join {
  unsigned event, call;
};

/// `linear_K`, `task_K<Use>` and, for ragged calls, `Groups_K` and `born_K`; for tasks handed over, `execute_K`, which
/// goes on with another call's task if it completed its event: `joins`. Each is by call, and may be empty. For such
/// calls, `join_K`. Tasks of calls that are `told` leave their notifies to another warp, those of calls that are `fed`
/// go with what loaders feed them (FeedCode.h). What streams or is run by epilogue warps is StreamCode's.
struct HandedOver {
  std::vector<std::optional<Join>> joins;
  std::vector<bool> told, fed;
};
void emitTasks(const GraphCode &graph, const TaskForms &forms, const HandedOver &how, CodeWriter &out);

/// How the static schedule deals calls that stream and together complete the elements of an event: all tasks of an
/// element go to one warp, in order, so that it knows the last one.
struct ElementDeal {
  std::vector<unsigned> passes; // grid coordinates that the element does not have: walked in full, outermost
  unsigned first, last;         // calls that do so, neighbours; the others are dealt as the first one is
};
void emitStaticSchedule(const GraphCode &graph, const Carried &carried, const TaskForms &forms,
                        const std::vector<std::optional<ElementDeal>> &deals, const Guards &guards, CodeWriter &out);
void emitTicketSchedule(const GraphCode &graph, const Carried &carried, const TaskForms &forms, const std::string &take,
                        const Guards &guards, CodeWriter &out);
/// `mayStartReady` says of which calls a task might have nothing to wait for: only those are looked through for such.
void emitDynamicSchedule(const GraphCode &graph, const TaskForms &forms, const std::vector<bool> &mayStartReady,
                         CodeWriter &out);
/// `explain(w, P)`: every task with its waits and notifies, reported and not run.
void emitExplain(const GraphCode &graph, CodeWriter &out);

} // namespace evt::emit
