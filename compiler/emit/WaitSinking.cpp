#include "WaitSinking.h"

#include "ModelText.h"
#include "ProductForms.h"

#include "compiler/analysis/Order.h"
#include "compiler/analysis/extract/Extract.h"

#include <algorithm>

using namespace mlir;

namespace evt::emit {

namespace {

std::string num(int64_t n) { return std::to_string(n); }

/// x0, x1, …
std::vector<std::string> numbered(const char *letter, unsigned count) {
  std::vector<std::string> names;
  for (unsigned i = 0; i < count; ++i)
    names.push_back(letter + num(i));
  return names;
}

/// A memory of which a product's tiles are loaded along its last dimension.
struct Columns {
  unsigned memory = 0;
  int64_t perElement = 0; // columns that an element of the event is for; 0: the event says nothing of them
};

/// The program's model, in which one wait of a call is passed column by column.
class Model {
public:
  Model(const GraphCode &graph, unsigned call, unsigned wait, unsigned dim, TaskGraph &tasks)
      : graph(graph), k(call), wait(wait), dim(dim), tasks(tasks), event(tasks.calls[call].waits[wait].event) {}

  bool isWritten(unsigned memory) const {
    return llvm::any_of(tasks.calls, [&](const Call &call) {
      return llvm::any_of(call.accesses, [&](const Access &a) { return a.write && a.memory == (int)memory; });
    });
  }
  /// Whether some who write the memory notify the event.
  bool isFor(unsigned memory) const { return !elementsOf(memory).is_empty(); }

  /// How many columns of the memory an element is for, if element e says nothing of those before e times as many.
  std::optional<int64_t> columnsOfElement(unsigned memory) const {
    isl::map elements = elementsOf(memory); // { [column] -> [e] }
    isl::set first = elements.intersect_range(isl::set(tasks.ctx(), "{ [e] : e = 1 }")).domain();
    if (first.is_empty())
      return std::nullopt;
    isl::val least = first.dim_min_val(0);
    if (!least.is_int() || !least.is_pos())
      return std::nullopt;
    int64_t columns = least.num_si();
    if (!elements.is_subset(mapOf(tasks.ctx(), "{ [column] -> [e] : " + num(columns) + " * e <= column }")))
      return std::nullopt;
    return columns;
  }

  /// Whether everything is ordered when `sunk` memories are fetched column by column, those `beside` them behind the
  /// other waits, and what else the task reads when the first columns are there; behind all waits, if a loader passes
  /// this one at once (`waitsAtOnce`). The model is changed, so it is asked once.
  bool isOrdered(const std::vector<Columns> &sunk, const std::vector<unsigned> &beside, bool waitsAtOnce) {
    const unsigned own = tasks.calls.size();
    for (const Columns &columns : sunk)
      addColumns(columns);
    // The call's waits: others, of this one what the first columns need, this one.
    Call &call = tasks.calls[k];
    std::rotate(call.waits.begin() + wait, call.waits.begin() + wait + 1, call.waits.end());
    call.waits.insert(std::prev(call.waits.end()), ofFirstColumn(call.waits.back(), sunk.front()));
    const unsigned all = call.waits.size(), firstColumns = all - 1, others = all - 2;
    for (Access &access : call.accesses) {
      bool isSunk = llvm::any_of(sunk, [&](const Columns &c) { return (int)c.memory == access.memory; });
      if (access.write || isSunk)
        access.afterWaits = all;
      else if (llvm::is_contained(beside, (unsigned)access.memory))
        access.afterWaits = others;
      else
        access.afterWaits = waitsAtOnce ? all : firstColumns;
    }
    ProofLimits limits;
    Findings findings;
    std::vector<EventEdge> edges = eventEdges(tasks, checkCounts(tasks, limits, findings), limits);
    OrderProver prover(tasks, edges, false);
    for (const Dependence &dependence : directDependences(tasks, limits.operations)) {
      // Nothing else has changed. That the columns are read before somebody writes them anew follows from the task's
      // own notifies.
      bool isAsked = dependence.source < (int)own && (dependence.sink == (int)k || dependence.sink >= (int)own);
      if (isAsked && !prover.prove(dependence, limits).unproved.is_empty())
        return false;
    }
    return true;
  }
  /// Whether a launch may have tasks of the call and of this one.
  bool mayMeet(unsigned other) const {
    return !tasks.calls[k]
                .domain.params()
                .intersect(tasks.calls[other].domain.params())
                .intersect(tasks.context)
                .is_empty();
  }

private:
  unsigned rankOf(const isl::set &set) const { return isl_set_dim(set.get(), isl_dim_set); }
  std::string element(unsigned memory) const {
    return "M" + num(memory) + "[" + llvm::join(numbered("a", rankOf(tasks.memories[memory].shape)), ", ") + "]";
  }
  std::string columnOf(unsigned memory) const { return "a" + num(rankOf(tasks.memories[memory].shape) - 1); }
  std::string eventElement() const {
    return "E" + num(event) + "[" + llvm::join(numbered("b", rankOf(tasks.events[event].shape)), ", ") + "]";
  }

