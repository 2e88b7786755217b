#include "InferEvents.h"

#include "InternalErrors.h"
#include "WriteExpressions.h"
#include "compiler/analysis/AffineFold.h"
#include "compiler/analysis/Infer.h"
#include "compiler/analysis/extract/Extract.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace evt {

namespace {

/// The operation of the graph's own block that holds `op`.
Operation *topLevel(ir::GraphOp graph, Operation *op) { return graph.getBody().front().findAncestorOpInBlock(*op); }

/// Writes inferred events into a graph.
class EventWriter {
public:
  EventWriter(ir::GraphOp graph, Extraction &extraction)
      : graph(graph), extraction(extraction), scope{extraction.signature, extraction.derived, extraction.graph} {}

  LogicalResult write(const InferredEvent &event) {
    ir::CallOp producer = extraction.signature.calls[event.producer];
    FailureOr<ir::EventOp> declared = declare(event, producer);
    if (failed(declared))
      return failure();
    if (failed(notify(event, producer, *declared)))
      return failure();
    for (const InferredWait &wait : event.waits)
      if (failed(waitFor(event, wait, *declared)))
        return failure();
    return success();
  }

private:
  LogicalResult inexpressible(ir::CallOp call, const InferredEvent &event, StringRef what) {
    return call.emitError("the ") << what << " of the inferred event '" << event.name
                                  << "' has no affine form: declare an event";
  }

  const isl::set &tasksOf(ir::CallOp call) {
    return extraction.graph.calls[llvm::find(extraction.signature.calls, call) - extraction.signature.calls.begin()]
        .domain;
  }

  /// The value of a symbol before `builder`'s position; null for a derived one that the graph itself never computes.
  Value symbol(OpBuilder &builder, Location location, const std::string &name) {
    for (auto [i, declared] : llvm::enumerate(extraction.signature.symbols)) {
      if (declared.name != name)
        continue;
      if (declared.argument >= 0)
        return graph.getBody().getArgument(declared.argument);
      auto [argument, dim] = declared.sources.front();
      for (auto op : graph.getBody().getOps<ir::SymbolOp>())
        if (op.getName() == name && isBefore(op, builder))
          return op.getValue();
      Value &size = sizes[{argument, dim}];
      if (!size) {
        OpBuilder start = OpBuilder::atBlockBegin(&graph.getBody().front());
        size = start.create<memref::DimOp>(location, graph.getBody().getArgument(argument),
                                           start.create<arith::ConstantIndexOp>(location, dim));
      }
      return size;
    }
    auto derived = scope.derived.valueOf(name);
    return derived && isBefore(derived.getDefiningOp(), builder) ? derived : Value();
  }

  bool isBefore(Operation *op, OpBuilder &builder) {
    Operation *next = topLevel(graph, &*builder.getInsertionPoint());
    return op->getBlock() == next->getBlock() && op->isBeforeInBlock(next);
  }

  FailureOr<SmallVector<Value>> symbols(OpBuilder &builder, Location location, const AffineForm &form) {
    SmallVector<Value> values;
    for (const std::string &name : form.parameters) {
      values.push_back(symbol(builder, location, name));
      if (!values.back())
        return failure();
    }
    return values;
  }

  FailureOr<Value> value(OpBuilder &builder, Location location, const isl::pw_aff &expression, const isl::set &where,
                         ValueRange coordinates) {
    std::optional<AffineForm> form = affineForm(builder.getContext(), expression, where);
    if (!form)
      return failure();
    FailureOr<SmallVector<Value>> parameters = symbols(builder, location, *form);
    if (failed(parameters))
      return failure();
    return writeForm(builder, location, *form, coordinates, *parameters);
  }

  /// An expression of symbols that is needed where the producer has tasks: an extent of its grid that is the same
  /// there, since that is 0 where the grid is empty, or one of `others` that is the same everywhere, or a new one.
  FailureOr<Value> size(OpBuilder &builder, Location location, const isl::pw_aff &expression, const isl::set &busy,
                        ArrayRef<Value> ofProducer, ArrayRef<Value> others) {
    const isl::set &context = extraction.graph.context;
    if (Value same = firstEqual(builder, expression, busy, ofProducer))
      return same;
    if (Value same = firstEqual(builder, expression, context, others))
      return same;
    return value(builder, location, expression, context, {});
  }

  /// What a value is as an expression of the symbols; nothing if none says it, or if it is computed only later.
  std::optional<isl::pw_aff> knownSize(OpBuilder &builder, Value value) {
    IndexValues none(scope, 0, {});
    IndexValue known = none.of(value);
    if (!known || (value.getDefiningOp() && !isBefore(value.getDefiningOp(), builder)))
      return std::nullopt;
    return isl::manage(checked(known->ctx(), isl_pw_aff_project_domain_on_params(known->copy())));
  }

