// What a proof leaves: violations (the program is wrong, with the smallest case that shows it) and obligations (true or
// not depends on data, or could not be decided: checked while running, never assumed silently).
#ifndef EVT_COMPILER_ANALYSIS_FINDINGS_H
#define EVT_COMPILER_ANALYSIS_FINDINGS_H

#include "compiler/analysis/Counterexample.h"

#include <string>
#include <vector>

namespace evt {

enum class ViolationKind {
  Order,   // two tasks touch one element, one of them writes, and no chain of events orders them
  Count,   // an element's count differs from the notifications it receives
  Bound,   // a task notifies outside an event's shape
  Progress // a task waits for a task that does not come before it in program order
};

struct Note {
  std::string message;
  std::string location;
};

struct Violation {
  ViolationKind kind = ViolationKind::Order;
  std::string message; // one line, for a diagnostic at `location`
  std::string location;
  std::vector<Note> notes; // the first says the symbol values, if there are symbols
  SymbolValues symbols;    // the smallest at which it happens
};

struct Obligation {
  std::string name; // order:attend->append:kv, count:ready, bound:route:ready, progress:a->b:ready
  std::string text;
  std::string location;
};

struct Findings {
  std::vector<Violation> violations;
  std::vector<Obligation> obligations;

  bool ok() const { return violations.empty(); }
  /// Adds it unless one of that name is listed.
  void oblige(Obligation obligation);
};

/// How much work a proof may cost. Over the limit a question counts as not proved.
struct ProofLimits {
  /// Elementary operations of isl for one question (a dependence, a count, an edge); a million take a fraction of a
  /// second. They shrink when they are reached often.
  unsigned long operations = 4'000'000;
};

/// The note with the symbol values of a counterexample; none for a program without symbols.
std::vector<Note> symbolNotes(const TaskGraph &graph, const SymbolValues &values);

} // namespace evt

#endif
