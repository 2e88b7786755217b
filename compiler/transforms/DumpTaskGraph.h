// --evt-dump-task-graph: prints the polyhedral model of a graph (see printTaskGraph) to standard error. For looking at
// what the proofs work on, and for tests of the extraction. Changes nothing.
#ifndef EVT_COMPILER_TRANSFORMS_DUMPTASKGRAPH_H
#define EVT_COMPILER_TRANSFORMS_DUMPTASKGRAPH_H

#include "mlir/Pass/Pass.h"

#include <memory>

namespace evt {

std::unique_ptr<mlir::Pass> createDumpTaskGraphPass();

} // namespace evt

#endif
