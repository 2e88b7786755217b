#include "IndexValues.h"

#include "compiler/analysis/AffineFold.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

#include <sstream>

using namespace mlir;

namespace evt {

namespace {

isl::val number(isl::ctx ctx, int64_t value) { return isl::val(ctx, static_cast<long>(value)); }

/// The value of an expression that is the same everywhere; none for any other.
std::optional<int64_t> constantOf(const isl::pw_aff &value) {
  if (isl_pw_aff_is_cst(value.get()) != isl_bool_true)
    return std::nullopt;
  isl::val lowest = leastValue(value), highest = largestValue(value);
  if (!lowest.is_int() || !lowest.eq(highest))
    return std::nullopt;
  return lowest.num_si();
}

/// The arithmetic of an operation on values, as MLIR defines it; none where that is undefined.
DerivedSymbols::Evaluate evaluator(StringRef operation) {
  using Values = std::vector<int64_t>;
  if (operation == "*")
    return [](const Values &v) -> std::optional<int64_t> {
      int64_t result;
      return __builtin_mul_overflow(v[0], v[1], &result) ? std::nullopt : std::optional(result);
    };
  if (operation == "floordiv" || operation == "ceildiv" || operation == "mod" || operation == "rem")
    return [operation = operation.str()](const Values &v) -> std::optional<int64_t> {
      if (v[1] <= 0)
        return std::nullopt;
      int64_t rest = ((v[0] % v[1]) + v[1]) % v[1], floor = (v[0] - rest) / v[1];
      if (operation == "floordiv")
        return floor;
      if (operation == "ceildiv")
        return floor + (rest != 0);
      return operation == "mod" ? rest : v[0] % v[1];
    };
  return nullptr;
}

} // namespace

WorkLimit::WorkLimit(ExtractionScope &scope) : scope(scope) {
  constexpr unsigned long operations = 4'000'000;
  if (scope.workLimits++ == 0)
    limit.emplace(scope.graph.ctx(), operations);
}

isl::pw_aff symbolValue(const TaskGraph &graph, const std::string &name) {
  isl_space *params = isl_space_set_alloc(graph.ctx().get(), 0, 0);
  params = isl_space_add_param_id(params, isl_id_alloc(graph.ctx().get(), name.c_str(), nullptr));
  isl_space *domain = isl_space_params(params);
  isl_aff *value = isl_aff_param_on_domain_space_id(domain, isl_id_alloc(graph.ctx().get(), name.c_str(), nullptr));
  return isl::manage(checked(graph.ctx(), isl_pw_aff_from_aff(value)));
}

//===-- derived symbols -----------------------------------------------------------------------------------------===//

namespace {

/// Facts about a product of two expressions that are not negative: with a in [a0, a1] and b in [b0, b1] it lies
/// between a0 * b and a1 * b, and between b0 * a and b1 * a.
isl::set productFacts(const TaskGraph &graph, const isl::pw_aff &product, const std::vector<isl::pw_aff> &operands) {
  isl::set facts = graph.context;
  for (unsigned i = 0; i < 2; ++i) {
    isl::pw_aff bounded = operands[i].intersect_params(graph.context);
    const isl::pw_aff &other = operands[1 - i];
    isl::val lowest = leastValue(bounded), highest = largestValue(bounded);
    if (lowest.is_int())
      facts = facts.intersect(product.ge_set(other.scale(lowest)));
    if (highest.is_int())
      facts = facts.intersect(product.le_set(other.scale(highest)));
  }
  return facts;
}

} // namespace

std::string DerivedSymbols::symbolFor(TaskGraph &graph, const std::string &operation,
                                      const std::vector<isl::pw_aff> &operands, Evaluate evaluate) {
  std::vector<std::string> texts;
  for (const isl::pw_aff &operand : operands) {
    std::ostringstream text;
    text << operand.coalesce();
    texts.push_back(text.str());
  }
  if (operation == "*")
    llvm::sort(texts);
  std::string question = operation;
  for (const std::string &text : texts)
    question += " " + text;
  if (auto found = byQuestion.find(question); found != byQuestion.end())
    return found->second.name;

  auto isTaken = [&](const std::string &name) {
    return llvm::any_of(graph.symbols, [&](const Symbol &s) { return s.name == name; });
  };
  std::string name;
  if (operation == "*")
    for (const isl::pw_aff &operand : operands)
      for (const Symbol &symbol : graph.symbols)
        if (operand.plain_is_equal(symbolValue(graph, symbol.name)))
          name += (name.empty() ? "" : "_times_") + symbol.name;
  if (name.empty() || isTaken(name))
    for (unsigned i = byQuestion.size(); name.empty() || isTaken(name); ++i)
      name = "derived_" + std::to_string(i);

  constexpr int64_t unbounded = int64_t(1) << 60;
  Symbol symbol{name, -unbounded, unbounded};
  bool nonNegative = evaluate != nullptr;
  for (const isl::pw_aff &operand : operands) {
    isl::val lowest = leastValue(operand.intersect_params(graph.context));
    nonNegative &= lowest.is_int() && lowest.is_nonneg();
  }
  if (nonNegative)
    symbol.min = 0;
  graph.symbols.push_back(symbol);
  isl::pw_aff value = symbolValue(graph, name);
  isl::pw_aff zero = value.sub(value);
  graph.context = graph.context.intersect(value.ge_set(zero.add_constant(number(graph.ctx(), symbol.min))))
                      .intersect(value.le_set(zero.add_constant(number(graph.ctx(), symbol.max))));
  if (operation == "*" && nonNegative)
    graph.context = productFacts(graph, value, operands);
  byQuestion.insert({question, {name, operands, std::move(evaluate)}});
  return name;
}

bool DerivedSymbols::consistent(const TaskGraph &graph, const std::vector<int64_t> &values) const {
  for (const auto &[question, derived] : byQuestion) {
    if (!derived.evaluate)
      return false;
    std::vector<int64_t> operands;
    for (const isl::pw_aff &operand : derived.operands) {
      isl::set image = operand.as_set();
      for (size_t i = 0; i < values.size(); ++i)
        image = fixParameter(image, graph.symbols[i].name, values[i]);
      if (image.is_empty())
        return false;
      operands.push_back(coordinate(image.sample_point(), 0));
    }
    std::optional<int64_t> value = derived.evaluate(operands);
    for (size_t i = 0; i < values.size(); ++i)
      if (graph.symbols[i].name == derived.name && (!value || *value != values[i]))
        return false;
  }
  return true;
}

//===-- the space -----------------------------------------------------------------------------------------------===//

IndexValues::IndexValues(ExtractionScope &scope, unsigned coordinates, ArrayRef<scf::ForOp> loops)
    : scope(scope), numCoordinates(coordinates), numDims(coordinates + loops.size()),
      space(isl::manage(checked(scope.graph.ctx(), isl_space_set_alloc(scope.graph.ctx().get(), 0, numDims)))),
      known(isl::set::universe(space)) {
  for (auto [i, loop] : llvm::enumerate(loops))
    bind(const_cast<scf::ForOp &>(loop).getInductionVar(), dim(numCoordinates + i));
}

isl::pw_aff IndexValues::dim(unsigned position) const {
  isl_local_space *local = isl_local_space_from_space(space.copy());
  return isl::manage(checked(scope.graph.ctx(), isl_pw_aff_var_on_domain(local, isl_dim_set, position)));
}

isl::pw_aff IndexValues::constant(int64_t value) const {
  return isl::manage(checked(
      scope.graph.ctx(), isl_pw_aff_val_on_domain(universe().release(), number(scope.graph.ctx(), value).release())));
}

void IndexValues::bind(Value value, IndexValue meaning) { values[value] = std::move(meaning); }
void IndexValues::bindMemory(Value argument, Value memory) { memories[argument] = memory; }
Value IndexValues::memoryOf(Value value) const {
  auto found = memories.find(value);
  return found == memories.end() ? value : found->second;
}

bool IndexValues::isBetween(const isl::pw_aff &value, int64_t lo, int64_t hi) const {
  isl::set here = known.intersect_params(scope.graph.context);
  return here.is_subset(value.ge_set(constant(lo)).intersect(value.le_set(constant(hi))));
}

bool IndexValues::isNonNegative(const isl::pw_aff &value) const {
  return known.intersect_params(scope.graph.context).is_subset(value.ge_set(constant(0)));
}

IndexValue IndexValues::of(Value value) {
  if (auto found = values.find(value); found != values.end())
    return found->second;
  IndexValue meaning;
  bool outermost = scope.workLimits == 0;
  try {
    WorkLimit limit(scope);
    meaning = within(compute(value), value.getType());
    if (meaning)
      rememberDerived(value, *meaning);
  } catch (const isl::exception_quota &) {
    if (!outermost)
      throw;
  }
  values[value] = meaning;
  return meaning;
}

/// If a value of the graph is a derived symbol and nothing else, whoever needs the symbol can use the value.
void IndexValues::rememberDerived(Value value, const isl::pw_aff &meaning) {
  Operation *op = value.getDefiningOp();
  if (!op || !isa<ir::GraphOp>(op->getParentOp()))
    return;
  for (size_t i = scope.signature.symbols.size(); i < scope.graph.symbols.size(); ++i)
    if (meaning.plain_is_equal(symbolValue(scope.graph, scope.graph.symbols[i].name).insert_domain(space)))
      scope.derived.setValue(scope.graph.symbols[i].name, value);
}

/// Integers narrower than 64 bits wrap: their arithmetic is affine only while it stays inside their range.
IndexValue IndexValues::within(IndexValue value, Type type) const {
  auto integer = dyn_cast<IntegerType>(type);
  if (!value || !integer || integer.getWidth() >= 64)
    return value;
  int64_t half = int64_t(1) << (integer.getWidth() - 1);
  return integer.getWidth() > 1 && isBetween(*value, -half, half - 1) ? value : std::nullopt;
}

IndexValue IndexValues::extentOf(Value memory, unsigned dim) {
  memory = memoryOf(memory);
  auto type = dyn_cast<MemRefType>(memory.getType());
  if (!type || dim >= type.getRank())
    return std::nullopt;
  if (!type.isDynamicDim(dim))
    return constant(type.getDimSize(dim));
  if (auto alloc = memory.getDefiningOp<ir::AllocOp>())
    return of(alloc.getSizes()[type.getDynamicDimIndex(dim)]);
  if (scope.signature.memoryOf(memory) < 0)
    return std::nullopt;
  int symbol = scope.signature.symbolOfDim(cast<BlockArgument>(memory).getArgNumber(), dim);
  return symbolValue(scope.graph, scope.signature.symbols[symbol].name).insert_domain(space);
}

//===-- expressions ---------------------------------------------------------------------------------------------===//

IndexValue IndexValues::derive(StringRef operation, ArrayRef<IndexValue> operands, DerivedSymbols::Evaluate evaluate) {
  std::vector<isl::pw_aff> overParameters;
  for (const IndexValue &operand : operands) {
    if (!operand)
      return std::nullopt;
    isl_bool involved = isl_pw_aff_involves_dims(operand->get(), isl_dim_in, 0, numDims);
    if (involved != isl_bool_false)
      return std::nullopt;
    overParameters.push_back(
        isl::manage(checked(operand->ctx(), isl_pw_aff_project_domain_on_params(operand->copy()))));
  }
  std::string name = scope.derived.symbolFor(scope.graph, operation.str(), overParameters, std::move(evaluate));
  return symbolValue(scope.graph, name).insert_domain(space);
}

IndexValue IndexValues::product(IndexValue a, IndexValue b) {
  if (!a || !b)
    return std::nullopt;
  if (std::optional<int64_t> factor = constantOf(*a))
    return b->scale(number(b->ctx(), *factor));
  if (std::optional<int64_t> factor = constantOf(*b))
    return a->scale(number(a->ctx(), *factor));
  return derive("*", {a, b}, evaluator("*"));
}

/// `operation` is floordiv, ceildiv, mod (never negative) or quo and rem (rounded toward zero).
IndexValue IndexValues::quotient(StringRef operation, IndexValue a, IndexValue b) {
  if (!a || !b)
    return std::nullopt;
  std::optional<int64_t> divisor = constantOf(*b);
  if (!divisor) {
    // Rounding toward zero and downward agree where neither side is negative.
    if (operation == "quo" && isNonNegative(*a) && isNonNegative(*b))
      operation = "floordiv";
    return derive(operation, {a, b}, evaluator(operation));
  }
  if (*divisor <= 0)
    return std::nullopt;
  isl::val by = number(a->ctx(), *divisor);
  if (operation == "floordiv")
    return a->scale_down(by).floor();
  if (operation == "ceildiv")
    return a->scale_down(by).ceil();
  if (operation == "mod")
    return a->mod(by);
  return operation == "quo" ? a->tdiv_q(constant(*divisor)) : a->tdiv_r(constant(*divisor));
}

IndexValue IndexValues::ofAffine(AffineExpr expr, ArrayRef<IndexValue> dims, ArrayRef<IndexValue> symbols) {
  if (auto c = dyn_cast<AffineConstantExpr>(expr))
    return constant(c.getValue());
  if (auto d = dyn_cast<AffineDimExpr>(expr))
    return dims[d.getPosition()];
  if (auto s = dyn_cast<AffineSymbolExpr>(expr))
    return symbols[s.getPosition()];
  auto binary = cast<AffineBinaryOpExpr>(expr);
  IndexValue a = ofAffine(binary.getLHS(), dims, symbols), b = ofAffine(binary.getRHS(), dims, symbols);
  if (!a || !b)
    return std::nullopt;
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return a->add(*b);
  case AffineExprKind::Mul:
    return product(a, b);
  case AffineExprKind::Mod:
    return quotient("mod", a, b);
  case AffineExprKind::FloorDiv:
    return quotient("floordiv", a, b);
  case AffineExprKind::CeilDiv:
    return quotient("ceildiv", a, b);
  default:
    return std::nullopt;
  }
}

