// Attention of a few query rows over a range of positions in a paged cache (evt.attend), as a softmax in parts.
//
// Positions are taken in blocks of 16, upwards. A score is 16 partial sums of the columns c, c + 16, …, folded in
// halves; a block's weights are added to the sum and its weighted values to the accumulator in the order of positions.
#pragma once

#include "device/common/math.h"
#include "device/common/types.h"
#include "device/cpu/memory.h"

namespace evt::tile {

/// Where in the cache: the layer, the request (a row of the page table), the key/value head.
struct CacheRow {
  std::int64_t layer, request, head;
};

/// Keys that were stored without the root of their norm: sums of squares of parts of what the norm is of.
template <int Parts> struct Squares {
  const Memory<float, 4> &parts;
  float epsilon;
};
struct NoSquares {};

namespace detail {

/// The slot of a position; -1 if it has none.
template <std::int64_t Page>
inline std::int64_t slot_of(Worker &w, const Memory<std::int32_t, 2> &pages, std::int64_t request,
                            std::int64_t position, std::int64_t slots) {
  const std::int64_t page = read_table(w, pages, {request, position / Page});
  const std::int64_t slot = page * Page + position % Page;
  return page < 0 || slot >= slots ? -1 : slot;
}

template <class T, int Rank>
inline const T *cache_row(Worker &w, const Memory<T, Rank> &m, const CacheRow &at, std::int64_t slot) {
  static_assert(Rank == 4);
  if (w.hooks) [[unlikely]] {
    const std::int64_t offset[] = {at.layer, slot, at.head, 0}, size[] = {1, 1, 1, m.dims[3]};
    report(w, m.id, false, m.dims, offset, size, 4);
  }
  return m.data + ((at.layer * m.dims[1] + slot) * m.dims[2] + at.head) * m.dims[3];
}

} // namespace detail

template <std::int64_t R, std::int64_t D, std::int64_t Page, class T, class S>
void attend(Worker &w, float *m, float *sum, float *acc, const T *query, const float *scales, const Memory<T, 4> &keys,
            const Memory<T, 4> &values, const Memory<std::int32_t, 2> &pages, const S &squares, const CacheRow &at,
            std::int64_t begin, std::int64_t end) {
  constexpr int block = 16;
  for (std::int64_t r = 0; r < R; ++r) {
    m[r] = -1e30f;
    sum[r] = 0;
    for (std::int64_t d = 0; d < D; ++d)
      acc[r * D + d] = 0;
  }
  if (at.layer < 0 || at.layer >= keys.dims[0] || at.head < 0 || at.head >= keys.dims[2])
    return;
  for (std::int64_t first = begin < 0 ? 0 : begin; first < end; first += block) {
    std::int64_t slots[block];
    int count = 0; // of positions that have a slot
    for (std::int64_t p = first; p < first + block && p < end; ++p)
      if (const std::int64_t slot = detail::slot_of<Page>(w, pages, at.request, p, keys.dims[1]); slot >= 0)
        slots[count++] = slot;
    if (!count)
      continue;
    float scores[R][block];
    for (int i = 0; i < count; ++i) {
      const T *key = detail::cache_row(w, keys, at, slots[i]);
      float root = 1;
      if constexpr (!__is_same(S, NoSquares)) {
        const float *parts = detail::cache_row(w, squares.parts, at, slots[i]);
        float all = 0;
        for (std::int64_t part = 0; part < squares.parts.dims[3]; ++part)
          all += parts[part];
        root = evt::rsqrt(all / (float)D + squares.epsilon);
      }
      for (std::int64_t r = 0; r < R; ++r) {
        float part[16] = {};
        std::int64_t d = 0;
        for (; d + 16 <= D; d += 16)
          for (int l = 0; l < 16; ++l)
            part[l] = evt::fma((float)query[r * D + d + l], (float)key[d + l], part[l]);
        for (int l = 0; d + l < D; ++l)
          part[l] = evt::fma((float)query[r * D + d + l], (float)key[d + l], part[l]);
        for (int half = 8; half; half /= 2)
          for (int l = 0; l < half; ++l)
            part[l] += part[l + half];
        scores[r][i] = part[0] * (scales[r] * root);
      }
    }
    for (std::int64_t r = 0; r < R; ++r) {
      float largest = m[r];
      for (int i = 0; i < count; ++i)
        largest = scores[r][i] > largest ? scores[r][i] : largest;
      const float keep = evt::exp(m[r] - largest);
      m[r] = largest;
      sum[r] *= keep;
      for (std::int64_t d = 0; d < D; ++d)
        acc[r * D + d] *= keep;
      for (int i = 0; i < count; ++i) {
        scores[r][i] = evt::exp(scores[r][i] - largest);
        sum[r] += scores[r][i];
      }
    }
    for (int i = 0; i < count; ++i) {
      const T *value = detail::cache_row(w, values, at, slots[i]);
      for (std::int64_t r = 0; r < R; ++r) {
        const float weight = (float)T(scores[r][i]);
        for (std::int64_t d = 0; d < D; ++d)
          acc[r * D + d] = evt::fma(weight, (float)value[d], acc[r * D + d]);
      }
    }
  }
}

/// The parts 0 … parts - 1 of a softmax as one, divided by its sum.
template <std::int64_t R, std::int64_t D>
void merge(Worker &w, float *merged, const Memory<float, 4> &m, const Memory<float, 4> &sum,
           const Memory<float, 5> &acc, std::int64_t i, std::int64_t j, std::int64_t parts) {
  parts = least(parts, m.dims[2]);
  const bool exists = i >= 0 && i < m.dims[0] && j >= 0 && j < m.dims[1];
  if (w.hooks && exists && parts > 0) [[unlikely]] {
    const std::int64_t offset[] = {i, j, 0, 0, 0}, size[] = {1, 1, parts, R, D};
    report(w, m.id, false, m.dims, offset, size, 4);
    report(w, sum.id, false, sum.dims, offset, size, 4);
    report(w, acc.id, false, acc.dims, offset, size, 5);
  }
  const std::int64_t first = (i * m.dims[1] + j) * m.dims[2];
  for (std::int64_t r = 0; r < R; ++r) {
    float largest = -1e30f, total = 0, *row = merged + r * D;
    for (std::int64_t d = 0; d < D; ++d)
      row[d] = 0;
    for (std::int64_t s = 0; exists && s < parts; ++s)
      largest = most(largest, m.data[(first + s) * R + r]);
    for (std::int64_t s = 0; exists && s < parts; ++s) {
      const float weight = evt::exp(m.data[(first + s) * R + r] - largest);
      total = evt::fma(weight, sum.data[(first + s) * R + r], total);
      for (std::int64_t d = 0; d < D; ++d)
        row[d] = evt::fma(weight, acc.data[((first + s) * R + r) * D + d], row[d]);
    }
    for (std::int64_t d = 0; d < D; ++d)
      row[d] = total == 0 ? 0 : row[d] / total;
  }
}

} // namespace evt::tile
