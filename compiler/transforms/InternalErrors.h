// The analysis throws where something is wrong with itself. A pass must not let that end the process.
#ifndef EVT_COMPILER_TRANSFORMS_INTERNALERRORS_H
#define EVT_COMPILER_TRANSFORMS_INTERNALERRORS_H

#include "mlir/IR/Operation.h"

#include <exception>

namespace evt {

/// Runs `work`. An exception, which is a mistake of ours and not of the program, becomes an error at `op` that says so.
template <typename Work> auto reportInternalErrors(mlir::Operation *op, Work work) -> decltype(work()) {
  try {
    return work();
  } catch (const std::exception &error) {
    op->emitError("internal error of the analysis, please report it: ") << error.what();
    return mlir::failure();
  }
}

} // namespace evt

#endif
