#include "Builder.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Iterators.h"
#include "mlir/IR/Verifier.h"

#include <stdexcept>

using namespace mlir;

namespace evt::builder {

Type elementType(MLIRContext *context, Element element) {
  Builder b(context);
  switch (element) {
  case Element::f32:
    return b.getF32Type();
  case Element::bf16:
    return b.getBF16Type();
  case Element::f16:
    return b.getF16Type();
  case Element::i32:
    return b.getI32Type();
  case Element::i64:
    return b.getI64Type();
  case Element::i1:
    return b.getI1Type();
  }
  throw std::invalid_argument("unknown element type");
}

namespace {

Type argumentType(MLIRContext *context, const Argument &a) {
  if (!a.element)
    return IndexType::get(context);
  return MemRefType::get(a.shape, elementType(context, *a.element));
}

ArrayAttr strings(Builder &b, const std::vector<std::string> &names) {
  SmallVector<Attribute> attrs;
  for (const std::string &n : names)
    attrs.push_back(b.getStringAttr(n));
  return b.getArrayAttr(attrs);
}

/// The block of a function or region that takes values of these types, with its terminator.
Block &open(Region &region, TypeRange types, Location loc) {
  Block &block = region.emplaceBlock();
  block.addArguments(types, SmallVector<Location>(types.size(), loc));
  OpBuilder::atBlockEnd(&block).create<ir::EndOp>(loc);
  return block;
}

} // namespace

Argument tensor(std::string name, Element element, std::vector<int64_t> shape) {
  Argument a;
  a.name = std::move(name);
  a.element = element;
  a.shape = std::move(shape);
  return a;
}

Argument scalar(std::string name, int64_t min, int64_t max) {
  Argument a;
  a.name = std::move(name);
  a.min = min;
  a.max = max;
  return a;
}

Argument Argument::immutable() const {
  Argument a = *this;
  a.isImmutable = true;
  return a;
}

//===-- indices ---------------------------------------------------------------------------------------------------===//

Value Scope::valueOf(Index i) {
  if (i.value)
    return i.value;
  // Each number once, in rising order: what is printed does not depend on who asked first.
  Block::iterator at = start->begin();
  for (; at != start->end() && isa<arith::ConstantIndexOp>(*at); ++at) {
    auto constant = cast<arith::ConstantIndexOp>(*at);
    if (constant.value() == i.constant)
      return constant;
    if (constant.value() > i.constant)
      break;
  }
  return OpBuilder(start, at).create<arith::ConstantIndexOp>(loc, i.constant);
}

SmallVector<Value> Scope::valuesOf(const std::vector<Index> &indices) {
  SmallVector<Value> values;
  for (Index i : indices)
    values.push_back(valueOf(i));
  return values;
}

namespace {

OpFoldResult operand(OpBuilder &b, Index i) {
  return i.value ? OpFoldResult(i.value) : OpFoldResult(b.getIndexAttr(i.constant));
}

Index indexOf(Scope *scope, OpFoldResult r) {
  if (auto attribute = dyn_cast<Attribute>(r))
    return Index(cast<IntegerAttr>(attribute).getInt());
  return {scope, cast<Value>(r)};
}

/// The affine expression `of(a, b)`. A chain of them becomes one operation.
template <class Of> Index affineOf(Index a, Index b, Of of) {
  Scope *s = a.scope ? a.scope : b.scope;
  AffineExpr d0, d1;
  bindDims(s->cursor.getContext(), d0, d1);
  return indexOf(s, affine::makeComposedFoldedAffineApply(s->cursor, s->loc, AffineMap::get(2, 0, of(d0, d1)),
                                                          {operand(s->cursor, a), operand(s->cursor, b)}));
}

/// Both operands as the two results of a map, for min and max.
template <class Make> Index affineChoice(Index a, Index b, Make make) {
  Scope *s = a.scope ? a.scope : b.scope;
  return indexOf(s, make(s->cursor, s->loc, AffineMap::getMultiDimIdentityMap(2, s->cursor.getContext()),
                         ArrayRef<OpFoldResult>{operand(s->cursor, a), operand(s->cursor, b)}));
}

bool areNumbers(Index a, Index b) { return !a.value && !b.value; }

void checkDivisor(int64_t b) {
  if (b < 1)
    throw std::invalid_argument("a divisor must be positive, found " + std::to_string(b));
}

} // namespace

Index operator+(Index a, Index b) {
  return areNumbers(a, b) ? Index(a.constant + b.constant)
                          : affineOf(a, b, [](AffineExpr x, AffineExpr y) { return x + y; });
}

Index operator-(Index a, Index b) {
  return areNumbers(a, b) ? Index(a.constant - b.constant)
                          : affineOf(a, b, [](AffineExpr x, AffineExpr y) { return x - y; });
}

Index operator*(Index a, Index b) {
  if (areNumbers(a, b))
    return a.constant * b.constant;
  if (a.value && b.value)
    return {a.scope, a.scope->cursor.create<arith::MulIOp>(a.scope->loc, a.value, b.value)};
  Index value = a.value ? a : b;
  int64_t factor = a.value ? b.constant : a.constant;
  return affineOf(value, 0, [factor](AffineExpr x, AffineExpr) { return x * factor; });
}

Index operator%(Index a, int64_t b) {
  checkDivisor(b);
  return a.value ? affineOf(a, 0, [b](AffineExpr x, AffineExpr) { return x % b; }) : Index(llvm::mod(a.constant, b));
}

Index floordiv(Index a, int64_t b) {
  checkDivisor(b);
  return a.value ? affineOf(a, 0, [b](AffineExpr x, AffineExpr) { return x.floorDiv(b); })
                 : Index(llvm::divideFloorSigned(a.constant, b));
}

Index ceildiv(Index a, int64_t b) {
  checkDivisor(b);
  return a.value ? affineOf(a, 0, [b](AffineExpr x, AffineExpr) { return x.ceilDiv(b); })
                 : Index(llvm::divideCeilSigned(a.constant, b));
}

Index least(Index a, Index b) {
  return areNumbers(a, b) ? Index(std::min(a.constant, b.constant))
                          : affineChoice(a, b, affine::makeComposedFoldedAffineMin);
}

Index most(Index a, Index b) {
  return areNumbers(a, b) ? Index(std::max(a.constant, b.constant))
                          : affineChoice(a, b, affine::makeComposedFoldedAffineMax);
}

Index Scope::read(Memory table, std::vector<Index> at) {
  return {this, cursor.create<ir::ReadOp>(loc, cursor.getIndexType(), table.value, valuesOf(at))};
}

Index Scope::dim(Memory memory, int64_t d) {
  return {this, cursor.create<memref::DimOp>(loc, memory.value, valueOf(d))};
}

Named::operator Memory() const {
  if (!isa<MemRefType>(value.getType()))
    throw std::invalid_argument("'" + name + "' is an index, not a memory");
  return {value};
}

Named::operator Index() const {
  if (!value.getType().isIndex())
    throw std::invalid_argument("'" + name + "' is a memory, not an index");
  return {scope, value};
}

//===-- graphs ----------------------------------------------------------------------------------------------------===//

GraphScope::GraphScope(OpBuilder &cursor, Location loc, ir::GraphOp graph)
    : Scope(cursor, &graph.getBody().front(), loc), graph(graph) {}

Named GraphScope::operator[](const std::string &name) {
  for (BlockArgument argument : graph.getBody().getArguments())
    if (graph.getArgName(argument.getArgNumber()) == name)
      return {this, argument, name};
  throw std::invalid_argument("graph '" + graph.getSymName().str() + "' has no argument '" + name + "'");
}

Index GraphScope::symbol(const std::string &name, std::vector<std::pair<Memory, int64_t>> dims, int64_t min,
                         int64_t max) {
  SmallVector<Value> tensors;
  SmallVector<int64_t> positions;
  for (auto &[m, d] : dims) {
    tensors.push_back(m.value);
    positions.push_back(d);
  }
  return {this, cursor.create<ir::SymbolOp>(loc, cursor.getIndexType(), cursor.getStringAttr(name), tensors,
                                            cursor.getDenseI64ArrayAttr(positions), cursor.getI64IntegerAttr(min),
                                            cursor.getI64IntegerAttr(max))};
}

Memory GraphScope::alloc(const std::string &name, Element element, std::vector<Index> sizes) {
  SmallVector<int64_t> shape;
  SmallVector<Value> dynamic;
  for (Index i : sizes) {
    shape.push_back(i.value ? dyn : i.constant);
    if (i.value)
      dynamic.push_back(i.value);
  }
  auto type = MemRefType::get(shape, elementType(cursor.getContext(), element));
  return {cursor.create<ir::AllocOp>(loc, type, dynamic, cursor.getStringAttr(name))};
}

Count Count::grouped(Index total, int64_t by, unsigned coordinate, int64_t times) {
  Count count(total);
  count.by = by;
  count.coordinate = coordinate;
  count.times = times;
  return count;
}

Event GraphScope::event(const std::string &name, std::vector<Index> extents, Count count) {
  SmallVector<Value> sizes = valuesOf(extents), operands;
  AffineMap map = AffineMap::get(sizes.size(), 0, cursor.getAffineConstantExpr(count.value.constant));
  if (count.value.value) {
    map = AffineMap::get(sizes.size(), 1, cursor.getAffineSymbolExpr(0));
    operands.push_back(count.value.value);
  }
  if (count.by) {
    AffineExpr whole = cursor.getAffineConstantExpr(count.by * count.times), total = map.getResult(0) * count.times;
    AffineExpr left = total - cursor.getAffineDimExpr(count.coordinate) * (count.by * count.times);
    map = AffineMap::get(sizes.size(), map.getNumSymbols(), {whole, left}, cursor.getContext());
  }
  auto type = ir::EventType::get(cursor.getContext(), sizes.size());
  return {cursor.create<ir::EventOp>(loc, type, sizes, operands, count.table ? count.table->value : Value(),
                                     count.guard ? count.guard->value : Value(), AffineMapAttr::get(map),
                                     cursor.getI64IntegerAttr(count.factor), cursor.getStringAttr(name))};
}

void GraphScope::call(const Device &device, std::vector<Operand> args, std::vector<Index> grid, const Rules &protocol) {
  makeCall(device, args, nullptr, grid, protocol);
}

void GraphScope::call(const Device &device, std::vector<Operand> args, const Ragged &ragged, std::vector<Index> grid,
                      const Rules &protocol) {
  makeCall(device, args, &ragged, grid, protocol);
}

void GraphScope::makeCall(const Device &device, const std::vector<Operand> &args, const Ragged *ragged,
                          const std::vector<Index> &grid, const Rules &protocol) {
  SmallVector<Value> actual;
  for (const Operand &a : args)
    actual.push_back(valueOf(a.index));
  unsigned rank = grid.size() + (ragged ? 2 : 0);
  // A grid of another rank than the device function's is the verifier's to report; its coordinates need names until
  // then.
  std::vector<std::string> names = device.coords;
  for (unsigned i = names.size(); i < rank; ++i)
    names.push_back("i" + std::to_string(i));
  names.resize(rank);
  auto op = cursor.create<ir::CallOp>(loc, FlatSymbolRefAttr::get(cursor.getContext(), device.name), actual,
                                      valuesOf(grid), ragged ? ragged->table.value : Value(),
                                      ragged ? valueOf(ragged->bound) : Value(), ragged ? ragged->guard.value : Value(),
                                      cursor.getI64IntegerAttr(ragged ? ragged->by : 0), strings(cursor, names));
  Block &block = open(op.getProtocol(), SmallVector<Type>(rank, cursor.getIndexType()), loc);
  if (!protocol)
    return;
  OpBuilder::InsertionGuard guard(cursor);
  cursor.setInsertionPoint(block.getTerminator());
  Protocol scope(cursor, start, loc, op);
  protocol(scope);
}

void GraphScope::repeat(const std::string &iteration, Index extent, const std::function<void(Index)> &body) {
  auto op = cursor.create<ir::RepeatOp>(loc, valueOf(extent), cursor.getStringAttr(iteration));
  Block &block = open(op.getBody(), cursor.getIndexType(), loc);
  OpBuilder::InsertionGuard guard(cursor);
  cursor.setInsertionPoint(block.getTerminator());
  body({this, block.getArgument(0)});
}

//===-- protocols -------------------------------------------------------------------------------------------------===//

Index Protocol::operator[](unsigned coordinate) {
  if (coordinate >= call.getNumCoords())
    throw std::invalid_argument("a task of '" + call.getCallee().str() + "' has " +
                                std::to_string(call.getNumCoords()) + " coordinates, asked for number " +
                                std::to_string(coordinate));
  return {this, call.getCoord(coordinate)};
}

namespace {
template <class Use> void use(Scope &scope, Event event, const std::vector<Span> &at) {
  SmallVector<Value> lower, upper;
  SmallVector<bool> isRange;
  for (const Span &s : at) {
    lower.push_back(scope.valueOf(s.lower));
    isRange.push_back(s.upper.has_value());
    if (s.upper)
      upper.push_back(scope.valueOf(*s.upper));
  }
  scope.cursor.create<Use>(scope.loc, event.value, lower, upper, isRange);
}
} // namespace

void Protocol::wait(Event event, std::vector<Span> at) { use<ir::WaitOp>(*this, event, at); }
void Protocol::notify(Event event, std::vector<Span> at) { use<ir::NotifyOp>(*this, event, at); }

void Protocol::loop(Index from, Index to, const std::function<void(Index)> &body) {
  auto op = cursor.create<scf::ForOp>(loc, valueOf(from), valueOf(to), valueOf(1));
  OpBuilder::InsertionGuard guard(cursor);
  cursor.setInsertionPoint(op.getBody()->getTerminator());
  body({this, op.getInductionVar()});
}

//===-- programs --------------------------------------------------------------------------------------------------===//

Program::Program(MLIRContext &context) : cursor(&context) {
  DialectRegistry registry;
  ir::registerDialects(registry);
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
  module = ModuleOp::create(UnknownLoc::get(&context));
}

namespace {

struct Signature {
  SmallVector<Type> types;
  std::vector<std::string> names;
};

Signature signatureOf(MLIRContext *context, const std::vector<Argument> &args) {
  Signature s;
  for (const Argument &a : args) {
    s.types.push_back(argumentType(context, a));
    s.names.push_back(a.name);
  }
  return s;
}

} // namespace

Device Program::device(const std::string &name, std::vector<Argument> args, std::vector<std::string> coords,
                       const std::function<void(TileScope &)> &body) {
  return makeDevice(name, args, std::move(coords), nullptr, body);
}

Device Program::device(const std::string &name, std::vector<Argument> args, std::vector<std::string> coords,
                       const Foreign &foreign, const std::function<void(TileScope &)> &body) {
  return makeDevice(name, args, std::move(coords), &foreign, body);
}

Device Program::makeDevice(const std::string &name, const std::vector<Argument> &args, std::vector<std::string> coords,
                           const Foreign *foreign, const std::function<void(TileScope &)> &body) {
  OpBuilder::InsertionGuard guard(cursor);
  cursor.setInsertionPointToEnd(module->getBody());
  Location loc = NameLoc::get(cursor.getStringAttr(name));
  auto [types, names] = signatureOf(cursor.getContext(), args);
  auto op = cursor.create<ir::DeviceOp>(
      loc, cursor.getStringAttr(name), TypeAttr::get(cursor.getFunctionType(types, {})), strings(cursor, names),
      strings(cursor, coords), foreign ? cursor.getStringAttr(foreign->source) : StringAttr(),
      foreign ? cursor.getStringAttr(foreign->function) : StringAttr(),
      cursor.getI64IntegerAttr(foreign ? foreign->sharedBytes : 0));
  types.append(coords.size(), cursor.getIndexType());
  cursor.setInsertionPoint(open(op.getBody(), types, loc).getTerminator());
  TileScope scope(cursor, loc, op);
  body(scope);
  return {name, std::move(coords)};
}

void Program::graph(const std::string &name, std::vector<Argument> args,
                    const std::function<void(GraphScope &)> &body) {
  OpBuilder::InsertionGuard guard(cursor);
  cursor.setInsertionPointToEnd(module->getBody());
  Location loc = NameLoc::get(cursor.getStringAttr(name));
  auto [types, names] = signatureOf(cursor.getContext(), args);
  SmallVector<Attribute> attrs;
  for (const Argument &a : args) {
    SmallVector<NamedAttribute> dict;
    if (a.isImmutable)
      dict.push_back(cursor.getNamedAttr("evt.immutable", cursor.getUnitAttr()));
    if (!a.element) {
      dict.push_back(cursor.getNamedAttr("evt.min", cursor.getI64IntegerAttr(a.min)));
      dict.push_back(cursor.getNamedAttr("evt.max", cursor.getI64IntegerAttr(a.max)));
    }
    attrs.push_back(cursor.getDictionaryAttr(dict));
  }
  auto op =
      cursor.create<ir::GraphOp>(loc, cursor.getStringAttr(name), TypeAttr::get(cursor.getFunctionType(types, {})),
                                 strings(cursor, names), cursor.getArrayAttr(attrs));
  cursor.setInsertionPoint(open(op.getBody(), types, loc).getTerminator());
  GraphScope scope(cursor, loc, op);
  body(scope);
}

OwningOpRef<ModuleOp> Program::take() {
  // Steps of index arithmetic that became part of a larger expression are left without a use.
  module->walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *op) {
    if (isa<affine::AffineApplyOp, affine::AffineMinOp, affine::AffineMaxOp, arith::ConstantIndexOp>(op) &&
        op->use_empty())
      op->erase();
  });
  if (failed(verify(*module)))
    return {};
  return std::move(module);
}

std::string textOf(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream);
  return text;
}

} // namespace evt::builder