  isl::map readsOf(unsigned memory) const {
    const Call &call = tasks.calls[k];
    isl::map reads;
    for (const Access &access : call.accesses)
      if (access.memory == (int)memory)
        reads = reads.is_null() ? access.relation : reads.unite(access.relation);
    return reads;
  }

  /// { [column] -> [e] }: who writes the column, where the call reads it, notifies element e (along `dim`).
  isl::map elementsOf(unsigned memory) const {
    isl::ctx ctx = tasks.ctx();
    isl::map column = mapOf(ctx, "{ " + element(memory) + " -> [" + columnOf(memory) + "] }");
    isl::map index = mapOf(ctx, "{ " + eventElement() + " -> [b" + num(dim) + "] }");
    isl::map all = mapOf(ctx, "{ [column] -> [e] : false }");
    isl::set read = readsOf(memory).range();
    for (const Call &call : tasks.calls)
      for (const Access &access : call.accesses)
        for (const EventUse &use : call.notifies)
          if (access.write && access.memory == (int)memory && use.event == event)
            all = all.unite(column.intersect_domain(read).reverse().apply_range(
                access.relation.reverse().apply_range(use.relation).apply_range(index)));
    return all.intersect_params(tasks.context).coalesce();
  }

  /// Of the wait, what the first columns of a task need.
  EventUse ofFirstColumn(EventUse use, const Columns &columns) const {
    isl::map column = mapOf(tasks.ctx(), "{ " + element(columns.memory) + " -> [" + columnOf(columns.memory) + "] }");
    isl::map needs = mapOf(tasks.ctx(), "{ [column] -> " + eventElement() + " : " + num(columns.perElement) + " * b" +
                                            num(dim) + " <= column }");
    use.relation = use.relation.intersect(readsOf(columns.memory).apply_range(column).lexmin().apply_range(needs));
    return use;
  }

  /// A call whose tasks fetch a column each, right before those of the call itself.
  void addColumns(const Columns &columns) {
    isl::ctx ctx = tasks.ctx();
    const unsigned n = tasks.calls.size();
    std::vector<std::string> coords = coordinateTexts(graph, k);
    coords.push_back("column");
    const std::string begin = "{ C" + num(n) + "[" + llvm::join(coords, ", ") + "] -> ";
    isl::map whose = mapOf(ctx, begin + taskText(graph, k) + " }"), reads = readsOf(columns.memory);
    isl::map relation = whose.apply_range(reads).intersect(
        mapOf(ctx, begin + element(columns.memory) + " : " + columnOf(columns.memory) + " = column }"));

    Call added = tasks.calls[k];
    added.name += " (columns)";
    added.coordNames.push_back("column");
    added.domain = relation.domain();
    added.notifies.clear();
    for (auto [i, use] : llvm::enumerate(added.waits)) {
      use.relation = whose.apply_range(use.relation).intersect_domain(added.domain);
      if (i == wait)
        use.relation = use.relation.intersect(
            mapOf(ctx, begin + eventElement() + " : " + num(columns.perElement) + " * b" + num(dim) + " <= column }"));
    }
    Access access =
        *llvm::find_if(tasks.calls[k].accesses, [&](const Access &a) { return a.memory == (int)columns.memory; });
    access.relation = relation;
    access.afterWaits = added.waits.size();
    added.accesses = {access};
    // At the place of the task itself, in front of it: columns are 0 and more.
    added.order = timed(whose.apply_range(added.order).intersect_domain(added.domain), begin + "[-1 - column] }");
    for (auto [c, call] : llvm::enumerate(tasks.calls)) {
      std::vector<std::string> names = numbered("x", rankOf(call.domain));
      call.order = timed(call.order, "{ C" + num(c) + "[" + llvm::join(names, ", ") + "] -> [0] }");
    }
    tasks.calls.push_back(std::move(added));
  }
  /// Timestamps with one more number.
  isl::map timed(const isl::map &order, const std::string &last) const {
    isl::map number = mapOf(tasks.ctx(), last);
    return isl::manage(checked(tasks.ctx(), isl_map_flat_range_product(isl::map(order).release(), number.release())));
  }

