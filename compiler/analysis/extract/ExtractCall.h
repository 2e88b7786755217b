// The tasks of one call: domain, protocol and accesses. The part of extraction that looks at one call at a time.
#ifndef EVT_COMPILER_ANALYSIS_EXTRACT_EXTRACTCALL_H
#define EVT_COMPILER_ANALYSIS_EXTRACT_EXTRACTCALL_H

#include "IndexValues.h"
#include "SourceLocations.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace evt {

class CallExtractor {
public:
  CallExtractor(ExtractionScope &scope, SourceLocations &locations, unsigned index);

  /// Fills in the call but for its place in program order. Fails, after an error, if it writes an immutable argument.
  mlir::LogicalResult extract(Call &call);

private:
  /// The tasks of the call. Comes first: the rest refers to them.
  void extractDomain(Call &call);
  /// Waits, notifies and table reads of the protocol, and those that ragged grids and counts in memory imply.
  void extractProtocol(Call &call);
  /// What the device function reads and writes.
  mlir::LogicalResult extractBody(Call &call);
  /// Fails, after an error, if `write` writes an immutable argument of the graph.
  mlir::LogicalResult checkMutable(mlir::Operation *write, mlir::Value memory);

  /// One dimension of a box: [lower, upper) where both are known, anything where lower is not.
  struct Side {
    IndexValue lower, upper;
  };
  struct Box {
    isl::map relation;
    bool exact = true;
  };
  Side point(IndexValue at) const;
  Side range(IndexValue from, int64_t size) const;
  /// Tasks to elements: the box of `sides` for the iterations around `op`, inside `shape` if `clip`.
  Box boxOf(mlir::Operation *op, llvm::ArrayRef<Side> sides, const isl::set &shape, bool clip);

  void addWait(Call &call, mlir::Value event, llvm::ArrayRef<Side> sides, mlir::Location location);
  void addAccess(Call &call, mlir::Operation *op, mlir::Value memory, bool write, llvm::ArrayRef<Side> sides,
                 unsigned afterWaits, std::string text);
  template <typename AccessOp> void addTileAccess(Call &call, AccessOp at, bool write);
  void addAttention(Call &call, ir::AttendOp op);
  void addMerge(Call &call, ir::MergeOp op);
  void addPartsAttention(Call &call, ir::AttendPartsOp op);
  void addPartsMerge(Call &call, ir::MergePartsOp op);
  void addDraw(Call &call, ir::DrawOp op);
  void addSample(Call &call, ir::SampleOp op);
  void addTokenAttention(Call &call, ir::AttendTokensOp op);
  mlir::LogicalResult addRotation(Call &call, ir::RotateHeadOp op);
  void addTokens(Call &call, mlir::Operation *at, mlir::Value requests, mlir::Value positions);
  /// Remembers that the last access of the call is of rows of tokens in long or in short runs alone.
  template <typename RunsOp> void isOfRuns(const Call &call, RunsOp runs, bool isLong);
  /// The operation by which a store runs only for a token in a short run, the row that it stores.
  ir::ShortTokensOp shortTokenOf(ir::StoreOp store);
  bool namesSomething(const Call &call, ir::NotifyOp notify);
  template <typename UseOp> std::vector<Side> sidesOf(UseOp use, bool wholeIsShape);
  std::string describe(llvm::StringRef what);

  ExtractionScope &scope;
  SourceLocations &locations;
  unsigned index;
  ir::CallOp op;
  ir::DeviceOp device;
  std::string tuple;
  std::vector<mlir::scf::ForOp> loops;
  std::unique_ptr<IndexValues> values;
};

} // namespace evt

#endif
