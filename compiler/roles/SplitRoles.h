// --evt-split-roles: splits device functions with products into roles joined by rings.
//
// A device function with one loop that multiplies loaded tiles, as often as is known when the task begins, becomes
//
//   loader     the loop's loads of immutable tensors, ahead of the task's events and, as far as rings allow, of tasks
//   rows       the loop's other loads, which wait for the task's events
//   compute    the loop, with tiles from rings in place of loads
//   epilogue   everything else: it alone stores, and the task notifies when it has ended
//
// with a ring for each load and for each result of the loop. Indices and constants stay where they are, outside of the
// roles. Loads through tables, and loads whose place the loop computes from data, stay in compute. The result has the
// bits of the function as it was: no operation is changed, only who runs it. What is not split is left alone, and `why`
// says what stands against it.
//
// It hurts where a loop is short: each hand-over of a tile copies it, and wakes another role.
#pragma once

#include "compiler/ir/Evt.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <memory>
#include <string>

namespace evt::roles {

/// Stages of the rings that it makes: of loaded tiles and of results.
inline constexpr int64_t loadStages = 4, resultStages = 2;

/// Rounds of a loop that is split: the verifier follows each.
inline constexpr int64_t mostRounds = 1 << 15;

/// Splits the function in place. `isImmutable` says of an argument that no task ever writes it, wherever the function
/// is called. False, and in `why` the reason, if it is left as it was.
bool splitRoles(ir::DeviceOp device, llvm::function_ref<bool(unsigned)> isImmutable, std::string &why);

/// Splits all device functions of a module that can be.
void splitRoles(mlir::ModuleOp module);

std::unique_ptr<mlir::Pass> createSplitRolesPass();

} // namespace evt::roles
