// What the forms of products ask about their operands and about where a tile begins.
#pragma once

#include "compiler/ir/Evt.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <optional>

namespace evt::roles {

/// True if `value` is computed from the block argument.
bool dependsOn(mlir::Value value, mlir::BlockArgument argument);

/// True if one of the values that `value` is computed from, itself included, is such a one.
bool comesFrom(mlir::Value value, llvm::function_ref<bool(mlir::Value)> isOne);

/// A number that divides the index for every value of coordinates and arguments.
int64_t divisorOf(mlir::Value index);
inline bool isDivisible(mlir::Value index, int64_t by) { return divisorOf(index) % by == 0; }

/// How much an index grows when `of` grows by 1; none if that is not a constant.
std::optional<int64_t> slopeOf(mlir::Value index, mlir::Value of);

/// Arithmetic of coordinates, arguments and the loop: what every role can compute for itself.
bool isArithmetic(mlir::Value index);

/// Whether the operation, or one inside it, is a matrix product.
bool multiplies(mlir::Operation *op);

/// A tile of zeros.
bool isZero(mlir::Value tile);

/// The load reads its tile from the last two dimensions of its memory.
bool readsLastTwo(ir::LoadOp load);

} // namespace evt::roles
