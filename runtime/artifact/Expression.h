// Sizes of a manifest: integers, symbols and arithmetic on them, evaluated in 64 bits with overflow checked.
//
//   JSON                        text              n = 10
//   4096                        4096              4096
//   "n"                         n                 10
//   ["*", 4, "n"]               4 * n             40
//   ["ceildiv", "n", 16]        n ceildiv 16      1
//   ["+", ["*", "n", 4], "n"]   n * 4 + n         50
//
// floordiv, ceildiv and mod round as in MLIR's affine expressions and need a positive divisor.
#ifndef EVT_RUNTIME_ARTIFACT_EXPRESSION_H
#define EVT_RUNTIME_ARTIFACT_EXPRESSION_H

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace evt::runtime {

class JsonView;

class Expression {
public:
  enum class Op : uint8_t { constant, symbol, add, sub, mul, floordiv, ceildiv, mod, min, max };

  static Expression constant(int64_t value);
  // `symbols` are the manifest's symbols in order. Throws Error (artifact) naming the place in the manifest.
  static Expression parse(const JsonView &json, std::span<const std::string> symbols);

  // Throws Error (argument) when the values given to the symbols lead to an overflow or a divisor below 1.
  int64_t evaluate(std::span<const int64_t> symbols) const;

  std::optional<int64_t> asConstant() const;
  std::optional<uint32_t> asSymbol() const;
  const std::string &text() const { return text_; }

private:
  struct Node {
    Op op;
    int64_t value; // of a constant; index of a symbol
  };
  void append(const JsonView &json, std::span<const std::string> symbols, unsigned depth);

  std::vector<Node> nodes_; // postfix order
  std::string text_;
};

} // namespace evt::runtime

#endif
