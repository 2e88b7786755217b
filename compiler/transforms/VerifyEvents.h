// --evt-verify: proves that a graph's events order all its conflicting accesses and that its counts are exact.
//
// Runs on any graph with all its events; changes nothing. A violation is an error at its source line, with the smallest
// counterexample in notes; what depends on data is a remark, named as `--check` names it at run time:
//
//   row_sum.mlir:24:3: error: done[0] has count 5 but receives 4 notifications from partial
//   row_sum.mlir:24:3: note: for example with n = 1
//
// `operations` bounds the work for one question. Over it, the question is left open (an obligation), so the pass ends
// in bounded time and never takes "took too long" for "proved".
#ifndef EVT_COMPILER_TRANSFORMS_VERIFYEVENTS_H
#define EVT_COMPILER_TRANSFORMS_VERIFYEVENTS_H

#include "compiler/analysis/Findings.h"

#include "mlir/Pass/Pass.h"

#include <memory>

namespace evt {

std::unique_ptr<mlir::Pass> createVerifyEventsPass(const ProofLimits &limits = {});

} // namespace evt

#endif
