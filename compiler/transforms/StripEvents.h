// --evt-strip-events: removes every event, with the waits, notifies and guards that refer to one.
//
// What remains is the program as its author thinks of it, calls in order. It exists so that --evt-infer-events can be
// tried on programs whose events are known, and for people who want to see what the compiler would choose.
#ifndef EVT_COMPILER_TRANSFORMS_STRIPEVENTS_H
#define EVT_COMPILER_TRANSFORMS_STRIPEVENTS_H

#include "compiler/ir/Evt.h"

#include "mlir/Pass/Pass.h"

#include <memory>

namespace evt {

void stripEvents(ir::GraphOp graph);

std::unique_ptr<mlir::Pass> createStripEventsPass();

} // namespace evt

#endif
