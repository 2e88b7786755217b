#include "compiler/analysis/IndexRanges.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace evt {

namespace {

using Bound = std::optional<Amount>;

template <class F> Bound both(const Bound &a, const Bound &b, F f) { return a && b ? Bound(f(*a, *b)) : Bound(); }

IndexRange point(const Amount &at) { return {at, at}; }

bool isPoint(const IndexRange &range) { return range.lo && range.hi && *range.lo == *range.hi; }

IndexRange sum(const IndexRange &a, const IndexRange &b) {
  auto add = [](const Amount &x, const Amount &y) { return x + y; };
  return {both(a.lo, b.lo, add), both(a.hi, b.hi, add)};
}

IndexRange difference(const IndexRange &a, const IndexRange &b) {
  auto subtract = [](const Amount &x, const Amount &y) { return x - y; };
  return {both(a.lo, b.hi, subtract), both(a.hi, b.lo, subtract)};
}

IndexRange product(const IndexRange &a, const IndexRange &b) {
  if (!isPoint(a))
    return isPoint(b) ? product(b, a) : IndexRange();
  auto times = [&](const Bound &x) { return x ? Bound(*a.lo * *x) : Bound(); };
  if (isPoint(b))
    return {times(b.lo), times(b.lo)};
  if (a.lo->atLeast(0))
    return {times(b.lo), times(b.hi)};
  return Amount(0).atLeast(*a.lo) ? IndexRange{times(b.hi), times(b.lo)} : IndexRange();
}

template <class F> IndexRange quotient(const IndexRange &a, const IndexRange &b, F divide) {
  if (!isPoint(b) || b.lo->asConstant().value_or(1) < 1)
    return {};
  auto by = [&](const Bound &x) { return x ? Bound(divide(*x, *b.lo)) : Bound(); };
  return {by(a.lo), by(a.hi)};
}

IndexRange remainder(const IndexRange &a, const IndexRange &b) {
  if (!isPoint(b) || b.lo->asConstant().value_or(1) < 1)
    return {};
  if (isPoint(a))
    return point(mod(*a.lo, *b.lo));
  if (a.lo && a.hi && a.lo->atLeast(0) && (*b.lo - 1).atLeast(*a.hi))
    return a;
  return {Amount(0), *b.lo - 1};
}

/// Of which at least one bounds the result on its own side.
IndexRange smaller(const IndexRange &a, const IndexRange &b) {
  Bound hi = a.hi && b.hi ? Bound(least(*a.hi, *b.hi)) : a.hi ? a.hi : b.hi;
  return {both(a.lo, b.lo, [](const Amount &x, const Amount &y) { return least(x, y); }), hi};
}

IndexRange larger(const IndexRange &a, const IndexRange &b) {
  Bound lo = a.lo && b.lo ? Bound(greatest(*a.lo, *b.lo)) : a.lo ? a.lo : b.lo;
  return {lo, both(a.hi, b.hi, [](const Amount &x, const Amount &y) { return greatest(x, y); })};
}

Amount floored(const Amount &a, const Amount &b) { return floordiv(a, b); }
Amount ceiled(const Amount &a, const Amount &b) { return ceildiv(a, b); }

} // namespace

IndexRange hull(const IndexRange &a, const IndexRange &b) {
  return {both(a.lo, b.lo, [](const Amount &x, const Amount &y) { return least(x, y); }),
          both(a.hi, b.hi, [](const Amount &x, const Amount &y) { return greatest(x, y); })};
}

IndexRanges::IndexRanges(const ir::Signature &signature, ir::CallOp call) : signature(signature) {
  ir::DeviceOp device = ir::calleeOf(call);
  auto below = [](const Amount &extent) { return IndexRange{Amount(0), extent - 1}; };
  auto extent = [&](Value value) {
    linear.push_back(greatest(sizeOf(value), 0));
    return linear.back();
  };
  for (ir::RepeatOp repeat : ir::enclosingRepeats(call))
    known[repeat.getIteration()] = below(extent(repeat.getExtent()));
  unsigned next = 0;
  auto coordinate = [&](const Amount &size) {
    known[call.getCoord(next)] = known[device.getCoord(next)] = below(size);
    ++next;
  };
  if (call.isRagged()) {
    int table = signature.memoryOf(call.getRaggedTable());
    groupCount = extentOf(table, 0) - 1;
    coordinate(groupCount);
    coordinate(extent(call.getRaggedBound()));
  }
  for (Value size : call.getGrid())
    coordinate(extent(size));
  for (auto [argument, operand] : llvm::zip(device.getBody().getArguments(), call.getArgs()))
    bound[argument] = operand;
}

