// C++ for one element of an operation: scalars of tile programs and protocols, and single elements of tiles.
#pragma once

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Operation.h"

#include <optional>
#include <string>

namespace evt::emit {

/// The C++ type of an element.
std::string cppType(mlir::Type type);

/// A literal of an element type.
std::string cppLiteral(mlir::Attribute value);
std::string cppFloat(double value, mlir::Type type);

/// The expression of an `arith` or `math` operation for one element, given its operands' expressions; nothing if the
/// operation has no such expression.
std::optional<std::string> elementExpression(mlir::Operation *op, llvm::ArrayRef<std::string> operands);

/// An affine expression over named dimensions and symbols.
std::string affineExpression(mlir::AffineExpr e, llvm::ArrayRef<std::string> dims, llvm::ArrayRef<std::string> symbols);

/// The expression of an index operation (`affine.apply|min|max`, index arithmetic); nothing if it is another one.
std::optional<std::string> indexExpression(mlir::Operation *op, llvm::ArrayRef<std::string> operands);

} // namespace evt::emit