  Value firstEqual(OpBuilder &builder, const isl::pw_aff &expression, const isl::set &where,
                   ArrayRef<Value> candidates) {
    for (Value candidate : candidates)
      if (std::optional<isl::pw_aff> known = knownSize(builder, candidate);
          known && where.is_subset(known->eq_set(expression)))
        return candidate;
    return {};
  }

  SmallVector<Value> extentsAround(ir::CallOp call) {
    SmallVector<Value> extents;
    for (ir::RepeatOp repeat : ir::enclosingRepeats(call))
      extents.push_back(repeat.getExtent());
    llvm::append_range(extents, call.getGrid());
    return extents;
  }

  FailureOr<ir::EventOp> declare(const InferredEvent &event, ir::CallOp producer);
  FailureOr<SmallVector<Value>> furtherFactors(OpBuilder &builder, const InferredEvent &event, ArrayRef<Value> sizes,
                                               ArrayRef<Value> ofProducer);
  LogicalResult notify(const InferredEvent &event, ir::CallOp producer, ir::EventOp declared);
  LogicalResult waitFor(const InferredEvent &event, const InferredWait &wait, ir::EventOp declared);
  SmallVector<Value> coordinatesOf(ir::CallOp call) {
    SmallVector<Value> coordinates;
    for (ir::RepeatOp repeat : ir::enclosingRepeats(call))
      coordinates.push_back(repeat.getIteration());
    llvm::append_range(coordinates, call.getProtocol().getArguments());
    return coordinates;
  }