Value IndexRanges::memoryOf(Value value) const {
  auto found = bound.find(value);
  return found == bound.end() ? value : found->second;
}

Amount IndexRanges::extentOf(unsigned memory, unsigned dim) const {
  Value value = signature.memories[memory];
  auto type = cast<MemRefType>(value.getType());
  if (!type.isDynamicDim(dim))
    return type.getDimSize(dim);
  if (auto alloc = value.getDefiningOp<ir::AllocOp>())
    return sizeOf(alloc.getSizes()[type.getDynamicDimIndex(dim)]);
  int symbol = signature.symbolOfDim(cast<BlockArgument>(value).getArgNumber(), dim);
  return Amount::symbol(signature.symbols[symbol].name);
}

Amount IndexRanges::sizeOf(Value value) const {
  IndexRange range = of(value);
  if (!isPoint(range))
    throw UnknownSize();
  return *range.lo;
}

IndexRange IndexRanges::of(Value value) const {
  if (auto found = known.find(value); found != known.end())
    return found->second;
  IndexRange range = compute(value);
  known[value] = range;
  return range;
}

IndexRange IndexRanges::compute(Value value) const {
  if (auto found = bound.find(value); found != bound.end())
    return of(found->second);
  if (auto constant = ir::constantOf(value))
    return point(*constant);
  if (int symbol = signature.symbolOf(value); symbol >= 0)
    return point(Amount::symbol(signature.symbols[symbol].name));
  if (Operation *op = value.getDefiningOp())
    return ofOperation(op);
  // The induction variable of a loop.
  auto loop = dyn_cast<scf::ForOp>(cast<BlockArgument>(value).getOwner()->getParentOp());
  if (!loop || value != loop.getInductionVar())
    return {};
  IndexRange lower = of(loop.getLowerBound()), upper = of(loop.getUpperBound()), step = of(loop.getStep());
  if (!upper.hi)
    return {lower.lo, {}};
  // The last one is a whole number of steps from the first.
  if (isPoint(lower) && isPoint(step) && step.lo->asConstant().value_or(0) > 0 && lower.lo->asConstant() &&
      upper.hi->asConstant())
    return {lower.lo, *lower.lo + (ceildiv(*upper.hi - *lower.lo, *step.lo) - 1) * *step.lo};
  return {lower.lo, *upper.hi - 1};
}

IndexRange IndexRanges::ofAffine(AffineExpr expr, ValueRange dims, ValueRange symbols) const {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return point(constant.getValue());
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return of(dims[dim.getPosition()]);
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return of(symbols[symbol.getPosition()]);
  auto binary = cast<AffineBinaryOpExpr>(expr);
  IndexRange a = ofAffine(binary.getLHS(), dims, symbols), b = ofAffine(binary.getRHS(), dims, symbols);
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return sum(a, b);
  case AffineExprKind::Mul:
    return product(a, b);
  case AffineExprKind::Mod:
    return remainder(a, b);
  case AffineExprKind::FloorDiv:
    return quotient(a, b, floored);
  case AffineExprKind::CeilDiv:
    return quotient(a, b, ceiled);
  default:
    return {};
  }
}

