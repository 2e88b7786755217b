// The tile language in C++. Apart from Builder.cpp because linalg's headers are slow.
#include "Builder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <limits>
#include <stdexcept>

using namespace mlir;

namespace evt::builder {

namespace {

RankedTensorType typeOf(Tile t) { return cast<RankedTensorType>(t.value.getType()); }

bool isFloat(Tile t) { return isa<FloatType>(getElementTypeOrSelf(t.value)); }

template <class FloatOp, class IntOp> Tile arithmetic(Tile a, Tile b) {
  OpBuilder &o = a.scope->cursor;
  if (isFloat(a))
    return {o.create<FloatOp>(a.scope->loc, a.value, b.value), a.scope};
  return {o.create<IntOp>(a.scope->loc, a.value, b.value), a.scope};
}

Tile constantTile(Scope *scope, RankedTensorType type, double value) {
  OpBuilder &o = scope->cursor;
  Type element = type.getElementType();
  Attribute v = isa<FloatType>(element) ? Attribute(o.getFloatAttr(element, value))
                                        : Attribute(o.getIntegerAttr(element, (int64_t)value));
  return {o.create<arith::ConstantOp>(scope->loc, SplatElementsAttr::get(type, v)), scope};
}

Tile sameShape(Tile like, double value) { return constantTile(like.scope, typeOf(like), value); }

RankedTensorType tileType(ArrayRef<int64_t> shape, Type element) { return RankedTensorType::get(shape, element); }

} // namespace

std::vector<int64_t> Tile::shape() const { return typeOf(*this).getShape(); }

Tile operator+(Tile a, Tile b) { return arithmetic<arith::AddFOp, arith::AddIOp>(a, b); }
Tile operator-(Tile a, Tile b) { return arithmetic<arith::SubFOp, arith::SubIOp>(a, b); }
Tile operator*(Tile a, Tile b) { return arithmetic<arith::MulFOp, arith::MulIOp>(a, b); }
Tile operator/(Tile a, Tile b) { return arithmetic<arith::DivFOp, arith::DivSIOp>(a, b); }
Tile operator&(Tile a, Tile b) {
  return {a.scope->cursor.create<arith::AndIOp>(a.scope->loc, a.value, b.value), a.scope};
}
Tile operator-(Tile a) {
  return isFloat(a) ? Tile{a.scope->cursor.create<arith::NegFOp>(a.scope->loc, a.value), a.scope} : sameShape(a, 0) - a;
}
Tile operator+(Tile a, double b) { return a + sameShape(a, b); }
Tile operator*(Tile a, double b) { return a * sameShape(a, b); }
Tile operator/(Tile a, double b) { return a / sameShape(a, b); }

TileScope::TileScope(OpBuilder &cursor, Location loc, ir::DeviceOp device)
    : Scope(cursor, &device.getBody().front(), loc), device(device) {}

Named TileScope::operator[](const std::string &name) {
  for (auto [i, n] : llvm::enumerate(device.getArgNames()))
    if (cast<StringAttr>(n).getValue() == name)
      return {this, device.getBody().getArgument(i), name};
  for (auto [i, n] : llvm::enumerate(device.getCoordNames()))
    if (cast<StringAttr>(n).getValue() == name)
      return {this, device.getCoord(i), name};
  throw std::invalid_argument("device function '" + device.getSymName().str() + "' has no argument or coordinate '" +
                              name + "'");
}

namespace {
SmallVector<int64_t> fullBox(MemRefType memory, ArrayRef<int64_t> sizes, ArrayRef<int64_t> shape) {
  SmallVector<int64_t> box(sizes);
  if (box.empty()) {
    box.assign(std::max<int64_t>(0, memory.getRank() - (int64_t)shape.size()), 1);
    llvm::append_range(box, shape);
  }
  return box;
}
} // namespace

Tile TileScope::load(Memory from, std::vector<Index> offsets, std::vector<int64_t> shape, const Box &box) {
  auto memory = cast<MemRefType>(from.value.getType());
  auto sizes = fullBox(memory, box.sizes, shape);
  return {cursor.create<ir::LoadOp>(loc, tileType(shape, memory.getElementType()), from.value,
                                    box.table ? box.table->value : Value(), valuesOf(offsets),
                                    cursor.getDenseI64ArrayAttr(sizes), cursor.getF64FloatAttr(box.fill),
                                    cursor.getI64IntegerAttr(box.tableDim)),
          this};
}

void TileScope::store(Tile tile, Memory to, std::vector<Index> offsets, const Box &box) {
  auto memory = cast<MemRefType>(to.value.getType());
  auto sizes = fullBox(memory, box.sizes, typeOf(tile).getShape());
  cursor.create<ir::StoreOp>(loc, tile.value, to.value, box.table ? box.table->value : Value(), valuesOf(offsets),
                             cursor.getDenseI64ArrayAttr(sizes), cursor.getI64IntegerAttr(box.tableDim));
}

void TileScope::reads(Memory memory, std::vector<Index> offsets, std::vector<int64_t> sizes,
                      std::optional<Memory> table, int64_t tableDim) {
  cursor.create<ir::ReadsOp>(loc, memory.value, table ? table->value : Value(), valuesOf(offsets),
                             cursor.getDenseI64ArrayAttr(sizes), cursor.getI64IntegerAttr(tableDim));
}

void TileScope::writes(Memory memory, std::vector<Index> offsets, std::vector<int64_t> sizes,
                       std::optional<Memory> table, int64_t tableDim) {
  cursor.create<ir::WritesOp>(loc, memory.value, table ? table->value : Value(), valuesOf(offsets),
                              cursor.getDenseI64ArrayAttr(sizes), cursor.getI64IntegerAttr(tableDim));
}

Index TileScope::valid(Memory memory, Index offset, int64_t d, int64_t size) {
  return {this, cursor.create<ir::ValidOp>(loc, cursor.getIndexType(), memory.value, valueOf(offset),
                                           cursor.getI64IntegerAttr(d), cursor.getI64IntegerAttr(size))};
}

Tile TileScope::splat(double value, std::vector<int64_t> shape, Element element) {
  return constantTile(this, tileType(shape, elementType(cursor.getContext(), element)), value);
}

Tile TileScope::splat(Index value, std::vector<int64_t> shape) {
  Value v = cursor.create<arith::IndexCastOp>(loc, cursor.getI32Type(), valueOf(value));
  return {cursor.create<tensor::SplatOp>(loc, v, tileType(shape, cursor.getI32Type())), this};
}

Tile TileScope::iota(std::vector<int64_t> shape, int64_t dim) {
  return {cursor.create<ir::IotaOp>(loc, tileType(shape, cursor.getI32Type()), cursor.getI64IntegerAttr(dim)), this};
}

Tile TileScope::matmul(Tile a, Tile b, Tile accumulator) {
  auto op = cursor.create<linalg::MatmulOp>(loc, ValueRange{a.value, b.value}, ValueRange{accumulator.value});
  return {op.getResult(0), this};
}

Tile TileScope::matmulTransposed(Tile a, Tile b, Tile accumulator) {
  auto op = cursor.create<linalg::MatmulTransposeBOp>(loc, ValueRange{a.value, b.value}, ValueRange{accumulator.value});
  return {op.getResult(0), this};
}

namespace {

/// What combines with anything to that thing.
Attribute neutralElement(Combine how, Type element) {
  Builder b(element.getContext());
  if (isa<FloatType>(element)) {
    double infinity = std::numeric_limits<double>::infinity();
    return b.getFloatAttr(element, how == Combine::add   ? 0.0
                                   : how == Combine::mul ? 1.0
                                   : how == Combine::max ? -infinity
                                                         : infinity);
  }
  unsigned width = element.getIntOrFloatBitWidth();
  return b.getIntegerAttr(element, how == Combine::add   ? APInt(width, 0)
                                   : how == Combine::mul ? APInt(width, 1)
                                   : how == Combine::max ? APInt::getSignedMinValue(width)
                                                         : APInt::getSignedMaxValue(width));
}

Tile combine(Combine how, Tile a, Tile b) {
  switch (how) {
  case Combine::add:
    return a + b;
  case Combine::mul:
    return a * b;
  case Combine::max:
    return arithmetic<arith::MaximumFOp, arith::MaxSIOp>(a, b);
  case Combine::min:
    return arithmetic<arith::MinimumFOp, arith::MinSIOp>(a, b);
  }
  throw std::invalid_argument("unknown way to combine");
}

} // namespace

Tile TileScope::reduce(Combine how, Tile t, std::vector<int64_t> dims, std::optional<Tile> start) {
  RankedTensorType in = typeOf(t);
  SmallVector<int64_t> kept;
  for (int64_t d = 0; d < in.getRank(); ++d)
    if (!llvm::is_contained(dims, d))
      kept.push_back(in.getDimSize(d));
  Type element = in.getElementType();
  Value from = start ? start->value
                     : cursor.create<arith::ConstantOp>(
                           loc, SplatElementsAttr::get(tileType(kept, element), neutralElement(how, element)));
  auto op = cursor.create<linalg::ReduceOp>(loc, ValueRange{t.value}, ValueRange{from}, dims,
                                            [&](OpBuilder &b, Location l, ValueRange elements) {
                                              OpBuilder::InsertionGuard guard(cursor);
                                              cursor.restoreInsertionPoint(b.saveInsertionPoint());
                                              Tile r = combine(how, {elements[1], this}, {elements[0], this});
                                              cursor.create<linalg::YieldOp>(l, r.value);
                                            });
  return {op.getResult(0), this};
}

Tile TileScope::broadcast(Tile t, std::vector<int64_t> shape, std::vector<int64_t> dims) {
  Value init = cursor.create<tensor::EmptyOp>(loc, shape, typeOf(t).getElementType());
  auto op = cursor.create<linalg::BroadcastOp>(loc, t.value, init, dims);
  return {op->getResult(0), this};
}

Tile TileScope::transpose(Tile t, std::vector<int64_t> permutation) {
  SmallVector<int64_t> shape;
  for (int64_t p : permutation) {
    if (p < 0 || p >= typeOf(t).getRank())
      throw std::invalid_argument("cannot permute dimension " + std::to_string(p) + " of a tile of rank " +
                                  std::to_string(typeOf(t).getRank()));
    shape.push_back(typeOf(t).getDimSize(p));
  }
  Value init = cursor.create<tensor::EmptyOp>(loc, shape, typeOf(t).getElementType());
  auto op = cursor.create<linalg::TransposeOp>(loc, t.value, init, permutation);
  return {op->getResult(0), this};
}

Tile TileScope::slice(Tile t, std::vector<int64_t> offsets, std::vector<int64_t> sizes) {
  SmallVector<OpFoldResult> o, s, strides(offsets.size(), cursor.getIndexAttr(1));
  for (auto [offset, size] : llvm::zip(offsets, sizes)) {
    o.push_back(cursor.getIndexAttr(offset));
    s.push_back(cursor.getIndexAttr(size));
  }
  return {cursor.create<tensor::ExtractSliceOp>(loc, t.value, o, s, strides), this};
}

Tile TileScope::insert(Tile small, Tile into, std::vector<int64_t> offsets) {
  SmallVector<OpFoldResult> o, s, strides(offsets.size(), cursor.getIndexAttr(1));
  for (auto [offset, size] : llvm::zip(offsets, typeOf(small).getShape())) {
    o.push_back(cursor.getIndexAttr(offset));
    s.push_back(cursor.getIndexAttr(size));
  }
  return {cursor.create<tensor::InsertSliceOp>(loc, small.value, into.value, o, s, strides), this};
}

Tile TileScope::reshape(Tile t, std::vector<int64_t> shape) {
  RankedTensorType from = typeOf(t), to = tileType(shape, from.getElementType());
  if (from.getNumElements() != to.getNumElements())
    throw std::invalid_argument("cannot reshape " + std::to_string(from.getNumElements()) + " elements into " +
                                std::to_string(to.getNumElements()));
  auto all = [](int64_t rank) {
    SmallVector<ReassociationIndices> r(1);
    for (int64_t d = 0; d < rank; ++d)
      r[0].push_back(d);
    return r;
  };
  Value flat = t.value;
  if (from.getRank() > 1)
    flat = cursor.create<tensor::CollapseShapeOp>(loc, flat, all(from.getRank()));
  if (to.getRank() > 1)
    flat = cursor.create<tensor::ExpandShapeOp>(loc, to, flat, all(to.getRank()));
  return {flat, this};
}

Tile TileScope::convert(Tile t, Element element) {
  RankedTensorType from = typeOf(t);
  Type target = elementType(cursor.getContext(), element);
  RankedTensorType to = RankedTensorType::get(from.getShape(), target);
  Type source = from.getElementType();
  Value v;
  if (source == target)
    return t;
  if (isa<FloatType>(source) && isa<FloatType>(target))
    v = source.getIntOrFloatBitWidth() < target.getIntOrFloatBitWidth()
            ? Value(cursor.create<arith::ExtFOp>(loc, to, t.value))
            : Value(cursor.create<arith::TruncFOp>(loc, to, t.value));
  else if (isa<FloatType>(source))
    v = cursor.create<arith::FPToSIOp>(loc, to, t.value);
  else if (isa<FloatType>(target))
    v = source.isInteger(1) ? Value(cursor.create<arith::UIToFPOp>(loc, to, t.value))
                            : Value(cursor.create<arith::SIToFPOp>(loc, to, t.value));
  else if (source.getIntOrFloatBitWidth() > target.getIntOrFloatBitWidth())
    v = cursor.create<arith::TruncIOp>(loc, to, t.value);
  else
    v = source.isInteger(1) ? Value(cursor.create<arith::ExtUIOp>(loc, to, t.value))
                            : Value(cursor.create<arith::ExtSIOp>(loc, to, t.value));
  return {v, this};
}

Tile TileScope::math(const std::string &name, Tile t) {
  if (!RegisteredOperationName::lookup("math." + name, cursor.getContext()))
    throw std::invalid_argument("no operation of the math dialect is called '" + name + "'");
  OperationState state(loc, "math." + name);
  state.addOperands(t.value);
  state.addTypes(t.value.getType());
  return {cursor.create(state)->getResult(0), this};
}

Tile TileScope::mathNear(const std::string &name, Tile t) {
  Tile result = math(name, t);
  result.value.getDefiningOp()->setAttr("fastmath",
                                        arith::FastMathFlagsAttr::get(cursor.getContext(), arith::FastMathFlags::afn));
  return result;
}

Tile TileScope::divideNear(Tile a, Tile b) {
  return {cursor.create<arith::DivFOp>(loc, a.value, b.value, arith::FastMathFlags::arcp), this};
}

Tile TileScope::maximum(Tile a, Tile b) { return combine(Combine::max, a, b); }

Tile TileScope::compare(Compare how, Tile a, Tile b) {
  using F = arith::CmpFPredicate;
  using I = arith::CmpIPredicate;
  static const F floats[] = {F::OEQ, F::OLT, F::OLE, F::OGT, F::OGE};
  static const I ints[] = {I::eq, I::slt, I::sle, I::sgt, I::sge};
  if (isFloat(a))
    return {cursor.create<arith::CmpFOp>(loc, floats[(int)how], a.value, b.value), this};
  return {cursor.create<arith::CmpIOp>(loc, ints[(int)how], a.value, b.value), this};
}

Tile TileScope::select(Tile condition, Tile a, Tile b) {
  return {cursor.create<arith::SelectOp>(loc, condition.value, a.value, b.value), this};
}

std::pair<Tile, Tile> TileScope::topk(Tile t, int64_t k) {
  std::vector<int64_t> shape(typeOf(t).getShape());
  if (shape.empty())
    throw std::invalid_argument("topk needs a tile of rank 1 or more");
  shape.back() = k;
  auto op = cursor.create<ir::TopKOp>(loc, tileType(shape, cursor.getF32Type()), tileType(shape, cursor.getI32Type()),
                                      t.value);
  return {{op.getValues(), this}, {op.getIndices(), this}};
}

TileScope::SoftmaxPart TileScope::attend(Tile query, Tile scales, const Attention &over, Index from, Index to,
                                         std::optional<Index> settled) {
  RankedTensorType q = typeOf(query), row = typeOf(scales);
  auto acc = RankedTensorType::get(q.getShape(), cursor.getF32Type());
  auto op =
      cursor.create<ir::AttendOp>(loc, row, row, acc, query.value, scales.value, over.keys.value, over.values.value,
                                  over.pages.value, valueOf(over.layer), valueOf(over.request), valueOf(over.head),
                                  valueOf(from), valueOf(to), settled ? valueOf(*settled) : Value(),
                                  cursor.getI64IntegerAttr(over.pageSlots), cursor.getI64IntegerAttr(over.heads));
  return {{op.getM(), this}, {op.getSum(), this}, {op.getAcc(), this}};
}

void TileScope::attendTokens(const TokenAttention &how, const TokenRuns &runs, const Attention &over, Index token) {
  cursor.create<ir::AttendTokensOp>(loc, how.query.value, how.out.value, runs.requests.value, runs.positions.value,
                                    over.keys.value, over.values.value, over.pages.value, valueOf(token),
                                    valueOf(over.head), valueOf(over.layer), cursor.getI64IntegerAttr(how.tokens),
                                    cursor.getI64IntegerAttr(runs.enough), cursor.getI64IntegerAttr(over.pageSlots),
                                    cursor.getI64IntegerAttr(how.group), cursor.getF64FloatAttr(how.scale));
}

void TileScope::rotateHead(const HeadRotation &how, Index token, Index column, Index layer, Index head) {
  auto value = [](const std::optional<Memory> &m) { return m ? m->value : Value(); };
  cursor.create<ir::RotateHeadOp>(loc, how.x.value, how.out.value, value(how.slots), value(how.cosines),
                                  value(how.sines), value(how.weights), value(how.squares), valueOf(token),
                                  valueOf(column), valueOf(layer), valueOf(head), cursor.getI64IntegerAttr(how.tokens),
                                  cursor.getI64IntegerAttr(how.columns), cursor.getF64FloatAttr(how.epsilon));
}

Index TileScope::shortTokens(const TokenRuns &runs, Index token, int64_t count) {
  return {this, cursor.create<ir::ShortTokensOp>(loc, cursor.getIndexType(), runs.requests.value, runs.positions.value,
                                                 valueOf(token), cursor.getI64IntegerAttr(count),
                                                 cursor.getI64IntegerAttr(runs.enough))};
}

Tile TileScope::merge(Memory m, Memory sum, Memory acc, Index i, Index j, Index parts) {
  auto type = cast<MemRefType>(acc.value.getType());
  if (type.getRank() != 5)
    throw std::invalid_argument("parts of a softmax have 5 dimensions, found " + std::to_string(type.getRank()));
  auto merged = RankedTensorType::get(type.getShape().drop_front(3), type.getElementType());
  return {
      cursor.create<ir::MergeOp>(loc, merged, m.value, sum.value, acc.value, valueOf(i), valueOf(j), valueOf(parts)),
      this};
}

void TileScope::attendParts(const Query &query, const Attention &over, const Positions &positions,
                            const SoftmaxParts &into, Index i, Index j, Index s) {
  const bool isNormed = query.squares && query.keySquares;
  cursor.create<ir::AttendPartsOp>(
      loc, query.rows.value, valueOf(query.token), valueOf(query.column), over.keys.value, over.values.value,
      valueOf(over.layer), over.pages.value, valueOf(over.request), valueOf(over.head), valueOf(positions.begin),
      valueOf(positions.end), valueOf(positions.part), valueOf(positions.settled), into.m.value, into.sum.value,
      into.acc.value, valueOf(i), valueOf(j), valueOf(s), isNormed ? query.squares->value : Value(),
      isNormed ? valueOf(query.squaresColumn) : Value(), isNormed ? query.keySquares->value : Value(),
      cursor.getI64IntegerAttr(query.count), cursor.getI64IntegerAttr(over.pageSlots),
      cursor.getF64FloatAttr(query.scale), cursor.getF64FloatAttr(query.epsilon));
}

void TileScope::mergeParts(const SoftmaxParts &from, Index i, Index j, Index end, Index part, Memory to, Index row,
                           Index column) {
  cursor.create<ir::MergePartsOp>(loc, from.m.value, from.sum.value, from.acc.value, valueOf(i), valueOf(j),
                                  valueOf(end), valueOf(part), to.value, valueOf(row), valueOf(column));
}

Tile TileScope::prefixSum(Tile t, int64_t dim, bool exclusive) {
  return {cursor.create<ir::PrefixSumOp>(loc, t.value.getType(), t.value, cursor.getI64IntegerAttr(dim),
                                         exclusive ? cursor.getUnitAttr() : UnitAttr()),
          this};
}

Tile TileScope::draw(const Sampling &from, Memory history, Memory pages, int64_t pageSlots, Index row, Index column) {
  return {cursor.create<ir::DrawOp>(loc, tileType({4}, cursor.getF32Type()), from.logits.value, from.rates.value,
                                    from.choices.value, history.value, pages.value, from.scaled.value, valueOf(row),
                                    valueOf(column), from.chunk, pageSlots),
          this};
}

TileScope::Sampled TileScope::sample(const Sampling &from, Memory parts, Index row) {
  auto op = cursor.create<ir::SampleOp>(loc, tileType({1}, cursor.getI32Type()), tileType({1}, cursor.getF32Type()),
                                        parts.value, from.scaled.value, from.logits.value, from.rates.value,
                                        from.choices.value, valueOf(row), from.chunk);
  return {{op.getToken(), this}, {op.getLogprob(), this}};
}

std::vector<Tile> TileScope::loop(Index from, Index to, Index step, std::vector<Tile> carried, const Step &body) {
  SmallVector<Value> init;
  for (Tile t : carried)
    init.push_back(t.value);
  Value lower = valueOf(from), upper = valueOf(to), stride = valueOf(step);
  auto op = cursor.create<scf::ForOp>(loc, lower, upper, stride, init);
  {
    OpBuilder::InsertionGuard guard(cursor);
    cursor.setInsertionPointToStart(op.getBody());
    std::vector<Tile> state;
    for (Value v : op.getRegionIterArgs())
      state.push_back({v, this});
    if (init.empty())
      cursor.setInsertionPoint(op.getBody()->getTerminator());
    SmallVector<Value> yielded;
    for (Tile t : body({this, op.getInductionVar()}, state))
      yielded.push_back(t.value);
    if (!init.empty())
      cursor.create<scf::YieldOp>(loc, yielded);
  }
  std::vector<Tile> results;
  for (Value v : op.getResults())
    results.push_back({v, this});
  return results;
}

} // namespace evt::builder
