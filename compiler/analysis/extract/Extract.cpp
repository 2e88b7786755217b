#include "Extract.h"

#include "ExtractCall.h"
#include "compiler/analysis/AffineFold.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace evt {

namespace {

isl::set withTuple(isl::set set, const std::string &tuple) {
  isl::ctx ctx = set.ctx();
  return isl::manage(checked(ctx, isl_set_set_tuple_name(set.release(), tuple.c_str())));
}

void declareSymbols(ExtractionScope &scope) {
  TaskGraph &graph = scope.graph;
  graph.context = isl::manage(checked(graph.ctx(), isl_set_universe(isl_space_params_alloc(graph.ctx().get(), 0))));
  for (const ir::GraphSymbol &symbol : scope.signature.symbols) {
    graph.symbols.push_back({symbol.name, symbol.min, symbol.max});
    isl::pw_aff value = symbolValue(graph, symbol.name), zero = value.sub(value);
    graph.context = graph.context.intersect(value.ge_set(zero.add_constant(static_cast<long>(symbol.min))))
                        .intersect(value.le_set(zero.add_constant(static_cast<long>(symbol.max))));
  }
}

/// { [a, b] : 0 <= a < e0 and 0 <= b < e1 }, without an upper bound where an extent is unknown.
isl::set boxShape(ExtractionScope &scope, const std::string &tuple, unsigned rank,
                  llvm::function_ref<IndexValue(IndexValues &, unsigned)> extent) {
  IndexValues values(scope, rank, {});
  isl::set shape = values.universe();
  for (unsigned dim = 0; dim < rank; ++dim) {
    shape = shape.intersect(values.dim(dim).ge_set(values.constant(0)));
    if (IndexValue end = extent(values, dim))
      shape = shape.intersect(values.dim(dim).lt_set(*end));
  }
  return withTuple(shape, tuple);
}

//===-- counts --------------------------------------------------------------------------------------------------===//

isl::space parametersOf(const TaskGraph &graph) {
  isl_space *space = isl_space_params_alloc(graph.ctx().get(), static_cast<unsigned>(graph.symbols.size()));
  for (unsigned i = 0; i < graph.symbols.size(); ++i)
    space = isl_space_set_dim_name(space, isl_dim_param, i, graph.symbols[i].name.c_str());
  return isl::manage(checked(graph.ctx(), space));
}

/// An expression of an element's coordinates, over the event's own tuple and with all parameters, which polynomials
/// must have in common before they are multiplied.
isl::pw_aff overElements(const TaskGraph &graph, const isl::pw_aff &value, const isl::set &shape) {
  isl_pw_aff *named = isl_pw_aff_set_tuple_id(value.copy(), isl_dim_in, isl_set_get_tuple_id(shape.get()));
  return isl::manage(checked(graph.ctx(), isl_pw_aff_align_params(named, parametersOf(graph).release())));
}

/// Index values outside of repeats as the user would write them; empty if there is no short form.
std::string valueText(ExtractionScope &scope, Value value) {
  if (std::optional<int64_t> literal = ir::constantOf(value))
    return std::to_string(*literal);
  if (int symbol = scope.signature.symbolOf(value); symbol >= 0)
    return scope.signature.symbols[symbol].name;
  if (auto product = value.getDefiningOp<arith::MulIOp>()) {
    std::string a = valueText(scope, product.getLhs()), b = valueText(scope, product.getRhs());
    return a.empty() || b.empty() ? "" : a + " * " + b;
  }
  return "";
}

/// A product of index values that are never negative, such as n * m, which no affine expression says. None if a factor
/// may be negative: a count is then at least 0, which is no polynomial.
std::optional<Polynomial> productCount(ExtractionScope &scope, IndexValues &values, Value value,
                                       const isl::set &shape) {
  if (auto product = value.getDefiningOp<arith::MulIOp>()) {
    std::optional<Polynomial> a = productCount(scope, values, product.getLhs(), shape);
    std::optional<Polynomial> b = productCount(scope, values, product.getRhs(), shape);
    return a && b ? std::optional(*a * *b) : std::nullopt;
  }
  IndexValue factor = values.of(value);
  if (!factor || leastValue(factor->intersect_params(scope.graph.context)).is_neg())
    return std::nullopt;
  return Polynomial::fromAffine(overElements(scope.graph, *factor, shape));
}

/// A sum of products of such values and of numbers, such as 3 * n * m.
std::optional<Polynomial> productCount(ExtractionScope &scope, IndexValues &values, AffineExpr expr,
                                       ValueRange operands, const isl::set &shape) {
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return productCount(scope, values, operands[symbol.getPosition()], shape);
  if (auto number = dyn_cast<AffineConstantExpr>(expr))
    return number.getValue() < 0 ? std::nullopt
                                 : std::optional(Polynomial::fromAffine(
                                       overElements(scope.graph, values.constant(number.getValue()), shape)));
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary || (expr.getKind() != AffineExprKind::Add && expr.getKind() != AffineExprKind::Mul))
    return std::nullopt;
  std::optional<Polynomial> a = productCount(scope, values, binary.getLHS(), operands, shape);
  std::optional<Polynomial> b = productCount(scope, values, binary.getRHS(), operands, shape);
  if (!a || !b)
    return std::nullopt;
  return expr.getKind() == AffineExprKind::Add ? *a + *b : *a * *b;
}

