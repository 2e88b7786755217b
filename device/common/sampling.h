// The arithmetic of sampling a token (evt.draw and evt.sample), the same on every target: the same logits give the same
// token, bit for bit, on the CPU and on a GPU.
//
// Everything that is summed is an integer, so that no order of sums can matter: a weight exp(z - largest) is held in
// units of 2^-40. A token is drawn by adding noise to each score and taking the largest sum (the Gumbel-max trick): the
// noise of token t is a function of the request's seed, the position that the token will have, and t alone. So a draw
// depends neither on the batch nor on how the vocabulary is divided, and a filter that keeps the token which would have
// been drawn without it does not change the draw.
#ifndef EVT_DEVICE_COMMON_SAMPLING_H
#define EVT_DEVICE_COMMON_SAMPLING_H

#include "device/common/math.h"
#include "device/common/qualifiers.h"

#include <cstdint>

namespace evt::sampling {

/// Columns of a request's row of `rates` (f32) and of `choices` (i32).
inline constexpr int rate_columns = 8, choice_columns = 8;

/// How a request chooses its next token.
struct Choice {
  float temperature; // 0, or anything that is not positive: the largest logit
  float top_p, min_p;
  float repetition; // 0 and 1: none
  float presence, frequency;
  std::int32_t top_k; // 0: all
  std::uint32_t seed[2];
  std::int32_t position; // of the token that is chosen: so many tokens come before it
  std::int32_t prompt;   // as many of them are the prompt
  std::int32_t row;      // of the page table
  std::int32_t logprob;  // not 0: the chosen token's is wanted

  EVT_INLINE bool is_greedy() const { return !(temperature > 0); }
  EVT_INLINE bool has_penalties() const {
    return (repetition != 0 && repetition != 1) || presence != 0 || frequency != 0;
  }
  EVT_INLINE bool has_filter(std::int64_t vocabulary) const {
    return !is_greedy() && ((top_k > 0 && top_k < vocabulary) || top_p < 1 || min_p > 0);
  }
};

/// Rows of the two tables as one.
EVT_INLINE Choice choice_of(const float *rates, const std::int32_t *choices) {
  return {rates[0],   rates[1],   rates[2],   rates[3],
          rates[4],   rates[5],   choices[0], {(std::uint32_t)choices[1], (std::uint32_t)choices[2]},
          choices[3], choices[4], choices[5], choices[6]};
}

/// What is not a number can never be chosen.
EVT_INLINE float clean(float logit) { return logit != logit ? -detail::infinity : logit; }

/// What is known of a token's past: its occurrences in the output, and whether the prompt has it.
inline constexpr std::uint32_t in_prompt = 1u << 31;

EVT_INLINE float penalized(const Choice &how, float logit, std::uint32_t past) {
  if (!past)
    return logit;
  if (how.repetition != 0 && how.repetition != 1)
    logit = logit > 0 ? logit / how.repetition : logit * how.repetition;
  const auto count = (float)(past & ~in_prompt);
  logit = logit - how.frequency * count;
  return clean(count > 0 ? logit - how.presence : logit);
}

/// Floats as integers in the same order; -0 is +0.
EVT_INLINE std::uint32_t key_of(float x) {
  const std::uint32_t bits = detail::as_uint(x == 0.0f ? 0.0f : x);
  return bits >> 31 ? ~bits : bits | 0x80000000u;
}
EVT_INLINE float float_of(std::uint32_t key) { return detail::as_float(key >> 31 ? key & 0x7fffffffu : ~key); }
/// Larger scores first, then lower tokens.
EVT_INLINE std::uint64_t order_of(float score, std::uint32_t token) {
  return (std::uint64_t)key_of(score) << 32 | (std::uint32_t)~token;
}
EVT_INLINE float score_of(std::uint64_t order) { return float_of((std::uint32_t)(order >> 32)); }
EVT_INLINE std::uint32_t token_of(std::uint64_t order) { return ~(std::uint32_t)order; }

/// exp(x - largest), also where both are infinite.
EVT_INLINE float weight(float x, float largest) { return x == largest ? 1.0f : evt::exp(x - largest); }
/// In units of 2^-40. Up to 2^23 of them have a sum.
EVT_INLINE std::uint64_t units(float weight) { return (std::uint64_t)(weight * 0x1p40f); }
EVT_INLINE float from_units(std::uint64_t units) { return (float)units * 0x1p-40f; }

/// Philox4x32-10 (Salmon et al., SC 2011): four random words of a counter and a key.
EVT_INLINE void philox(std::uint32_t (&x)[4], std::uint32_t key0, std::uint32_t key1) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = (std::uint64_t)0xD2511F53u * x[0], b = (std::uint64_t)0xCD9E8D57u * x[2];
    x[0] = (std::uint32_t)(b >> 32) ^ x[1] ^ key0;
    x[1] = (std::uint32_t)b;
    x[2] = (std::uint32_t)(a >> 32) ^ x[3] ^ key1;
    x[3] = (std::uint32_t)a;
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
}

