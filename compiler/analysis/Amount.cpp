#include "compiler/analysis/Amount.h"

#include <algorithm>
#include <stdexcept>

namespace evt {

using Json = nlohmann::ordered_json;

namespace {

// Programs that people write have a few terms of a few factors. Beyond this an amount is given up, so that a program
// cannot make the compiler multiply out what it nests.
constexpr size_t mostTerms = 256, mostFactors = 16, longestAtom = 4096;

int64_t checkedAdd(int64_t a, int64_t b) {
  int64_t sum;
  if (__builtin_add_overflow(a, b, &sum))
    throw std::overflow_error("an amount does not fit in 64 bits");
  return sum;
}

int64_t checkedMultiply(int64_t a, int64_t b) {
  int64_t product;
  if (__builtin_mul_overflow(a, b, &product))
    throw std::overflow_error("an amount does not fit in 64 bits");
  return product;
}

int64_t roundedDown(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

int64_t requirePositive(int64_t divisor) {
  if (divisor < 1)
    throw std::domain_error("the divisor is " + std::to_string(divisor) + ", required at least 1");
  return divisor;
}

int64_t evaluateJson(const Json &json, const std::map<std::string, int64_t> &symbols) {
  if (json.is_number())
    return json.get<int64_t>();
  if (json.is_string())
    return symbols.at(json.get<std::string>());
  const std::string &op = json[0].get_ref<const std::string &>();
  int64_t a = evaluateJson(json[1], symbols), b = evaluateJson(json[2], symbols);
  if (op == "+")
    return checkedAdd(a, b);
  if (op == "-")
    return checkedAdd(a, checkedMultiply(b, -1));
  if (op == "*")
    return checkedMultiply(a, b);
  if (op == "min")
    return std::min(a, b);
  if (op == "max")
    return std::max(a, b);
  requirePositive(b);
  if (op == "floordiv")
    return roundedDown(a, b);
  if (op == "ceildiv")
    return -roundedDown(-a, b);
  return a - roundedDown(a, b) * b; // mod
}

std::string textOf(const Json &json) {
  if (!json.is_array())
    return json.is_string() ? json.get<std::string>() : json.dump();
  std::string op = json[0];
  auto operand = [&](const Json &child, bool right) {
    bool sum = child.is_array() && (child[0] == "+" || child[0] == "-");
    bool named = child.is_array() && (child[0] == "min" || child[0] == "max");
    bool other = child.is_array() && !sum && !named && child[0] != "*";
    bool apart = op == "+" ? false : op == "-" ? right && sum : op == "*" ? sum || other : child.is_array() && !named;
    return apart ? "(" + textOf(child) + ")" : textOf(child);
  };
  if (op == "min" || op == "max")
    return op + "(" + textOf(json[1]) + ", " + textOf(json[2]) + ")";
  return operand(json[1], false) + " " + op + " " + operand(json[2], true);
}

} // namespace

Amount::Amount(int64_t constant) { add({}, constant); }

Amount Amount::symbol(const std::string &name) {
  Amount amount;
  amount.add({Json(name).dump()}, 1);
  return amount;
}

Amount Amount::atom(const char *op, const Amount &a, const Amount &b) {
  Amount amount;
  std::string text = Json::array({op, a.json(), b.json()}).dump();
  if (text.size() > longestAtom)
    throw std::overflow_error("an amount is too long");
  amount.add({text}, 1);
  return amount;
}

void Amount::add(const Product &product, int64_t coefficient) {
  int64_t &sum = terms_[product];
  sum = checkedAdd(sum, coefficient);
  if (sum == 0)
    terms_.erase(product);
  if (product.size() > mostFactors || terms_.size() > mostTerms)
    throw std::overflow_error("an amount has too many terms or factors");
}

Amount Amount::operator+(const Amount &other) const {
  Amount sum = *this;
  for (const auto &[product, coefficient] : other.terms_)
    sum.add(product, coefficient);
  return sum;
}

Amount Amount::operator*(const Amount &other) const {
  Amount result;
  for (const auto &[a, m] : terms_)
    for (const auto &[b, n] : other.terms_) {
      Product factors = a;
      factors.insert(factors.end(), b.begin(), b.end());
      std::sort(factors.begin(), factors.end());
      result.add(factors, checkedMultiply(m, n));
    }
  return result;
}

std::optional<int64_t> Amount::asConstant() const {
  if (terms_.empty())
    return 0;
  if (terms_.size() == 1 && terms_.begin()->first.empty())
    return terms_.begin()->second;
  return std::nullopt;
}

std::optional<Amount> Amount::dividedBy(int64_t divisor) const {
  Amount quotient;
  for (const auto &[product, coefficient] : terms_) {
    if (coefficient % divisor != 0)
      return std::nullopt;
    quotient.add(product, coefficient / divisor);
  }
  return quotient;
}

Amount floordiv(const Amount &a, const Amount &b) {
  std::optional<int64_t> x = a.asConstant(), y = b.asConstant();
  if (y && *y > 0) {
    if (x)
      return roundedDown(*x, *y);
    if (std::optional<Amount> exact = a.dividedBy(*y))
      return *exact;
  }
  return a == b ? Amount(1) : Amount::atom("floordiv", a, b);
}

Amount ceildiv(const Amount &a, const Amount &b) {
  std::optional<int64_t> x = a.asConstant(), y = b.asConstant();
  if (y && *y > 0) {
    if (x)
      return -roundedDown(-*x, *y);
    if (std::optional<Amount> exact = a.dividedBy(*y))
      return *exact;
  }
  return a == b ? Amount(1) : Amount::atom("ceildiv", a, b);
}

Amount mod(const Amount &a, const Amount &b) {
  std::optional<int64_t> x = a.asConstant(), y = b.asConstant();
  if (y && *y > 0) {
    if (x)
      return *x - roundedDown(*x, *y) * *y;
    if (a.dividedBy(*y))
      return 0;
  }
  return Amount::atom("mod", a, b);
}

Amount least(const Amount &a, const Amount &b) {
  return b.atLeast(a) ? a : a.atLeast(b) ? b : Amount::atom("min", a, b);
}

Amount greatest(const Amount &a, const Amount &b) {
  return a.atLeast(b) ? a : b.atLeast(a) ? b : Amount::atom("max", a, b);
}

Amount Amount::parse(const Json &json) {
  if (json.is_number())
    return json.get<int64_t>();
  if (json.is_string())
    return symbol(json.get<std::string>());
  const std::string &op = json[0].get_ref<const std::string &>();
  Amount a = parse(json[1]), b = parse(json[2]);
  return op == "+" ? a + b : op == "-" ? a - b : op == "*" ? a * b : atom(op.c_str(), a, b);
}

/// What `coefficient` times an atom is at least, without the atom where its definition says more than that it is not
/// negative.
Amount Amount::leastOfFactor(const std::string &factor, int64_t coefficient) {
  Amount self;
  self.add({factor}, coefficient);
  Json json = Json::parse(factor);
  if (!json.is_array() || !json[2].is_number())
    return self;
  const std::string &op = json[0].get_ref<const std::string &>();
  int64_t c = json[2].get<int64_t>();
  if (op == "mod" && c > 0)
    return coefficient > 0 ? Amount(0) : Amount(c - 1) * coefficient;
  if ((op != "ceildiv" && op != "floordiv") || c < 1 || coefficient % c != 0)
    return self;
  Amount x = parse(json[1]);
  // x <= c * (x ceildiv c) <= x + c - 1   and   x - c + 1 <= c * (x floordiv c) <= x
  if (op == "ceildiv" && coefficient < 0)
    x = x + (c - 1);
  if (op == "floordiv" && coefficient > 0)
    x = x - (c - 1);
  return x * (coefficient / c);
}

bool Amount::atLeast(const Amount &other) const {
  auto isNotNegative = [](const Amount &amount) {
    return std::all_of(amount.terms_.begin(), amount.terms_.end(), [](const auto &term) { return term.second > 0; });
  };
  Amount difference = *this - other;
  if (isNotNegative(difference))
    return true;
  Amount bound;
  for (const auto &[product, coefficient] : difference.terms_) {
    if (product.size() != 1) {
      bound.add(product, coefficient);
      continue;
    }
    bound = bound + leastOfFactor(product[0], coefficient);
  }
  return isNotNegative(bound);
}

Json Amount::json() const {
  Json sum;
  // Positive terms first, so that a sum starts with what is added.
  for (bool negative : {false, true})
    for (auto term = terms_.rbegin(); term != terms_.rend(); ++term) {
      auto &[product, coefficient] = *term;
      if ((coefficient < 0) != negative)
        continue;
      bool first = sum.is_null();
      int64_t size = negative && !first ? -coefficient : coefficient;
      Json json = size;
      bool isOne = size == 1 && !product.empty();
      for (const std::string &factor : product) {
        Json atom = Json::parse(factor);
        json = isOne ? atom : Json::array({"*", json, atom});
        isOne = false;
      }
      sum = first ? json : Json::array({negative ? "-" : "+", sum, json});
    }
  return sum.is_null() ? Json(0) : sum;
}

std::string Amount::text() const { return textOf(json()); }

int64_t Amount::evaluate(const std::map<std::string, int64_t> &symbols) const { return evaluateJson(json(), symbols); }

} // namespace evt
