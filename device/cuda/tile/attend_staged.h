// Attention of up to 8 query rows over positions of a paged cache by way of shared memory (lent.h): the same numbers as
// those of attend_blocks.h, for tasks with many positions.
//
// What an SM can have on its way into registers is bounded by its cache, of which shared memory leaves next to nothing:
// 1.7 of 4.7 TB/s. Asynchronous copies pass by it. A warp copies blocks of 8 positions for itself, some ahead, half a
// warp a row; where pieces of a row lie is chosen such that fragments are read without conflicts:
//
//   keys     piece p of position g at p ^ 4 (g % 2): 8 lanes read 4 pieces each of two positions
//   values   piece p of position g at p ^ 2 (g / 2 % 4): 8 lanes read 2 pieces each of four positions
#pragma once

#include "device/cuda/lent.h"
#include "device/cuda/tile/attend_softmax.h"

namespace evt::tile {

/// Bytes of a block of 8 positions: keys, values, and what the roots of the keys' norms are found from.
template <std::int64_t D, class S> constexpr int staged_block_bytes() {
  return 8 * (4 * (int)D + (4 * parts_of_key<S>() + 15) / 16 * 16);
}
/// Blocks that a warp has room for: 8 KB and a little, of which one half is on its way while the other is multiplied.
/// Of 64 to 192 KB that an SM had on its way, none was faster than 64.
template <std::int64_t D> constexpr int staged_blocks() { return D > 128 ? 2 : 256 / (int)D; }

/// What a task that attends to many positions borrows.
template <std::int64_t R, std::int64_t D, class T, class S> constexpr Loan attention_loan(const Lender &from) {
  if constexpr (on_fragments<R, D, T>())
    return loan_of(from, staged_blocks<D>() * staged_block_bytes<D, S>());
  else
    return {};
}

/// Positions `from` … `to` - 1 of a request; `room` is the warp's own.
template <std::int64_t R, std::int64_t D, std::int64_t Page, class T, class S> class StagedAttention {
public:
  static_assert(on_fragments<R, D, T>());
  using Softmax = BlockSoftmax<R, D, T>;

  __device__ __forceinline__ StagedAttention(const Memory<T, 4> &keys, const Memory<T, 4> &values,
                                             const Memory<std::int32_t, 2> &pages, const S &squares, const CacheRow &at,
                                             int from, int to, std::uint32_t room)
      : room(room), slots((int)keys.dims[1]), stride((int)keys.dims[2]),
        columns_there(at.request >= 0 && at.request < pages.dims[0] ? (int)pages.dims[1] : 0), end(to),
        first(from + 8 * (thread / 32)), asked(first) {
    const std::int64_t row = at.layer * keys.dims[1] * keys.dims[2] + at.head;
    page_row = pages.data + at.request * pages.dims[1];
    key_row = keys.data + row * columns;
    value_row = values.data + row * columns;
    if constexpr (key_parts > 0)
      squares_row = squares.parts.data + row * key_parts;
    page = page_of(asked);
#pragma unroll
    for (int i = 0; i < blocks; ++i)
      ask(i);
  }

  /// As BlockAttention's, of one part.
  template <class Query, class Store>
  __device__ __forceinline__ void run(Query query, float scale, const S &squares, float *scratch, Store store) {
    const int lane = thread % 32, g = lane / 4, c = lane % 4;
    // Where the lane's pieces are in a block: of keys 4 i + c, of values 8 j + g.
    const std::uint32_t own_key = g * row_bytes + 16 * (c ^ g % 2 * 4);
    const std::uint32_t own_value = values_at + 2 * c * row_bytes + 16 * (g ^ c * 2);
    Softmax softmax;
    int turn = 0;
#pragma unroll 1
    for (; first < end; first += 8 * compute_warps) {
      ptx::await_copies<blocks - 1>();
      __syncwarp();
      const std::uint32_t block = room + turn * block_bytes;
      const float2 s = Softmax::scores(
          query, [&](int i) { return ptx::load_shared(block + (own_key ^ 64 * (i % 2)) + 128 * (i / 2)); });
      float root = 1;
      if constexpr (key_parts > 0)
        root = Softmax::template root<key_parts>(squares.epsilon, [&](int i) {
          const int at = 4 * i + lane / 8;
          return at < key_parts ? ptx::load_shared_float(block + squares_at + lane % 8 * square_bytes + 4 * at) : 0.0f;
        });
      float score[2];
      bool live[2];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        live[i] = there >> (2 * c + i) & 1;
        score[i] = (i ? s.y : s.x) * (key_parts ? scale * __shfl_sync(~0u, root, 2 * c + i) : scale);
      }
      const typename Softmax::Weights weights = softmax.weigh(score, live, c);
#pragma unroll
      for (int j = 0; j < Softmax::value_pieces; ++j)
        softmax.add(weights, j, ptx::load_shared(block + own_value + 128 * j),
                    ptx::load_shared(block + own_value + row_bytes + 128 * j));
      __syncwarp(); // all lanes have what they read of the block
      ask(turn);
      turn = turn + 1 == blocks ? 0 : turn + 1;
    }
    softmax.merge(thread, scratch, store);
  }

private:
  static constexpr int columns = (int)D, key_parts = parts_of_key<S>(), blocks = staged_blocks<D>();
  static_assert(1 < blocks && blocks <= 4);
  static constexpr int row_bytes = 2 * columns, pieces = row_bytes / 16;
  static constexpr int values_at = 8 * row_bytes, squares_at = 2 * values_at;
  static constexpr int square_bytes = (4 * key_parts + 15) / 16 * 16, block_bytes = squares_at + 8 * square_bytes;
  static_assert(block_bytes == staged_block_bytes<D, S>());