IndexRange IndexRanges::ofOperation(Operation *op) const {
  auto fold = [&](AffineMap map, ValueRange operands, IndexRange (*combine)(const IndexRange &, const IndexRange &)) {
    auto dims = operands.take_front(map.getNumDims()), symbols = operands.drop_front(map.getNumDims());
    IndexRange range = ofAffine(map.getResult(0), dims, symbols);
    for (AffineExpr result : map.getResults().drop_front())
      range = combine(range, ofAffine(result, dims, symbols));
    return range;
  };
  if (auto apply = dyn_cast<affine::AffineApplyOp>(op))
    return fold(apply.getAffineMap(), apply.getMapOperands(), smaller);
  if (auto min = dyn_cast<affine::AffineMinOp>(op))
    return fold(min.getAffineMap(), min.getOperands(), smaller);
  if (auto max = dyn_cast<affine::AffineMaxOp>(op))
    return fold(max.getAffineMap(), max.getOperands(), larger);
  if (auto dim = dyn_cast<memref::DimOp>(op)) {
    int memory = signature.memoryOf(memoryOf(dim.getSource()));
    auto index = dim.getConstantIndex();
    return memory >= 0 && index ? point(extentOf(memory, *index)) : IndexRange();
  }
  if (auto valid = dyn_cast<ir::ValidOp>(op))
    return {Amount(0), Amount(valid.getSize())};
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp>(op))
    return of(op->getOperand(0));
  if (op->getNumOperands() != 2 || op->getNumResults() != 1 || !op->getResult(0).getType().isIntOrIndex())
    return {};
  IndexRange a = of(op->getOperand(0)), b = of(op->getOperand(1));
  if (isa<arith::AddIOp>(op))
    return sum(a, b);
  if (isa<arith::SubIOp>(op))
    return difference(a, b);
  if (isa<arith::MulIOp>(op))
    return product(a, b);
  if (isa<arith::FloorDivSIOp, arith::DivSIOp, arith::DivUIOp>(op))
    return quotient(a, b, floored);
  if (isa<arith::CeilDivSIOp, arith::CeilDivUIOp>(op))
    return quotient(a, b, ceiled);
  if (isa<arith::RemSIOp, arith::RemUIOp>(op))
    return remainder(a, b);
  if (isa<arith::MinSIOp, arith::MinUIOp>(op))
    return smaller(a, b);
  if (isa<arith::MaxSIOp, arith::MaxUIOp>(op))
    return larger(a, b);
  return {};
}

//===-- distances -----------------------------------------------------------------------------------------------===//

/// a + times * b.
IndexRanges::Sum IndexRanges::add(const Sum &a, const Sum &b, const Amount &times) {
  Sum sum = a;
  sum.constant = sum.constant + b.constant * times;
  for (const auto &[value, multiple] : b.multiples)
    sum.multiples[value] = sum.multiples[value] + multiple * times;
  return sum;
}

/// None if it is no sum.
std::optional<IndexRanges::Sum> IndexRanges::sumOf(AffineExpr expr, ValueRange dims, ValueRange symbols) const {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return Sum{constant.getValue(), {}};
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return sumOf(dims[dim.getPosition()]);
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return sumOf(symbols[symbol.getPosition()]);
  auto binary = cast<AffineBinaryOpExpr>(expr);
  std::optional<Sum> a = sumOf(binary.getLHS(), dims, symbols), b = sumOf(binary.getRHS(), dims, symbols);
  if (!a || !b)
    return std::nullopt;
  if (expr.getKind() == AffineExprKind::Add)
    return add(*a, *b, 1);
  if (expr.getKind() == AffineExprKind::Mul && b->multiples.empty())
    return add({}, *a, b->constant);
  return std::nullopt;
}

const IndexRanges::Sum &IndexRanges::sumOf(Value value) const {
  void *key = value.getAsOpaquePointer();
  if (auto found = sums.find(key); found != sums.end())
    return found->second;
  Sum sum = computeSum(value);
  return sums[key] = std::move(sum);
}

