#include "ScalarCode.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringSwitch.h"

#include <cmath>

using namespace mlir;

namespace evt::emit {

std::string cppType(Type type) {
  if (type.isIndex() || type.isInteger(64))
    return "int64_t";
  if (type.isInteger(32))
    return "int32_t";
  if (type.isInteger(1))
    return "bool";
  if (type.isF32())
    return "float";
  if (type.isBF16())
    return "evt::bf16";
  assert(type.isF16() && "the verifier admits no other element type");
  return "evt::f16";
}

std::string cppFloat(double value, Type type) {
  std::string text;
  if (std::isnan(value))
    text = "__builtin_nanf(\"\")";
  else if (std::isinf(value))
    text = value < 0 ? "-__builtin_inff()" : "__builtin_inff()";
  else {
    char buffer[64];
    snprintf(buffer, sizeof buffer, "%.9g", value);
    text = buffer;
    if (text.find_first_of(".e") == std::string::npos)
      text += ".0";
    text += "f";
  }
  return type.isF32() ? text : cppType(type) + "(" + text + ")";
}

std::string cppLiteral(Attribute value) {
  if (auto f = dyn_cast<FloatAttr>(value)) {
    APFloat v = f.getValue();
    bool lost;
    v.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lost);
    return cppFloat(v.convertToDouble(), f.getType());
  }
  auto i = cast<IntegerAttr>(value);
  if (i.getType().isInteger(1))
    return i.getValue().isZero() ? "false" : "true";
  return i.getType().isInteger(32) ? std::to_string(i.getInt()) : "INT64_C(" + std::to_string(i.getInt()) + ")";
}

namespace {

std::string comparison(arith::CmpIPredicate p, StringRef a, StringRef b, StringRef unsignedType) {
  static const char *const ops[] = {"==", "!=", "<", "<=", ">", ">=", "<", "<=", ">", ">="};
  auto u = [&](StringRef x) { return p >= arith::CmpIPredicate::ult ? ("(" + unsignedType + ")" + x).str() : x.str(); };
  return "(" + u(a) + " " + ops[(unsigned)p] + " " + u(b) + ")";
}

std::string comparison(arith::CmpFPredicate p, const std::string &a, const std::string &b) {
  using P = arith::CmpFPredicate;
  std::string unordered = "(" + a + " != " + a + " || " + b + " != " + b + ")";
  auto ordered = [&](const char *op) { return "(" + a + " " + op + " " + b + ")"; };
  switch (p) {
  case P::AlwaysFalse:
    return "false";
  case P::AlwaysTrue:
    return "true";
  case P::OEQ:
    return ordered("==");
  case P::OGT:
    return ordered(">");
  case P::OGE:
    return ordered(">=");
  case P::OLT:
    return ordered("<");
  case P::OLE:
    return ordered("<=");
  case P::ONE:
    return "(!" + unordered + " && " + ordered("!=") + ")";
  case P::ORD:
    return "(!" + unordered + ")";
  case P::UEQ:
    return "(" + unordered + " || " + ordered("==") + ")";
  case P::UGT:
    return "(!" + ordered("<=") + ")";
  case P::UGE:
    return "(!" + ordered("<") + ")";
  case P::ULT:
    return "(!" + ordered(">=") + ")";
  case P::ULE:
    return "(!" + ordered(">") + ")";
  case P::UNE:
    return ordered("!=");
  case P::UNO:
    return unordered;
  }
  llvm_unreachable("all predicates are handled");
}

/// The function that an operation may be, as its fastmath flags say; null if there is none that is faster.
const char *nearFunction(Operation *op) {
  auto fast = dyn_cast<arith::ArithFastMathInterface>(op);
  if (!fast || !fast.getFastMathFlagsAttr())
    return nullptr;
  arith::FastMathFlags flags = fast.getFastMathFlagsAttr().getValue();
  if (isa<arith::DivFOp>(op))
    return bitEnumContainsAll(flags, arith::FastMathFlags::arcp) ? "evt::divide_near" : nullptr;
  if (!bitEnumContainsAll(flags, arith::FastMathFlags::afn))
    return nullptr;
  return llvm::StringSwitch<const char *>(op->getName().getStringRef())
      .Case("math.exp", "evt::exp_near")
      .Case("math.exp2", "evt::exp2_near")
      .Case("math.rsqrt", "evt::rsqrt_near")
      .Default(nullptr);
}

/// Whether a divisor is anything but a constant without zeros.
bool mayBeZero(Value divisor) {
  auto constant = divisor.getDefiningOp<arith::ConstantOp>();
  if (!constant)
    return true;
  if (auto elements = dyn_cast<DenseIntElementsAttr>(constant.getValue()))
    return llvm::any_of(elements.getValues<APInt>(), [](const APInt &value) { return value.isZero(); });
  auto integer = dyn_cast<IntegerAttr>(constant.getValue());
  return !integer || integer.getValue().isZero();
}

} // namespace

