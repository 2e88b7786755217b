// The tile language in C++. Apart from Builder.cpp because linalg's headers are slow.
#include "Builder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <stdexcept>

using namespace mlir;

namespace evt::builder {

Type elementType(MLIRContext *context, Element element); // Builder.cpp

namespace {

RankedTensorType typeOf(Tile t) { return cast<RankedTensorType>(t.value.getType()); }

bool isFloat(Tile t) { return isa<FloatType>(typeOf(t).getElementType()); }

template <class FloatOp, class IntOp> Tile arithmetic(Tile a, Tile b) {
  OpBuilder &o = a.scope->builder;
  if (isFloat(a))
    return {o.create<FloatOp>(a.scope->loc, a.value, b.value), a.scope};
  return {o.create<IntOp>(a.scope->loc, a.value, b.value), a.scope};
}

Tile sameShape(Tile like, double value) {
  RankedTensorType t = typeOf(like);
  OpBuilder &o = like.scope->builder;
  Attribute v = isa<FloatType>(t.getElementType()) ? Attribute(o.getFloatAttr(t.getElementType(), value))
                                                   : Attribute(o.getIntegerAttr(t.getElementType(), (int64_t)value));
  return {o.create<arith::ConstantOp>(like.scope->loc, SplatElementsAttr::get(t, v)), like.scope};
}

} // namespace

Tile operator+(Tile a, Tile b) { return arithmetic<arith::AddFOp, arith::AddIOp>(a, b); }
Tile operator-(Tile a, Tile b) { return arithmetic<arith::SubFOp, arith::SubIOp>(a, b); }
Tile operator*(Tile a, Tile b) { return arithmetic<arith::MulFOp, arith::MulIOp>(a, b); }
Tile operator/(Tile a, Tile b) { return arithmetic<arith::DivFOp, arith::FloorDivSIOp>(a, b); }
Tile operator+(Tile a, double b) { return a + sameShape(a, b); }
Tile operator*(Tile a, double b) { return a * sameShape(a, b); }

Named TileScope::operator[](const std::string &name) {
  for (auto [i, n] : llvm::enumerate(device.getArgNames()))
    if (cast<StringAttr>(n).getValue() == name)
      return {this, device.getBody().getArgument(i)};
  for (auto [i, n] : llvm::enumerate(device.getCoordNames()))
    if (cast<StringAttr>(n).getValue() == name)
      return {this, device.getCoord(i)};
  throw std::invalid_argument("device function '" + device.getSymName().str() + "' has no argument or coordinate '" +
                              name + "'");
}

RankedTensorType TileScope::type(std::vector<int64_t> shape, Type element) {
  return RankedTensorType::get(shape, element);
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

Tile TileScope::load(Memory from, std::vector<Index> offsets, std::vector<int64_t> shape, Box box) {
  auto memory = cast<MemRefType>(from.value.getType());
  SmallVector<Value> at;
  for (Index i : offsets)
    at.push_back(valueOf(i));
  auto sizes = fullBox(memory, box.sizes, shape);
  return {builder.create<ir::LoadOp>(loc, type(shape, memory.getElementType()), from.value,
                                     box.table ? box.table->value : Value(), at, builder.getDenseI64ArrayAttr(sizes),
                                     builder.getF64FloatAttr(box.fill)),
          this};
}

void TileScope::store(Tile tile, Memory to, std::vector<Index> offsets, Box box) {
  auto memory = cast<MemRefType>(to.value.getType());
  SmallVector<Value> at;
  for (Index i : offsets)
    at.push_back(valueOf(i));
  auto sizes = fullBox(memory, box.sizes, typeOf(tile).getShape());
  builder.create<ir::StoreOp>(loc, tile.value, to.value, box.table ? box.table->value : Value(), at,
                              builder.getDenseI64ArrayAttr(sizes));
}

Index TileScope::valid(Memory memory, Index offset, int64_t d, int64_t size) {
  return {this, builder.create<ir::ValidOp>(loc, builder.getIndexType(), memory.value, valueOf(offset),
                                            builder.getI64IntegerAttr(d), builder.getI64IntegerAttr(size))};
}

Tile TileScope::splat(double value, std::vector<int64_t> shape, Element element) {
  RankedTensorType t = type(shape, elementType(builder.getContext(), element));
  Attribute v = isa<FloatType>(t.getElementType())
                    ? Attribute(builder.getFloatAttr(t.getElementType(), value))
                    : Attribute(builder.getIntegerAttr(t.getElementType(), (int64_t)value));
  return {builder.create<arith::ConstantOp>(loc, SplatElementsAttr::get(t, v)), this};
}

Tile TileScope::splat(Index value, std::vector<int64_t> shape) {
  Value v = builder.create<arith::IndexCastOp>(loc, builder.getI32Type(), valueOf(value));
  return {builder.create<tensor::SplatOp>(loc, v, type(shape, builder.getI32Type())), this};
}

Tile TileScope::iota(std::vector<int64_t> shape, int64_t dim) {
  return {builder.create<ir::IotaOp>(loc, type(shape, builder.getI32Type()), builder.getI64IntegerAttr(dim)), this};
}

Tile TileScope::matmul(Tile a, Tile b, Tile accumulator) {
  auto op = builder.create<linalg::MatmulOp>(loc, ValueRange{a.value, b.value}, ValueRange{accumulator.value});
  return {op.getResult(0), this};
}

Tile TileScope::matmulTransposed(Tile a, Tile b, Tile accumulator) {
  auto op =
      builder.create<linalg::MatmulTransposeBOp>(loc, ValueRange{a.value, b.value}, ValueRange{accumulator.value});
  return {op.getResult(0), this};
}

Tile TileScope::reduce(Combine how, Tile t, std::vector<int64_t> dims) {
  RankedTensorType in = typeOf(t);
  std::vector<int64_t> kept;
  for (int64_t d = 0; d < in.getRank(); ++d)
    if (!llvm::is_contained(dims, d))
      kept.push_back(in.getDimSize(d));
  bool floats = isFloat(t);
  // The neutral element, so that the result is the reduction of the tile alone.
  RankedTensorType out = type(kept, in.getElementType());
  Attribute neutral;
  if (floats) {
    double v = how == Combine::add ? 0.0
               : how == Combine::mul ? 1.0
               : how == Combine::max ? -std::numeric_limits<double>::infinity()
                                     : std::numeric_limits<double>::infinity();
    neutral = builder.getFloatAttr(in.getElementType(), v);
  } else {
    unsigned width = in.getElementTypeBitWidth();
    APInt v = how == Combine::add   ? APInt(width, 0)
              : how == Combine::mul ? APInt(width, 1)
              : how == Combine::max ? APInt::getSignedMinValue(width)
                                    : APInt::getSignedMaxValue(width);
    neutral = builder.getIntegerAttr(in.getElementType(), v);
  }
  Value init = builder.create<arith::ConstantOp>(loc, SplatElementsAttr::get(out, neutral));
  auto op = builder.create<linalg::ReduceOp>(
      loc, ValueRange{t.value}, ValueRange{init}, dims, [&](OpBuilder &b, Location l, ValueRange a) {
        Value r;
        switch (how) {
        case Combine::add:
          r = floats ? Value(b.create<arith::AddFOp>(l, a[0], a[1])) : Value(b.create<arith::AddIOp>(l, a[0], a[1]));
          break;
        case Combine::mul:
          r = floats ? Value(b.create<arith::MulFOp>(l, a[0], a[1])) : Value(b.create<arith::MulIOp>(l, a[0], a[1]));
          break;
        case Combine::max:
          r = floats ? Value(b.create<arith::MaximumFOp>(l, a[0], a[1]))
                     : Value(b.create<arith::MaxSIOp>(l, a[0], a[1]));
          break;
        case Combine::min:
          r = floats ? Value(b.create<arith::MinimumFOp>(l, a[0], a[1]))
                     : Value(b.create<arith::MinSIOp>(l, a[0], a[1]));
          break;
        }
        b.create<linalg::YieldOp>(l, r);
      });
  return {op.getResult(0), this};
}

Tile TileScope::broadcast(Tile t, std::vector<int64_t> shape, std::vector<int64_t> dims) {
  Value init = builder.create<tensor::EmptyOp>(loc, shape, typeOf(t).getElementType());
  auto op = builder.create<linalg::BroadcastOp>(loc, t.value, init, dims);
  return {op->getResult(0), this};
}

Tile TileScope::transpose(Tile t, std::vector<int64_t> permutation) {
  SmallVector<int64_t> shape;
  for (int64_t p : permutation)
    shape.push_back(typeOf(t).getDimSize(p));
  Value init = builder.create<tensor::EmptyOp>(loc, shape, typeOf(t).getElementType());
  auto op = builder.create<linalg::TransposeOp>(loc, t.value, init, permutation);
  return {op->getResult(0), this};
}

Tile TileScope::slice(Tile t, std::vector<int64_t> offsets, std::vector<int64_t> sizes) {
  SmallVector<OpFoldResult> o, s, strides(offsets.size(), builder.getIndexAttr(1));
  for (auto [offset, size] : llvm::zip(offsets, sizes)) {
    o.push_back(builder.getIndexAttr(offset));
    s.push_back(builder.getIndexAttr(size));
  }
  return {builder.create<tensor::ExtractSliceOp>(loc, t.value, o, s, strides), this};
}

Tile TileScope::insert(Tile small, Tile into, std::vector<int64_t> offsets) {
  SmallVector<OpFoldResult> o, s, strides(offsets.size(), builder.getIndexAttr(1));
  for (auto [offset, size] : llvm::zip(offsets, typeOf(small).getShape())) {
    o.push_back(builder.getIndexAttr(offset));
    s.push_back(builder.getIndexAttr(size));
  }
  return {builder.create<tensor::InsertSliceOp>(loc, small.value, into.value, o, s, strides), this};
}

Tile TileScope::reshape(Tile t, std::vector<int64_t> shape) {
  RankedTensorType from = typeOf(t), to = type(shape, from.getElementType());
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
    flat = builder.create<tensor::CollapseShapeOp>(loc, flat, all(from.getRank()));
  if (to.getRank() > 1)
    flat = builder.create<tensor::ExpandShapeOp>(loc, to, flat, all(to.getRank()));
  return {flat, this};
}

Tile TileScope::convert(Tile t, Element element) {
  RankedTensorType from = typeOf(t);
  Type target = elementType(builder.getContext(), element);
  RankedTensorType to = RankedTensorType::get(from.getShape(), target);
  Type source = from.getElementType();
  Value v;
  if (source == target)
    return t;
  if (isa<FloatType>(source) && isa<FloatType>(target))
    v = source.getIntOrFloatBitWidth() < target.getIntOrFloatBitWidth()
            ? Value(builder.create<arith::ExtFOp>(loc, to, t.value))
            : Value(builder.create<arith::TruncFOp>(loc, to, t.value));
  else if (isa<FloatType>(source))
    v = builder.create<arith::FPToSIOp>(loc, to, t.value);
  else if (isa<FloatType>(target))
    v = source.isInteger(1) ? Value(builder.create<arith::UIToFPOp>(loc, to, t.value))
                            : Value(builder.create<arith::SIToFPOp>(loc, to, t.value));
  else if (source.getIntOrFloatBitWidth() > target.getIntOrFloatBitWidth())
    v = builder.create<arith::TruncIOp>(loc, to, t.value);
  else
    v = source.isInteger(1) ? Value(builder.create<arith::ExtUIOp>(loc, to, t.value))
                            : Value(builder.create<arith::ExtSIOp>(loc, to, t.value));
  return {v, this};
}

Tile TileScope::math(const std::string &name, Tile t) {
  OperationState state(loc, "math." + name);
  state.addOperands(t.value);
  state.addTypes(t.value.getType());
  return {builder.create(state)->getResult(0), this};
}

Tile TileScope::maximum(Tile a, Tile b) { return arithmetic<arith::MaximumFOp, arith::MaxSIOp>(a, b); }

Tile TileScope::compare(Compare how, Tile a, Tile b) {
  using F = arith::CmpFPredicate;
  using I = arith::CmpIPredicate;
  static const F floats[] = {F::OEQ, F::OLT, F::OLE, F::OGT, F::OGE};
  static const I ints[] = {I::eq, I::slt, I::sle, I::sgt, I::sge};
  if (isFloat(a))
    return {builder.create<arith::CmpFOp>(loc, floats[(int)how], a.value, b.value), this};
  return {builder.create<arith::CmpIOp>(loc, ints[(int)how], a.value, b.value), this};
}

Tile TileScope::select(Tile condition, Tile a, Tile b) {
  return {builder.create<arith::SelectOp>(loc, condition.value, a.value, b.value), this};
}

std::pair<Tile, Tile> TileScope::topk(Tile t, int64_t k) {
  std::vector<int64_t> shape(typeOf(t).getShape());
  if (shape.empty())
    throw std::invalid_argument("topk needs a tile of rank 1 or more");
  shape.back() = k;
  auto op = builder.create<ir::TopKOp>(loc, type(shape, builder.getF32Type()), type(shape, builder.getI32Type()),
                                       t.value);
  return {{op.getValues(), this}, {op.getIndices(), this}};
}

Tile TileScope::prefixSum(Tile t, int64_t dim, bool exclusive) {
  return {builder.create<ir::PrefixSumOp>(loc, t.value.getType(), t.value, builder.getI64IntegerAttr(dim),
                                          exclusive ? builder.getUnitAttr() : UnitAttr()),
          this};
}

std::vector<Tile> TileScope::loop(Index from, Index to, Index step, std::vector<Tile> carried,
                                  const std::function<std::vector<Tile>(Index, std::vector<Tile>)> &body) {
  SmallVector<Value> init;
  for (Tile t : carried)
    init.push_back(t.value);
  Value lower = valueOf(from), upper = valueOf(to), stride = valueOf(step);
  auto op = builder.create<scf::ForOp>(loc, lower, upper, stride, init);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(op.getBody());
    std::vector<Tile> state;
    for (Value v : op.getRegionIterArgs())
      state.push_back({v, this});
    if (init.empty())
      builder.setInsertionPoint(op.getBody()->getTerminator());
    SmallVector<Value> yielded;
    for (Tile t : body({this, op.getInductionVar()}, state))
      yielded.push_back(t.value);
    if (!init.empty())
      builder.create<scf::YieldOp>(loc, yielded);
  }
  std::vector<Tile> results;
  for (Value v : op.getResults())
    results.push_back({v, this});
  return results;
}

} // namespace evt::builder