std::string countText(ExtractionScope &scope, ir::EventOp op) {
  AffineMap map = op.getCountMap();
  if (map.isSingleConstant())
    return std::to_string(map.getSingleConstantResult());
  if (map.getNumResults() == 1 && isa<AffineSymbolExpr>(map.getResult(0)))
    if (std::string text = valueText(scope, op.getCountOperands()[0]); !text.empty())
      return text;
  std::string text;
  llvm::raw_string_ostream stream(text);
  map.print(stream);
  return text;
}

/// The same value, or the product of the same two in any order.
bool isSameProduct(Value a, Value b) {
  auto x = a.getDefiningOp<arith::MulIOp>(), y = b.getDefiningOp<arith::MulIOp>();
  return a == b || (x && y &&
                    ((x.getLhs() == y.getLhs() && x.getRhs() == y.getRhs()) ||
                     (x.getLhs() == y.getRhs() && x.getRhs() == y.getLhs())));
}

/// Whether a call that notifies the event has a grid whose extent is `product`. The model then has a derived symbol for
/// the product, and the count must be the same symbol to be comparable.
bool isNotifiedByGridOf(ir::EventOp op, Value product) {
  for (Operation *user : op.getEvent().getUsers())
    if (auto call = user->getParentOfType<ir::CallOp>(); call && isa<ir::NotifyOp>(user))
      if (llvm::any_of(call.getGrid(), [&](Value extent) { return isSameProduct(extent, product); }))
        return true;
  return false;
}

/// The count of the elements; none if no affine expression or product says what it is.
std::optional<Polynomial> countOf(ExtractionScope &scope, ir::EventOp op, const isl::set &shape) {
  AffineMap map = op.getCountMap();
  IndexValues values(scope, map.getNumDims(), {});
  try {
    WorkLimit limit(scope);
    auto isProduct = [&](Value operand) {
      return operand.getDefiningOp<arith::MulIOp>() && !isNotifiedByGridOf(op, operand);
    };
    if (map.getNumResults() == 1 && llvm::any_of(op.getCountOperands(), isProduct))
      if (auto count = productCount(scope, values, map.getResult(0), op.getCountOperands(), shape))
        return count->intersectDomain(shape);
    IndexValue least = values.leastOf(map, op.getCountOperands());
    if (!least)
      return std::nullopt;
    return Polynomial::fromAffine(overElements(scope.graph, least->max(values.constant(0)), shape))
        .intersectDomain(shape);
  } catch (const isl::exception_quota &) {
    return std::nullopt;
  }
}

//===-- program order -------------------------------------------------------------------------------------------===//