std::optional<std::string> elementExpression(Operation *op, ArrayRef<std::string> in) {
  if (op->getNumResults() != 1)
    return std::nullopt;
  Type result = getElementTypeOrSelf(op->getResult(0).getType());
  std::string type = cppType(result);
  auto infix = [&](const char *o) { return "(" + in[0] + " " + o + " " + in[1] + ")"; };
  auto call = [&](const char *f) {
    std::string text = std::string(f) + "(";
    for (auto [i, a] : llvm::enumerate(in))
      text += (i ? ", " : "") + a;
    return text + ")";
  };
  auto cast = [&](const std::string &t) { return "(" + t + ")(" + in[0] + ")"; };
  std::string u = result.isInteger(32) ? "uint32_t" : "uint64_t";
  auto unsignedInfix = [&](const char *o) {
    return "(" + type + ")((" + u + ")" + in[0] + " " + o + " (" + u + ")" + in[1] + ")";
  };
  if (isa<arith::DivSIOp, arith::RemSIOp, arith::DivUIOp, arith::RemUIOp>(op) && mayBeZero(op->getOperand(1))) {
    std::string as = isa<arith::DivUIOp, arith::RemUIOp>(op) ? u : result.isInteger(1) ? "int32_t" : type;
    const char *f = isa<arith::DivSIOp, arith::DivUIOp>(op) ? "quotient" : "remainder";
    return "(" + type + ")evt::" + f + "<" + as + ">(" + in[0] + ", " + in[1] + ")";
  }
  if (auto c = dyn_cast<arith::CmpIOp>(op))
    return comparison(c.getPredicate(), in[0], in[1],
                      getElementTypeOrSelf(c.getLhs().getType()).isInteger(32) ? "uint32_t" : "uint64_t");
  if (auto c = dyn_cast<arith::CmpFOp>(op))
    return comparison(c.getPredicate(), in[0], in[1]);
  if (isa<arith::SelectOp>(op))
    return "(" + in[0] + " ? " + in[1] + " : " + in[2] + ")";
  if (isa<arith::NegFOp>(op))
    return "(-" + in[0] + ")";
  if (isa<arith::ExtFOp, arith::TruncFOp, arith::SIToFPOp, arith::ExtSIOp, arith::TruncIOp, arith::IndexCastOp,
          arith::FPToSIOp>(op))
    return cast(type);
  if (isa<arith::ExtUIOp, arith::UIToFPOp, arith::IndexCastUIOp>(op)) {
    Type from = getElementTypeOrSelf(op->getOperand(0).getType());
    std::string f = from.isInteger(1) ? "bool" : from.isInteger(32) ? "uint32_t" : "uint64_t";
    return "(" + type + ")(" + f + ")(" + in[0] + ")";
  }
  if (const char *near = nearFunction(op))
    return "(" + type + ")" + call(near);
  const char *o = llvm::StringSwitch<const char *>(op->getName().getStringRef())
                      .Cases("arith.addi", "arith.addf", "+")
                      .Cases("arith.subi", "arith.subf", "-")
                      .Cases("arith.muli", "arith.mulf", "*")
                      .Case("arith.divf", "/")
                      .Case("arith.andi", "&")
                      .Case("arith.ori", "|")
                      .Case("arith.xori", "^")
                      .Case("arith.shli", "<<")
                      .Case("arith.shrsi", ">>")
                      .Case("arith.divsi", "/")
                      .Case("arith.remsi", "%")
                      .Default(nullptr);
  if (o)
    return "(" + type + ")" + infix(o);
  o = llvm::StringSwitch<const char *>(op->getName().getStringRef())
          .Case("arith.divui", "/")
          .Case("arith.remui", "%")
          .Case("arith.shrui", ">>")
          .Default(nullptr);
  if (o)
    return unsignedInfix(o);
  o = llvm::StringSwitch<const char *>(op->getName().getStringRef())
          .Case("arith.floordivsi", "evt::floordiv")
          .Case("arith.ceildivsi", "evt::ceildiv")
          .Case("arith.minsi", "evt::least")
          .Case("arith.maxsi", "evt::most")
          .Case("arith.maximumf", "evt::maximum")
          .Case("arith.minimumf", "evt::minimum")
          .Case("arith.maxnumf", "evt::maxnum")
          .Case("arith.minnumf", "evt::minnum")
          .Case("math.exp", "evt::exp")
          .Case("math.exp2", "evt::exp2")
          .Case("math.log", "evt::log")
          .Case("math.log2", "evt::log2")
          .Case("math.sqrt", "evt::sqrt")
          .Case("math.rsqrt", "evt::rsqrt")
          .Case("math.tanh", "evt::tanh")
          .Case("math.erf", "evt::erf")
          .Case("math.sin", "evt::sin")
          .Case("math.cos", "evt::cos")
          .Case("math.absf", "evt::abs")
          .Case("math.floor", "evt::floor")
          .Case("math.ceil", "evt::ceil")
          .Case("math.powf", "evt::powf")
          .Case("math.fma", "__builtin_fmaf")
          .Default(nullptr);
  if (o)
    return "(" + type + ")" + call(o);
  return std::nullopt;
}

