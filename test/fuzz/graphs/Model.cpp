#include "Model.h"

namespace evt::fuzz {

int64_t floorDiv(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a % b < 0) != (b < 0)); }

int64_t Size::at(const Values &symbols) const {
  if (isConstant())
    return plus;
  return -floorDiv(-(factor * symbols[static_cast<size_t>(symbol)] + plus), divisor);
}

int64_t Expr::at(const std::vector<int64_t> &variable, const Values &symbol) const {
  int64_t sum = constant;
  for (size_t i = 0; i < variables.size(); ++i)
    if (variables[i])
      sum += variables[i] * variable[i];
  for (size_t i = 0; i < symbols.size(); ++i)
    sum += symbols[i] * symbol[i];
  int64_t value = floorDiv(sum, divisor);
  return modulus ? value - modulus * floorDiv(value, modulus) : value;
}

int Expr::onlyVariable() const {
  int found = -1;
  if (modulus || divisor != 1)
    return -1;
  for (size_t i = 0; i < variables.size(); ++i)
    if (variables[i]) {
      if (found >= 0)
        return -1;
      found = static_cast<int>(i);
    }
  for (int s : symbols)
    if (s)
      return -1;
  return found;
}

Expr constantExpr(int c) {
  Expr e;
  e.constant = c;
  return e;
}

Expr variableExpr(int variable, int factor, int plus) {
  Expr e = constantExpr(plus);
  e.variables.resize(static_cast<size_t>(variable) + 1, 0);
  e.variables.back() = factor;
  return e;
}

Size Model::extent(const Call &call, int coord) const {
  if (call.inRepeat)
    return coord == 0 ? repeat : call.grid[static_cast<size_t>(coord) - 1];
  return call.grid[static_cast<size_t>(coord)];
}

bool Model::isDimension(int symbol) const {
  for (const Memory &m : memories)
    if (m.role != Memory::Buffer)
      for (const Size &d : m.dims)
        if (d.isSymbol() && d.symbol == symbol)
          return true;
  return false;
}

} // namespace evt::fuzz
