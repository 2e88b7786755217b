#include "Builder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
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

/// The value of a name among block arguments.
Value find(ArrayAttr names, unsigned first, Block &block, const std::string &name) {
  for (auto [i, n] : llvm::enumerate(names))
    if (cast<StringAttr>(n).getValue() == name)
      return block.getArgument(first + i);
  return {};
}

void close(Block &block, Location loc) { OpBuilder::atBlockEnd(&block).create<ir::EndOp>(loc); }

template <class Op> Index binary(Scope *scope, Value a, Value b) {
  return {scope, scope->builder.create<Op>(scope->loc, a, b)};
}

} // namespace

Argument tensor(std::string name, Element element, std::vector<int64_t> shape) {
  Argument a;
  a.name = std::move(name);
  a.element = element;
  a.shape = std::move(shape);
  return a;
}

Argument index(std::string name, int64_t min, int64_t max) {
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

Index Scope::constant(int64_t value) { return {this, builder.create<arith::ConstantIndexOp>(loc, value)}; }
Value Scope::valueOf(Index i) { return i.value ? i.value : constant(i.constant).value; }

#define EVT_INDEX_OPERATOR(NAME, OP, FOLDED)                                                                           \
  Index NAME(Index a, Index b) {                                                                                       \
    Scope *s = a.scope ? a.scope : b.scope;                                                                            \
    if (!s)                                                                                                            \
      return Index(int64_t(FOLDED));                                                                                   \
    return binary<OP>(s, s->valueOf(a), s->valueOf(b));                                                                \
  }
EVT_INDEX_OPERATOR(operator+, arith::AddIOp, a.constant + b.constant)
EVT_INDEX_OPERATOR(operator-, arith::SubIOp, a.constant - b.constant)
EVT_INDEX_OPERATOR(operator*, arith::MulIOp, a.constant *b.constant)
EVT_INDEX_OPERATOR(floordiv, arith::FloorDivSIOp, llvm::divideFloorSigned(a.constant, b.constant))
EVT_INDEX_OPERATOR(ceildiv, arith::CeilDivSIOp, llvm::divideCeilSigned(a.constant, b.constant))
EVT_INDEX_OPERATOR(operator%, arith::RemSIOp, a.constant % b.constant)
EVT_INDEX_OPERATOR(least, arith::MinSIOp, std::min(a.constant, b.constant))
EVT_INDEX_OPERATOR(most, arith::MaxSIOp, std::max(a.constant, b.constant))
#undef EVT_INDEX_OPERATOR

Index Scope::read(Memory table, std::vector<Index> at) {
  SmallVector<Value> indices;
  for (Index i : at)
    indices.push_back(valueOf(i));
  return {this, builder.create<ir::ReadOp>(loc, builder.getIndexType(), table.value, indices)};
}

Index Scope::dim(Memory memory, int64_t d) { return {this, builder.create<memref::DimOp>(loc, memory.value, d)}; }

//===-- graphs ----------------------------------------------------------------------------------------------------===//

Named GraphScope::operator[](const std::string &name) {
  Value v = find(graph.getArgNames(), 0, graph.getBody().front(), name);
  if (!v)
    throw std::invalid_argument("graph '" + graph.getSymName().str() + "' has no argument '" + name + "'");
  return {this, v};
}

Index GraphScope::symbol(const std::string &name, std::vector<std::pair<Memory, int64_t>> dims, int64_t min,
                         int64_t max) {
  SmallVector<mlir::Value> tensors;
  SmallVector<int64_t> positions;
  for (auto &[m, d] : dims) {
    tensors.push_back(m.value);
    positions.push_back(d);
  }
  return {this, builder.create<ir::SymbolOp>(loc, builder.getIndexType(), builder.getStringAttr(name), tensors,
                                             builder.getDenseI64ArrayAttr(positions), builder.getI64IntegerAttr(min),
                                             builder.getI64IntegerAttr(max))};
}

Memory GraphScope::alloc(const std::string &name, Element element, std::vector<Index> sizes) {
  SmallVector<int64_t> shape;
  SmallVector<mlir::Value> dynamic;
  for (Index i : sizes) {
    mlir::Value v = valueOf(i);
    if (auto c = v.getDefiningOp<arith::ConstantIndexOp>()) {
      shape.push_back(c.value());
    } else {
      shape.push_back(dyn);
      dynamic.push_back(v);
    }
  }
  auto type = MemRefType::get(shape, elementType(builder.getContext(), element));
  return {builder.create<ir::AllocOp>(loc, type, dynamic, builder.getStringAttr(name))};
}

Event GraphScope::event(const std::string &name, std::vector<Index> extents, Count count) {
  SmallVector<mlir::Value> sizes, operands;
  for (Index i : extents)
    sizes.push_back(valueOf(i));
  mlir::Value value = valueOf(count.value);
  AffineMap map;
  if (auto c = value.getDefiningOp<arith::ConstantIndexOp>()) {
    map = AffineMap::get(sizes.size(), 0, builder.getAffineConstantExpr(count.table ? 0 : c.value()));
  } else {
    map = AffineMap::get(sizes.size(), 1, builder.getAffineSymbolExpr(0));
    operands.push_back(value);
  }
  auto type = ir::EventType::get(builder.getContext(), sizes.size());
  return {builder.create<ir::EventOp>(loc, type, sizes, operands, count.table ? count.table->value : mlir::Value(),
                                      count.guard ? count.guard->value : mlir::Value(), AffineMapAttr::get(map),
                                      builder.getI64IntegerAttr(count.factor), builder.getStringAttr(name))};
}

void GraphScope::call(const Device &device, std::vector<Value> args, std::vector<Index> grid,
                      const std::function<void(Protocol &)> &protocol) {
  makeCall(device, std::move(args), nullptr, std::move(grid), protocol);
}

void GraphScope::call(const Device &device, std::vector<Value> args, const Ragged &ragged, std::vector<Index> grid,
                      const std::function<void(Protocol &)> &protocol) {
  makeCall(device, std::move(args), &ragged, std::move(grid), protocol);
}

void GraphScope::makeCall(const Device &device, std::vector<Value> args, const Ragged *ragged,
                          std::vector<Index> grid, const std::function<void(Protocol &)> &protocol) {
  SmallVector<mlir::Value> actual, extents;
  for (Value &a : args) {
    auto *memory = std::get_if<Memory>(static_cast<Actual *>(&a));
    actual.push_back(memory ? memory->value : valueOf(std::get<Index>(static_cast<Actual &>(a))));
  }
  for (Index i : grid)
    extents.push_back(valueOf(i));
  unsigned rank = extents.size() + (ragged ? 2 : 0);
  auto callee = SymbolTable::lookupNearestSymbolFrom<ir::DeviceOp>(graph->getParentOp(),
                                                                   builder.getStringAttr(device.name));
  std::vector<std::string> names;
  for (unsigned i = 0; i < rank; ++i)
    names.push_back(callee && i < callee.getNumCoords() ? cast<StringAttr>(callee.getCoordNames()[i]).getValue().str()
                                                        : "i" + std::to_string(i));
  mlir::Value bound = ragged ? valueOf(ragged->bound) : mlir::Value();
  auto op = builder.create<ir::CallOp>(
      loc, FlatSymbolRefAttr::get(builder.getContext(), device.name), actual, extents,
      ragged ? ragged->table.value : mlir::Value(), bound, ragged ? ragged->guard.value : mlir::Value(),
      builder.getI64IntegerAttr(ragged ? ragged->by : 0), strings(builder, names));
  Block &block = op.getProtocol().emplaceBlock();
  for (unsigned i = 0; i < rank; ++i)
    block.addArgument(builder.getIndexType(), loc);
  close(block, loc);
  if (protocol) {
    Protocol scope(OpBuilder(&block, std::prev(block.end())), loc, op);
    protocol(scope);
  }
}

void GraphScope::repeat(const std::string &iteration, Index extent, const std::function<void(Index)> &body) {
  auto op = builder.create<ir::RepeatOp>(loc, valueOf(extent), builder.getStringAttr(iteration));
  Block &block = op.getBody().emplaceBlock();
  block.addArgument(builder.getIndexType(), loc);
  close(block, loc);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(block.getTerminator());
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
  scope.builder.create<Use>(scope.loc, event.value, lower, upper, isRange);
}
} // namespace

