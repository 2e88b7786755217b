// Sampling a token by all compute threads: a candidate of each chunk of the vocabulary (evt.draw), then one token of
// them (evt.sample). What is computed is in device/common/sampling.h, so a token is the one of the CPU, bit for bit.
//
// A greedy request is the end of a step's chain of tasks, so it has as few barriers as can be: one in a chunk, none in
// the merge, which one warp makes. Filters look for their threshold with histograms in shared memory. The first pass is
// over all of a row; as soon as few tokens are left, these are put into a list in shared memory, and what follows is
// quick.
#pragma once

#include "device/common/sampling.h"
#include "device/cuda/memory.h"
#include "device/cuda/tile/attend.h"

namespace evt::tile {

namespace detail {

using sampling::Choice;

__device__ inline Choice choice_at(const Memory<float, 2> &rates, const Memory<std::int32_t, 2> &choices,
                                   std::int64_t row) {
  if (row < 0 || row >= rates.dims[0] || row >= choices.dims[0])
    return {};
  return sampling::choice_of(rates.data + row * sampling::rate_columns, choices.data + row * sampling::choice_columns);
}

__device__ inline std::uint64_t largest_of_warp(std::uint64_t order) {
  const std::uint32_t high = (std::uint32_t)(order >> 32), most = __reduce_max_sync(~0u, high);
  return (std::uint64_t)most << 32 | __reduce_max_sync(~0u, high == most ? (std::uint32_t)order : 0u);
}
__device__ inline std::uint64_t sum_of_warp(std::uint64_t x) {
#pragma unroll
  for (int other = 16; other; other /= 2)
    x += __shfl_xor_sync(~0u, x, other);
  return x;
}

template <class T> __device__ inline bool steps_by_four(const T *from, std::int64_t row_length) {
  return row_length % 4 == 0 && reinterpret_cast<std::uintptr_t>(from) % 16 == 0;
}

/// Where a request's past is.
struct Past {
  const std::int32_t *history, *pages;
  std::int64_t slots;
  int page_rows, page_columns, page_slots;
};

/// What the past has of the tokens first … first + chunk - 1; `past` is shared memory.
__device__ inline void count_past(std::uint32_t *past, int chunk, const Choice &how, std::int64_t first,
                                  const Past &from) {
  for (int i = Worker::lane(); i < chunk; i += Worker::lanes())
    past[i] = 0;
  Worker::sync();
  const bool exists = how.row >= 0 && how.row < from.page_rows;
  const int end = exists ? (int)least(how.position, (std::int64_t)from.page_columns * from.page_slots) : 0;
#pragma unroll 2
  for (int position = Worker::lane(); position < end; position += Worker::lanes()) {
    const std::int64_t page = from.pages[(std::int64_t)how.row * from.page_columns + position / from.page_slots];
    const std::int64_t slot = page * from.page_slots + position % from.page_slots;
    const std::int64_t at = page < 0 || slot >= from.slots ? -1 : from.history[slot] - first;
    if (at < 0 || at >= chunk)
      continue;
    if (position < how.prompt)
      atomicOr(past + at, sampling::in_prompt);
    else
      atomicAdd(past + at, 1u);
  }
  Worker::sync();
}

/// Shared memory of evt.draw, behind a word for each token of the chunk.
struct DrawRoom {
  std::uint64_t best[compute_warps], sums[compute_warps];
  std::uint32_t largest[compute_warps];
};

/// Shared memory of evt.sample. What a search knows is here, too: a large kernel has few registers left.
struct Room {
  static constexpr int most = 1024; // tokens of a list
  std::uint64_t masses[sampling::Search::bins], best[compute_warps], limit;
  std::uint32_t counts[sampling::Search::bins];
  float scores[most];
  std::int32_t tokens[most];
  sampling::Search search;
  std::uint32_t listed, is_list, fits;
};
static_assert(sizeof(Room) <= 2880 * 4);

/// Each token of a row, or of the list of those that are left.
template <class Use> __device__ inline void each_token(const Room &room, const float *row, int vocabulary, Use use) {
  int done = 0;
  const bool is_list = room.is_list;
  if (!is_list && steps_by_four(row, vocabulary)) {
    constexpr int deep = 4; // loads on their way at once
    const int groups = vocabulary / 4;
#pragma unroll 1
    for (int first = Worker::lane(); first < groups; first += deep * compute_threads) {
      float4 z[deep];
#pragma unroll
      for (int i = 0; i < deep; ++i)
        if (first + i * compute_threads < groups)
          z[i] = reinterpret_cast<const float4 *>(row)[first + i * compute_threads];
#pragma unroll
      for (int i = 0; i < deep; ++i)
        if (const int token = 4 * (first + i * compute_threads); token < vocabulary) {
          use(z[i].x, token);
          use(z[i].y, token + 1);
          use(z[i].z, token + 2);
          use(z[i].w, token + 3);
        }
    }
    done = vocabulary;
  }
  const int end = is_list ? (int)room.listed : vocabulary;
  const float *from = is_list ? room.scores : row;
#pragma unroll 1
  for (int i = done + Worker::lane(); i < end; i += Worker::lanes())
    use(from[i], is_list ? room.tokens[i] : i);
}

/// One warp: the next range of a search, and whether so few tokens are left that they fit a list.
__device__ inline void narrow(Room &room, bool weighs, float top_p, bool is_first) {
  constexpr int mine = sampling::Search::bins / 32;
  const int lane = Worker::lane() % 32;
  std::uint32_t count = 0;
  std::uint64_t mass = 0;
#pragma unroll
  for (int i = 0; i < mine; ++i) {
    count += room.counts[lane * mine + i];
    mass += room.masses[lane * mine + i];
  }
  // Sums of the lanes after this one.
  const std::uint32_t my_count = count;
  const std::uint64_t my_mass = mass;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const std::uint32_t more = __shfl_down_sync(~0u, count, step);
    const std::uint64_t heavier = __shfl_down_sync(~0u, mass, step);
    count += lane + step < 32 ? more : 0;
    mass += lane + step < 32 ? heavier : 0;
  }
  if (weighs && is_first)
    room.limit = sampling::mass_limit(top_p, __shfl_sync(~0u, mass, 0));
  __syncwarp();
  const std::uint64_t limit = room.limit;
  count += room.search.count_above - my_count;
  mass += room.search.mass_above - my_mass;
  int chosen = -1;
  std::uint32_t count_above = 0, inside = 0;
  std::uint64_t mass_above = 0;
#pragma unroll 1
  for (int i = mine - 1; i >= 0; --i) {
    const std::uint32_t here = room.counts[lane * mine + i];
    if (here && (weighs ? mass : count) < limit) {
      chosen = lane * mine + i;
      count_above = count;
      mass_above = mass;
      inside = here;
    }
    count += here;
    mass += room.masses[lane * mine + i];
  }
  // The lowest lane that keeps something knows.
  if (lane == __ffs(__ballot_sync(~0u, chosen >= 0)) - 1) {
    sampling::Search search = room.search;
    search.count_above = count_above;
    search.mass_above = mass_above;
    search.choose(chosen);
    room.search = search;
    room.fits = count_above + inside <= Room::most;
  }
}

/// Searches for the lowest score that top-p, which weighs, or top-k keeps: it is `low` of the room's search then.
__device__ inline void threshold(Room &room, const float *row, int vocabulary, bool weighs, float highest,
                                 float top_p) {
  using namespace sampling;
#pragma unroll 1
  for (bool is_first = true;; is_first = false) {
    Worker::sync();
    if (room.search.is_done())
      return;
    room.counts[Worker::lane()] = 0;
    room.masses[Worker::lane()] = 0;
    if (Worker::lane() == 0 && !room.is_list)
      room.listed = 0;
    Worker::sync();
    const float low = float_of(room.search.low), base = float_of(room.search.base), high = float_of(room.search.high);
    // Most tokens are far below, where their counting would hit one word.
    std::uint32_t below = 0;
    std::uint64_t mass_below = 0;
    each_token(room, row, vocabulary, [&](float z, int) {
      if (z < low || z > high)
        return;
      const std::uint64_t mass = weighs ? units(weight(z, highest)) : 0;
      if (z < base) {
        ++below;
        mass_below += mass;
        return;
      }
      const int bin = 1 + (int)((key_of(z) - room.search.base) >> room.search.shift);
      atomicAdd(room.counts + bin, 1u);
      if (weighs)
        atomicAdd((unsigned long long *)room.masses + bin, (unsigned long long)mass);
    });
    below = __reduce_add_sync(~0u, below);
    mass_below = sum_of_warp(mass_below);
    if (Worker::lane() % 32 == 0 && below) {
      atomicAdd(room.counts, below);
      atomicAdd((unsigned long long *)room.masses, (unsigned long long)mass_below);
    }
    Worker::sync();
    if (Worker::lane() < 32)
      narrow(room, weighs, top_p, is_first);
    Worker::sync();
    if (room.fits && !room.is_list) {
      const float kept = float_of(room.search.low);
      each_token(room, row, vocabulary, [&](float z, int token) {
        if (z >= kept) {
          const std::uint32_t at = atomicAdd(&room.listed, 1u);
          room.scores[at] = z;
          room.tokens[at] = token;
        }
      });
      Worker::sync();
      if (Worker::lane() == 0)
        room.is_list = 1;
    }
  }
}
static_assert(sampling::Search::bins == compute_threads);

/// Few tokens are kept, and code for them would be at every place that looks at one.
__device__ __noinline__ inline std::uint64_t drawn(float z, int token, std::uint32_t seed0, std::uint32_t seed1,
                                                   std::int32_t position) {
  Choice how{};
  how.seed[0] = seed0;
  how.seed[1] = seed1;
  how.position = position;
  return sampling::order_of(z + sampling::noise_at(how, (std::uint32_t)token), (std::uint32_t)token);
}

/// The token that is drawn from what the filters keep. `how` is looked up where it is needed.
template <class Look>
__device__ inline std::uint64_t draw_filtered(const float *row, int vocabulary, float highest, Room &room, Look look) {
  using namespace sampling;
  if (Worker::lane() == 0) {
    room.is_list = 0;
    room.search = Search::from(key_of(-evt::detail::infinity), highest);
    room.limit = (std::uint64_t)look().top_k;
  }
  if (const int top_k = look().top_k; top_k > 0 && top_k < vocabulary) {
    threshold(room, row, vocabulary, false, highest, 1);
    Worker::sync();
    if (Worker::lane() == 0)
      room.search = Search::from(room.search.low, highest);
  }
  if (const float top_p = look().top_p; top_p < 1)
    threshold(room, row, vocabulary, true, highest, top_p);
  Worker::sync();
  const float lowest = float_of(room.search.low), min_p = look().min_p;
  const Choice how = look();
  std::uint64_t best = 0;
  each_token(room, row, vocabulary, [&](float z, int token) {
    if (z < lowest || weight(z, highest) < min_p)
      return;
    const std::uint64_t order = drawn(z, token, how.seed[0], how.seed[1], how.position);
    best = order > best ? order : best;
  });
  best = largest_of_warp(best);
  if (Worker::lane() % 32 == 0)
    room.best[Worker::lane() / 32] = best;
  Worker::sync();
#pragma unroll
  for (int w = 0; w < compute_warps; ++w)
    best = room.best[w] > best ? room.best[w] : best;
  return best;
}

/// Four logits from `at` on; what is not there is not used.
__device__ inline void load_four(float (&x)[4], const float *row, int at, int count, bool by_four) {
  if (by_four && at < count) {
    const float4 four = *reinterpret_cast<const float4 *>(row + at);
    x[0] = four.x;
    x[1] = four.y;
    x[2] = four.z;
    x[3] = four.w;
  } else {
#pragma unroll
    for (int i = 0; i < 4; ++i)
      x[i] = !by_four && at + i < count ? row[at + i] : 0.0f;
  }
#pragma unroll
  for (int i = 0; i < 4; ++i)
    x[i] = sampling::clean(x[i]);
}

/// The largest of a chunk's logits and the sum of their weights, in the room.
__device__ inline void weigh(const float *row, int count, bool by_four, DrawRoom &room) {
  using namespace sampling;
  const int lane = Worker::lane();
  std::uint32_t most_key = 0;
#pragma unroll 1
  for (int at = 4 * lane; at < count; at += 4 * compute_threads) {
    float x[4];
    load_four(x, row, at, count, by_four);
#pragma unroll
    for (int i = 0; i < 4; ++i)
      if (const std::uint32_t key = key_of(x[i]); at + i < count && key > most_key)
        most_key = key;
  }
  most_key = __reduce_max_sync(~0u, most_key);
  if (lane % 32 == 0)
    room.largest[lane / 32] = most_key;
  Worker::sync();
#pragma unroll
  for (int w = 0; w < compute_warps; ++w)
    most_key = room.largest[w] > most_key ? room.largest[w] : most_key;
  const float largest = float_of(most_key);
  std::uint64_t sum = 0;
#pragma unroll 1
  for (int at = 4 * lane; at < count; at += 4 * compute_threads) {
    float x[4];
    load_four(x, row, at, count, by_four);
#pragma unroll
    for (int i = 0; i < 4; ++i)
      sum += at + i < count ? units(weight(x[i], largest)) : 0;
  }
  sum = sum_of_warp(sum);
  if (lane % 32 == 0)
    room.sums[lane / 32] = sum;
}

/// All but the largest logit as it is.
__device__ inline std::uint64_t draw_otherwise(const float *rates, const std::int32_t *choices, const float *row,
                                               float *scaled, std::int64_t column, int count, std::int64_t vocabulary,
                                               Past from, int chunk, std::uint32_t *past, DrawRoom &room) {
  using namespace sampling;
  const Choice how = choice_of(rates, choices);
  const bool filtered = how.has_filter(vocabulary), penalties = how.has_penalties(), greedy = how.is_greedy();
  const bool by_four = steps_by_four(row, vocabulary);
  if (how.logprob)
    weigh(row, count, by_four, room);
  if (penalties)
    count_past(past, chunk, how, column, from);
  std::uint64_t best = 0;
#pragma unroll 1
  for (int at = 4 * Worker::lane(); at < count; at += 4 * compute_threads) {
    float x[4], noise[4] = {};
    load_four(x, row, at, count, by_four);
    if (!greedy && !filtered)
      noise_of(how, (std::uint32_t)(column + at) / 4, noise);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (at + i >= count)
        continue;
      float z = penalties ? penalized(how, x[i], past[at + i]) : x[i];
      if (!greedy)
        z = clean(z / how.temperature);
      if (filtered)
        scaled[at + i] = z;
      const std::uint64_t order = order_of(z + noise[i], (std::uint32_t)(at + i));
      best = order > best ? order : best;
    }
  }
  return best;
}