  ir::GraphOp graph;
  Extraction &extraction;
  ExtractionScope scope;
  std::map<std::pair<unsigned, unsigned>, Value> sizes;
};

/// The symbol values for which a size is 0 or less.
isl::set whereEmpty(const isl::pw_aff &size) {
  return isl::manage(checked(size.ctx(), isl_pw_aff_nonneg_set(size.neg().release())));
}

/// Where the producer's grid is empty nobody notifies, so elements that the event has there must have the count 0: they
/// have if one of `sizes` is 0, the event's extents and what its count is a multiple of. The result is further extents
/// of the grid, without which the count must be 0, too.
FailureOr<SmallVector<Value>> EventWriter::furtherFactors(OpBuilder &builder, const InferredEvent &event,
                                                          ArrayRef<Value> sizes, ArrayRef<Value> ofProducer) {
  isl::set idle = extraction.graph.context.subtract(event.elements.params());
  auto isNeeded = [&](Value size) {
    std::optional<isl::pw_aff> known = knownSize(builder, size);
    isl::set left = known ? idle.subtract(whereEmpty(*known)) : idle;
    return !std::exchange(idle, left).is_subset(left);
  };
  llvm::for_each(sizes, isNeeded);
  SmallVector<Value> further;
  llvm::copy_if(ofProducer, std::back_inserter(further), isNeeded);
  if (!idle.is_empty())
    return failure();
  return further;
}

FailureOr<ir::EventOp> EventWriter::declare(const InferredEvent &event, ir::CallOp producer) {
  Location location = producer.getLoc();
  OpBuilder builder(topLevel(graph, producer));
  // An extent may be a size that the program has computed already, for the producer's grid or a consumer's.
  SmallVector<Value> own = extentsAround(producer), others, extents;
  for (const InferredWait &wait : event.waits)
    llvm::append_range(others, extentsAround(extraction.signature.calls[wait.consumer]));
  isl::set busy = event.elements.params();
  for (const isl::pw_aff &extent : event.shape) {
    FailureOr<Value> known = size(builder, location, extent, busy, own, others);
    if (failed(known))
      return inexpressible(producer, event, "shape");
    extents.push_back(*known);
  }

  // The count is a product. Factors that are the same for all elements are multiplied as values; at most one may depend
  // on the element's coordinates, and becomes the count's map.
  unsigned rank = extents.size();
  int64_t constant = 1;
  std::optional<AffineForm> varying;
  isl::val most = isl::val::one(busy.ctx()); // of that factor
  SmallVector<Value> factors;
  for (const isl::pw_aff &factor : event.countFactors) {
    isl::pw_aff here = factor.intersect_domain(event.elements).gist(event.elements).coalesce();
    if (isl_pw_aff_involves_dims(here.get(), isl_dim_in, 0, rank) != isl_bool_false) {
      std::optional<AffineForm> form = affineForm(builder.getContext(), here, event.elements);
      if (varying || !form || form->largest)
        return inexpressible(producer, event, "count");
      varying = form;
      most = largestValue(factor.intersect_domain(event.elements));
      continue;
    }
    isl::pw_aff overParameters = isl::manage(checked(here.ctx(), isl_pw_aff_project_domain_on_params(here.release())));
    std::optional<AffineForm> form = affineForm(builder.getContext(), overParameters, overParameters.domain());
    if (form && form->terms.size() == 1 && isa<AffineConstantExpr>(form->terms[0])) {
      constant *= cast<AffineConstantExpr>(form->terms[0]).getValue();
      continue;
    }
    FailureOr<Value> known = size(builder, location, overParameters, busy, own, others);
    if (failed(known))
      return inexpressible(producer, event, "count");
    factors.push_back(*known);
  }
  SmallVector<Value> sizes(extents);
  llvm::append_range(sizes, factors);
  FailureOr<SmallVector<Value>> further = furtherFactors(builder, event, sizes, own);
  if (failed(further) || (varying && !factors.empty()))
    return inexpressible(producer, event, "count");

  // A further factor is 1 or more wherever there are tasks. One that is never more is multiplied like the others; with
  // any other one, times the most that the count can be, the count is the smaller of the two.
  auto isWithin = [&](Value value, int64_t least, int64_t most) {
    isl::pw_aff known = *knownSize(builder, value);
    isl::set outside = whereEmpty(known.add_constant(static_cast<long>(1 - least)))
                           .unite(whereEmpty(known.neg().add_constant(static_cast<long>(most + 1))));
    return outside.is_disjoint(extraction.graph.context);
  };
  if (!varying && llvm::all_of(*further, [&](Value factor) { return isWithin(factor, 0, 1); }))
    llvm::append_range(factors, std::exchange(*further, {}));
  if (!further->empty() && (!factors.empty() || !most.is_int()))
    return inexpressible(producer, event, "count");
  SmallVector<AffineExpr> terms = {builder.getAffineConstantExpr(constant)};
  SmallVector<Value> operands;
  if (varying) {
    FailureOr<SmallVector<Value>> parameters = symbols(builder, location, *varying);
    if (failed(parameters))
      return inexpressible(producer, event, "count");
    terms.assign(varying->terms.begin(), varying->terms.end());
    for (AffineExpr &term : terms)
      term = term * constant;
    operands = *parameters;
  } else if (!factors.empty()) {
    Value product = factors.front();
    for (Value factor : llvm::drop_begin(factors))
      product = builder.create<arith::MulIOp>(location, product, factor);
    terms = {builder.getAffineSymbolExpr(0) * constant};
    operands = {product};
  }
  for (Value factor : *further) {
    terms.push_back(builder.getAffineSymbolExpr(operands.size()) * (constant * most.num_si()));
    operands.push_back(factor);
  }
  AffineMap map = AffineMap::get(rank, operands.size(), terms, builder.getContext());
  std::string name = event.name;
  std::replace(name.begin(), name.end(), '#', '_');
  return builder.create<ir::EventOp>(location, ir::EventType::get(builder.getContext(), rank), extents, operands,
                                     /*table=*/Value(), /*guard=*/Value(), map, /*factor=*/1, name);
}

LogicalResult EventWriter::notify(const InferredEvent &event, ir::CallOp producer, ir::EventOp declared) {
  OpBuilder builder = OpBuilder::atBlockTerminator(&producer.getProtocol().front());
  SmallVector<Value> element;
  for (const isl::pw_aff &coordinate : event.notify) {
    FailureOr<Value> known = value(builder, producer.getLoc(), coordinate, tasksOf(producer), coordinatesOf(producer));
    if (failed(known))
      return inexpressible(producer, event, "notify");
    element.push_back(*known);
  }
  builder.create<ir::NotifyOp>(producer.getLoc(), declared.getEvent(), element, ValueRange(),
                               SmallVector<bool>(element.size(), false));
  return success();
}

LogicalResult EventWriter::waitFor(const InferredEvent &event, const InferredWait &wait, ir::EventOp declared) {
  ir::CallOp consumer = extraction.signature.calls[wait.consumer];
  Location location = consumer.getLoc();
  // Waits come first, those of earlier events before those of later ones.
  Block &protocol = consumer.getProtocol().front();
  auto end = llvm::find_if(protocol, [](Operation &op) { return isa<ir::NotifyOp, ir::EndOp>(op); });
  OpBuilder builder(&protocol, end);
  isl::set tasks = tasksOf(consumer).intersect_params(extraction.graph.context);
  SmallVector<Value> coordinates = coordinatesOf(consumer);
  for (const IndexBox &box : wait.boxes) {
    SmallVector<Value> lower, upper;
    SmallVector<bool> isRange;
    for (size_t dim = 0; dim < box.lo.size(); ++dim) {
      FailureOr<Value> lo = value(builder, location, box.lo[dim], tasks, coordinates);
      if (failed(lo))
        return inexpressible(consumer, event, "wait");
      lower.push_back(*lo);
      isRange.push_back(!tasks.is_subset(box.lo[dim].eq_set(box.hi[dim])));
      if (!isRange.back())
        continue;
      // The whole dimension ends with the event's own extent.
      isl::pw_aff extent = event.shape[dim].insert_domain(tasks.space());
      isl::pw_aff past = box.hi[dim].add_constant(1);
      if (tasks.intersect(extent.domain()).is_subset(past.eq_set(extent))) {
        upper.push_back(declared.getExtents()[dim]);
        continue;
      }
      FailureOr<Value> hi = value(builder, location, past, tasks, coordinates);
      if (failed(hi))
        return inexpressible(consumer, event, "wait");
      upper.push_back(*hi);
    }
    builder.create<ir::WaitOp>(location, declared.getEvent(), lower, upper, isRange);
  }
  if (wait.coarser)
    consumer.emitRemark("waits for more of '") << declared.getName() << "' than it needs: " << wait.why;
  return success();
}

/// A ragged call reads its table before its own waits: the wait for whoever writes the table becomes its guard.
LogicalResult moveGuards(Extraction &extraction) {
  for (auto [index, call] : llvm::enumerate(extraction.signature.calls)) {
    ir::CallOp op = call;
    if (!op.isRagged())
      continue;
    int table = extraction.signature.memoryOf(op.getRaggedTable());
    auto writesTable = [&](const Call &other) {
      return llvm::any_of(other.accesses, [&](const Access &a) { return a.write && a.memory == table; });
    };
    if (llvm::none_of(extraction.graph.calls, writesTable))
      continue;
    auto waits = op.getProtocol().getOps<ir::WaitOp>();
    auto guard = llvm::find_if(waits, [&](ir::WaitOp wait) {
      if (wait.getEvent().getType().getRank() != 0)
        return false;
      for (Operation *user : wait.getEvent().getUsers())
        if (auto notify = dyn_cast<ir::NotifyOp>(user)) {
          auto at = llvm::find(extraction.signature.calls, notify->getParentOfType<ir::CallOp>());
          if (writesTable(extraction.graph.calls[at - extraction.signature.calls.begin()]))
            return true;
        }
      return false;
    });
    if (guard == waits.end())
      return op.emitError("the table of the ragged grid is written in the graph, but no single-counter event was found "
                          "that orders its reading: declare one");
    op.getRaggedGuardMutable().assign((*guard).getEvent());
    (*guard).erase();
  }
  return success();
}

} // namespace