  const GraphCode &graph;
  const unsigned k, wait, dim;
  TaskGraph &tasks;
  const int event;
};

/// Whether an operand's tiles lie one behind the other along the last dimension of a memory that the function accesses
/// by this load alone.
bool liesAlongColumns(ir::CallOp call, const roles::RoleProduct::Operand &operand) {
  std::optional<unsigned> argument = operand.argument();
  ir::LoadOp load = operand.load;
  if (!argument || load.getTable() || llvm::count(call.getArgs(), call.getArgs()[*argument]) != 1)
    return false;
  for (Operation *user : ir::calleeOf(call).getBody().getArgument(*argument).getUsers())
    if (user != load.getOperation())
      return false;
  Value k = scf::ForOp(operand.loop).getInductionVar();
  auto offsets = operand.offsets();
  for (auto [d, offset] : llvm::enumerate(offsets))
    if (roles::slopeOf(offset, k) != (d + 1 == offsets.size() ? 1 : 0))
      return false;
  return true;
}

std::optional<SunkWait> sink(const GraphCode &graph, unsigned k, const roles::TiledProduct &product, unsigned wait,
                             unsigned dim, ArrayRef<unsigned> early) {
  const ir::Signature &s = graph.signature;
  FailureOr<Extraction> extracted = extractTaskGraph(s.graph);
  if (failed(extracted))
    return std::nullopt;
  TaskGraph &tasks = extracted->graph;
  ir::CallOp call = s.calls[k];
  if (tasks.calls[k].waits.size() != (size_t)llvm::range_size(call.getProtocol().getOps<ir::WaitOp>()))
    return std::nullopt; // some that the program does not spell out
  Model model(graph, k, wait, dim, tasks);
  if (llvm::any_of(early, [&](unsigned other) { return model.mayMeet(other); }))
    return std::nullopt;

  SunkWait sunk{wait, dim};
  std::vector<Columns> along;
  std::vector<unsigned> beside;
  // What one loader fetches.
  auto passingOf = [&](ArrayRef<roles::RoleProduct::Operand> operands) {
    std::vector<Columns> mine;
    std::vector<unsigned> others;
    for (const roles::RoleProduct::Operand &operand : operands) {
      unsigned memory = s.memoryOf(call.getArgs()[*operand.argument()]);
      if (!model.isWritten(memory) || !model.isFor(memory)) {
        others.push_back(memory);
        continue;
      }
      std::optional<int64_t> columns;
      if (liesAlongColumns(call, operand))
        columns = model.columnsOfElement(memory);
      if (!columns)
        return SunkWait::all;
      mine.push_back({memory, *columns});
    }
    along.insert(along.end(), mine.begin(), mine.end());
    beside.insert(beside.end(), others.begin(), others.end());
    return mine.empty() ? SunkWait::others : SunkWait::along;
  };
  sunk.rows = passingOf(product.rows);
  sunk.weights = passingOf(product.weights);
  if (along.empty())
    return std::nullopt;
  sunk.columns = along.front().perElement;
  for (const Columns &columns : along)
    sunk.columns = std::min(sunk.columns, columns.perElement);
  for (Columns &columns : along)
    columns.perElement = sunk.columns;
  if (!model.isOrdered(along, beside, sunk.rows == SunkWait::all || sunk.weights == SunkWait::all))
    return std::nullopt;
  return sunk;
}

} // namespace

std::optional<SunkWait> findSunkWait(const GraphCode &graph, unsigned call, const roles::TiledProduct &product,
                                     ArrayRef<unsigned> early) {
  ir::CallOp op = graph.signature.calls[call];
  if (op.isRagged() || readsTables(op))
    return std::nullopt;
  for (auto [i, wait] : llvm::enumerate(op.getProtocol().getOps<ir::WaitOp>())) {
    auto event = wait.getEvent().getDefiningOp<ir::EventOp>();
    if (event.getTable() || llvm::count(wait.getIsRange(), true) != 1)
      continue;
    unsigned dim = llvm::find(wait.getIsRange(), true) - wait.getIsRange().begin();
    try {
      if (auto sunk = sink(graph, call, product, i, dim, early))
        return sunk;
    } catch (const isl::exception &) { // not decided, so not done
    }
  }
  return std::nullopt;
}

} // namespace evt::emit