/// The logarithm of a token's probability, by one warp.
__device__ inline float logprob_of(const float *part, int parts, float logit) {
  using namespace sampling;
  const int lane = Worker::lane() % 32;
  std::uint32_t most_key = 0;
#pragma unroll 1
  for (int c = lane; c < parts; c += 32)
    most_key = key_of(part[4 * c + 2]) > most_key ? key_of(part[4 * c + 2]) : most_key;
  const float largest = float_of(__reduce_max_sync(~0u, most_key));
  std::uint64_t sum = 0;
#pragma unroll 1
  for (int c = lane; c < parts; c += 32)
    sum += units(part[4 * c + 3] * weight(part[4 * c + 2], largest));
  const float x = clean(logit);
  return (x == largest ? 0.0f : x - largest) - evt::log(from_units(sum_of_warp(sum)));
}

/// A function of its own, as evt.sample below is: what the tasks of a kernel have in registers is not in its way, nor
/// it in theirs. The memories are in shared memory.
template <int Chunk, int Page>
__device__ __noinline__ void draw_chunk(float *part, const Memory<float, 2> &logits, const Memory<float, 2> &rates,
                                        const Memory<std::int32_t, 2> &choices, const Memory<std::int32_t, 1> &history,
                                        const Memory<std::int32_t, 2> &pages, const Memory<float, 2> &scaled,
                                        std::int64_t row, std::int64_t column, std::uint32_t *shared) {
  using namespace sampling;
  constexpr int groups = Chunk / (4 * compute_threads); // of four tokens, of a thread
  static_assert(groups * 4 * compute_threads == Chunk && sizeof(DrawRoom) <= 64 * 4);
  const std::int64_t vocabulary = logits.dims[1];
  const bool exists = row >= 0 && row < logits.dims[0] && column >= 0;
  const int count = exists ? (int)most(0, least(Chunk, vocabulary - column)) : 0;
  const int lane = Worker::lane();
  const Choice how = choice_at(rates, choices, row);
  DrawRoom &room = *reinterpret_cast<DrawRoom *>(shared + Chunk);
  const float *from = logits.data + row * vocabulary + column;
  const bool by_four = steps_by_four(from, vocabulary);
  const bool plain = how.is_greedy() && !how.has_penalties() && !how.logprob;

  std::uint64_t best = 0;
  float x[groups][4]; // on their way while the tables are looked at
#pragma unroll
  for (int g = 0; g < groups; ++g)
    load_four(x[g], from, 4 * (lane + g * compute_threads), count, by_four);
#pragma unroll
  for (int g = 0; g < groups; ++g)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int at = 4 * (lane + g * compute_threads) + i;
      const std::uint64_t order = at < count ? order_of(x[g][i], (std::uint32_t)at) : 0;
      best = order > best ? order : best;
    }
  if (!plain && count)
    best = draw_otherwise(rates.data + row * rate_columns, choices.data + row * choice_columns, from,
                          scaled.data + row * vocabulary + column, column, count, vocabulary,
                          {history.data, pages.data, history.dims[0], (int)pages.dims[0], (int)pages.dims[1], Page},
                          Chunk, shared, room);
  best = largest_of_warp(best);
  if (lane % 32 == 0)
    room.best[lane / 32] = best;
  Worker::sync();
  if (lane == 0) {
    std::uint32_t most_key = 0;
    std::uint64_t sum = 0;
#pragma unroll
    for (int w = 0; w < compute_warps; ++w)
      best = room.best[w] > best ? room.best[w] : best;
    if (how.logprob)
      for (int w = 0; w < compute_warps; ++w) {
        most_key = room.largest[w] > most_key ? room.largest[w] : most_key;
        sum += room.sums[w];
      }
    part[0] = count ? score_of(best) : -evt::detail::infinity;
    part[1] = count ? (float)token_of(best) : 0.0f;
    part[2] = !count ? -evt::detail::infinity : how.logprob ? float_of(most_key) : 0.0f;
    part[3] = count && how.logprob ? from_units(sum) : 0.0f;
  }
}

