// C++ for a tile program, or for the last role of one, that one warp runs on fragments: tiles of 8 rows, of which lane
// l holds row l/4 (`g` in emitted code) and, of every 8 columns, 2 (l%4) and the one after it (`col`, `col + 1`). The
// four lanes of a row share what has one value a row.
//
// Everything is an expression of its index, computed where a store needs it and then kept in a variable; nothing is in
// shared memory. A reduction along a row goes over the lane's own elements and then over the row's lanes. A row's value
// that does not depend on the streaming coordinates is found once and kept from task to task, by other warps: there, a
// warp has a row, and `g` is its number.
//
// Rows that go through a table are the lane's row as any other, at an index that the lane has read. Of several rows
// that a store takes to the same place, those that a later one follows have no index: lanes compare what they read.
//
// A tile of more rows is a stack of such fragments: each warp has some of them, `h` says which of its own, and `g` is
// the row in the tile. What does not depend on the sums is found first, as far as registers go: values of rows, and
// loads of f32. Other loads take place where they are used, and all stores of a column follow each other, since the
// sums leave no registers for what waits. Where no column needs a whole row of sums, the code is that of 32 columns,
// and serves one after another; what rows are reduced to goes on from block to block, and is stored after the last.
#pragma once

#include "CodeWriter.h"

#include "compiler/ir/Evt.h"

#include "llvm/ADT/StringMap.h"

#include <string>
#include <vector>

namespace evt::emit {

class FragmentCode {
public:
  /// `arguments` are the names of the device function's arguments and coordinates. With `stackRows` tiles have that
  /// many rows, and `g`, `c` and `col` are in scope where the code is put.
  FragmentCode(ir::DeviceOp device, llvm::ArrayRef<std::string> arguments, CodeWriter &out, int64_t stackRows = 0);

  /// The elements of `tile` are `s[first]`, `s[first + 1]`, …: two for every 8 columns. Of a stack, they are
  /// `s(first)`, `s(first + 1)`, …, and what was found early `e(0)`, `e(1)`, ….
  void setFragments(mlir::Value tile, unsigned first) { given[tile] = first; }
  /// Emitted when everything that does not need the given elements is on its way.
  void setSums(const std::string &line) { sums = line; }
  /// Coordinates whose change does not end what is kept: row values that do not depend on them are found in `kept`,
  /// which `emitKeep` fills.
  void setStreaming(llvm::ArrayRef<mlir::BlockArgument> coordinates) {
    streaming.assign(coordinates.begin(), coordinates.end());
    keeps = true;
  }

  /// Row values are reduced from this memory as `reading` says, which may be early (device/common/early.h).
  void setReading(mlir::Value memory) { read.insert(memory); }
  /// What is stored to this memory is stored to a place instead, if the variable `to` has one.
  void setPlace(mlir::Value memory, const std::string &to) { places[memory] = to; }
  /// The loads that row values in `kept` come from, and whether each is reduced row by row.
  llvm::SmallVector<std::pair<ir::LoadOp, bool>> keptLoads() const;
  /// Of a stack: how many times 32 columns of every tile that is stored can be done by the same code, and what is left
  /// over. 0 if they cannot: a column needs the sums of a whole row.
  struct Blocks {
    int64_t count = 0, rest = 0; // columns
    bool storesRows = false;     // something of whole rows is stored
    int64_t running = 0;         // reductions of rows that go on from block to block
  };
  Blocks blocks();
  /// `emit` then takes the tiles for so many columns wide, from `col` on, and leaves out what is stored of whole rows.
  /// Reductions go on in `running`, from nothing where the condition `isFirst` holds.
  void setColumns(int64_t n, const std::string &isFirst) {
    blockColumns = n;
    isFirstBlock = isFirst;
  }
  /// After the last block: what is stored of whole rows.
  void emitRowStores();

  /// Of a stack: how many numbers each of its fragments has in `early`, which `emitEarly` fills.
  int64_t earlyEach() const;
  /// False, with the reason, like `emit`.
  bool emitEarly(std::string &why);