/// -log(-log(1 - v)) with v = (bits + 1/2) / 2^32: near 0, where the largest values come from, v has all its digits.
EVT_INLINE float gumbel(std::uint32_t bits) {
  const std::uint32_t from_end = ~bits;
  const bool is_low = bits < 0x80000000u;
  const float v = ((float)(is_low ? bits : from_end) + 0.5f) * 0x1p-32f;
  const float u = is_low ? 1.0f - v : v, lost = 1.0f - u;
  // log1p(-v), from log(1 - v) and what rounding 1 - v lost
  const float corrected = lost == 0 ? v : -evt::log(u) * (v / lost);
  return -evt::log(is_low ? corrected : -evt::log(u));
}

/// Of tokens 4 group … + 3.
EVT_INLINE void noise_of(const Choice &how, std::uint32_t group, float (&noise)[4]) {
  std::uint32_t x[4] = {group, (std::uint32_t)how.position, 0, 0};
  philox(x, how.seed[0], how.seed[1]);
  for (int i = 0; i < 4; ++i)
    noise[i] = gumbel(x[i]);
}
EVT_INLINE float noise_at(const Choice &how, std::uint32_t token) {
  std::uint32_t x[4] = {token / 4, (std::uint32_t)how.position, 0, 0};
  philox(x, how.seed[0], how.seed[1]);
  const std::uint32_t low = token & 1 ? x[1] : x[0], high = token & 1 ? x[3] : x[2];
  return gumbel(token & 2 ? high : low);
}

/// The threshold of a filter: the lowest score that it keeps. A score is kept while what lies strictly above it,
/// counted or weighed, is less than a limit; scores that are equal are kept or dropped together.
///
/// It is found by histograms: of keys low … high, in one of which the threshold is, 255 bins of equal width from `base`
/// on and one for all that lies below. The lowest bin that is not empty and still keeps its upper end is the next
/// range.
struct Search {
  static constexpr int bins = 256;
  std::uint32_t low, high, base;
  int shift;
  std::uint32_t count_above; // tokens above `high`, which are all kept
  std::uint64_t mass_above;

  /// Among keys from `lowest` on. Most thresholds are within 8 of the largest, and few tokens.
  EVT_INLINE static Search from(std::uint32_t lowest, float largest) {
    Search s{lowest, key_of(largest), 0, 0, 0, 0};
    const std::uint32_t near = key_of(largest - 8.0f);
    s.divide(near > lowest ? near : lowest);
    return s;
  }
  EVT_INLINE bool is_done() const { return low >= high; }
  EVT_INLINE int bin_of(std::uint32_t key) const { return key < base ? 0 : 1 + (int)((key - base) >> shift); }
  EVT_INLINE void choose(int bin) {
    const std::uint32_t first = base + ((std::uint32_t)(bin - 1) << shift), last = first + ((1u << shift) - 1);
    const std::uint32_t top = last < first || last > high ? high : last;
    high = bin ? top : base - 1;
    low = bin ? first : low;
    divide(low);
  }

private:
  EVT_INLINE void divide(std::uint32_t from) {
    base = from;
    shift = 0;
    while ((high - base) >> shift > (std::uint32_t)(bins - 2))
      ++shift;
  }
};

/// What must lie above a token for top-p to drop it; the largest is always kept.
EVT_INLINE std::uint64_t mass_limit(float top_p, std::uint64_t total) {
  const double exact = (double)top_p * (double)total;
  auto limit = (std::uint64_t)(exact > 0 ? exact : 0);
  limit += (double)limit < exact;
  return limit ? limit : 1;
}

} // namespace evt::sampling

#endif
