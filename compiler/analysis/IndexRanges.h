// Between which amounts an index value lies, over all tasks of a call: the smallest and the largest, as expressions of
// the symbols.
//
//   evt.call @product(…) grid(%rows, %cols)           // rows = m ceildiv 32
//   evt.device @product(…) grid(%i, %j) {
//     %row = affine.apply affine_map<(d0) -> (d0 * 32)>(%i)       // 0 .. 32 * (m ceildiv 32) - 32
//     %t = evt.read %table[%i]                                    // unknown: data decides
//
// Each value is taken by itself: i - j of equal i and j has a range around 0. Only the length of a loop is looked at as
// a whole: from i * 128 to i * 128 + 128 are 128 steps, whatever i is.
#ifndef EVT_COMPILER_ANALYSIS_INDEXRANGES_H
#define EVT_COMPILER_ANALYSIS_INDEXRANGES_H

#include "compiler/analysis/Amount.h"
#include "compiler/ir/Signature.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/AffineMap.h"
#include "llvm/ADT/MapVector.h"

#include <map>
#include <stdexcept>

namespace evt {

/// Inclusive; nothing where data decides.
struct IndexRange {
  std::optional<Amount> lo, hi;
};

/// The smallest range with both in it.
IndexRange hull(const IndexRange &a, const IndexRange &b);

/// How often a loop runs in a task.
struct Trips {
  Amount count;
  std::string assumption; // why it may run less often; empty if it does not
};

/// Thrown where an extent is no expression of the symbols.
struct UnknownSize : std::runtime_error {
  UnknownSize() : std::runtime_error("an extent is no expression of the symbols") {}
};

class IndexRanges {
public:
  IndexRanges(const ir::Signature &signature, ir::CallOp call);

  /// Extents of the linear index of the call's tasks, none below 0; a ragged pair has one, its bound.
  const std::vector<Amount> &extents() const { return linear; }
  /// Groups of a ragged call.
  Amount groups() const { return groupCount; }

  IndexRange of(mlir::Value value) const;
  Trips tripsOf(mlir::scf::ForOp loop) const;
  /// The graph's memory that an argument of the device function stands for.
  mlir::Value memoryOf(mlir::Value value) const;
  Amount extentOf(unsigned memory, unsigned dim) const;

private:
  /// A sum of multiples of values.
  struct Sum {
    Amount constant = 0;
    llvm::MapVector<mlir::Value, Amount> multiples;
  };
  /// The smallest or the largest of a few sums, or the only one.
  struct Choice {
    llvm::SmallVector<Sum> of;
    bool largest = false;
  };
  IndexRange distance(mlir::Value from, mlir::Value to) const;
  IndexRange rangeOf(const Sum &sum) const;
  Choice choiceOf(mlir::Value value) const;
  const Sum &sumOf(mlir::Value value) const;
  Sum computeSum(mlir::Value value) const;
  std::optional<Sum> sumOf(mlir::AffineExpr expr, mlir::ValueRange dims, mlir::ValueRange symbols) const;
  static Sum add(const Sum &a, const Sum &b, const Amount &times);

  IndexRange compute(mlir::Value value) const;
  IndexRange ofOperation(mlir::Operation *op) const;
  IndexRange ofAffine(mlir::AffineExpr expr, mlir::ValueRange dims, mlir::ValueRange symbols) const;
  Amount sizeOf(mlir::Value value) const;

  const ir::Signature &signature;
  std::vector<Amount> linear;
  Amount groupCount = 0;
  mutable llvm::DenseMap<mlir::Value, IndexRange> known;
  mutable std::map<void *, Sum> sums;             // by values, and never walked; references stay
  llvm::DenseMap<mlir::Value, mlir::Value> bound; // arguments of the device function
};

} // namespace evt

#endif
