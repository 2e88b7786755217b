// Attention of consecutive tokens of a step over a paged cache (evt.attend_tokens), by all compute threads, and which
// tokens it leaves out (evt.short_tokens).
//
// The tokens of a run in the tile, times the query heads that share the key/value head, are rows, a warp has 16 of
// them. Keys and values come in blocks of 32 positions, in turn through three places in shared memory: while keys are
// multiplied their values and the next keys are on their way, and so on. So it needs little shared memory, of which the
// rings of products leave little. Softmax is online, in base 2.
//
//   scores   a warp's 16 rows x 32 positions: four fragments of sums, queries from registers, keys by ldmatrix
//   result   16 rows x D columns: weights from the scores' registers, values by ldmatrix, transposed
//
// f32, and heads of which this is not a form, take a plain way: a warp for a row, its lanes sharing the columns.
#pragma once

#include "device/cuda/tile/attend.h"

namespace evt::tile {

namespace detail {

inline constexpr int block_positions = 32;

/// Whether attention of tokens runs on the tensor cores.
template <class T> constexpr bool has_block_form(int columns) {
  return sizeof(T) == 2 && columns % 16 == 0 && columns <= 128;
}
/// Rows of a block: the eight that ldmatrix reads at once are in other banks, since their 16-byte pieces have traded
/// places (by the row's last three bits), or where they are too short for that, by 16 bytes more.
template <int Columns> struct BlockRows {
  static constexpr bool swizzles = Columns % 64 == 0;
  static constexpr int row_bytes = 2 * Columns + (swizzles ? 0 : 16), bytes = block_positions * row_bytes;
  __device__ __forceinline__ static std::uint32_t place(int row, int piece) {
    return (std::uint32_t)(row * row_bytes + 16 * (swizzles ? piece ^ (row & 7) : piece));
  }
};

//===-- runs, by a whole warp -------------------------------------------------------------------------------------===//

/// The first token after `from` that does not continue its run; `limit` if there is none before.
__device__ inline int run_end(const StepTokens &tokens, int from, int limit) {
  for (int first = from + 1; first < limit; first += 32) {
    const int token = first + ptx::thread() % 32;
    const unsigned ends = __ballot_sync(~0u, token < limit && !tokens.continues(token));
    if (ends)
      return first + __ffs((int)ends) - 1;
  }
  return limit > from ? limit : from;
}
/// Where the run of token `from` begins; `limit` if that is before it.
__device__ inline int run_begin(const StepTokens &tokens, int from, int limit) {
  for (int last = from; last > limit; last -= 32) {
    const int token = last - ptx::thread() % 32;
    const unsigned begins = __ballot_sync(~0u, token > limit && !tokens.continues(token));
    if (begins)
      return last - (__ffs((int)begins) - 1);
  }
  return limit < from ? limit : from;
}

/// Calls `visit(begin, end, is_long)` for the parts of runs among the tokens from `first` to `last`.
template <int Enough, class Visit>
__device__ inline void visit_runs(const StepTokens &tokens, int first, int last, Visit visit) {
  // New tokens alone, as often: then no token continues a run, neither these nor the one behind them.
  bool continues = false;
  const int end = (int)least(last, tokens.count - 1);
  for (int token = first + ptx::thread() % 32; token <= end; token += 32)
    continues |= token > 0 && tokens.continues(token);
  if (Enough > 1 && !__any_sync(~0u, continues)) {
    if (first < last)
      visit(first, last, false);
    return;
  }
  for (int begin = first, end; begin < last; begin = end) {
    end = run_end(tokens, begin, last);
    int length = end - begin;
    if (length < Enough && begin == first)
      length += begin - run_begin(tokens, begin, begin > Enough ? begin - Enough : 0);
    if (length < Enough && end == last && end < tokens.count && tokens.continues(end))
      length += run_end(tokens, end, (int)least(end + Enough, tokens.count)) - end;
    visit(begin, end, length >= Enough);
  }
}

__device__ inline StepTokens tokens_of(const Memory<std::int32_t, 1> &requests,
                                       const Memory<std::int32_t, 1> &positions) {
  return {requests.data, positions.data, least(requests.dims[0], positions.dims[0])};
}

//===-- rows ------------------------------------------------------------------------------------------------------===//

/// Part of a run: tokens `begin` … `end` - 1 of a request, the first one at `position`.
struct RunPart {
  int begin, end, position;
};

/// What a thread needs of the cache once for a block. In shared memory, which is faster than where registers would go.
template <class T> struct CacheHead {
  const T *keys, *values; // of the layer and head, from slot 0 on
  const std::int32_t *pages;
  int slots, columns; // of the cache; of the request's row of pages
};

/// A run's part on the tensor cores. `scratch` has room for three blocks, whether each of a block's keys is there, and
/// a CacheHead. A function of its own: it needs the registers that its callers have for other tasks.
template <int Group, int D, int Page, class T>
__device__ __noinline__ void attend_run(const Memory<T, 2> &query, const Memory<T, 2> &out, const Memory<T, 4> &keys,
                                        const Memory<T, 4> &values, const Memory<std::int32_t, 2> &pages,
                                        const CacheRow at, const RunPart run, float scale, char *scratch) {
  using Rows = BlockRows<D>;
  constexpr int pieces = D / 8;
  constexpr int mine = (block_positions * pieces + compute_threads - 1) / compute_threads; // pieces of a thread
  constexpr float log2_e = 1.44269504f;
  const int thread = Worker::kept_lane(), warp = thread / 32, lane = thread % 32, g = lane / 4, c = lane % 4;
  const std::uint32_t shared = ptx::kept(ptx::shared_address(scratch));
  int *const there = reinterpret_cast<int *>(scratch + 3 * Rows::bytes); // of a block's keys
  const int rows = (run.end - run.begin) * Group;
  volatile CacheHead<T> *const cache =
      reinterpret_cast<CacheHead<T> *>(scratch + 3 * Rows::bytes + 4 * block_positions);
  Worker::sync(); // nobody reads what was there before
  if (thread == 0) {
    const bool has_pages = at.request >= 0 && at.request < pages.dims[0];
    cache->keys = cache_row(keys, at, 0);
    cache->values = cache_row(values, at, 0);
    cache->pages = pages.data + (has_pages ? at.request * pages.dims[1] : 0);
    cache->slots = (int)keys.dims[2];
    cache->columns = has_pages ? (int)pages.dims[1] : 0;
  }
  Worker::sync();

  // Of the block that is fetched next: the pages of this thread's pieces, and of a key which it says of whether it is
  // there. What is loaded is looked at a phase later: a warp that waits has no other to run beside it.
  const int own_key = thread / 8;
  int page[mine], key_page;
  bool is_live = true; // that key
  const auto piece_row = [&](int i) { return (thread + i * compute_threads) / pieces; };
  const auto page_at = [&](const std::int32_t *row, int columns, int position, int end) {
    return position < end && position / Page < columns ? row[position / Page] : -1;
  };
  const auto find_pages = [&](int first, int end) {
    const std::int32_t *row = cache->pages;
    const int columns = cache->columns;
#pragma unroll
    for (int i = 0; i < mine; ++i)
      page[i] = page_at(row, columns, piece_row(i) < block_positions ? first + piece_row(i) : end, end);
    key_page = page_at(row, columns, first + own_key, end);
  };
  const auto slot_in = [&](int of, int position, int slots) {
    const int slot = of * Page + position % Page;
    return of < 0 || of > (1 << 30) / Page || slot >= slots ? -1 : slot;
  };
  const auto fetch = [&](const T *data, int first, std::uint32_t block) {
    const int slots = cache->slots;
#pragma unroll
    for (int i = 0; i < mine; ++i)
      if (piece_row(i) < block_positions) {
        const int piece = (thread + i * compute_threads) % pieces, slot = slot_in(page[i], first + piece_row(i), slots);
        ptx::copy_piece(block + Rows::place(piece_row(i), piece),
                        data + (std::int64_t)(slot < 0 ? 0 : slot) * D + 8 * piece, slot >= 0);
      }
  };
  const auto find_key = [&](int first) { is_live = slot_in(key_page, first + own_key, cache->slots) >= 0; };

  for (int first = 0; first < rows; first += 16 * compute_warps) {
    const int row0 = first + 16 * warp;                                                            // of this warp
    const int end = run.position + ((int)least(rows, first + 16 * compute_warps) - 1) / Group + 1; // of the positions
    std::uint32_t q[D / 16][4];
    float m[2], sum[2], acc[D / 8][4];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int row = row0 + 8 * h + g, token = run.begin + row / Group;
      const bool exists = row < rows;
      const T *from = query.data + token * query.dims[1] + (at.head * Group + row % Group) * D + 2 * c;
#pragma unroll
      for (int i = 0; i < D / 16; ++i) {
        q[i][h] = exists ? *reinterpret_cast<const std::uint32_t *>(from + 16 * i) : 0;
        q[i][2 + h] = exists ? *reinterpret_cast<const std::uint32_t *>(from + 16 * i + 8) : 0;
      }
      m[h] = -1e30f;
      sum[h] = 0;
    }
#pragma unroll
    for (int n = 0; n < D / 8; ++n)
      acc[n][0] = acc[n][1] = acc[n][2] = acc[n][3] = 0;
    const int all_see = run.position + row0 / Group;
    const int any_sees = row0 < rows ? run.position + ((int)least(rows, row0 + 16) - 1) / Group : -1;

    // Places are used in turn: keys, values, keys, …
    std::uint32_t key_block = shared, value_block = shared + Rows::bytes, next_block = shared + 2 * Rows::bytes;
    Worker::sync(); // the last blocks of what came before have been read by all
    find_pages(0, end);
    fetch(cache->keys, 0, key_block);
    ptx::end_copies();
    find_key(0);
    fetch(cache->values, 0, value_block);
    ptx::end_copies();
    find_pages(block_positions, end);
    for (int block = 0; block < end; block += block_positions) {
      const bool is_last = block + block_positions >= end, computes = block <= any_sees;
      ptx::await_copies<1>();
      if (thread % 8 == 0)
        there[own_key] = is_live;
      const bool has_holes = Worker::any(!is_live);
      if (!is_last) {
        fetch(cache->keys, block + block_positions, next_block);
        find_key(block + block_positions);
      }
      ptx::end_copies();
      float s[4][4] = {};
      if (computes) {
        std::uint32_t b[2][4];
        const auto load = [&](int i) { // 16 columns of 16 positions
          ptx::load_matrices(
              b[i % 2], key_block + Rows::place(16 * (i % 2) + lane / 16 * 8 + lane % 8, i / 2 * 2 + lane / 8 % 2));
        };
        load(0);
#pragma unroll
        for (int i = 0; i < D / 8; ++i) {
          if (i + 1 < D / 8)
            load(i + 1);
          const std::uint32_t(&a)[4] = q[i / 2];
          mma<T>(s[i % 2 * 2], a[0], a[1], a[2], a[3], b[i % 2][0], b[i % 2][1]);
          mma<T>(s[i % 2 * 2 + 1], a[0], a[1], a[2], a[3], b[i % 2][2], b[i % 2][3]);
        }
        const bool is_masked = has_holes || block + block_positions - 1 > all_see;
#pragma unroll
        for (int n = 0; n < 4; ++n)
#pragma unroll
          for (int e = 0; e < 4; ++e)
            s[n][e] *= log2_e * scale;
        if (is_masked) {
#pragma unroll
          for (int n = 0; n < 4; ++n)
#pragma unroll
            for (int e = 0; e < 4; ++e) {
              const int position = 8 * n + 2 * c + e % 2;
              if (block + position > run.position + (row0 + e / 2 * 8 + g) / Group || !there[position])
                s[n][e] = -INFINITY;
            }
        }
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          float largest = m[h];
#pragma unroll
          for (int n = 0; n < 4; ++n)
            largest = fmaxf(largest, fmaxf(s[n][2 * h], s[n][2 * h + 1]));
          largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, 1));
          largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, 2));
          const float keep = evt::exp2_near(m[h] - largest);
          m[h] = largest;
          float total = 0;
#pragma unroll
          for (int n = 0; n < 4; ++n)
#pragma unroll
            for (int e = 2 * h; e < 2 * h + 2; ++e) {
              s[n][e] = evt::exp2_near(s[n][e] - largest);
              total += s[n][e];
            }
          sum[h] = __fmaf_rn(sum[h], keep, total);
          if (__any_sync(~0u, keep != 1.0f)) {
#pragma unroll
            for (int n = 0; n < D / 8; ++n) {
              acc[n][2 * h] *= keep;
              acc[n][2 * h + 1] *= keep;
            }
          }
        }
      }
      ptx::await_copies<1>();
      Worker::sync();
      if (!is_last) {
        fetch(cache->values, block + block_positions, key_block);
        find_pages(block + 2 * block_positions, end);
      }
      ptx::end_copies();
      if (computes) {
        std::uint32_t weights[2][4], b[2][4];
#pragma unroll
        for (int half = 0; half < 2; ++half)
#pragma unroll
          for (int i = 0; i < 4; ++i)
            weights[half][i] = packed<T>(s[2 * half + i / 2][i % 2 * 2], s[2 * half + i / 2][i % 2 * 2 + 1]);
        constexpr int steps = D / 16; // of 16 columns, for either half of the positions
        const auto load = [&](int i) {
          ptx::load_matrices_transposed(
              b[i % 2], value_block + Rows::place(16 * (i / steps) + lane % 16, i % steps * 2 + lane / 16));
        };
        load(0);
#pragma unroll
        for (int i = 0; i < 2 * steps; ++i) {
          if (i + 1 < 2 * steps)
            load(i + 1);
          const std::uint32_t(&w)[4] = weights[i / steps];
          mma<T>(acc[i % steps * 2], w[0], w[1], w[2], w[3], b[i % 2][0], b[i % 2][1]);
          mma<T>(acc[i % steps * 2 + 1], w[0], w[1], w[2], w[3], b[i % 2][2], b[i % 2][3]);
        }
      }
      const std::uint32_t free_block = value_block;
      value_block = key_block;
      key_block = next_block;
      next_block = free_block;
    }
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      sum[h] += __shfl_xor_sync(~0u, sum[h], 1);
      sum[h] += __shfl_xor_sync(~0u, sum[h], 2);
      const float share = sum[h] == 0 ? 0.0f : 1.0f / sum[h];
      const int row = row0 + 8 * h + g, token = run.begin + row / Group;
      if (row < rows) {
        T *to = out.data + token * out.dims[1] + (at.head * Group + row % Group) * D + 2 * c;
#pragma unroll
        for (int n = 0; n < D / 8; ++n)
          *reinterpret_cast<std::uint32_t *>(to + 8 * n) = packed<T>(acc[n][2 * h] * share, acc[n][2 * h + 1] * share);
      }
    }
  }
}

