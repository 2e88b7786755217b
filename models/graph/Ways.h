// The two ways through a step: few tokens, whose tasks stream weights, and many, whose tasks multiply tiles. Products
// of very many tokens, prompts, have larger tiles than those of many: what limits them is arithmetic, not weights.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace evt::models {

struct Way {
  bool streams;
  std::string prefix; // of names
  int64_t tokens;     // of a tile

  /// The prefix of the buffers' names: prompts share those of many tokens.
  std::string buffers() const { return streams ? "" : "wide_"; }
  /// Rows of weights a task multiplies a tile of tokens with, of `matrices` matrices each; a divisor of n where it
  /// `divides`.
  int64_t rowsOf(int64_t n, int64_t matrices, bool divides) const;
  /// Rows of the head: whole tasks make up a chunk of logits.
  int64_t headRows() const { return streams ? 8 : 64; }
  /// Columns of K a step.
  int64_t step(int64_t depth) const;
  /// The depths of the pieces into which K is split. Tasks that stream keep their rows in registers, which bounds them;
  /// those of down begin when a part of the activations is there, so there are at least two. `hidden`: what other
  /// products multiply.
  std::vector<int64_t> piecesOf(int64_t depth, bool isDown, int64_t hidden) const;
};

/// The most tokens that stream.
inline constexpr int64_t mostStreaming = 8;
/// The most tokens whose products have the tiles of many.
inline constexpr int64_t mostNarrow = 256;
extern const Way fewTokens, manyTokens, promptTokens;

} // namespace evt::models