/// The smallest or largest of a map's results.
IndexValue IndexValues::fold(AffineMap map, ArrayRef<IndexValue> operands, bool least) {
  IndexValue result;
  for (AffineExpr expr : map.getResults()) {
    IndexValue next = ofAffine(expr, operands.take_front(map.getNumDims()), operands.drop_front(map.getNumDims()));
    if (!next)
      return std::nullopt;
    if (!result)
      result = next;
    else
      result = least ? result->min(*next) : result->max(*next);
  }
  return result;
}

IndexValue IndexValues::leastOf(AffineMap map, ValueRange operands) {
  SmallVector<IndexValue> meanings;
  for (unsigned i = 0; i < map.getNumDims(); ++i)
    meanings.push_back(dim(i));
  for (Value operand : operands)
    meanings.push_back(of(operand));
  return fold(map, meanings, /*least=*/true);
}

/// How many of `size` elements from `offset` on lie inside the dimension.
IndexValue IndexValues::ofValid(ir::ValidOp op) {
  IndexValue offset = of(op.getOffset());
  IndexValue extent = extentOf(op.getMemory(), static_cast<unsigned>(op.getDim()));
  if (!offset || !extent)
    return std::nullopt;
  isl::pw_aff end = offset->add(constant(static_cast<int64_t>(op.getSize()))).min(*extent);
  return end.sub(offset->max(constant(0))).max(constant(0));
}

