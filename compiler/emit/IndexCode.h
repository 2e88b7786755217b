// Index arithmetic of a device function as C++, for roles that run only a part of its body.
#pragma once

#include "CodeWriter.h"

#include "compiler/roles/RoleProduct.h"

#include "llvm/ADT/SmallPtrSet.h"

#include <string>
#include <vector>

namespace evt::emit {

/// The parameters `, … &a0, int64_t a1` of a device function: memories, indices and coordinates.
struct Parameters {
  explicit Parameters(ir::DeviceOp device, const char *indexType = "int64_t");
  std::vector<std::string> names;
  std::string list;
};

/// Declares index values as `v0`, `v1`, … where they are asked for.
class IndexCode {
public:
  /// Emits the arithmetic outside of loops and roles.
  IndexCode(ir::DeviceOp device, const Parameters &parameters, CodeWriter &out);
  /// The arithmetic of the role that a loop is in.
  void openRole(mlir::scf::ForOp loop);
  /// The arithmetic of the loops that load these tiles, with `k` in the place of their variables.
  void open(llvm::ArrayRef<roles::RoleProduct::Operand> tiles, const std::string &k);
  /// Whether an index is a constant, or arithmetic that was emitted; and what it is then called.
  bool isKnown(mlir::Value v) const;
  std::string name(mlir::Value v) const;

private:
  void emit(mlir::Block &block);

  CodeWriter &out;
  llvm::DenseMap<mlir::Value, std::string> names;
  llvm::SmallPtrSet<mlir::Block *, 8> emitted;
  unsigned next = 0;
};

} // namespace evt::emit
