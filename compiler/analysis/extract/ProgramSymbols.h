// The symbols of a graph function: every value that is known only when the kernel is launched.
//
//   evt.graph @g(%x: memref<?x?xf32>, %t: index {evt.max = 9}) {
//     %n = evt.symbol "n" (%x[0]) : memref<?x?xf32>
//
// has three, in this order: the index argument `t`, the named dimension `n`, and `x_1`, the dimension of `x` that no
// evt.symbol names. Tensors' dimensions and index values are written in terms of them everywhere: in the artifact, in
// proofs and in messages.
#ifndef EVT_COMPILER_ANALYSIS_EXTRACT_PROGRAMSYMBOLS_H
#define EVT_COMPILER_ANALYSIS_EXTRACT_PROGRAMSYMBOLS_H

#include "compiler/ir/Evt.h"

#include <cstdint>
#include <string>
#include <vector>

namespace evt {

/// Where the launch finds a symbol's value: dimension `dim` of argument `argument`, or an index argument (dim -1).
struct SymbolSource {
  unsigned argument = 0;
  int dim = -1;
};

struct ProgramSymbol {
  std::string name;
  int64_t min = 0;
  int64_t max = 0;
  std::vector<SymbolSource> sources; // all must agree
};

/// The symbols of a graph and who names what.
class ProgramSymbols {
public:
  explicit ProgramSymbols(ir::GraphOp graph);

  const std::vector<ProgramSymbol> &all() const { return symbols; }
  /// The symbol of an index argument or of the result of an evt.symbol; -1 for any other value.
  int of(mlir::Value value) const;
  /// The symbol of a dynamic dimension of an argument; -1 for a static one.
  int ofDimension(mlir::BlockArgument argument, unsigned dim) const;

private:
  std::vector<ProgramSymbol> symbols;
};

} // namespace evt

#endif