  // Of the layer and head: slot 0.
  const T *key_row, *value_row;
  const float *squares_row;
  const std::int32_t *page_row;
  const int thread = Worker::kept_lane();
  const std::uint32_t room;
  const int slots, stride, columns_there, end;
  int first, asked;        // the next block that this warp multiplies, and the next that it asks for
  int page;                // of that block's position lane % 8
  std::uint32_t there = 0; // which positions of the blocks from `first` on are there, 8 bits each

  __device__ __forceinline__ int page_of(int block) const {
    const int position = block + thread % 8, column = position / (int)Page;
    return position < end && column < columns_there ? page_row[column] : -1;
  }
  /// Asks for the next block; the page of the one after it is on its way meanwhile.
  __device__ __forceinline__ void ask(int turn) {
    const int lane = thread % 32, position = asked + lane % 8;
    const std::int64_t at = (std::int64_t)page * Page + position % (int)Page;
    const int slot = page < 0 || at >= slots ? -1 : (int)at;
    asked += 8 * compute_warps;
    page = page_of(asked);
    there = there >> 8 | (__ballot_sync(~0u, slot >= 0) & 0xff) << 8 * (blocks - 1);
    const std::uint32_t block = room + turn * block_bytes;
#pragma unroll
    for (int i = 0; i < 8 * pieces / 32; ++i) {
      const int row = (lane + 32 * i) / pieces, piece = (lane + 32 * i) % pieces;
      const int s = __shfl_sync(~0u, slot, row);
      const std::int64_t from = s < 0 ? 0 : (std::int64_t)s * stride * columns + 8 * piece;
      const std::uint32_t to = block + row * row_bytes;
      ptx::copy_piece(to + 16 * (piece ^ row % 2 * 4), key_row + from, s >= 0);
      ptx::copy_piece(to + values_at + 16 * (piece ^ row / 2 % 4 * 2), value_row + from, s >= 0);
    }
    if constexpr (key_parts > 0) {
      constexpr int each = square_bytes / 16; // pieces of a position, the last of which may be cut short
      static_assert(8 * each <= 32);
      const int s = __shfl_sync(~0u, slot, lane / each % 8), piece = lane % each;
      if (lane < 8 * each) {
        const std::int64_t from = s < 0 ? 0 : (std::int64_t)s * stride * key_parts + 4 * piece;
        const std::uint32_t to = block + squares_at + 16 * lane;
        if constexpr (key_parts % 4 == 0)
          ptx::copy_piece(to, squares_row + from, s >= 0);
        else
#pragma unroll
          for (int i = 0; i < 4; ++i)
            if (4 * piece + i < key_parts)
              ptx::copy_word(to + 4 * i, squares_row + from + i, s >= 0);
      }
    }
    ptx::end_copies();
  }
};

} // namespace evt::tile