IndexRanges::Sum IndexRanges::computeSum(Value value) const {
  if (IndexRange range = of(value); isPoint(range))
    return {*range.lo, {}};
  Operation *op = value.getDefiningOp();
  if (auto found = bound.find(value); found != bound.end())
    return sumOf(found->second);
  if (auto apply = dyn_cast_or_null<affine::AffineApplyOp>(op)) {
    AffineMap map = apply.getAffineMap();
    ValueRange operands = apply.getMapOperands();
    if (std::optional<Sum> sum =
            sumOf(map.getResult(0), operands.take_front(map.getNumDims()), operands.drop_front(map.getNumDims())))
      return *sum;
  }
  if (isa_and_nonnull<arith::AddIOp, arith::SubIOp>(op))
    return add(sumOf(op->getOperand(0)), sumOf(op->getOperand(1)), isa<arith::AddIOp>(op) ? 1 : -1);
  if (isa_and_nonnull<arith::MulIOp>(op)) {
    const Sum &a = sumOf(op->getOperand(0)), &b = sumOf(op->getOperand(1));
    if (a.multiples.empty() || b.multiples.empty())
      return a.multiples.empty() ? add({}, b, a.constant) : add({}, a, b.constant);
  }
  Sum itself;
  itself.multiples[value] = 1;
  return itself;
}

IndexRanges::Choice IndexRanges::choiceOf(Value value) const {
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<arith::MinSIOp, arith::MaxSIOp>(op))
    return {{sumOf(op->getOperand(0)), sumOf(op->getOperand(1))}, isa<arith::MaxSIOp>(op)};
  if (!isa_and_nonnull<affine::AffineMinOp, affine::AffineMaxOp>(op))
    return {{sumOf(value)}};
  bool largest = isa<affine::AffineMaxOp>(op);
  AffineMap map = largest ? cast<affine::AffineMaxOp>(op).getMap() : cast<affine::AffineMinOp>(op).getMap();
  ValueRange operands = op->getOperands();
  Choice choice{{}, largest};
  for (AffineExpr result : map.getResults()) {
    std::optional<Sum> sum =
        sumOf(result, operands.take_front(map.getNumDims()), operands.drop_front(map.getNumDims()));
    if (!sum)
      return {{sumOf(value)}};
    choice.of.push_back(*sum);
  }
  return choice;
}

IndexRange IndexRanges::rangeOf(const Sum &sum) const {
  IndexRange range = point(sum.constant);
  for (const auto &[value, multiple] : sum.multiples)
    if (!(multiple == Amount(0)))
      range = evt::sum(range, product(point(multiple), of(value)));
  return range;
}

/// The range of to - from. What both are sums of is the same in both, and cancels.
IndexRange IndexRanges::distance(Value from, Value to) const {
  Choice begins = choiceOf(from), ends = choiceOf(to);
  std::optional<IndexRange> result;
  for (const Sum &end : ends.of) {
    std::optional<IndexRange> length;
    for (const Sum &begin : begins.of) {
      IndexRange one = rangeOf(add(end, begin, -1));
      length = !length ? one : begins.largest ? smaller(*length, one) : larger(*length, one);
    }
    result = !result ? *length : ends.largest ? larger(*result, *length) : smaller(*result, *length);
  }
  return *result;
}

Trips IndexRanges::tripsOf(scf::ForOp loop) const {
  IndexRange length = distance(loop.getLowerBound(), loop.getUpperBound()), step = of(loop.getStep());
  Amount stride = step.lo ? *step.lo : Amount(1);
  if (length.hi) {
    Trips trips{greatest(ceildiv(*length.hi, stride), 0), ""};
    if (!isPoint(length))
      trips.assumption = "a loop whose length differs between tasks runs as long as the longest";
    return trips;
  }
  // Beyond the memories that it indexes there is nothing to be had.
  std::optional<Amount> longest;
  std::string name;
  for (Operation *user : loop.getInductionVar().getUsers())
    if (auto load = dyn_cast<ir::LoadOp>(user))
      for (auto [d, offset] : llvm::enumerate(load.getOffsets())) {
        int memory = signature.memoryOf(memoryOf(load.getMemory()));
        if (offset != loop.getInductionVar() || memory < 0 || (load.getTable() && d == load.getTableDim()))
          continue;
        Amount extent = extentOf(memory, d);
        if (longest && !longest->atLeast(extent))
          continue;
        longest = extent;
        name = signature.memoryName(memory) + " along dimension " + std::to_string(d);
      }
  if (!longest)
    return {1, "a loop whose length is decided by data runs once"};
  return {ceildiv(*longest, stride), "a loop whose length is decided by data runs over all of " + name};
}

} // namespace evt
