// Tiles as values of emitted code: which have an array, and how the others are read where they are used.
//
// A tile that has to be in memory gets an array: a local one on the CPU, a place in the block's shared memory on CUDA,
// where all compute threads share a loop and meet after it. Element-wise operations whose only user is another
// element-wise operation never get one: they become part of the user's loop, so a chain of them is one pass. Constants,
// splats, broadcasts, slices and transposes are read through index arithmetic where they are used.
#pragma once

#include "CodeWriter.h"
#include "TileCode.h"

namespace evt::emit {

mlir::RankedTensorType tileType(mlir::Value v);
bool isElementwise(mlir::Operation *op);
/// Tiles that are read through index arithmetic wherever they are used.
bool isView(mlir::Operation *op);

class TileValues {
protected:
  explicit TileValues(Target target) : target(target) {}

  bool isCuda() const { return target == Target::cuda; }
  void refuse(mlir::Operation *op, const std::string &why);
  /// `is not supported by the CPU target`
  void refuseUnsupported(mlir::Operation *op);
  std::string fresh(const char *prefix);

  /// C++ for a scalar or a memory.
  std::string name(mlir::Value v);
  std::string newBuffer(mlir::RankedTensorType t);
  /// After the arrays of this step were written or read: on CUDA the threads meet, since the next step is divided
  /// otherwise.
  void endStep();
  /// Ends a step, unless what follows is one of the same kind: loads fill arrays of their own, and stores only read
  /// them.
  template <typename MoveOp> void endMove(MoveOp op) {
    if (!llvm::isa_and_nonnull<MoveOp>(nextOnTiles(op)))
      endStep();
  }

  /// Runs `body` with the multi-index inside loops over the shape.
  template <class Body> void loops(llvm::ArrayRef<int64_t> shape, Body body) {
    unsigned opened = 0;
    llvm::SmallVector<std::string> index = openLoops(shape, opened);
    body(llvm::ArrayRef<std::string>(index));
    while (opened--)
      out.line("}");
    endStep();
  }
  /// The head of a loop over `n` independent steps, up to its body.
  std::string flatLoop(const std::string &q, int64_t n) const;
  static std::string linear(llvm::ArrayRef<std::string> index, llvm::ArrayRef<int64_t> shape);

  /// The element of `v` at `index`.
  std::string element(mlir::Value v, llvm::ArrayRef<std::string> index);
  void materializeInto(mlir::Value v, const std::string &buffer);
  void copyBuffer(const std::string &to, const std::string &from, mlir::RankedTensorType t);
  /// The array that holds `v`, filled now if it had none. Remembered only where every later use can see it.
  std::string buffer(mlir::Value v);
  /// An array that starts out as `destination` and becomes the result of `op`.
  std::string destination(mlir::Value destination, mlir::Operation *op);

  const Target target;
  CodeWriter out;
  llvm::DenseMap<mlir::Value, std::string> names;   // scalars and memories
  llvm::DenseMap<mlir::Value, std::string> buffers; // tiles that have an array
  llvm::DenseSet<mlir::Value> carried;              // iteration arguments of loops, which own their array
  mlir::Block *current = nullptr;
  int64_t bytes = 0;     // of the arrays that are live now
  int64_t mostBytes = 0; // ... at any time
  bool failed = false;

private:
  /// The next operation of the block that touches tiles. What was loaded has its array under any shape.
  static mlir::Operation *nextOnTiles(mlir::Operation *op);
  llvm::SmallVector<std::string> openLoops(llvm::ArrayRef<int64_t> shape, unsigned &opened);
  bool isFlat(mlir::Value v);
  std::string flatElement(mlir::Value v, const std::string &q);
  bool onlyUse(mlir::Value v, mlir::Operation *user);

  unsigned next = 0;
};

} // namespace evt::emit
