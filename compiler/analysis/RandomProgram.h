// Random small programs for tests, kept as plain numbers. A program is written once as integer sets for the proofs
// (toGraph), and run once with loops over every task and element (Instance). The two share nothing but the numbers.
#ifndef EVT_COMPILER_ANALYSIS_RANDOMPROGRAM_H
#define EVT_COMPILER_ANALYSIS_RANDOMPROGRAM_H

#include "compiler/analysis/TaskGraph.h"

#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace evt::test {

/// The only symbol is n, from smallestN to largestN.
constexpr int smallestN = 1, largestN = 4;

/// a * i + b * j + d, for a task (i, j).
struct Form {
  int a = 0, b = 0, d = 0;
  int at(int i, int j) const { return a * i + b * j + d; }
  std::string text() const;
};

/// The elements form .. form + length - 1 of a memory or event.
struct Use {
  int target = 0;
  Form form;
  int length = 1;
  bool write = false;
  bool exact = true;
  int afterWaits = -1; // of an access; -1: after all
};

/// plus, and n more if symbolic.
struct Extent {
  bool symbolic = false;
  int plus = 0;
  int at(int n) const { return (symbolic ? n : 0) + plus; }
  std::string text() const { return (symbolic ? "n + " : "") + std::to_string(plus); }
};

struct ProgramCall {
  Extent rows, columns;
  std::vector<Use> accesses, waits, notifies;
  bool ragged = false;
};

struct Program {
  std::vector<Extent> memories, events;
  std::vector<ProgramCall> calls; // called c0, c1, … in messages; memories m0, …, events e0, …
  bool repeated = false;          // rows are iterations: all calls of row i come before those of row i + 1
  int wrongCount = -1;            // the event whose count is one too large at its element 0

  bool rowExists(int call, int row, int n) const { return row < calls[static_cast<size_t>(call)].rows.at(n); }
  /// Whether the notifications of an event rest on data; its count is read from memory then.
  bool countRestsOnData(int event) const;
};

Program randomProgram(unsigned seed, bool withData);
TaskGraph toGraph(const Program &program);

/// What happens when a program runs for one n, with one choice for everything that data decides.
class Instance {
public:
  Instance(const Program &program, int n, unsigned dataSeed);

  bool notifiesOutside() const { return outside; }
  bool miscounted() const;
  bool waitsBackward() const { return backward; }
  /// (source call, sink call, memory) of direct conflicts that no chain of events orders.
  std::set<std::tuple<int, int, int>> unorderedDirect() const;
  /// Whether some conflicting pair, direct or not, is unordered.
  bool anyUnordered() const;
  bool wellFormed() const { return !outside && !miscounted() && !backward && !anyUnordered(); }

  int notifications(int event, int element) const;

private:
  struct Touch {
    int target;
    std::set<int> elements;
    bool write;
    int afterWaits;
  };
  struct Run {
    int call, i, j;
    std::vector<Touch> accesses, waits, notifies;
  };

  Run runTask(int call, int i, int j);
  bool ordered(size_t first, size_t second, int waits) const;
  template <typename Visit> void forEachUnordered(bool directOnly, Visit visit) const;

  const Program &program;
  int n;
  std::mt19937 random;
  std::vector<Run> runs; // in program order
  std::vector<std::vector<char>> before;
  bool outside = false, backward = false;
};

} // namespace evt::test

#endif