IndexValue IndexValues::compute(Value value) {
  Operation *op = value.getDefiningOp();
  if (int symbol = scope.signature.symbolOf(value); symbol >= 0)
    return symbolValue(scope.graph, scope.signature.symbols[symbol].name).insert_domain(space);
  if (!op || !isa<IndexType, IntegerType>(value.getType()))
    return std::nullopt;
  if (std::optional<int64_t> literal = ir::constantOf(value))
    return constant(*literal);
  if (auto dimension = dyn_cast<memref::DimOp>(op)) {
    std::optional<int64_t> index = dimension.getConstantIndex();
    return index && *index >= 0 ? extentOf(dimension.getSource(), static_cast<unsigned>(*index)) : std::nullopt;
  }
  if (auto valid = dyn_cast<ir::ValidOp>(op))
    return ofValid(valid);
  if (isa<affine::AffineApplyOp, affine::AffineMinOp, affine::AffineMaxOp>(op)) {
    AffineMap map = cast<AffineMapAttr>(op->getAttr("map")).getValue();
    SmallVector<IndexValue> operands;
    for (Value operand : op->getOperands())
      operands.push_back(of(operand));
    return fold(map, operands, /*least=*/!isa<affine::AffineMaxOp>(op));
  }
  return isa<arith::ArithDialect>(op->getDialect()) ? computeArith(op) : std::nullopt;
}

