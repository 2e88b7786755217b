// A head of consecutive tokens on its way from a product to where attention finds it (evt.rotate_head).
#pragma once

#include "device/common/attention.h"
#include "device/cpu/memory.h"

namespace evt::tile {

/// `slots`, `cosines` and `sines`, `weights` and `squares` may be Nothing.
template <std::int64_t Tokens, std::int64_t Columns, class T, int Rank, class Slots, class Turn, class Weights,
          class Squares>
void rotate_head(Worker &w, const Memory<float, 2> &x, const Memory<T, Rank> &out, const Slots &slots,
                 const Turn &cosines, const Turn &sines, const Weights &weights, const Squares &squares, float epsilon,
                 std::int64_t token, std::int64_t column, std::int64_t layer, std::int64_t head) {
  constexpr std::int64_t half = Columns / 2, parts = half / 8;
  constexpr bool turns = !__is_same(Turn, Nothing), norms = !__is_same(Weights, Nothing),
                 says = !__is_same(Squares, Nothing);
  float unit[parts];
  for (float &part : unit)
    part = rooted_square(epsilon);
  for (std::int64_t t = token; t < token + Tokens; ++t) {
    if (t < 0 || t >= x.dims[0])
      continue;
    float row[Columns];
    load_tile<1, Columns>(w, row, x, {t, column}, 0.0f);
    if constexpr (norms) {
      float factor[Columns];
      load_tile<1, Columns>(w, factor, weights, {layer, 0}, 0.0f);
      float sum = 0;
      for (std::int64_t i = 0; i < Columns; ++i)
        sum += row[i] * row[i];
      const float root = rsqrt_near(sum / (float)Columns + epsilon);
      for (std::int64_t i = 0; i < Columns; ++i)
        row[i] *= factor[i] * root;
    }
    if constexpr (turns) {
      float c[half], s[half];
      load_tile<1, half>(w, c, cosines, {t, 0}, 0.0f);
      load_tile<1, half>(w, s, sines, {t, 0}, 0.0f);
      for (std::int64_t i = 0; i < half; ++i) {
        const float low = row[i], high = row[i + half];
        row[i] = low * c[i] - high * s[i];
        row[i + half] = high * c[i] + low * s[i];
      }
    }
    T rounded[Columns];
    for (std::int64_t i = 0; i < Columns; ++i)
      rounded[i] = T(row[i]);
    if constexpr (Rank == 4) {
      const std::int64_t slot = read_table(w, slots, {t});
      if (slot < 0)
        continue;
      store_tile<1, 1, 1, Columns>(w, rounded, out, {layer, head, slot, 0});
      if constexpr (says)
        store_tile<1, 1, 1, parts>(w, unit, squares, {layer, head, slot, 0});
    } else {
      store_tile<1, Columns>(w, rounded, out, {t, head * Columns});
      if constexpr (says)
        store_tile<1, parts>(w, unit, squares, {t, head * parts});
    }
  }
}

} // namespace evt::tile