/// The same in the plain way: warps take rows in turn.
template <int Group, int D, int Page, class T>
__device__ __noinline__ void attend_run_plainly(const Memory<T, 2> &query, const Memory<T, 2> &out,
                                                const Memory<T, 4> &keys, const Memory<T, 4> &values,
                                                const Memory<std::int32_t, 2> &pages, const CacheRow &at,
                                                const RunPart &run, float scale) {
  constexpr int mine = (D + 31) / 32; // columns of a lane
  const int thread = Worker::kept_lane(), warp = thread / 32, lane = thread % 32;
  for (int row = warp; row < (run.end - run.begin) * Group; row += compute_warps) {
    const int token = run.begin + row / Group;
    const std::int64_t column = (at.head * Group + row % Group) * D;
    const T *q = query.data + token * query.dims[1] + column;
    float largest = -1e30f, total = 0, sums[mine] = {};
    for (int p = 0; p <= run.position + row / Group; ++p) {
      const int slot = slot_of<Page>(pages, at.request, p, keys.dims[2]);
      if (slot < 0)
        continue;
      const T *key = cache_row(keys, at, slot), *value = cache_row(values, at, slot);
      float score = 0;
#pragma unroll
      for (int i = 0; i < mine; ++i)
        if (lane + 32 * i < D)
          score = __fmaf_rn((float)q[lane + 32 * i], (float)key[lane + 32 * i], score);
#pragma unroll
      for (int other = 16; other; other /= 2)
        score += __shfl_xor_sync(~0u, score, other);
      score *= scale;
      const float larger = score > largest ? score : largest, keep = evt::exp(largest - larger);
      const float weight = evt::exp(score - larger);
      largest = larger;
      total = total * keep + weight;
#pragma unroll
      for (int i = 0; i < mine; ++i)
        if (lane + 32 * i < D)
          sums[i] = __fmaf_rn((float)T(weight), (float)value[lane + 32 * i], sums[i] * keep);
    }
#pragma unroll
    for (int i = 0; i < mine; ++i)
      if (lane + 32 * i < D)
        out.data[token * out.dims[1] + column + lane + 32 * i] = T(total == 0 ? 0.0f : sums[i] / total);
  }
}

} // namespace detail

