#include "Passes.h"

#include "DumpTaskGraph.h"
#include "InferEvents.h"
#include "StripEvents.h"
#include "VerifyEvents.h"

#include "mlir/Pass/PassRegistry.h"

namespace evt {

void registerTransformPasses() {
  mlir::registerPass([] { return createDumpTaskGraphPass(); });
  mlir::registerPass([] { return createInferEventsPass(); });
  mlir::registerPass([] { return createStripEventsPass(); });
  mlir::registerPass([] { return createVerifyEventsPass(); });
}

} // namespace evt
