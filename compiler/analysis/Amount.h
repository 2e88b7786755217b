// How much of something there is, as an expression of a program's symbols: bytes, operations, tasks.
//
// A sum of products with integer coefficients, so that what is equal looks equal: 32 * (rows - 1) + 32 is 32 * rows.
// What is no sum or product (a division, the smaller of two) is an *atom*, a factor like a symbol. Sizes of programs
// make atoms that cancel only together with what they came from: with rows = m ceildiv 32 the smaller of 32 * rows and
// m is m. `atLeast` knows that, from  x <= c * (x ceildiv c) <= x + c - 1  and its like, and the smaller and the larger
// of two ask it.
//
//   Amount m = Amount::symbol("m"), rows = ceildiv(m, 32);
//   least(rows * 32, m).text()               "m"
//   (rows * 32 + m * m - 4).json()           ["-", ["+", ["*", 32, ["ceildiv", "m", 32]], ["*", "m", "m"]], 4]
//
// Symbols count as 0 or more. Arithmetic that does not fit in 64 bits, and amounts of more terms than anybody would
// read, throw std::overflow_error.
#ifndef EVT_COMPILER_ANALYSIS_AMOUNT_H
#define EVT_COMPILER_ANALYSIS_AMOUNT_H

#include <nlohmann/json.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace evt {

class Amount {
public:
  Amount(int64_t constant = 0);
  static Amount symbol(const std::string &name);

  Amount operator+(const Amount &other) const;
  Amount operator-(const Amount &other) const { return *this + other * -1; }
  Amount operator*(const Amount &other) const;
  bool operator==(const Amount &other) const { return terms_ == other.terms_; }

  /// Rounding as MLIR's affine expressions do. Dividing by what may be 0 is up to the caller.
  friend Amount floordiv(const Amount &a, const Amount &b);
  friend Amount ceildiv(const Amount &a, const Amount &b);
  friend Amount mod(const Amount &a, const Amount &b);
  friend Amount least(const Amount &a, const Amount &b);
  friend Amount greatest(const Amount &a, const Amount &b);

  std::optional<int64_t> asConstant() const;
  /// True only if it can be shown: for all values of the symbols, this is at least `other`.
  bool atLeast(const Amount &other) const;

  /// As in a manifest (docs/design/artifact.md).
  nlohmann::ordered_json json() const;
  std::string text() const;
  /// Throws std::out_of_range for a symbol without a value, std::domain_error for a divisor below 1.
  int64_t evaluate(const std::map<std::string, int64_t> &symbols) const;

private:
  /// Factors in order; each is the text of its JSON.
  using Product = std::vector<std::string>;
  static Amount atom(const char *op, const Amount &a, const Amount &b);
  static Amount parse(const nlohmann::ordered_json &json);
  static Amount leastOfFactor(const std::string &factor, int64_t coefficient);
  void add(const Product &product, int64_t coefficient);
  std::optional<Amount> dividedBy(int64_t divisor) const;

  std::map<Product, int64_t> terms_; // none is 0
};

Amount floordiv(const Amount &a, const Amount &b);
Amount ceildiv(const Amount &a, const Amount &b);
Amount mod(const Amount &a, const Amount &b);
Amount least(const Amount &a, const Amount &b);
Amount greatest(const Amount &a, const Amount &b);

} // namespace evt

#endif
