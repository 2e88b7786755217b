// What operations of attention say about the cache, for both targets.
#ifndef EVT_DEVICE_COMMON_ATTENTION_H
#define EVT_DEVICE_COMMON_ATTENTION_H

#include "device/common/qualifiers.h"

#include <cstdint>

namespace evt {

template <class T, int Rank> struct Memory;

namespace tile {

/// Where in the cache: the layer, the request (a row of the page table), the key/value head.
struct CacheRow {
  std::int64_t layer, request, head;
};

/// Keys that were stored without the root of their norm, those of positions from `from` on: sums of squares of parts of
/// what the norm is of.
template <int Parts> struct Squares {
  static constexpr int count = Parts;
  const Memory<float, 4> &parts;
  float epsilon;
  std::int64_t from;
};
struct NoSquares {};
/// A part, of 16 columns, of the squares that say of a key that the root of its norm has been applied.
EVT_DEVICE inline float rooted_square(float epsilon) { return 16 * (1 - epsilon); }

/// Rows of a query in memory, and the sums of squares that their norms' roots are found from.
template <class T> struct QueryRows {
  const Memory<T, 2> &memory;
  std::int64_t token, column;
  float scale;
};
struct QuerySquares {
  const Memory<float, 2> &memory;
  std::int64_t column;
};

/// An operand that an operation does without.
struct Nothing {};

/// The tokens of a step: whose they are and their positions. A *run* is a longest stretch of tokens of one request
/// whose positions go up by 1: a chunk of a prompt, or one new token.
struct StepTokens {
  const std::int32_t *requests, *positions;
  std::int64_t count;

  /// Whether a token, which is not the first, belongs to the run of the one before it.
  EVT_DEVICE bool continues(std::int64_t token) const {
    return requests[token] == requests[token - 1] && positions[token] == positions[token - 1] + 1;
  }
};

} // namespace tile
} // namespace evt

#endif