/// Where a call stands: its position in the graph or among the calls of the innermost repeat, after that of the repeat
/// itself, and so on outward.
SmallVector<unsigned> positionsOf(ir::CallOp call) {
  SmallVector<unsigned> positions;
  for (Operation *op = call; !isa<ir::GraphOp>(op); op = op->getParentOp()) {
    unsigned position = 0;
    for (Operation &other : *op->getBlock()) {
      if (&other == op)
        break;
      position += isa<ir::CallOp, ir::RepeatOp>(other);
    }
    positions.insert(positions.begin(), position);
  }
  return positions;
}

/// [position, iteration, position, iteration, …, position, coordinates…], padded with zeros to the same length for all
/// calls: a call outside of repeats has iteration 0 and position 0 of every repeat it is not in.
isl::map programOrder(const TaskGraph &graph, const ir::Signature &signature, unsigned index) {
  size_t depth = 0, rank = 0;
  for (ir::CallOp call : signature.calls) {
    depth = std::max(depth, ir::enclosingRepeats(call).size());
    rank = std::max<size_t>(rank, call.getNumCoords());
  }
  ir::CallOp call = signature.calls[index];
  size_t iterations = ir::enclosingRepeats(call).size(), coordinates = iterations + call.getNumCoords();
  SmallVector<unsigned> positions = positionsOf(call);
  auto coordinate = [&](size_t i) { return i < coordinates ? "c" + std::to_string(i) : "0"; };
  std::string from, to = std::to_string(positions[0]);
  for (size_t i = 0; i < coordinates; ++i)
    from += (i ? ", " : "") + coordinate(i);
  for (size_t level = 1; level <= depth; ++level)
    to += level <= iterations ? ", " + coordinate(level - 1) + ", " + std::to_string(positions[level]) : ", 0, 0";
  for (size_t i = 0; i < rank; ++i)
    to += ", " + coordinate(iterations + i);
  return isl::map(graph.ctx(), "{ C" + std::to_string(index) + "[" + from + "] -> [" + to + "] }");
}

void declareMemories(ExtractionScope &scope, SourceLocations &locations) {
  const ir::Signature &signature = scope.signature;
  for (auto [i, value] : llvm::enumerate(signature.memories)) {
    Memory memory;
    memory.name = signature.memoryName(i);
    memory.location = locations.record(value.getLoc(), "memory '" + memory.name + "'");
    memory.shape = boxShape(scope, "M" + std::to_string(i), cast<MemRefType>(value.getType()).getRank(),
                            [&](IndexValues &values, unsigned dim) { return values.extentOf(value, dim); });
    scope.graph.memories.push_back(std::move(memory));
  }
}

void declareEvents(ExtractionScope &scope, SourceLocations &locations) {
  for (auto [i, declared] : llvm::enumerate(scope.signature.events)) {
    ir::EventOp op = declared;
    Event event;
    event.name = op.getName().str();
    event.location = locations.record(op.getLoc(), "event '" + event.name + "'");
    event.shape = boxShape(scope, "E" + std::to_string(i), op.getExtents().size(),
                           [&](IndexValues &values, unsigned dim) { return values.of(op.getExtents()[dim]); });
    if (op.getTable()) {
      event.countText = scope.signature.memoryName(scope.signature.memoryOf(op.getTable()));
      if (op.getFactor() != 1)
        event.countText += " * " + std::to_string(op.getFactor());
      if (op.getGuard())
        event.guardEvent = scope.signature.eventOf(op.getGuard());
    } else {
      event.countText = countText(scope, op);
      event.count = countOf(scope, op, event.shape);
    }
    scope.graph.events.push_back(std::move(event));
  }
}