/// Bytes that attention of tokens needs beside its operands.
template <class T> constexpr int attend_tokens_bytes(int columns) {
  return detail::has_block_form<T>(columns)
             ? detail::block_positions * (3 * (2 * columns + (columns % 64 ? 16 : 0)) + 4) +
                   (int)sizeof(detail::CacheHead<T>)
             : 0;
}

/// How many of `Count` tokens from `from` on belong to runs of less than `Enough`. The same for all threads.
template <std::int64_t Count, std::int64_t Enough>
__device__ inline std::int64_t short_tokens(Worker &, const Memory<std::int32_t, 1> &requests,
                                            const Memory<std::int32_t, 1> &positions, std::int64_t from) {
  const StepTokens tokens = detail::tokens_of(requests, positions);
  int count = 0;
  detail::visit_runs<(int)Enough>(tokens, (int)most(from, 0), (int)least(from + Count, tokens.count),
                                  [&](int begin, int end, bool is_long) { count += is_long ? 0 : end - begin; });
  return count;
}

/// `Group` query heads share a key/value head.
template <std::int64_t Tokens, std::int64_t Group, std::int64_t D, std::int64_t Page, std::int64_t Enough, class T>
__device__ inline void attend_tokens(Worker &, const Memory<T, 2> &query, const Memory<T, 2> &out,
                                     const Memory<std::int32_t, 1> &requests, const Memory<std::int32_t, 1> &positions,
                                     const Memory<T, 4> &keys, const Memory<T, 4> &values,
                                     const Memory<std::int32_t, 2> &pages, std::int64_t layer, std::int64_t first,
                                     std::int64_t head, float scale, char *scratch) {
  const StepTokens tokens = detail::tokens_of(requests, positions);
  if (layer < 0 || layer >= keys.dims[0] || head < 0 || head >= keys.dims[1])
    return;
  const auto attend = [&](int begin, int end, bool is_long) {
    if (!is_long)
      return;
    const CacheRow at{layer, tokens.requests[begin], head};
    const detail::RunPart run{begin, end, tokens.positions[begin]};
    if constexpr (detail::has_block_form<T>((int)D))
      detail::attend_run<(int)Group, (int)D, (int)Page>(query, out, keys, values, pages, at, run, scale, scratch);
    else
      detail::attend_run_plainly<(int)Group, (int)D, (int)Page>(query, out, keys, values, pages, at, run, scale);
  };
  const std::int64_t last = least(first + Tokens, least(tokens.count, query.dims[0]));
  detail::visit_runs<(int)Enough>(tokens, (int)most(first, 0), (int)last, attend);
}

} // namespace evt::tile