void Protocol::wait(Event event, std::vector<Span> at) { use<ir::WaitOp>(*this, event, at); }
void Protocol::notify(Event event, std::vector<Span> at) { use<ir::NotifyOp>(*this, event, at); }

void Protocol::loop(Index from, Index to, const std::function<void(Index)> &body) {
  auto op = builder.create<scf::ForOp>(loc, valueOf(from), valueOf(to), valueOf(1));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(op.getBody()->getTerminator());
  body({this, op.getInductionVar()});
}

//===-- programs --------------------------------------------------------------------------------------------------===//

Program::Program(MLIRContext &context) : context(context) {
  DialectRegistry registry;
  ir::registerDialects(registry);
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
  module = ModuleOp::create(UnknownLoc::get(&context));
}

Device Program::device(const std::string &name, std::vector<Argument> args, std::vector<std::string> coords,
                       const std::function<void(TileScope &)> &body) {
  OpBuilder b = OpBuilder::atBlockEnd(module->getBody());
  Location loc = NameLoc::get(b.getStringAttr(name));
  SmallVector<Type> types;
  std::vector<std::string> names;
  for (const Argument &a : args) {
    types.push_back(argumentType(&context, a));
    names.push_back(a.name);
  }
  auto op = b.create<ir::DeviceOp>(loc, b.getStringAttr(name), TypeAttr::get(b.getFunctionType(types, {})),
                                   strings(b, names), strings(b, coords));
  Block &block = op.getBody().emplaceBlock();
  for (Type t : types)
    block.addArgument(t, loc);
  for (unsigned i = 0; i < coords.size(); ++i)
    block.addArgument(b.getIndexType(), loc);
  close(block, loc);
  TileScope scope(OpBuilder(&block, std::prev(block.end())), loc, op);
  body(scope);
  return {name};
}

