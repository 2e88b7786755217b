// The order that events give tasks, and proofs that a dependence is inside it.
//
// A task that notifies an element comes before every task that waits for that element, provided the element's count is
// the number of its notifications. Such *edges* compose: a task passes all its waits before its first notify, so
//
//   a notifies e, b waits for e and notifies f, c waits for f      =>      a before b before c
//
// A dependence is proved when all its pairs are connected by chains of edges. Chains are built call by call, hop by
// hop, as relations between task coordinates. Chains whose number of hops grows with a symbol (steps of a stencil,
// layers) are handled by induction, never by unrolling:
//
//   - a closure T of a relation E (from isl, which may overestimate) is accepted only if T ⊆ E ∪ E∘T: each pair is an
//     edge, or an edge followed by a pair of T that is closer in program order;
//   - a dependence D from a to b may rest on itself for an a closer to b: D ⊆ R ∪ (D ∪ R)∘cycle(b) ∪ cycle(a)∘(D ∪ R),
//     where R is already proved and cycle(x) orders tasks of one call. Edges go strictly forward in program order, so
//     the interval from a to b shrinks in each step and the induction ends.
//
// A chain inside one iteration of a repeat stays there: edges go forward in program order, whose timestamps begin with
// the iteration. So pairs of one iteration are asked of the edges of one iteration alone: chains of them are short, and
// go round through other calls only where repeats are nested.
//
// What data decides: a notify whose element is read from memory is an edge only to tasks that wait for every element it
// could mean, and one that may notify nothing, in a loop whose length is read from memory, is none; a wait whose
// element is read from memory proves nothing; a task of a ragged call, which may not exist, can begin or end a chain
// but is never a link inside one.
#ifndef EVT_COMPILER_ANALYSIS_ORDER_H
#define EVT_COMPILER_ANALYSIS_ORDER_H

#include "compiler/analysis/Counts.h"
#include "compiler/analysis/Dependences.h"
#include "compiler/analysis/Findings.h"
#include "compiler/analysis/TaskGraph.h"

#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace evt {

/// Tasks of `from` ordered before tasks of `to` by one notify and one wait of an event.
struct EventEdge {
  int event = -1; // -1: an order assumed for the sake of argument, before all of the task
  int from = -1;
  int to = -1;
  unsigned wait = 0;    // position of the wait among the waits of `to`
  isl::map certain;     // pairs ordered whatever the data, forward in program order
  isl::map possible;    // pairs that could be ordered for some data
  bool onCount = false; // rests on the obligation that the event's count is right
};

/// All edges. `counts` has one status per event; edges of a miscounted event are kept, so that one mistake gives one
/// message.
std::vector<EventEdge> eventEdges(const TaskGraph &graph, const std::vector<CountStatus> &counts,
                                  const ProofLimits &limits = {});

/// Checks that every edge goes strictly forward in program order, which gives freedom from cycles and the progress of
/// the static and ticket schedules; `progress:<from>-><to>:<event>` where that rests on data.
void checkProgress(const TaskGraph &graph, const std::vector<EventEdge> &edges, const ProofLimits &limits,
                   Findings &findings);

/// Proves dependences. Keeps what it found out about chains, so one prover should serve all dependences of a graph.
class OrderProver {
public:
  /// With `trustCounts` also edges that rest on an obligation about a count are used.
  /// With `maxDivisions`, parts of chains with more integer divisions are left out: composing them takes long, in time
  /// that the operation limits hardly see.
  OrderProver(const TaskGraph &graph, const std::vector<EventEdge> &edges, bool trustCounts,
              std::optional<unsigned> maxDivisions = std::nullopt);

  struct Answer {
    isl::map unproved;         // the pairs without a proof; empty: all are ordered
    bool limitReached = false; // the operation limit ended the search
  };
  Answer prove(const Dependence &dependence, const ProofLimits &limits);
  /// Whether all pairs are ordered, as far as that can be said without closures, which may take long whatever the
  /// limits. False says nothing.
  bool proves(const Dependence &dependence, const ProofLimits &limits);

  /// Pairs of tasks of two calls that are ordered by a chain of at least two edges. Never too many; perhaps not all.
  isl::map indirect(int from, int to, const ProofLimits &limits);

private:
  /// Chains that start at one call: per call, the pairs (start, reached task) found so far.
  struct Chains {
    std::map<int, isl::map> reached;
    std::map<int, isl::map> frontier; // added by the last hop
    unsigned hops = 0;
    bool complete = false; // another hop adds nothing
  };

  struct Search {
    isl::map proved; // pairs with a proof
    bool all = false;
    bool limitReached = false;
  };

  /// A dependence, its pairs in two parts: those of one iteration of a repeat, if there are any, and the others.
  struct Parts {
    std::optional<isl::map> inside;
    isl::map across;
  };
  Parts partsOf(const Dependence &dependence, const ProofLimits &limits) const;
  /// The prover that has the edges of one iteration only.
  OrderProver &insideIterations();
  Answer proveHere(const Dependence &dependence, const ProofLimits &limits);
  void closeCycles(const ProofLimits &limits);
  Search search(const Dependence &dependence, const ProofLimits &limits, bool quick);
  void extend(Chains &found, int start);
  void extendTo(int start, unsigned hops);
  std::optional<isl::map> direct(int from, int to, unsigned waits) const;
  isl::map reachedBefore(int start, int sink, unsigned waits);
  isl::map byInduction(const Dependence &dependence, const isl::map &proved);
  isl::map byClosures(const Dependence &dependence, const isl::map &proved);
  std::optional<isl::map> closureOfCycles(int call);
  isl::map emptyBetween(int from, int to) const;
  bool isLink(int call) const;
  unsigned waitsOf(int call) const;

  const TaskGraph &graph;
  std::optional<unsigned> maxDivisions;
  std::vector<const EventEdge *> edges;
  std::map<std::pair<int, int>, isl::map> directEdges; // all waits
  bool closed = false;                                 // where a call orders its own tasks, they are now closures
  std::map<int, Chains> chains;
  std::map<int, std::optional<isl::map>> closures;
  std::vector<EventEdge> insideEdges; // what `inside` points to
  std::unique_ptr<OrderProver> inside;
};

/// T with E ⊆ T ⊆ E+ for a relation E on one call that is strictly forward in program order. E itself if nothing larger
/// could be justified.
isl::map justifiedClosure(const isl::map &edges);

/// Whether, at fixed symbol values, a chain of edges leads from `first` to the access of `second` that follows
/// `waits` of its waits. With `possible` set, edges that only some data gives count as well.
bool orderedAt(const TaskGraph &graph, const std::vector<EventEdge> &edges, const SymbolValues &symbols,
               const Task &first, const Task &second, unsigned waits, bool possible);

} // namespace evt

#endif