/// Rows of tokens in long runs are other rows than those of tokens in short runs, though the tables say which are
/// which. So the model has two memories where accesses keep to either, and whoever does not touches both. Where
/// accesses of one memory go by different tables or lengths, nothing is known.
void separateRuns(ExtractionScope &scope) {
  TaskGraph &graph = scope.graph;
  auto accessOf = [&](const RunAccess &run) -> Access & { return graph.calls[run.call].accesses[run.access]; };
  std::map<int, std::vector<RunAccess>> byMemory;
  for (const RunAccess &run : scope.ofRuns)
    byMemory[accessOf(run).memory].push_back(run);
  for (const auto &[memory, runs] : byMemory) {
    const RunAccess &first = runs.front();
    auto alike = [&](const RunAccess &run) {
      return run.requests == first.requests && run.positions == first.positions && run.enough == first.enough;
    };
    // Tables that tasks write may say one thing now and another later.
    auto isWritten = [&](int table) {
      return llvm::any_of(graph.calls, [&](const Call &call) {
        return llvm::any_of(call.accesses, [&](const Access &a) { return a.write && a.memory == table; });
      });
    };
    if (!llvm::all_of(runs, alike) || isWritten(first.requests) || isWritten(first.positions))
      continue;
    const int other = (int)graph.memories.size();
    const std::string tuple = "M" + std::to_string(other);
    Memory added = graph.memories[memory];
    added.name += " (long runs)";
    added.shape = isl::manage(checked(graph.ctx(), isl_set_set_tuple_name(added.shape.release(), tuple.c_str())));
    graph.memories.push_back(added);
    for (auto [k, call] : llvm::enumerate(graph.calls)) {
      std::vector<Access> copies;
      for (auto [i, access] : llvm::enumerate(call.accesses)) {
        if (access.memory != memory)
          continue;
        auto run = llvm::find_if(runs, [&](const RunAccess &r) { return r.call == (int)k && r.access == i; });
        if (run != runs.end() && !run->isLong)
          continue;
        Access copy = access;
        copy.memory = other;
        copy.relation = isl::manage(
            checked(graph.ctx(), isl_map_set_tuple_name(copy.relation.release(), isl_dim_out, tuple.c_str())));
        if (run != runs.end())
          access = copy;
        else
          copies.push_back(copy);
      }
      llvm::append_range(call.accesses, copies);
    }
  }
}

/// Gives everything the same parameters in the same order, that of the symbols: isl aligns what it combines, but spaces
/// that are compared must agree.
void alignParameters(TaskGraph &graph) {
  isl::space model = parametersOf(graph);
  auto alignSet = [&](isl::set &set) {
    set = isl::manage(checked(graph.ctx(), isl_set_align_params(set.copy(), model.copy())));
  };
  auto alignMap = [&](isl::map &map) {
    map = isl::manage(checked(graph.ctx(), isl_map_align_params(map.copy(), model.copy())));
  };
  alignSet(graph.context);
  for (Memory &memory : graph.memories)
    alignSet(memory.shape);
  for (Event &event : graph.events) {
    alignSet(event.shape);
    if (event.count)
      event.count = Polynomial(checked(
          graph.ctx(), isl_pw_qpolynomial_add(Polynomial::constant(event.shape, 0).copy(), event.count->copy())));
  }
  for (Call &call : graph.calls) {
    alignSet(call.domain);
    alignMap(call.order);
    for (Access &access : call.accesses)
      alignMap(access.relation);
    for (EventUse &wait : call.waits)
      alignMap(wait.relation);
    for (EventUse &notify : call.notifies)
      alignMap(notify.relation);
  }
}

} // namespace

FailureOr<Extraction> extractTaskGraph(ir::GraphOp op) {
  Extraction result{{}, ir::Signature(op), {}, {}};
  ExtractionScope scope{result.signature, result.derived, result.graph};
  declareSymbols(scope);
  declareMemories(scope, result.locations);
  declareEvents(scope, result.locations);
  for (unsigned index = 0; index < result.signature.calls.size(); ++index) {
    CallExtractor extractor(scope, result.locations, index);
    Call call;
    call.order = programOrder(result.graph, result.signature, index);
    if (failed(extractor.extract(call)))
      return failure();
    result.graph.calls.push_back(std::move(call));
  }
  separateRuns(scope);
  alignParameters(result.graph);
  return result;
}

} // namespace evt