void Program::graph(const std::string &name, std::vector<Argument> args,
                    const std::function<void(GraphScope &)> &body) {
  OpBuilder b = OpBuilder::atBlockEnd(module->getBody());
  Location loc = NameLoc::get(b.getStringAttr(name));
  SmallVector<Type> types;
  std::vector<std::string> names;
  SmallVector<Attribute> attrs;
  for (const Argument &a : args) {
    types.push_back(argumentType(&context, a));
    names.push_back(a.name);
    SmallVector<NamedAttribute> dict;
    if (a.isImmutable)
      dict.push_back(b.getNamedAttr("evt.immutable", b.getUnitAttr()));
    if (!a.element) {
      dict.push_back(b.getNamedAttr("evt.min", b.getI64IntegerAttr(a.min)));
      dict.push_back(b.getNamedAttr("evt.max", b.getI64IntegerAttr(a.max)));
    }
    attrs.push_back(b.getDictionaryAttr(dict));
  }
  auto op = b.create<ir::GraphOp>(loc, b.getStringAttr(name), TypeAttr::get(b.getFunctionType(types, {})),
                                  strings(b, names), b.getArrayAttr(attrs));
  Block &block = op.getBody().emplaceBlock();
  for (Type t : types)
    block.addArgument(t, loc);
  close(block, loc);
  GraphScope scope(OpBuilder(&block, std::prev(block.end())), loc, op);
  body(scope);
}

OwningOpRef<ModuleOp> Program::take() {
  if (failed(verify(*module)))
    return {};
  return std::move(module);
}

} // namespace evt::builder