  /// Emits the whole body, but for what `emitEarly` or `emitKeep` does. False, with the reason, if something has no
  /// form on fragments; `out` is not to be used then.
  bool emit(std::string &why);
  /// After `emit`: arguments of the device function whose elements are accessed by 16 bytes.
  llvm::ArrayRef<unsigned> aligned() const { return wholeRows; }
  /// Emits what fills `kept`, by a warp for each row. False, with the reason, like `emit`.
  bool emitKeep(std::string &why);

private:
  using Index = llvm::ArrayRef<std::string>;

  bool fail(mlir::Operation *op, const std::string &reason);
  /// Columns of the lane's element `n` of a row of fragments.
  static std::string columnOf(int64_t n);
  /// Whether a reduction is among what a value is computed from.
  static bool reduces(mlir::Value v);
  std::string fresh(const char *prefix);
  std::string scalar(mlir::Value v);
  std::string element(mlir::Value v, Index index);
  std::string compute(mlir::Value v, Index index);
  std::string loaded(ir::LoadOp op, Index index);
  std::string reduced(mlir::Operation *op, Index index);
  /// How a reduction combines two values: `evt::tile::Add`.
  static std::string combinerOf(mlir::Operation *reduce);
  std::string variable(mlir::Type type, const std::string &expression);
  std::string keyOf(mlir::Value v, Index index) const;
  std::string sum(mlir::Value offset, const std::string &i);
  std::string entry(mlir::Value table, mlir::Value offset, const std::string &i);
  template <typename AccessOp> std::string namedRow(AccessOp op, const std::string &i);
  template <typename AccessOp> std::string place(AccessOp op, Index index);
  bool isRowTile(mlir::RankedTensorType t) const;
  bool isFragmentTile(mlir::RankedTensorType t) const;
  bool storesTwice();
  bool mayBeReplaced(ir::LoadOp load);
  void checkMemories();
  void emitIndices();
  void emitIndices(mlir::Block &block);
  llvm::SmallVector<mlir::Value> keptValues() const;
  ir::LoadOp rowOf(mlir::Operation *reduce) const;
  llvm::SmallVector<mlir::Value> rowValues() const;
  llvm::SmallVector<ir::LoadOp> earlyLoads() const;
  void emitEarlyLoads();
  bool isOfColumns(ir::LoadOp load) const;
  void emitStore(ir::StoreOp op);
  void emitPair(ir::StoreOp op, int64_t n);
  void emitFour(ir::StoreOp op, int64_t n);
  void emitRows();
  void emitStackStores();
  bool findRunning(mlir::Value v, llvm::SmallVectorImpl<mlir::Operation *> &found) const;
  llvm::SmallVector<mlir::Operation *> runningReductions();
  void emitRunning();
  bool isStreaming(mlir::Value v) const;

  ir::DeviceOp device;
  CodeWriter &out;
  const bool isStack;
  const int64_t rows, mostColumns; // of a tile whose elements a lane holds one by one; wider ones are walked
  llvm::DenseMap<mlir::Value, std::string> names; // scalars and memories
  llvm::DenseMap<mlir::Value, unsigned> given;
  llvm::SmallVector<mlir::BlockArgument> streaming;
  llvm::StringMap<std::string> known;                      // variables by value and index
  llvm::DenseMap<mlir::Operation *, std::string> openRows; // of a stack: the rows of loads and stores
  llvm::SmallVector<unsigned> wholeRows;
  unsigned next = 0;
  int64_t blockColumns = 0; // 0: all
  std::string isFirstBlock;
  int64_t columnsOf(mlir::RankedTensorType t) const { return blockColumns ? blockColumns : t.getShape().back(); }
  bool keeps = false, isByRow = false;
  llvm::SmallDenseSet<mlir::Value> read;
  llvm::DenseMap<mlir::Value, std::string> places;
  std::string reason, sums;
};

} // namespace evt::emit