IndexValue IndexValues::computeArith(Operation *op) {
  SmallVector<IndexValue> operands;
  for (Value operand : op->getOperands()) {
    if (!isa<IndexType, IntegerType>(operand.getType()))
      return std::nullopt;
    operands.push_back(of(operand));
    if (!operands.back())
      return std::nullopt;
  }
  if (operands.empty())
    return std::nullopt;
  const IndexValue &a = operands.front(), &b = operands.back();
  // Unsigned operations agree with signed ones while nothing is negative.
  bool nonNegative = llvm::all_of(operands, [&](const IndexValue &v) { return isNonNegative(*v); });
  if (isa<arith::AddIOp>(op))
    return a->add(*b);
  if (isa<arith::SubIOp>(op))
    return a->sub(*b);
  if (isa<arith::MulIOp>(op))
    return product(a, b);
  if (isa<arith::MinSIOp>(op) || (isa<arith::MinUIOp>(op) && nonNegative))
    return a->min(*b);
  if (isa<arith::MaxSIOp>(op) || (isa<arith::MaxUIOp>(op) && nonNegative))
    return a->max(*b);
  if (isa<arith::FloorDivSIOp>(op))
    return quotient("floordiv", a, b);
  if (isa<arith::CeilDivSIOp>(op) || (isa<arith::CeilDivUIOp>(op) && nonNegative))
    return quotient("ceildiv", a, b);
  if (isa<arith::DivSIOp>(op) || (isa<arith::DivUIOp>(op) && nonNegative))
    return quotient("quo", a, b);
  if (isa<arith::RemSIOp>(op) || (isa<arith::RemUIOp>(op) && nonNegative))
    return quotient("rem", a, b);
  if (isa<arith::IndexCastOp, arith::ExtSIOp, arith::TruncIOp>(op))
    return a;
  if (isa<arith::IndexCastUIOp, arith::ExtUIOp>(op) && nonNegative)
    return a;
  std::string operation = op->getName().getStringRef().str();
  llvm::raw_string_ostream(operation) << op->getDiscardableAttrDictionary() << op->getPropertiesAsAttribute();
  return derive(operation, operands, nullptr);
}

//===-- loops ---------------------------------------------------------------------------------------------------===//

IndexValues::Iterations IndexValues::iterationsAround(Operation *op) {
  Iterations result{universe(), true};
  for (auto loop = op->getParentOfType<scf::ForOp>(); loop; loop = loop->getParentOfType<scf::ForOp>()) {
    IndexValue variable = of(loop.getInductionVar()), step = of(loop.getStep());
    IndexValue lower = of(loop.getLowerBound()), upper = of(loop.getUpperBound());
    if (lower)
      result.where = result.where.intersect(variable->ge_set(*lower));
    if (upper)
      result.where = result.where.intersect(variable->lt_set(*upper));
    std::optional<int64_t> stride = step ? constantOf(*step) : std::nullopt;
    if (lower && stride && *stride > 0)
      result.where =
          result.where.intersect(variable->sub(*lower).mod(number(step->ctx(), *stride)).eq_set(constant(0)));
    result.exact &= lower && upper && stride && *stride > 0;
  }
  return result;
}

} // namespace evt
