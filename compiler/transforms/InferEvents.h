// --evt-infer-events: finds the event tensors of a graph that has none.
//
// The row sum without its events
//
//   evt.call @partial(%x, %p) grid(%n, %c4) : (memref<?x4096xf32>, memref<?x4xf32>)
//   evt.call @total(%p, %y) grid(%n) : (memref<?x4xf32>, memref<?xf32>)
//
// becomes
//
//   %partial_done = evt.event(%n) count(4) {name = "partial_done"} : !evt.event<?>
//   evt.call @partial(%x, %p) grid(%i to %n, %j to %c4) : (memref<?x4096xf32>, memref<?x4xf32>) {
//     evt.notify %partial_done[%i]
//   }
//   evt.call @total(%p, %y) grid(%i to %n) : (memref<?x4xf32>, memref<?xf32>) {
//     evt.wait %partial_done[%i]
//   }
//
// Where %n is 0 there are no tasks and no elements. A count is 0 where the grid is empty for another reason: of a grid
// of %few by 4 tasks that one element stands for, with %few 0 or 1, it is count(()[s0] -> (s0 * 4))(%few).
//
// A remark says where a task waits for more than it needs, and why. A dependence for which no event is found is an
// error: it needs an event of the author's. A graph that has events is left alone.
#ifndef EVT_COMPILER_TRANSFORMS_INFEREVENTS_H
#define EVT_COMPILER_TRANSFORMS_INFEREVENTS_H

#include "compiler/analysis/Findings.h"
#include "compiler/ir/Evt.h"

#include "mlir/Pass/Pass.h"

#include <memory>

namespace evt {

/// Adds events to a graph without any. Fails, after errors at the lines, if not all dependences are ordered by them.
mlir::LogicalResult addInferredEvents(ir::GraphOp graph, const ProofLimits &limits = {});

std::unique_ptr<mlir::Pass> createInferEventsPass(const ProofLimits &limits = {});

} // namespace evt

#endif
