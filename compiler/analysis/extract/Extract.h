// From a graph function to its polyhedral model.
//
// For the row sum, the call
//
//   evt.call @total(%p, %y) grid(%n) wait(%done[(i) -> (i)]) : (memref<?x4xf32>, memref<?xf32>)
//
// of the device function
//
//   evt.device @total(%p: memref<?x4xf32>, %y: memref<?xf32>) grid(%i) {
//     %t = evt.load %p[%i, %c0] : memref<?x4xf32> -> tensor<4xf32>
//     …
//     evt.store %s, %y[%i] : tensor<f32> -> memref<?xf32>
//   }
//
// becomes (tuples: C1 is the call, M1 = y, M2 = p, E0 = done)
//
//   domain  [n] -> { C1[i] : 0 <= i < n }
//   wait    [n] -> { C1[i] -> E0[i] : 0 <= i < n }
//   read    [n] -> { C1[i] -> M2[i, b] : 0 <= i < n and 0 <= b <= 3 }        after 1 wait
//   write   [n] -> { C1[i] -> M1[i] : 0 <= i < n }                           after 1 wait
//   order   { C1[i] -> [1, i, 0] }
//
// What an affine expression of symbols, coordinates and loop variables cannot say is over-approximated (the whole
// dimension) and marked inexact. What the operations imply is made explicit: a ragged call waits for its guard and
// reads its indptr; a wait for an event whose count is in memory waits for that count's guard and reads the table
// first; a load through a table reads the table.
#ifndef EVT_COMPILER_ANALYSIS_EXTRACT_EXTRACT_H
#define EVT_COMPILER_ANALYSIS_EXTRACT_EXTRACT_H

#include "IndexValues.h"
#include "SourceLocations.h"
#include "compiler/analysis/TaskGraph.h"

#include <vector>

namespace evt {

struct Extraction {
  TaskGraph graph; // first: owns the isl context of everything below
  /// Numbers symbols, memories, events and calls as the graph does. graph.symbols has derived ones after these.
  ir::Signature signature;
  DerivedSymbols derived;
  SourceLocations locations;
};

/// The model of a verified graph. Fails, after an error at the line, if the graph writes an immutable argument.
mlir::FailureOr<Extraction> extractTaskGraph(ir::GraphOp graph);

} // namespace evt

#endif
