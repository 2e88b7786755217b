// Values of a graph function as emitted code and as manifest expressions.
//
// Emitted code reads a launch through `const Program &P`: symbols `P.s0`, sizes computed in the graph `P.g0`, memories
// `P.m0`, counters `P.e0` with extents `P.e0_0`. Iterations are locals `l0, l1`, task coordinates `c0, c1, …`.
#pragma once

#include "compiler/ir/Signature.h"

#include <nlohmann/json.hpp>

namespace evt::emit {

class GraphCode {
public:
  explicit GraphCode(ir::GraphOp graph);

  const ir::Signature signature;

  /// C++ for an index value. Values of `local` (coordinates and results inside a protocol) have names of their own.
  std::string expression(mlir::Value v, const llvm::DenseMap<mlir::Value, std::string> &local) const;
  std::string expression(mlir::Value v) const { return expression(v, llvm::DenseMap<mlir::Value, std::string>()); }
  /// The same value as an expression of the manifest; null if it depends on an iteration or on memory.
  nlohmann::ordered_json manifestExpression(mlir::Value v) const;
  nlohmann::ordered_json manifestExpression(mlir::AffineExpr e, mlir::ValueRange dims, mlir::ValueRange symbols) const;

  /// Top-level index values that are computed once a launch, in order, with their names.
  const std::vector<std::pair<mlir::Operation *, std::string>> &sizes() const { return computed; }
  /// Extent of a memory's dimension.
  mlir::OpFoldResult memoryDim(unsigned memory, unsigned dim) const;
  std::string memoryDimCode(unsigned memory, unsigned dim) const;
  nlohmann::ordered_json memoryDimExpression(unsigned memory, unsigned dim) const;

  unsigned iterations(unsigned call) const;
  /// `, int64_t l0, int64_t c0, ...` and `, l0, c0, ...` for the coordinates of a call; the same as a whole parameter
  /// list.
  std::string coordParamList(unsigned call) const;
  std::string coordParams(unsigned call) const;
  std::string coordNames(unsigned call) const;
  std::vector<std::string> coordList(unsigned call) const;
  /// Extents of the linear index of a call's tasks, as C++ over P; a ragged pair has one extent, its bound.
  std::vector<std::string> extentList(unsigned call) const;
  /// Names of iterations and coordinates for `expression`.
  llvm::DenseMap<mlir::Value, std::string> locals(unsigned call) const;

private:
  /// Whether a size may be below 0, as far as ranges of symbols tell. (IndexRanges takes symbols for amounts, which are
  /// never below 0.)
  bool mayBeNegative(mlir::Value size) const;
  bool findNegative(mlir::Value size) const;
  bool mayBeNegative(mlir::AffineExpr e, mlir::ValueRange dims, mlir::ValueRange symbols) const;

  mutable llvm::DenseMap<mlir::Value, bool> negative; // of sizes that were asked for
  std::vector<std::pair<mlir::Operation *, std::string>> computed;
  llvm::DenseMap<mlir::Value, std::string> names;
};

} // namespace evt::emit
