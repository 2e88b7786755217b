// C++ that hands tasks to workers: the static, ticket and dynamic schedules of a graph.
//
// All three run the same tasks with the same protocols; they differ in who runs which task when. Nothing is enumerated
// beforehand: a schedule is loops over the run-time extents.
//
//   static   every worker walks the calls in program order and runs its share of each. A coordinate along which the
//   call
//            depends on itself is walked in order by all workers; the share is taken of the others.
//   ticket   every worker walks the calls in program order and, in each, takes the next number of one counter that runs
//   over
//            all calls. A number stands for a few neighbouring tasks.
//   dynamic  device/cpu/dynamic.h.
#pragma once

#include "CodeWriter.h"
#include "GraphCode.h"

namespace evt::emit {

/// For each call and grid coordinate (iterations first): does the call depend on itself along it?
using Carried = std::vector<std::vector<bool>>;

/// What `task_K` does: runs the task on the spot (CPU), hands it over to the compute warps, which run `execute_K`
/// (CUDA), or has no body at all, because it only serves to tell what the task waits for and notifies.
enum class TaskForm { onTheSpot, handedOver, reported };

/// `linear_K`, `task_K<Use>` and, for ragged calls, `Groups_K` and `born_K`.
void emitTasks(const GraphCode &graph, TaskForm form, CodeWriter &out);
void emitStaticSchedule(const GraphCode &graph, const Carried &carried, CodeWriter &out);
void emitTicketSchedule(const GraphCode &graph, const Carried &carried, CodeWriter &out);
void emitDynamicSchedule(const GraphCode &graph, CodeWriter &out);
/// `explain(w, P)`: every task with its waits and notifies, reported and not run.
void emitExplain(const GraphCode &graph, CodeWriter &out);

} // namespace evt::emit
