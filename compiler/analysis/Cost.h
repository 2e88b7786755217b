// How much a program must do: operations and bytes of each call and of the whole graph, as expressions of its symbols.
//
// For the row sum (examples/row_sum), with rows of 4096 floats summed by four tasks and then by one:
//
//   partial   4 * n tasks    1024 operations each    bytes: x, n * 4096 * 4, and p, n * 4 * 4
//   total     n tasks        4 operations each       bytes: p, n * 4 * 4, and y, n * 4
//   graph                    4100 * n operations     bytes: x and y, n * 16388
//
// *Operations* are those of the tile program, of whole tiles, as many tasks as the grid has: two for each product and
// sum of linalg.matmul, one for each element of any other arithmetic (a comparison, an exponential), as many as there
// are inputs for a reduction or a prefix sum, none for moves and conversions. A top-k compares each input with each
// result.
//
// *Bytes* of a call are those of the memories it touches, each byte once if it is read and once if it is written,
// however many tasks do so: from the smallest to the largest index of each dimension, inside the memory. Bytes of the
// graph are those of its arguments: what lies in planned buffers need not leave the chip.
//
// *Assumptions* say where less may be touched than is counted, most often because data decides. An index that is read
// from memory may be any of its dimension, but a task touches no more than its tiles; a loop whose length is read from
// memory runs over all of the dimension it indexes; a ragged call has as many tasks as its bound; an index that is a
// remainder takes all its values. Where nothing is assumed the bytes are exactly those that tasks touch, unless tasks
// leave gaps (test/run/costs_match_accesses.py compares them).
#ifndef EVT_COMPILER_ANALYSIS_COST_H
#define EVT_COMPILER_ANALYSIS_COST_H

#include "compiler/analysis/Amount.h"
#include "compiler/ir/Signature.h"

#include <string>
#include <vector>

namespace evt {

struct CallCost {
  Amount tasks;
  Amount ops;   // of all tasks
  Amount bytes; // read and written
  std::vector<std::string> assumptions;
};

struct GraphCost {
  std::vector<CallCost> calls; // in the signature's order
  Amount ops, bytes;
};

/// The cost of a verified graph; none if an amount does not fit in 64 bits, is too long to be written down, or depends
/// on what is no expression of the symbols.
std::optional<GraphCost> costOf(const ir::Signature &signature);

} // namespace evt

#endif
