// What a graph function looks like from outside: its symbols, memories, events and calls, numbered.
//
// The numbers are the ones used everywhere after the IR: in the polyhedral model, in emitted code, in the manifest and
// in hooks. Memories are the tensor arguments in order and then the planned buffers; calls are in program order.
#pragma once

#include "Evt.h"

#include <string>
#include <vector>

namespace evt::ir {

struct GraphSymbol {
  std::string name;
  int64_t min = 0, max = 0;
  /// The dimensions it is read from (argument number, dimension); empty for an index argument.
  std::vector<std::pair<unsigned, unsigned>> sources;
  int argument = -1; // the index argument it is, or -1
};

struct Signature {
  explicit Signature(GraphOp graph);

  GraphOp graph;
  std::vector<GraphSymbol> symbols;
  std::vector<mlir::Value> memories;
  std::vector<EventOp> events;
  std::vector<CallOp> calls;

  int symbolOf(mlir::Value value) const;                  // evt.symbol, index argument, memref.dim; or -1
  int symbolOfDim(unsigned argument, unsigned dim) const; // or -1
  int memoryOf(mlir::Value value) const;                  // or -1
  int eventOf(mlir::Value value) const;                   // or -1
  /// An argument of the graph that no task writes.
  bool isImmutable(mlir::Value memory) const;
  std::string memoryName(unsigned memory) const;
  /// Calls of the same device function are told apart by a suffix: qkv, qkv#2.
  std::string callName(unsigned call) const;
  /// Names of a call's coordinates: the iterations around it, then the grid's.
  std::vector<std::string> coordNames(unsigned call) const;
};

/// The device function a call names; the verifier has checked that it exists.
DeviceOp calleeOf(CallOp call);

/// The constant an index value holds, if it is one.
std::optional<int64_t> constantOf(mlir::Value value);

/// One index value, or two that hold the same constant.
bool isSameIndex(mlir::Value a, mlir::Value b);

} // namespace evt::ir