std::string affineExpression(AffineExpr e, ArrayRef<std::string> dims, ArrayRef<std::string> symbols) {
  if (auto c = dyn_cast<AffineConstantExpr>(e))
    return c.getValue() < 0 ? "(" + std::to_string(c.getValue()) + ")" : std::to_string(c.getValue());
  if (auto d = dyn_cast<AffineDimExpr>(e))
    return dims[d.getPosition()];
  if (auto s = dyn_cast<AffineSymbolExpr>(e))
    return symbols[s.getPosition()];
  auto b = cast<AffineBinaryOpExpr>(e);
  std::string lhs = affineExpression(b.getLHS(), dims, symbols);
  std::string rhs = affineExpression(b.getRHS(), dims, symbols);
  switch (e.getKind()) {
  case AffineExprKind::Add:
    return "(" + lhs + " + " + rhs + ")";
  case AffineExprKind::Mul:
    return "(" + lhs + " * " + rhs + ")";
  case AffineExprKind::Mod:
    return "evt::mod(" + lhs + ", " + rhs + ")";
  case AffineExprKind::FloorDiv:
    return "evt::floordiv(" + lhs + ", " + rhs + ")";
  case AffineExprKind::CeilDiv:
    return "evt::ceildiv(" + lhs + ", " + rhs + ")";
  default:
    llvm_unreachable("not a binary affine expression");
  }
}

std::optional<std::string> indexExpression(Operation *op, ArrayRef<std::string> operands) {
  auto map = [&](AffineMap m, const char *combine) {
    auto dims = operands.take_front(m.getNumDims()), symbols = operands.drop_front(m.getNumDims());
    std::string text = affineExpression(m.getResult(0), dims, symbols);
    for (AffineExpr e : m.getResults().drop_front())
      text = std::string(combine) + "(" + text + ", " + affineExpression(e, dims, symbols) + ")";
    return text;
  };
  if (auto a = dyn_cast<affine::AffineApplyOp>(op))
    return map(a.getAffineMap(), "");
  if (auto a = dyn_cast<affine::AffineMinOp>(op))
    return map(a.getAffineMap(), "evt::least");
  if (auto a = dyn_cast<affine::AffineMaxOp>(op))
    return map(a.getAffineMap(), "evt::most");
  return elementExpression(op, operands);
}

} // namespace evt::emit
