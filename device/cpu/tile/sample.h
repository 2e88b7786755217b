// Sampling a token: a candidate of each chunk of the vocabulary (evt.draw), then one token of them (evt.sample). What
// is computed is in device/common/sampling.h; here are the passes over memory, one token after the other.
#pragma once

#include "device/common/sampling.h"
#include "device/cpu/memory.h"
#include "device/cpu/tile/attend.h"

namespace evt::tile {

namespace detail {

using sampling::Choice;

template <class T, int Rank>
inline void report_rows(Worker &w, const Memory<T, Rank> &m, bool write, std::int64_t row, std::int64_t column,
                        std::int64_t columns) {
  if (!w.hooks) [[likely]]
    return;
  std::int64_t offset[Rank] = {row, column}, size[Rank];
  for (int d = 0; d < Rank; ++d)
    size[d] = d == 0 ? 1 : d == 1 ? columns : m.dims[d];
  report(w, m.id, write, m.dims, offset, size, Rank);
}

inline Choice choice_at(Worker &w, const Memory<float, 2> &rates, const Memory<std::int32_t, 2> &choices,
                        std::int64_t row) {
  if (row < 0 || row >= rates.dims[0] || row >= choices.dims[0])
    return {};
  report_rows(w, rates, false, row, 0, sampling::rate_columns);
  report_rows(w, choices, false, row, 0, sampling::choice_columns);
  return sampling::choice_of(rates.data + row * sampling::rate_columns, choices.data + row * sampling::choice_columns);
}

/// What a row's past has of the tokens first … first + Chunk - 1.
template <std::int64_t Chunk, std::int64_t Page>
inline void count_past(Worker &w, std::uint32_t (&past)[Chunk], const Choice &how, std::int64_t first,
                       const Memory<std::int32_t, 1> &history, const Memory<std::int32_t, 2> &pages) {
  for (std::uint32_t &p : past)
    p = 0;
  for (std::int64_t position = 0; position < how.position; ++position) {
    const std::int64_t slot = slot_of<Page>(w, pages, how.row, position, history.dims[0]);
    if (slot < 0)
      continue;
    const std::int64_t at = read_table(w, history, {slot}) - first;
    if (at < 0 || at >= Chunk)
      continue;
    past[at] = position < how.prompt ? past[at] | sampling::in_prompt : past[at] + 1;
  }
}

} // namespace detail

template <std::int64_t Chunk, std::int64_t Page>
void draw(Worker &w, float *part, const Memory<float, 2> &logits, const Memory<float, 2> &rates,
          const Memory<std::int32_t, 2> &choices, const Memory<std::int32_t, 1> &history,
          const Memory<std::int32_t, 2> &pages, const Memory<float, 2> &scaled, std::int64_t row, std::int64_t column) {
  using namespace sampling;
  const std::int64_t vocabulary = logits.dims[1];
  const Choice how = detail::choice_at(w, rates, choices, row);
  const bool exists = row >= 0 && row < logits.dims[0] && column >= 0;
  const std::int64_t count = exists ? most(0, least(Chunk, vocabulary - column)) : 0;
  const bool filtered = how.has_filter(vocabulary), penalties = how.has_penalties();
  part[0] = part[2] = -evt::detail::infinity; // of no token
  part[1] = part[3] = 0;
  if (!count)
    return;
  detail::report_rows(w, logits, false, row, column, count);
  const float *x = logits.data + row * vocabulary + column;

  float largest = clean(x[0]);
  part[2] = 0;
  if (how.logprob) {
    for (std::int64_t i = 1; i < count; ++i)
      largest = clean(x[i]) > largest ? clean(x[i]) : largest;
    std::uint64_t sum = 0;
    for (std::int64_t i = 0; i < count; ++i)
      sum += units(weight(clean(x[i]), largest));
    part[2] = largest;
    part[3] = from_units(sum);
  }

  std::uint32_t past[Chunk];
  if (penalties)
    detail::count_past<Chunk, Page>(w, past, how, column, history, pages);
  if (filtered)
    detail::report_rows(w, scaled, true, row, column, count);
  std::uint64_t best = 0;
  for (std::int64_t group = 0; group < count; group += 4) {
    float noise[4] = {};
    if (!how.is_greedy() && !filtered)
      noise_of(how, (std::uint32_t)(column + group) / 4, noise);
    for (std::int64_t i = group; i < group + 4 && i < count; ++i) {
      float z = clean(x[i]);
      if (penalties)
        z = penalized(how, z, past[i]);
      if (!how.is_greedy())
        z = clean(z / how.temperature);
      if (filtered)
        scaled.data[row * vocabulary + column + i] = z;
      z += noise[i - group];
      const std::uint64_t order = order_of(z, (std::uint32_t)i);
      best = order > best ? order : best;
    }
  }
  part[0] = score_of(best);
  part[1] = (float)token_of(best);
}

template <std::int64_t Parts, std::int64_t Chunk>
void sample(Worker &w, std::int32_t *token, float *logprob, const Memory<float, 3> &parts,
            const Memory<float, 2> &scaled, const Memory<float, 2> &logits, const Memory<float, 2> &rates,
            const Memory<std::int32_t, 2> &choices, std::int64_t row) {
  using namespace sampling;
  const std::int64_t vocabulary = logits.dims[1];
  const Choice how = detail::choice_at(w, rates, choices, row);
  *token = 0;
  *logprob = 0;
  if (row < 0 || row >= parts.dims[0])
    return;
  detail::report_rows(w, parts, false, row, 0, Parts);
  const float *part = parts.data + row * Parts * 4;
  std::uint64_t best = 0;
  float largest = -evt::detail::infinity; // of all logits
  for (std::int64_t c = 0; c < Parts; ++c) {
    const std::uint64_t order = order_of(part[4 * c], (std::uint32_t)(c * Chunk + (std::int64_t)part[4 * c + 1]));
    best = order > best ? order : best;
    largest = part[4 * c + 2] > largest ? part[4 * c + 2] : largest;
  }
  if (how.has_filter(vocabulary)) {
    detail::report_rows(w, scaled, false, row, 0, vocabulary);
    const float *z = scaled.data + row * vocabulary, highest = score_of(best);
    std::uint32_t lowest = 0; // key that is kept
    auto find = [&](bool weighs) {
      Search search = Search::from(lowest, highest);
      std::uint64_t limit = weighs ? 0 : (std::uint64_t)how.top_k;
      while (!search.is_done()) {
        std::uint32_t counts[Search::bins] = {};
        std::uint64_t masses[Search::bins] = {}, total = 0;
        for (std::int64_t i = 0; i < vocabulary; ++i)
          if (const std::uint32_t key = key_of(z[i]); key >= search.low && key <= search.high) {
            const std::uint64_t mass = weighs ? units(weight(z[i], highest)) : 0;
            ++counts[search.bin_of(key)];
            masses[search.bin_of(key)] += mass;
            total += mass;
          }
        if (weighs && !limit)
          limit = mass_limit(how.top_p, total);
        std::uint32_t count = search.count_above;
        std::uint64_t mass = search.mass_above;
        int chosen = 0;
        for (int bin = Search::bins - 1; bin >= 0; --bin) {
          if ((weighs ? mass : count) >= limit)
            break;
          if (counts[bin]) {
            chosen = bin;
            search.count_above = count;
            search.mass_above = mass;
          }
          count += counts[bin];
          mass += masses[bin];
        }
        search.choose(chosen);
      }
      lowest = search.low;
    };
    if (how.top_k > 0 && how.top_k < vocabulary)
      find(false);
    if (how.top_p < 1)
      find(true);
    best = 0;
    for (std::int64_t i = 0; i < vocabulary; ++i)
      if (key_of(z[i]) >= lowest && !(weight(z[i], highest) < how.min_p)) {
        const std::uint64_t order = order_of(z[i] + noise_at(how, (std::uint32_t)i), (std::uint32_t)i);
        best = order > best ? order : best;
      }
  }
  *token = (std::int32_t)token_of(best);

  if (how.logprob) {
    std::uint64_t sum = 0;
    for (std::int64_t c = 0; c < Parts; ++c)
      sum += units(part[4 * c + 3] * weight(part[4 * c + 2], largest));
    detail::report_rows(w, logits, false, row, *token, 1);
    const float x = clean(logits.data[row * vocabulary + *token]);
    *logprob = (x == largest ? 0.0f : x - largest) - evt::log(from_units(sum));
  }
}

} // namespace evt::tile
