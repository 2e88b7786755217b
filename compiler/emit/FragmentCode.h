// C++ for a tile program that one warp runs on fragments: tiles of 8 rows, of which lane l holds row l/4 (`g` in
// emitted code) and, of every 8 columns, 2 (l%4) and the one after it (`col`, `col + 1`). The four lanes of a row share
// what has one value a row.
//
// Everything is an expression of its index, computed where a store needs it and then kept in a variable; nothing is in
// shared memory. A reduction along a row goes over the lane's own elements and then over the row's lanes. A row's value
// that does not depend on the streaming coordinates is found once and kept from task to task, by other warps: there, a
// warp has a row, and `g` is its number.
#pragma once

#include "CodeWriter.h"

#include "compiler/ir/Evt.h"

#include "llvm/ADT/StringMap.h"

#include <string>
#include <vector>

namespace evt::emit {

class FragmentCode {
public:
  /// `arguments` are the names of the device function's arguments and coordinates.
  FragmentCode(ir::DeviceOp device, llvm::ArrayRef<std::string> arguments, CodeWriter &out);

  /// The elements of `tile` are `s[first]`, `s[first + 1]`, …: two for every 8 columns.
  void setFragments(mlir::Value tile, unsigned first) { given[tile] = first; }
  /// Emitted when everything that does not need the given elements is on its way.
  void setSums(const std::string &line) { sums = line; }
  /// Coordinates whose change does not end what is kept: row values that do not depend on them are found in `kept`,
  /// which `emitKeep` fills.
  void setStreaming(llvm::ArrayRef<mlir::BlockArgument> coordinates) {
    streaming.assign(coordinates.begin(), coordinates.end());
    keeps = true;
  }

  /// Emits the whole body. False, with the reason, if something has no form on fragments; `out` is not to be used then.
  bool emit(std::string &why);
  /// Emits what fills `kept`, by a warp for each row. False if nothing is kept.
  bool emitKeep();

private:
  using Index = llvm::ArrayRef<std::string>;

  bool fail(mlir::Operation *op, const std::string &reason);
  std::string fresh(const char *prefix);
  std::string scalar(mlir::Value v);
  std::string element(mlir::Value v, Index index);
  std::string compute(mlir::Value v, Index index);
  std::string loaded(ir::LoadOp op, Index index);
  std::string reduced(mlir::Operation *op, Index index);
  std::string variable(mlir::Type type, const std::string &expression);
  std::string keyOf(mlir::Value v, Index index) const;
  std::string place(mlir::ValueRange offsets, llvm::ArrayRef<int64_t> sizes, mlir::RankedTensorType tile, Index index);
  void checkMemories();
  void emitIndices();
  llvm::SmallVector<mlir::Value> keptValues() const;
  void emitEarlyLoads();
  void emitStore(ir::StoreOp op);
  bool isStreaming(mlir::Value v) const;

  ir::DeviceOp device;
  CodeWriter &out;
  llvm::DenseMap<mlir::Value, std::string> names; // scalars and memories
  llvm::DenseMap<mlir::Value, unsigned> given;
  llvm::SmallVector<mlir::BlockArgument> streaming;
  llvm::StringMap<std::string> known; // variables by value and index
  unsigned next = 0;
  bool keeps = false, isByRow = false;
  std::string reason, sums;
};

} // namespace evt::emit
