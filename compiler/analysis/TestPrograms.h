// Small programs as plain models, for tests. Written in isl's notation; the list of symbols is put before each set.
#ifndef EVT_COMPILER_ANALYSIS_TESTPROGRAMS_H
#define EVT_COMPILER_ANALYSIS_TESTPROGRAMS_H

#include "compiler/analysis/TaskGraph.h"

#include <string>
#include <vector>

namespace evt::test {

/// Builds a TaskGraph piece by piece. Uses of a call are added to the call declared last. Locations are words such as
/// "partial writes p", so that a test can say where a diagnostic points.
class GraphText {
public:
  TaskGraph graph;

  GraphText();
  GraphText &symbol(const std::string &name, int64_t min, int64_t max);
  GraphText &memory(const std::string &name, const std::string &shape);
  GraphText &event(const std::string &name, const std::string &shape, const std::string &count);
  GraphText &eventFromMemory(const std::string &name, const std::string &shape, const std::string &countText);
  GraphText &call(const std::string &name, std::vector<std::string> coords, const std::string &domain,
                  const std::string &order);
  GraphText &ragged();
  GraphText &reads(const std::string &relation, bool exact = true);
  GraphText &writes(const std::string &relation, bool exact = true);
  /// A read by the protocol: ordered only by the waits added before it.
  GraphText &readsTable(const std::string &relation);
  GraphText &waits(const std::string &relation, bool exact = true);
  GraphText &notifies(const std::string &relation, bool exact = true, bool orNone = false);

private:
  std::string withSymbols(const std::string &text) const;
  isl::map map(const std::string &text) const;
  isl::set set(const std::string &text) const;
  void access(const std::string &relation, bool write, bool exact);
};

/// The row sum of the design: partial(i, j) for n x 4, total(i).
TaskGraph rowSum();
/// h = x * a, y = h * b in tiles of rows r and columns c; y waits for each K chunk of h (tiles of r) separately.
TaskGraph chainedMatmuls();
/// 2-D five-point stencil over T steps in two buffers, h x w tiles, waits clipped at the border.
TaskGraph stencil();
/// L layers of three calls; the last writes the buffer that the next layer's first reads; buffers are reused.
TaskGraph layers();
/// Every tile of b needs every tile of a; one event element counts n * m notifications.
TaskGraph allToAll();

/// The same program without events, waits and notifies.
TaskGraph withoutEvents(const TaskGraph &graph);

} // namespace evt::test

#endif
