// Attention of consecutive tokens of a step over a paged cache (evt.attend_tokens), and which tokens it leaves out
// (evt.short_tokens). Each token attends as evt.attend does.
#pragma once

#include "device/cpu/tile/attend.h"

namespace evt::tile {

namespace detail {

inline StepTokens tokens_of(const Memory<std::int32_t, 1> &requests, const Memory<std::int32_t, 1> &positions) {
  return {requests.data, positions.data, least(requests.dims[0], positions.dims[0])};
}

/// Whether a token's run has at least `enough` tokens.
inline bool is_in_long_run(const StepTokens &tokens, std::int64_t token, std::int64_t enough) {
  std::int64_t begin = token, end = token + 1;
  while (begin > 0 && end - begin < enough && tokens.continues(begin))
    --begin;
  while (end < tokens.count && end - begin < enough && tokens.continues(end))
    ++end;
  return end - begin >= enough;
}

/// The entries that say which of `count` tokens from `first` on are in long runs.
inline void report_runs(Worker &w, const Memory<std::int32_t, 1> &requests, const Memory<std::int32_t, 1> &positions,
                        std::int64_t first, std::int64_t count, std::int64_t enough) {
  if (!w.hooks) [[likely]]
    return;
  const std::int64_t offset[] = {first - enough}, size[] = {count + 2 * enough};
  report(w, requests.id, false, requests.dims, offset, size, 1);
  report(w, positions.id, false, positions.dims, offset, size, 1);
}

} // namespace detail

/// How many of `Count` tokens from `first` on belong to runs of less than `Enough`.
template <std::int64_t Count, std::int64_t Enough>
std::int64_t short_tokens(Worker &w, const Memory<std::int32_t, 1> &requests, const Memory<std::int32_t, 1> &positions,
                          std::int64_t first) {
  detail::report_runs(w, requests, positions, first, Count, Enough);
  const StepTokens tokens = detail::tokens_of(requests, positions);
  std::int64_t count = 0;
  for (std::int64_t t = most(first, 0); t < first + Count && t < tokens.count; ++t)
    count += !detail::is_in_long_run(tokens, t, Enough);
  return count;
}

/// `Group` query heads share a key/value head.
template <std::int64_t Tokens, std::int64_t Group, std::int64_t D, std::int64_t Page, std::int64_t Enough, class T>
void attend_tokens(Worker &w, const Memory<T, 2> &query, const Memory<T, 2> &out,
                   const Memory<std::int32_t, 1> &requests, const Memory<std::int32_t, 1> &positions,
                   const Memory<T, 4> &keys, const Memory<T, 4> &values, const Memory<std::int32_t, 2> &pages,
                   std::int64_t layer, std::int64_t first, std::int64_t head, float scale) {
  detail::report_runs(w, requests, positions, first, Tokens, Enough);
  const StepTokens tokens = detail::tokens_of(requests, positions);
  const std::int64_t column = head * Group * D;
  for (std::int64_t t = most(first, 0); t < first + Tokens && t < tokens.count && t < query.dims[0]; ++t) {
    if (!detail::is_in_long_run(tokens, t, Enough))
      continue;
    T rows[Group * D];
    load_tile<1, Group * D>(w, rows, query, {t, column}, T(0.0f));
    float scales[Group];
    for (float &s : scales)
      s = scale;
    float m[Group], sum[Group], acc[Group * D];
    attend<Group, D, Page>(w, m, sum, acc, rows, scales, keys, values, pages, {layer, tokens.requests[t], head}, 0,
                           (std::int64_t)tokens.positions[t] + 1);
    for (std::int64_t i = 0; i < Group * D; ++i)
      rows[i] = T(sum[i / D] == 0 ? 0.0f : acc[i] / sum[i / D]);
    store_tile<1, Group * D>(w, rows, out, {t, column});
  }
}

} // namespace evt::tile
