#include "runtime/artifact/Expression.h"

#include "runtime/Error.h"
#include "runtime/artifact/JsonView.h"

#include <algorithm>
#include <array>
#include <cassert>

namespace evt::runtime {
namespace {

using Op = Expression::Op;

struct Spelling {
  std::string_view text;
  Op op;
  int precedence;
};
constexpr std::array<Spelling, 8> spellings = {{{"+", Op::add, 1},
                                                {"-", Op::sub, 1},
                                                {"*", Op::mul, 2},
                                                {"floordiv", Op::floordiv, 2},
                                                {"ceildiv", Op::ceildiv, 2},
                                                {"mod", Op::mod, 2},
                                                {"min", Op::min, 3},
                                                {"max", Op::max, 3}}};

// Deeper than any size a compiler writes, shallow enough for every stack.
constexpr unsigned deepest = 200;

const Spelling &spellingOf(Op op) {
  return *std::find_if(spellings.begin(), spellings.end(), [&](const Spelling &s) { return s.op == op; });
}

int64_t apply(Op op, int64_t a, int64_t b, const std::string &text) {
  int64_t result = 0;
  switch (op) {
  case Op::add:
    if (!__builtin_add_overflow(a, b, &result))
      return result;
    break;
  case Op::sub:
    if (!__builtin_sub_overflow(a, b, &result))
      return result;
    break;
  case Op::mul:
    if (!__builtin_mul_overflow(a, b, &result))
      return result;
    break;
  case Op::floordiv:
  case Op::ceildiv:
  case Op::mod: {
    if (b < 1)
      throw Error(EVT_ERROR_ARGUMENT, "size '" + text + "' divides by " + std::to_string(b) + ", required at least 1");
    int64_t floor = a / b - (a % b < 0);
    int64_t rest = a - floor * b;
    return op == Op::mod ? rest : floor + (op == Op::ceildiv && rest != 0);
  }
  case Op::min:
    return std::min(a, b);
  case Op::max:
    return std::max(a, b);
  case Op::constant:
  case Op::symbol:
    assert(false && "leaves have no operands");
  }
  throw Error(EVT_ERROR_ARGUMENT, "size '" + text + "' does not fit in 64 bits: " + std::to_string(a) + " " +
                                      std::string(spellingOf(op).text) + " " + std::to_string(b));
}

} // namespace

Expression Expression::constant(int64_t value) {
  Expression expression;
  expression.nodes_.push_back({Op::constant, value});
  expression.text_ = std::to_string(value);
  return expression;
}

Expression Expression::parse(const JsonView &json, std::span<const std::string> symbols) {
  Expression expression;
  expression.append(json, symbols, 0);
  // The text is built from the postfix form with the parentheses that precedence needs.
  std::vector<std::pair<std::string, int>> stack;
  for (const Node &node : expression.nodes_) {
    if (node.op == Op::constant) {
      stack.push_back({std::to_string(node.value), 4});
      continue;
    }
    if (node.op == Op::symbol) {
      stack.push_back({symbols[static_cast<size_t>(node.value)], 4});
      continue;
    }
    auto [right, rightPrecedence] = std::move(stack.back());
    stack.pop_back();
    auto &[left, leftPrecedence] = stack.back();
    const Spelling &spelling = spellingOf(node.op);
    if (spelling.precedence == 3) {
      left = std::string(spelling.text) + "(" + left + ", " + right + ")";
      leftPrecedence = 4;
      continue;
    }
    if (leftPrecedence < spelling.precedence)
      left = "(" + left + ")";
    if (rightPrecedence <= spelling.precedence)
      right = "(" + right + ")";
    left += " " + std::string(spelling.text) + " " + right;
    leftPrecedence = spelling.precedence;
  }
  expression.text_ = std::move(stack.back().first);
  return expression;
}

void Expression::append(const JsonView &json, std::span<const std::string> symbols, unsigned depth) {
  if (depth > deepest)
    json.fail("expression is nested more than " + std::to_string(deepest) + " deep");
  if (json.isInteger()) {
    nodes_.push_back({Op::constant, json.integer()});
    return;
  }
  if (json.isString()) {
    std::string name = json.string();
    auto found = std::find(symbols.begin(), symbols.end(), name);
    if (found == symbols.end())
      json.fail("'" + name + "' is not a symbol of the manifest");
    nodes_.push_back({Op::symbol, found - symbols.begin()});
    return;
  }
  if (!json.isArray())
    json.fail("found " + json.kind() + ", required an integer, a symbol or [op, a, b]");
  std::vector<JsonView> parts = json.items();
  if (parts.size() != 3)
    json.fail("expression has " + std::to_string(parts.size()) + " parts, required 3: [op, a, b]");
  std::string op = parts[0].string();
  auto found = std::find_if(spellings.begin(), spellings.end(), [&](const Spelling &s) { return s.text == op; });
  if (found == spellings.end())
    parts[0].fail("'" + op + "' is not one of + - * floordiv ceildiv mod min max");
  append(parts[1], symbols, depth + 1);
  append(parts[2], symbols, depth + 1);
  nodes_.push_back({found->op, 0});
}

int64_t Expression::evaluate(std::span<const int64_t> symbols) const {
  if (nodes_.size() == 1) // most sizes are one number or one symbol
    return nodes_[0].op == Op::constant ? nodes_[0].value : symbols[static_cast<size_t>(nodes_[0].value)];
  std::vector<int64_t> stack;
  for (const Node &node : nodes_) {
    if (node.op == Op::constant) {
      stack.push_back(node.value);
    } else if (node.op == Op::symbol) {
      stack.push_back(symbols[static_cast<size_t>(node.value)]);
    } else {
      int64_t right = stack.back();
      stack.pop_back();
      stack.back() = apply(node.op, stack.back(), right, text_);
    }
  }
  return stack.back();
}

std::optional<int64_t> Expression::asConstant() const {
  if (nodes_.size() == 1 && nodes_[0].op == Op::constant)
    return nodes_[0].value;
  return std::nullopt;
}

std::optional<uint32_t> Expression::asSymbol() const {
  if (nodes_.size() == 1 && nodes_[0].op == Op::symbol)
    return static_cast<uint32_t>(nodes_[0].value);
  return std::nullopt;
}

} // namespace evt::runtime
