#include "ExtractCall.h"

using namespace mlir;

namespace evt {

namespace {

isl::map namedRelation(isl::map relation, const std::string &domain, const std::string &range) {
  isl_map *named = isl_map_set_tuple_name(relation.release(), isl_dim_in, domain.c_str());
  isl::ctx ctx = isl::ctx(isl_map_get_ctx(named));
  return isl::manage(checked(ctx, isl_map_set_tuple_name(named, isl_dim_out, range.c_str())));
}

std::string tupleName(const isl::set &set) { return isl_set_get_tuple_name(set.get()); }

/// Drops the induction variables, which come after the coordinates.
isl::set onCoordinates(isl::set set, unsigned coordinates) {
  isl::ctx ctx = set.ctx();
  unsigned dims = set.tuple_dim();
  return isl::manage(checked(ctx, isl_set_project_out(set.release(), isl_dim_set, coordinates, dims - coordinates)));
}

bool isWholeDimension(Value upper) { return ir::constantOf(upper) == ir::wholeDimension; }

} // namespace

CallExtractor::CallExtractor(ExtractionScope &scope, SourceLocations &locations, unsigned index)
    : scope(scope), locations(locations), index(index), op(scope.signature.calls[index]), device(ir::calleeOf(op)),
      tuple("C" + std::to_string(index)) {
  op.getProtocol().walk<WalkOrder::PreOrder>([&](scf::ForOp loop) { loops.push_back(loop); });
  device.getBody().walk<WalkOrder::PreOrder>([&](scf::ForOp loop) { loops.push_back(loop); });
  SmallVector<ir::RepeatOp> repeats = ir::enclosingRepeats(op);
  values = std::make_unique<IndexValues>(scope, repeats.size() + op.getNumCoords(), loops);
  unsigned next = 0;
  for (ir::RepeatOp repeat : repeats)
    values->bind(repeat.getIteration(), values->dim(next++));
  for (unsigned i = 0; i < op.getNumCoords(); ++i, ++next) {
    values->bind(op.getCoord(i), values->dim(next));
    values->bind(device.getCoord(i), values->dim(next));
  }
}

std::string CallExtractor::describe(StringRef what) {
  return (what + " of call '" + scope.signature.callName(index) + "'").str();
}

LogicalResult CallExtractor::extract(Call &call) {
  call.name = scope.signature.callName(index);
  call.coordNames = scope.signature.coordNames(index);
  call.location = locations.record(op.getLoc(), "call '" + call.name + "'");
  extractDomain(call);
  extractProtocol(call);
  return extractBody(call);
}

//===-- domain --------------------------------------------------------------------------------------------------===//

void CallExtractor::extractDomain(Call &call) {
  SmallVector<ir::RepeatOp> repeats = ir::enclosingRepeats(op);
  call.iterationDims = repeats.size();
  unsigned next = 0;
  bool known = true;
  isl::set tasks = values->universe();
  auto bound = [&](IndexValue extent) {
    isl::pw_aff coordinate = values->dim(next++);
    tasks = tasks.intersect(coordinate.ge_set(values->constant(0)));
    if (extent)
      tasks = tasks.intersect(coordinate.lt_set(*extent));
    known &= extent.has_value();
  };
  try {
    WorkLimit limit(scope);
    for (ir::RepeatOp repeat : repeats)
      bound(values->of(repeat.getExtent()));
    if (op.isRagged()) {
      bound(values->constant(cast<MemRefType>(op.getRaggedTable().getType()).getDimSize(0) - 1));
      bound(values->of(op.getRaggedBound()));
    }
    for (Value extent : op.getGrid())
      bound(values->of(extent));
  } catch (const isl::exception_quota &) {
    known = false;
    tasks = values->universe();
  }
  call.ragged = op.isRagged() || !known;
  values->assume(tasks);
  call.domain = isl::manage(checked(
      scope.graph.ctx(), isl_set_set_tuple_name(onCoordinates(tasks, values->coordinates()).release(), tuple.c_str())));

  // A device function's index arguments are the call's operands; its memories are the graph's.
  for (auto [argument, operand] : llvm::zip(device.getBody().getArguments(), op.getArgs())) {
    if (operand.getType().isIndex())
      values->bind(argument, values->of(operand));
    else
      values->bindMemory(argument, operand);
  }
}

//===-- boxes ---------------------------------------------------------------------------------------------------===//

CallExtractor::Side CallExtractor::point(IndexValue at) const { return range(std::move(at), 1); }

CallExtractor::Side CallExtractor::range(IndexValue from, int64_t size) const {
  if (!from)
    return {};
  return {from, from->add(values->constant(size))};
}

CallExtractor::Box CallExtractor::boxOf(Operation *at, ArrayRef<Side> sides, const isl::set &shape, bool clip) {
  isl::ctx ctx = scope.graph.ctx();
  isl::set domain = onCoordinates(values->universe(), values->coordinates());
  Box box;
  try {
    WorkLimit limit(scope);
    IndexValues::Iterations iterations = values->iterationsAround(at);
    box.exact = iterations.exact;
    isl_map *relation = isl_map_from_domain(values->universe().release());
    for (const Side &side : sides) {
      isl_map *dimension = isl_map_add_dims(isl_map_from_domain(values->universe().release()), isl_dim_out, 1);
      isl::map interval = isl::manage(checked(ctx, dimension));
      if (side.lower)
        interval = interval.lower_bound(isl::multi_pw_aff(*side.lower));
      if (side.upper)
        interval = interval.upper_bound(isl::multi_pw_aff(side.upper->add_constant(-1)));
      box.exact &= side.lower && side.upper;
      relation = isl_map_flat_range_product(relation, interval.release());
    }
    isl::map all = isl::manage(checked(ctx, relation)).intersect_domain(iterations.where);
    unsigned dropped = values->dims() - values->coordinates();
    box.relation =
        isl::manage(checked(ctx, isl_map_project_out(all.release(), isl_dim_in, values->coordinates(), dropped)));
  } catch (const isl::exception_quota &) {
    box.exact = false;
    isl_map *relation = isl_map_from_domain(domain.release());
    box.relation = isl::manage(checked(ctx, isl_map_add_dims(relation, isl_dim_out, shape.tuple_dim())));
  }
  box.relation = namedRelation(box.relation, tuple, tupleName(shape));
  if (clip || !box.exact)
    box.relation = box.relation.intersect_range(shape);
  return box;
}

void CallExtractor::addAccess(Call &call, Operation *at, Value memory, bool write, ArrayRef<Side> sides,
                              unsigned afterWaits, std::string text) {
  int number = scope.signature.memoryOf(values->memoryOf(memory));
  Box box = boxOf(at, sides, scope.graph.memories[number].shape, /*clip=*/true);
  Access access;
  access.memory = number;
  access.write = write;
  access.relation = box.relation.intersect_domain(call.domain).coalesce();
  access.exact = box.exact;
  access.afterWaits = afterWaits;
  access.location = locations.record(at->getLoc(), describe(text));
  access.text = text + " " + scope.graph.memories[number].name;
  call.accesses.push_back(std::move(access));
}

//===-- protocol ------------------------------------------------------------------------------------------------===//

void CallExtractor::addWait(Call &call, Value event, ArrayRef<Side> sides, Location location) {
  int number = scope.signature.eventOf(event);
  ir::EventOp declared = scope.signature.events[number];
  Box box = boxOf(op, sides, scope.graph.events[number].shape, /*clip=*/true);
  // A count in memory is read after its guard, by whoever waits: for no element, nobody does.
  if (declared.getTable()) {
    if (declared.getGuard()) {
      addWait(call, declared.getGuard(), {}, location);
      EventUse &guard = call.waits.back();
      guard.relation = guard.relation.intersect_domain(box.relation.domain());
      guard.exact &= box.exact;
    }
    addAccess(call, op, declared.getTable(), /*write=*/false, sides, call.waits.size(), "reads the count in");
    call.accesses.back().location = locations.record(location, describe("wait"));
  }
  call.waits.push_back({number, box.relation.intersect_domain(call.domain).coalesce(), box.exact,
                        locations.record(location, describe("wait"))});
}

/// The box that a wait or notify names. `*` is the event's own extent, which clipping gives a wait anyway.
template <typename UseOp> std::vector<CallExtractor::Side> CallExtractor::sidesOf(UseOp use, bool wholeIsShape) {
  std::vector<Side> sides;
  for (auto [dim, lower] : llvm::enumerate(use.getLower())) {
    Value upper = use.getUpperOf(dim);
    if (!upper) {
      sides.push_back(point(values->of(lower)));
    } else if (wholeIsShape && isWholeDimension(upper)) {
      ir::EventOp event = scope.signature.events[scope.signature.eventOf(use.getEvent())];
      sides.push_back({values->of(lower), values->of(event.getExtents()[dim])});
    } else {
      sides.push_back({values->of(lower), values->of(upper)});
    }
  }
  return sides;
}

/// Whether every task names at least one element here, whatever the data.
bool CallExtractor::namesSomething(const Call &call, ir::NotifyOp notify) {
  // A range whose bounds are data may be empty.
  for (unsigned dim = 0; dim < notify.getLower().size(); ++dim)
    if (Value upper = notify.getUpperOf(dim); upper && !isWholeDimension(upper))
      return false;
  try {
    WorkLimit limit(scope);
    IndexValues::Iterations iterations = values->iterationsAround(notify);
    isl::set looping = onCoordinates(iterations.where.intersect_params(scope.graph.context), values->coordinates());
    isl_set *tasks = isl_set_reset_tuple_id(call.domain.intersect_params(scope.graph.context).release());
    return iterations.exact && isl::manage(checked(scope.graph.ctx(), tasks)).is_subset(looping);
  } catch (const isl::exception_quota &) {
    return false;
  }
}

void CallExtractor::extractProtocol(Call &call) {
  if (op.isRagged()) {
    if (op.getRaggedGuard())
      addWait(call, op.getRaggedGuard(), {}, op.getLoc());
    isl::pw_aff group = values->dim(call.iterationDims);
    addAccess(call, op, op.getRaggedTable(), /*write=*/false, {range(group, 2)}, call.waits.size(),
              "reads the tiles of a group in");
  }
  op.getProtocol().walk<WalkOrder::PreOrder>([&](Operation *step) {
    if (auto wait = dyn_cast<ir::WaitOp>(step)) {
      addWait(call, wait.getEvent(), sidesOf(wait, /*wholeIsShape=*/false), wait.getLoc());
    } else if (auto notify = dyn_cast<ir::NotifyOp>(step)) {
      int number = scope.signature.eventOf(notify.getEvent());
      Box box = boxOf(notify, sidesOf(notify, /*wholeIsShape=*/true), scope.graph.events[number].shape, /*clip=*/false);
      // Iterations may notify one element several times, which a relation cannot say.
      bool exact = box.exact && !notify->getParentOfType<scf::ForOp>();
      call.notifies.push_back({number, box.relation.intersect_domain(call.domain).coalesce(), exact,
                               locations.record(notify.getLoc(), describe("notify")),
                               !exact && !namesSomething(call, notify)});
    } else if (auto read = dyn_cast<ir::ReadOp>(step)) {
      std::vector<Side> sides;
      for (Value index : read.getIndices())
        sides.push_back(point(values->of(index)));
      addAccess(call, read, read.getTable(), /*write=*/false, sides, call.waits.size(), "reads");
    }
  });
}

//===-- body ----------------------------------------------------------------------------------------------------===//

template <typename AccessOp> void CallExtractor::addTileAccess(Call &call, AccessOp at, bool write) {
  std::vector<Side> sides;
  for (auto [offset, size] : llvm::zip(at.getOffsets(), at.getSizes()))
    sides.push_back(range(values->of(offset), size));
  if (Value table = at.getTable()) {
    Side &rows = sides[at.getTableDim()];
    addAccess(call, at, table, /*write=*/false, rows, call.waits.size(), "reads the rows in");
    rows = {};
  }
  addAccess(call, at, at.getMemory(), write, sides, call.waits.size(), write ? "writes" : "reads");
}

/// Pages are data: any slot of the head may be read.
void CallExtractor::addAttention(Call &call, ir::AttendOp op) {
  addAccess(call, op, op.getPages(), /*write=*/false, {point(values->of(op.getRequest())), Side{}}, call.waits.size(),
            "reads the pages in");
  std::vector<Side> slots = {point(values->of(op.getLayer())), range(values->of(op.getHead()), op.getHeads()), Side{},
                             Side{}};
  for (Value memory : {op.getKeys(), op.getValues()})
    addAccess(call, op, memory, /*write=*/false, slots, call.waits.size(), "reads");
}

/// As many parts as there are at most: how many is often data.
void CallExtractor::addMerge(Call &call, ir::MergeOp op) {
  for (Value memory : {op.getM(), op.getSum(), op.getAcc()}) {
    std::vector<Side> sides = {point(values->of(op.getI())), point(values->of(op.getJ()))};
    sides.resize(cast<MemRefType>(memory.getType()).getRank());
    addAccess(call, op, memory, /*write=*/false, sides, call.waits.size(), "reads");
  }
}

void CallExtractor::addPartsAttention(Call &call, ir::AttendPartsOp op) {
  auto add = [&](Value memory, bool write, std::vector<Side> sides) {
    sides.resize(cast<MemRefType>(memory.getType()).getRank());
    addAccess(call, op, memory, write, sides, call.waits.size(), write ? "writes" : "reads");
  };
  auto at = [&](Value index) { return point(values->of(index)); };
  const int64_t rows = op.getRows();
  add(op.getQ(), false,
      {at(op.getToken()),
       range(values->of(op.getColumn()), rows * cast<MemRefType>(op.getAcc().getType()).getDimSize(5))});
  addAccess(call, op, op.getPages(), /*write=*/false, {at(op.getRequest()), Side{}}, call.waits.size(),
            "reads the pages in");
  // Pages are data: any slot of the head may be read.
  add(op.getKeys(), false, {at(op.getLayer()), at(op.getHead())});
  add(op.getValues(), false, {at(op.getLayer()), at(op.getHead())});
  if (op.getSquares()) {
    add(op.getSquares(), false, {at(op.getLayer()), at(op.getHead())});
    add(op.getQSquares(), false,
        {at(op.getToken()),
         range(values->of(op.getSquaresColumn()), rows * cast<MemRefType>(op.getSquares().getType()).getDimSize(3))});
  }
  for (Value memory : {op.getM(), op.getSum(), op.getAcc()})
    add(memory, true, {at(op.getI()), at(op.getJ()), at(op.getS())});
}

void CallExtractor::addPartsMerge(Call &call, ir::MergePartsOp op) {
  for (Value memory : {op.getM(), op.getSum(), op.getAcc()}) {
    std::vector<Side> sides = {point(values->of(op.getI())), point(values->of(op.getJ()))};
    sides.resize(cast<MemRefType>(memory.getType()).getRank());
    addAccess(call, op, memory, /*write=*/false, sides, call.waits.size(), "reads");
  }
  auto acc = cast<MemRefType>(op.getAcc().getType());
  addAccess(call, op, op.getTo(), /*write=*/true,
            {point(values->of(op.getRow())), range(values->of(op.getColumn()), acc.getDimSize(4) * acc.getDimSize(5))},
            call.waits.size(), "writes");
}

/// Which slots the history is in is data, and so is whether the logits are copied.
void CallExtractor::addDraw(Call &call, ir::DrawOp op) {
  const Side row = point(values->of(op.getRow())), all{};
  const std::vector<Side> columns = {row, range(values->of(op.getColumn()), op.getChunk())};
  auto add = [&](Value memory, bool write, std::vector<Side> sides, const char *what) {
    addAccess(call, op, memory, write, std::move(sides), call.waits.size(), what);
  };
  add(op.getLogits(), false, columns, "reads");
  add(op.getRates(), false, {row, all}, "reads");
  add(op.getChoices(), false, {row, all}, "reads");
  add(op.getPages(), false, {all, all}, "reads the pages in");
  add(op.getHistory(), false, {all}, "reads");
  add(op.getScaled(), true, columns, "writes");
}

void CallExtractor::addSample(Call &call, ir::SampleOp op) {
  const Side row = point(values->of(op.getRow())), all{};
  addAccess(call, op, op.getParts(), /*write=*/false, {row, all, all}, call.waits.size(), "reads");
  for (Value memory : {op.getScaled(), op.getLogits(), op.getRates(), op.getChoices()})
    addAccess(call, op, memory, /*write=*/false, {row, all}, call.waits.size(), "reads");
}

//===-- runs of tokens ------------------------------------------------------------------------------------------===//

/// Where runs begin and end is data: any entry may be read.
void CallExtractor::addTokens(Call &call, Operation *at, Value requests, Value positions) {
  for (Value table : {requests, positions})
    addAccess(call, at, table, /*write=*/false, {Side{}}, call.waits.size(), "reads the tokens in");
}

template <typename RunsOp> void CallExtractor::isOfRuns(const Call &call, RunsOp runs, bool isLong) {
  auto number = [&](Value memory) { return scope.signature.memoryOf(values->memoryOf(memory)); };
  scope.ofRuns.push_back({(int)index, (unsigned)call.accesses.size() - 1, number(runs.getRequests()),
                          number(runs.getPositions()), (int64_t)runs.getEnough(), isLong});
}

void CallExtractor::addTokenAttention(Call &call, ir::AttendTokensOp op) {
  auto keys = cast<MemRefType>(op.getKeys().getType());
  auto scaled = [&](Value v, int64_t factor) {
    IndexValue value = values->of(v);
    return value ? IndexValue(value->scale(isl::val(scope.graph.ctx(), static_cast<long>(factor)))) : value;
  };
  addTokens(call, op, op.getRequests(), op.getPositions());
  addAccess(call, op, op.getPages(), /*write=*/false, {Side{}, Side{}}, call.waits.size(), "reads the pages in");
  std::vector<Side> slots = {point(values->of(op.getLayer())), point(values->of(op.getHead())), Side{}, Side{}};
  for (Value memory : {op.getKeys(), op.getValues()})
    addAccess(call, op, memory, /*write=*/false, slots, call.waits.size(), "reads");
  Side tokens = range(values->of(op.getToken()), op.getTokens());
  const int64_t columns = (int64_t)op.getGroup() * keys.getDimSize(3);
  for (bool write : {false, true})
    addAccess(call, op, write ? op.getOut() : op.getQuery(), write,
              {tokens, range(scaled(op.getHead(), columns), columns)}, call.waits.size(), write ? "writes" : "reads");
  call.accesses.back().exact = false; // data decides which rows
  isOfRuns(call, op, /*isLong=*/true);
}

LogicalResult CallExtractor::addRotation(Call &call, ir::RotateHeadOp op) {
  Side tokens = range(values->of(op.getToken()), op.getTokens()), layer = point(values->of(op.getLayer()));
  const int64_t columns = op.getColumns();
  auto touch = [&](Value memory, bool write, ArrayRef<Side> sides, const char *text) {
    if (memory)
      addAccess(call, op, memory, write, sides, call.waits.size(), text);
  };
  touch(op.getX(), false, {tokens, range(values->of(op.getColumn()), columns)}, "reads");
  touch(op.getSlots(), false, {tokens}, "reads the rows in");
  touch(op.getCosines(), false, {tokens, range(values->constant(0), columns / 2)}, "reads");
  touch(op.getSines(), false, {tokens, range(values->constant(0), columns / 2)}, "reads");
  touch(op.getWeights(), false, {layer, range(values->constant(0), columns)}, "reads");
  IndexValue head = values->of(op.getHead());
  for (auto [memory, each] : {std::pair(op.getOut(), columns), std::pair(op.getSquares(), columns / 16)}) {
    if (!memory)
      continue;
    if (failed(checkMutable(op, memory)))
      return failure();
    IndexValue first = head ? IndexValue(head->scale(isl::val(scope.graph.ctx(), static_cast<long>(each)))) : head;
    if (op.getSlots())
      touch(memory, true, {layer, point(head), Side{}, range(values->constant(0), each)}, "writes");
    else
      touch(memory, true, {tokens, range(first, each)}, "writes");
  }
  return success();
}

ir::ShortTokensOp CallExtractor::shortTokenOf(ir::StoreOp store) {
  if (store.getTable() || store.getSizes().empty() || store.getSizes()[0] != 1)
    return {};
  IndexValue row = values->of(store.getOffsets()[0]);
  for (auto loop = store->getParentOfType<scf::ForOp>(); loop; loop = loop->getParentOfType<scf::ForOp>()) {
    auto runs = loop.getUpperBound().getDefiningOp<ir::ShortTokensOp>();
    if (!runs || runs.getCount() != 1 || ir::constantOf(loop.getLowerBound()).value_or(-1) < 0)
      continue;
    IndexValue token = values->of(runs.getToken());
    if (runs.getToken() == store.getOffsets()[0] || (row && token && row->plain_is_equal(*token)))
      return runs;
  }
  return {};
}

LogicalResult CallExtractor::checkMutable(Operation *write, Value memory) {
  ir::GraphOp graph = scope.signature.graph;
  auto argument = dyn_cast<BlockArgument>(values->memoryOf(memory));
  if (!argument || !graph.isImmutable(argument.getArgNumber()))
    return success();
  InFlightDiagnostic error = op.emitError("'") << op.getCallee() << "' writes '"
                                               << graph.getArgName(argument.getArgNumber()) << "', which is immutable";
  error.attachNote(write->getLoc()) << "it is written here";
  return failure();
}

LogicalResult CallExtractor::extractBody(Call &call) {
  // What a foreign device function declares is taken as what another's loads and stores do.
  WalkResult walked = device.getBody().walk<WalkOrder::PreOrder>([&](Operation *step) -> WalkResult {
    if (auto load = dyn_cast<ir::LoadOp>(step)) {
      addTileAccess(call, load, /*write=*/false);
    } else if (auto declared = dyn_cast<ir::ReadsOp>(step)) {
      addTileAccess(call, declared, /*write=*/false);
    } else if (auto attend = dyn_cast<ir::AttendOp>(step)) {
      addAttention(call, attend);
    } else if (auto merge = dyn_cast<ir::MergeOp>(step)) {
      addMerge(call, merge);
    } else if (isa<ir::AttendPartsOp, ir::MergePartsOp>(step)) {
      for (Value memory : ir::memoriesWritten(step))
        if (failed(checkMutable(step, memory)))
          return WalkResult::interrupt();
      if (auto attend = dyn_cast<ir::AttendPartsOp>(step))
        addPartsAttention(call, attend);
      else
        addPartsMerge(call, cast<ir::MergePartsOp>(step));
    } else if (auto draw = dyn_cast<ir::DrawOp>(step)) {
      if (failed(checkMutable(draw, draw.getScaled())))
        return WalkResult::interrupt();
      addDraw(call, draw);
    } else if (auto sample = dyn_cast<ir::SampleOp>(step)) {
      addSample(call, sample);
    } else if (auto attend = dyn_cast<ir::AttendTokensOp>(step)) {
      if (failed(checkMutable(attend, attend.getOut())))
        return WalkResult::interrupt();
      addTokenAttention(call, attend);
    } else if (auto rotate = dyn_cast<ir::RotateHeadOp>(step)) {
      if (failed(addRotation(call, rotate)))
        return WalkResult::interrupt();
    } else if (auto tokens = dyn_cast<ir::ShortTokensOp>(step)) {
      addTokens(call, tokens, tokens.getRequests(), tokens.getPositions());
    } else if (auto read = dyn_cast<ir::ReadOp>(step)) {
      std::vector<Side> sides;
      for (Value index : read.getIndices())
        sides.push_back(point(values->of(index)));
      addAccess(call, read, read.getTable(), /*write=*/false, sides, call.waits.size(), "reads");
    } else if (auto store = dyn_cast<ir::StoreOp>(step)) {
      if (failed(checkMutable(store, store.getMemory())))
        return WalkResult::interrupt();
      addTileAccess(call, store, /*write=*/true);
      if (ir::ShortTokensOp runs = shortTokenOf(store))
        isOfRuns(call, runs, /*isLong=*/false);
    } else if (auto declared = dyn_cast<ir::WritesOp>(step)) {
      if (failed(checkMutable(declared, declared.getMemory())))
        return WalkResult::interrupt();
      addTileAccess(call, declared, /*write=*/true);
    }
    return WalkResult::advance();
  });
  return failure(walked.wasInterrupted());
}

} // namespace evt
