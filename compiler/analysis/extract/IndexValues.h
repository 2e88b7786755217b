// SSA index values as affine expressions of a task.
//
// A task of one call has coordinates (the iterations of the repeats around the call first, then the grid's), and its
// body may loop. Inside the space { [coordinates…, induction variables…] } every index value is an isl::pw_aff over
// the symbols:
//
//   evt.repeat %l to %layers {
//     evt.call @f(%x, %l) grid(%n)            // coordinates [l, i]
//   …
//   evt.device @f(%x: …, %layer: index) grid(%i) {
//     scf.for %k = %c0 to %c4 step %c1 {      // space { [l, i, k] }
//       %o = affine.apply affine_map<(d0, d1) -> (d0 * 64 + d1)>(%i, %k)       // { [l, i, k] -> [64i + k] }
//       %p = arith.addi %o, %layer                                             // { [l, i, k] -> [64i + k + l] }
//       %t = evt.read %x[%p]                                                   // unknown: it depends on data
//
// What no affine expression says is *unknown* (nullopt). One case is rescued: a non-affine expression of symbols alone,
// such as the product n * m, becomes a *derived symbol*, a parameter about which nothing else is known. What holds for
// all its values holds for the one it has; a counterexample found with it counts only if the values of the
// derived symbols agree with those of the program's.
#ifndef EVT_COMPILER_ANALYSIS_EXTRACT_INDEXVALUES_H
#define EVT_COMPILER_ANALYSIS_EXTRACT_INDEXVALUES_H

#include "compiler/analysis/TaskGraph.h"
#include "compiler/ir/Signature.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/AffineMap.h"
#include "llvm/ADT/DenseMap.h"

#include <functional>
#include <map>
#include <optional>

namespace evt {

using IndexValue = std::optional<isl::pw_aff>;

/// The non-affine expressions of symbols that stand in the model as symbols of their own.
class DerivedSymbols {
public:
  /// Arithmetic on the operands' values; null where there is none (the operation is not understood at all).
  using Evaluate = std::function<std::optional<int64_t>(const std::vector<int64_t> &)>;

  /// The symbol for `operation` applied to `operands` (over parameters alone); the same one for the same question.
  /// `graph` receives it as a new symbol.
  std::string symbolFor(TaskGraph &graph, const std::string &operation, const std::vector<isl::pw_aff> &operands,
                        Evaluate evaluate);
  /// Remembers that the graph itself computes a derived symbol, as `value`.
  void setValue(const std::string &name, mlir::Value value) { valueByName.try_emplace(name, value); }
  mlir::Value valueOf(const std::string &name) const {
    auto found = valueByName.find(name);
    return found == valueByName.end() ? mlir::Value() : found->second;
  }
  /// Whether the derived symbols have the values that the program's symbols give them.
  bool consistent(const TaskGraph &graph, const std::vector<int64_t> &values) const;

private:
  struct Derived {
    std::string name;
    std::vector<isl::pw_aff> operands;
    Evaluate evaluate;
  };
  std::map<std::string, Derived> byQuestion;
  std::map<std::string, mlir::Value> valueByName;
};

/// An access that touches only rows of tokens in long runs, or only those of tokens in short ones (evt.attend_tokens,
/// evt.short_tokens), as tables and a length decide.
struct RunAccess {
  int call = -1;
  unsigned access = 0; // of the call
  int requests = -1, positions = -1;
  int64_t enough = 0;
  bool isLong = false;
};

/// What extraction shares between the calls of a graph.
struct ExtractionScope {
  const ir::Signature &signature;
  DerivedSymbols &derived;
  TaskGraph &graph;
  std::vector<RunAccess> ofRuns = {};
  unsigned workLimits = 0; // how many WorkLimits are alive
};

/// Bounds the work for one question about the program; over it, isl::exception_quota is thrown and the answer is an
/// over-approximation. May be nested: the outermost counts.
class WorkLimit {
public:
  explicit WorkLimit(ExtractionScope &scope);
  ~WorkLimit() { --scope.workLimits; }

private:
  ExtractionScope &scope;
  std::optional<OperationLimit> limit;
};

/// { -> name }: a symbol over parameters alone.
isl::pw_aff symbolValue(const TaskGraph &graph, const std::string &name);

class IndexValues {
public:
  /// A space of `coordinates` coordinates followed by one dimension for each of `loops`.
  IndexValues(ExtractionScope &scope, unsigned coordinates, llvm::ArrayRef<mlir::scf::ForOp> loops);

  /// The set { [coordinates…, induction variables…] } of which nothing is known yet.
  isl::set universe() const { return isl::set::universe(space); }
  unsigned coordinates() const { return numCoordinates; }
  unsigned dims() const { return numDims; }
  isl::pw_aff dim(unsigned position) const;
  isl::pw_aff constant(int64_t value) const;

  /// Declares a value: a coordinate's block argument, or a device function's index argument.
  void bind(mlir::Value value, IndexValue meaning);
  /// Declares which memory a device function's argument is.
  void bindMemory(mlir::Value argument, mlir::Value memory);
  mlir::Value memoryOf(mlir::Value value) const;

  /// What range checks may assume about the space: the tasks that exist.
  void assume(const isl::set &tasks) { known = known.intersect(tasks); }

  /// What a value is; unknown also if that costs too much to find out.
  IndexValue of(mlir::Value value);
  /// The smallest of a map's results, its dimensions being the first coordinates and its symbols `operands`.
  IndexValue leastOf(mlir::AffineMap map, mlir::ValueRange operands);
  /// The extent of a dimension of a memory (a graph's argument or evt.alloc).
  IndexValue extentOf(mlir::Value memory, unsigned dim);

  struct Iterations {
    isl::set where;
    bool exact = true; // false: a bound or the step is unknown
  };
  /// The iterations of the loops around an operation.
  Iterations iterationsAround(mlir::Operation *op);

private:
  IndexValue compute(mlir::Value value);
  void rememberDerived(mlir::Value value, const isl::pw_aff &meaning);
  IndexValue computeArith(mlir::Operation *op);
  IndexValue fold(mlir::AffineMap map, llvm::ArrayRef<IndexValue> operands, bool least);
  IndexValue ofAffine(mlir::AffineExpr expr, llvm::ArrayRef<IndexValue> dims, llvm::ArrayRef<IndexValue> symbols);
  IndexValue ofValid(ir::ValidOp op);
  IndexValue product(IndexValue a, IndexValue b);
  IndexValue quotient(llvm::StringRef operation, IndexValue a, IndexValue b);
  IndexValue derive(llvm::StringRef operation, llvm::ArrayRef<IndexValue> operands, DerivedSymbols::Evaluate evaluate);
  IndexValue within(IndexValue value, mlir::Type type) const;
  bool isNonNegative(const isl::pw_aff &value) const;
  bool isBetween(const isl::pw_aff &value, int64_t lo, int64_t hi) const;

  ExtractionScope &scope;
  unsigned numCoordinates;
  unsigned numDims;
  isl::space space;
  isl::set known;
  llvm::DenseMap<mlir::Value, IndexValue> values;
  llvm::DenseMap<mlir::Value, mlir::Value> memories;
};

} // namespace evt

#endif