template <int Parts, int Chunk>
__device__ __noinline__ void sample_row(std::int32_t *token, float *logprob, const Memory<float, 3> &parts,
                                        const Memory<float, 2> &scaled, const Memory<float, 2> &logits,
                                        const Memory<float, 2> &rates, const Memory<std::int32_t, 2> &choices,
                                        std::int64_t row, std::uint32_t *shared) {
  using namespace sampling;
  constexpr int each = (Parts + 31) / 32;
  const std::int64_t vocabulary = logits.dims[1];
  const int lane = Worker::lane() % 32;
  const bool exists = row >= 0 && row < parts.dims[0];
  const float *part = parts.data + row * Parts * 4;
  float score[each], at[each]; // on their way while the tables are looked at
#pragma unroll
  for (int i = 0; i < each; ++i)
    if (const int c = lane + 32 * i; c < Parts && exists) {
      score[i] = part[4 * c];
      at[i] = part[4 * c + 1];
    }
  const Choice how = choice_at(rates, choices, row);
  const bool filtered = how.has_filter(vocabulary) && exists;
  if (Worker::lane() >= 32 && !filtered)
    return;
  std::uint64_t best = 0;
#pragma unroll
  for (int i = 0; i < each; ++i)
    if (const int c = lane + 32 * i; c < Parts && exists) {
      const std::uint64_t order = order_of(score[i], (std::uint32_t)(c * Chunk + (int)at[i]));
      best = order > best ? order : best;
    }
  best = largest_of_warp(best);
  if (filtered)
    best = draw_filtered(scaled.data + row * vocabulary, (int)vocabulary, score_of(best),
                         *reinterpret_cast<Room *>(shared), [&] { return choice_at(rates, choices, row); });
  if (Worker::lane() >= 32)
    return;
  float found = 0;
  if (how.logprob && exists)
    found = logprob_of(part, Parts, logits.data[row * vocabulary + token_of(best)]);
  if (lane == 0) {
    *token = exists ? (std::int32_t)token_of(best) : 0;
    *logprob = found;
  }
}

} // namespace detail

