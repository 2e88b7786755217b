// Index arithmetic of a device function as C++, for roles that run only a part of its body.
#pragma once

#include "CodeWriter.h"

#include "compiler/roles/RoleProduct.h"

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
  /// The arithmetic of the loops that load these tiles, with `k` in the place of their variables.
  void open(llvm::ArrayRef<roles::RoleProduct::Operand> tiles, const std::string &k);
  std::string name(mlir::Value v) const;

private:
  void emit(mlir::Block &block);

  CodeWriter &out;
  llvm::DenseMap<mlir::Value, std::string> names;
  unsigned next = 0;
};

} // namespace evt::emit
