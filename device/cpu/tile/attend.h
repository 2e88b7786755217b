// Attention of a few query rows over a range of positions in a paged cache (evt.attend), as a softmax in parts.
//
// Positions are taken in blocks of 16, upwards. A score is 16 partial sums of the columns c, c + 16, …, folded in
// halves; a block's weights are added to the sum and its weighted values to the accumulator in the order of positions.
#pragma once

#include "device/common/attention.h"
#include "device/common/math.h"
#include "device/common/types.h"
#include "device/cpu/memory.h"

namespace evt::tile {

namespace detail {

/// The slot of a position; -1 if it has none.
template <std::int64_t Page>
inline std::int64_t slot_of(Worker &w, const Memory<std::int32_t, 2> &pages, std::int64_t request,
                            std::int64_t position, std::int64_t slots) {
  const std::int64_t page = read_table(w, pages, {request, position / Page});
  const std::int64_t slot = page * Page + position % Page;
  return page < 0 || slot >= slots ? -1 : slot;
}

/// A slot's row. Observers are told of a settled one that it may be read before the task's waits, although it is not.
template <class T, int Rank>
inline const T *cache_row(Worker &w, const Memory<T, Rank> &m, const CacheRow &at, std::int64_t slot, bool settled) {
  static_assert(Rank == 4);
  if (w.hooks) [[unlikely]] {
    const std::int64_t offset[] = {at.layer, at.head, slot, 0}, size[] = {1, 1, 1, m.dims[3]};
    report(w, m.id, settled ? EVT_READ_SETTLED : EVT_READ, m.dims, offset, size, 4);
  }
  return m.data + ((at.layer * m.dims[1] + at.head) * m.dims[2] + slot) * m.dims[3];
}

template <std::int64_t R, std::int64_t D, std::int64_t Page, class T, class S>
void attend_head(Worker &w, float *m, float *sum, float *acc, const T *query, const float *scales,
                 const Memory<T, 4> &keys, const Memory<T, 4> &values, const Memory<std::int32_t, 2> &pages,
                 const S &squares, const CacheRow &at, std::int64_t begin, std::int64_t end, std::int64_t settled) {
  constexpr int block = 16;
  for (std::int64_t r = 0; r < R; ++r) {
    m[r] = -1e30f;
    sum[r] = 0;
    for (std::int64_t d = 0; d < D; ++d)
      acc[r * D + d] = 0;
  }
  if (at.layer < 0 || at.layer >= keys.dims[0] || at.head < 0 || at.head >= keys.dims[1])
    return;
  for (std::int64_t first = begin < 0 ? 0 : begin; first < end; first += block) {
    std::int64_t slots[block], at_position[block];
    int count = 0; // of positions that have a slot
    for (std::int64_t p = first; p < first + block && p < end; ++p)
      if (const std::int64_t slot = slot_of<Page>(w, pages, at.request, p, keys.dims[2]); slot >= 0) {
        at_position[count] = p;
        slots[count++] = slot;
      }
    if (!count)
      continue;
    float scores[R][block];
    for (int i = 0; i < count; ++i) {
      const T *key = cache_row(w, keys, at, slots[i], at_position[i] < settled);
      [[maybe_unused]] T rooted[D];
      if constexpr (!__is_same(S, NoSquares))
        if (at_position[i] >= squares.from) {
          const float *parts = cache_row(w, squares.parts, at, slots[i], false);
          float all = 0;
          for (std::int64_t part = 0; part < squares.parts.dims[3]; ++part)
            all += parts[part];
          const float root = evt::rsqrt(all / (float)D + squares.epsilon);
          for (std::int64_t d = 0; d < D; ++d)
            rooted[d] = T((float)key[d] * root);
          key = rooted;
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
        scores[r][i] = part[0] * scales[r];
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
      const T *value = cache_row(w, values, at, slots[i], at_position[i] < settled);
      for (std::int64_t r = 0; r < R; ++r) {
        const float weight = (float)T(scores[r][i]);
        for (std::int64_t d = 0; d < D; ++d)
          acc[r * D + d] = evt::fma(weight, (float)value[d], acc[r * D + d]);
      }
    }
  }
}

} // namespace detail

/// `query`, `scales` and results have the R rows of each of `Heads` heads, from `at.head` on. Nobody is to write
/// positions below `settled`.
template <std::int64_t R, std::int64_t D, std::int64_t Page, std::int64_t Heads = 1, class T>
void attend(Worker &w, float *m, float *sum, float *acc, const T *query, const float *scales, const Memory<T, 4> &keys,
            const Memory<T, 4> &values, const Memory<std::int32_t, 2> &pages, const CacheRow &at, std::int64_t begin,
            std::int64_t end, std::int64_t settled = 0) {
  for (std::int64_t h = 0; h < Heads; ++h)
    detail::attend_head<R, D, Page>(w, m + h * R, sum + h * R, acc + h * R * D, query + h * R * D, scales + h * R, keys,
                                    values, pages, NoSquares{}, {at.layer, at.request, at.head + h}, begin, end,
                                    settled);
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

namespace detail {

/// Element (row, column) of a memory, 0 outside.
template <class T> inline float element(const Memory<T, 2> &m, std::int64_t row, std::int64_t column) {
  const bool inside = row >= 0 && row < m.dims[0] && column >= 0 && column < m.dims[1];
  return inside ? (float)m.data[row * m.dims[1] + column] : 0.0f;
}
template <class T>
inline void report_row(Worker &w, const Memory<T, 2> &m, bool write, std::int64_t row, std::int64_t column,
                       std::int64_t columns) {
  if (w.hooks) [[unlikely]] {
    const std::int64_t offset[] = {row, column}, size[] = {1, columns};
    report(w, m.id, write, m.dims, offset, size, 2);
  }
}
inline void report_parts(Worker &w, const Memory<float, 5> &m, const Memory<float, 5> &sum, const Memory<float, 6> &acc,
                         bool write, const std::int64_t (&offset)[6], const std::int64_t (&size)[6]) {
  if (w.hooks) [[unlikely]] {
    report(w, m.id, write, m.dims, offset, size, 5);
    report(w, sum.id, write, sum.dims, offset, size, 5);
    report(w, acc.id, write, acc.dims, offset, size, 6);
  }
}

} // namespace detail

/// evt.attend_parts. `Q` is QuerySquares or NoSquares, as `S` is Squares or NoSquares. Parts have `size` positions, and
/// nobody is to write positions below `settled`.
template <std::int64_t R, std::int64_t D, std::int64_t Page, class T, class Q, class S>
void attend_parts(Worker &w, const QueryRows<T> &query, const Q &query_squares, const Memory<T, 4> &keys,
                  const Memory<T, 4> &values, const Memory<std::int32_t, 2> &pages, const S &squares,
                  const CacheRow &at, std::int64_t begin, std::int64_t end, std::int64_t size, std::int64_t settled,
                  const Memory<float, 5> &m, const Memory<float, 5> &sum, const Memory<float, 6> &acc, std::int64_t i,
                  std::int64_t j, std::int64_t s) {
  if (i < 0 || i >= m.dims[0] || j < 0 || j >= m.dims[1] || s < 0 || s >= m.dims[2] || size < 1 || begin >= end)
    return;
  T rows[R * D];
  float scales[R];
  detail::report_row(w, query.memory, false, query.token, query.column, R * D);
  for (std::int64_t e = 0; e < R * D; ++e)
    rows[e] = T(detail::element(query.memory, query.token, query.column + e));
  for (std::int64_t r = 0; r < R; ++r) {
    scales[r] = query.scale;
    if constexpr (!__is_same(Q, NoSquares)) {
      const std::int64_t parts = squares.parts.dims[3];
      detail::report_row(w, query_squares.memory, false, query.token, query_squares.column + r * parts, parts);
      float all = 0;
      for (std::int64_t p = 0; p < parts; ++p)
        all += detail::element(query_squares.memory, query.token, query_squares.column + r * parts + p);
      scales[r] *= evt::rsqrt(all / (float)D + squares.epsilon);
    }
  }
  const std::int64_t first = ((i * m.dims[1] + j) * m.dims[2] + s) * m.dims[3];
  for (std::int64_t k = 0; k < m.dims[3] && begin + k * size < end; ++k) {
    const std::int64_t from = begin + k * size, to = least(from + size, end);
    detail::report_parts(w, m, sum, acc, true, {i, j, s, k, 0, 0}, {1, 1, 1, 1, R, D});
    detail::attend_head<R, D, Page>(w, m.data + (first + k) * R, sum.data + (first + k) * R,
                                    acc.data + (first + k) * R * D, rows, scales, keys, values, pages, squares, at,
                                    from, to, settled);
  }
}

/// evt.merge_parts.
template <std::int64_t R, std::int64_t D, class T>
void merge_parts(Worker &w, const Memory<float, 5> &m, const Memory<float, 5> &sum, const Memory<float, 6> &acc,
                 std::int64_t i, std::int64_t j, std::int64_t end, std::int64_t part, const Memory<T, 2> &to,
                 std::int64_t row, std::int64_t column) {
  if (i < 0 || i >= m.dims[0] || j < 0 || j >= m.dims[1] || row < 0 || row >= to.dims[0])
    return;
  const std::int64_t each = m.dims[3], first = (i * m.dims[1] + j) * m.dims[2] * each;
  const std::int64_t parts = part < 1 ? 0 : least(ceildiv(end, part), m.dims[2] * each);
  for (std::int64_t p = 0; w.hooks && p < parts; ++p)
    detail::report_parts(w, m, sum, acc, false, {i, j, p / each, p % each, 0, 0}, {1, 1, 1, 1, R, D});
  detail::report_row(w, to, true, row, column, R * D);
  for (std::int64_t r = 0; r < R; ++r) {
    float largest = -1e30f, total = 0, sums[D] = {};
    for (std::int64_t p = 0; p < parts; ++p)
      largest = most(largest, m.data[(first + p) * R + r]);
    for (std::int64_t p = 0; p < parts; ++p) {
      const float weight = evt::exp(m.data[(first + p) * R + r] - largest);
      total = evt::fma(weight, sum.data[(first + p) * R + r], total);
      for (std::int64_t d = 0; d < D; ++d)
        sums[d] = evt::fma(weight, acc.data[((first + p) * R + r) * D + d], sums[d]);
    }
    for (std::int64_t d = 0; d < D; ++d)
      if (const std::int64_t c = column + r * D + d; c >= 0 && c < to.dims[1])
        to.data[row * to.dims[1] + c] = T(total == 0 ? 0.0f : sums[d] / total);
  }
}

} // namespace evt::tile