/// `shared` has Chunk + 64 words. All compute threads; the result is there for all after the next barrier.
template <std::int64_t Chunk, std::int64_t Page>
__device__ inline void draw(Worker &, float *part, const Memory<float, 2> &logits, const Memory<float, 2> &rates,
                            const Memory<std::int32_t, 2> &choices, const Memory<std::int32_t, 1> &history,
                            const Memory<std::int32_t, 2> &pages, const Memory<float, 2> &scaled, std::int64_t row,
                            std::int64_t column, std::int32_t *shared) {
  detail::draw_chunk<(int)Chunk, (int)Page>(part, logits, rates, choices, history, pages, scaled, row, column,
                                            reinterpret_cast<std::uint32_t *>(shared));
}

/// `shared` has 2880 words. All compute threads; results are there for all after the next barrier.
template <std::int64_t Parts, std::int64_t Chunk>
__device__ inline void sample(Worker &, std::int32_t *token, float *logprob, const Memory<float, 3> &parts,
                              const Memory<float, 2> &scaled, const Memory<float, 2> &logits,
                              const Memory<float, 2> &rates, const Memory<std::int32_t, 2> &choices, std::int64_t row,
                              std::int32_t *shared) {
  detail::sample_row<(int)Parts, (int)Chunk>(token, logprob, parts, scaled, logits, rates, choices, row,
                                             reinterpret_cast<std::uint32_t *>(shared));
}

} // namespace evt::tile
