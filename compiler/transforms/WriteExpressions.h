// isl expressions written back as IR.
//
// A pw_aff over a task's coordinates and the symbols is an affine expression, or the smallest or the largest of a few:
//
//   [n] -> { C1[i] -> [(-1 + i)] }                                          affine.apply (d0) -> (d0 - 1)
//   [n] -> { E0[e] -> [(7)] : 7e < n - 7; [(n - 7e)] : 7e >= n - 7 }        affine.min (d0)[s0] -> (7, s0 - d0 * 7)
//
// Other expressions by pieces have no short form, and none is written for them.
#ifndef EVT_COMPILER_TRANSFORMS_WRITEEXPRESSIONS_H
#define EVT_COMPILER_TRANSFORMS_WRITEEXPRESSIONS_H

#include "compiler/analysis/IntegerSet.h"

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Builders.h"

#include <optional>
#include <string>
#include <vector>

namespace evt {

/// The smallest (largest) of `terms`. Dimension i of the terms is coordinate i, symbol k is `parameters[k]`.
struct AffineForm {
  bool largest = false;
  std::vector<mlir::AffineExpr> terms;
  std::vector<std::string> parameters;
};

/// The form of an expression that is needed only on `where`; none if it has no short one.
std::optional<AffineForm> affineForm(mlir::MLIRContext *context, const isl::pw_aff &value, const isl::set &where);

/// Writes the operation that computes a form. `coordinates` has a value for each coordinate, `parameters` for each
/// of the form's parameters.
mlir::Value writeForm(mlir::OpBuilder &builder, mlir::Location location, const AffineForm &form,
                      mlir::ValueRange coordinates, mlir::ValueRange parameters);

} // namespace evt

#endif