LogicalResult addInferredEvents(ir::GraphOp graph, const ProofLimits &limits) {
  FailureOr<Extraction> extraction = extractTaskGraph(graph);
  if (failed(extraction))
    return failure();
  Inference inference = inferEvents(extraction->graph, limits);
  for (const Note &why : inference.failures)
    mlir::emitError(extraction->locations.find(why.location, graph.getLoc())) << why.message;
  if (!inference.failures.empty())
    return failure();
  // Protocols get the names that the device functions give their coordinates.
  for (ir::CallOp call : extraction->signature.calls)
    call.setCoordNamesAttr(ir::calleeOf(call).getCoordNamesAttr());
  EventWriter writer(graph, *extraction);
  for (const InferredEvent &event : inference.events)
    if (failed(writer.write(event)))
      return failure();
  return moveGuards(*extraction);
}

namespace {

class InferEvents : public PassWrapper<InferEvents, OperationPass<ir::GraphOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(InferEvents)

  InferEvents() = default;
  explicit InferEvents(const ProofLimits &limits) { operations = limits.operations; }
  InferEvents(const InferEvents &other) : PassWrapper(other) {}

  StringRef getArgument() const override { return "evt-infer-events"; }
  StringRef getDescription() const override {
    return "derive the events of a graph from what its tasks read and write";
  }

  void runOnOperation() override {
    ir::GraphOp graph = getOperation();
    if (!graph.getBody().getOps<ir::EventOp>().empty()) {
      graph.emitRemark("'") << graph.getSymName() << "' has events already and is left as it is";
      return;
    }
    if (failed(reportInternalErrors(graph, [&] { return addInferredEvents(graph, {operations}); })))
      signalPassFailure();
  }

private:
  Option<unsigned long> operations{*this, "operations",
                                   llvm::cl::desc("elementary operations that one question may cost"),
                                   llvm::cl::init(ProofLimits().operations)};
};

} // namespace

std::unique_ptr<Pass> createInferEventsPass(const ProofLimits &limits) { return std::make_unique<InferEvents>(limits); }

} // namespace evt
