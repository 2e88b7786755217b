// Rows of weights, from the order they have in a file to the one that kernels read them in: tiles of tile_rows x
// tile_columns, a tile's elements neighbours, tiles in row-major order; and from one element type to another.
//
// Work is cut into the 16-byte pieces of the result. Where a tile's rows are 64 bytes, piece p of row r lies where
// p ^ (r / 2 % 4) would. Worked example, bf16 in tiles of 8 x 32 of a matrix of 64 columns: piece 13 is in tile 0, row
// 3, place 1 of the row; that is piece 1 ^ 1 = 0 of the row, elements (3, 0) to (3, 7) of the matrix.
//
// Rows that are no multiple of 16 bytes are done element by element; they are never in tiles.
#ifndef EVT_DEVICE_COMMON_PACK_H
#define EVT_DEVICE_COMMON_PACK_H

#include "device/common/qualifiers.h"
#include "device/common/types.h"

#include <cstdint>

namespace evt {

/// `Pack` is evt_cuda_pack of device/cuda/abi.h, with addresses that whoever runs this can follow.
template <class Pack, class From, class To, int Elements> struct Packing {
  struct alignas(sizeof(To) * Elements) Piece {
    To elements[Elements];
  };
  // Of a piece's elements in the source's type; at most 16 bytes of it are read at a time.
  static constexpr int part = sizeof(From) * Elements > 16 ? 16 / sizeof(From) : Elements;
  struct alignas(sizeof(From) * part) Part {
    From elements[part];
  };

  const Pack &p;

  EVT_INLINE std::uint32_t pieces() const { return p.rows * (p.columns / Elements); }

  EVT_INLINE void run(std::uint32_t piece) const {
    const std::uint32_t in_row = p.tile_columns / Elements, in_tile = in_row * p.tile_rows;
    const std::uint32_t tile = piece / in_tile, inside = piece % in_tile;
    const std::uint32_t row = inside / in_row;
    std::uint32_t place = inside % in_row;
    if (in_row * sizeof(Piece) == 64 && sizeof(Piece) == 16)
      place ^= row / 2 % 4;
    const std::uint32_t across = p.columns / p.tile_columns; // tiles
    const std::uint64_t from = std::uint64_t(tile / across * p.tile_rows + row) * p.columns +
                               tile % across * p.tile_columns + place * Elements;
    const Part *source = reinterpret_cast<const Part *>(static_cast<const From *>(p.from) + from);
    Piece result;
    for (int i = 0; i < Elements / part; ++i) {
      const Part read = source[i];
      for (int j = 0; j < part; ++j)
        result.elements[i * part + j] = convert(read.elements[j]);
    }
    static_cast<Piece *>(p.to)[piece] = result;
  }

  // A type's own values stay as they are, bit by bit.
  static EVT_INLINE To convert(To x) { return x; }
  template <class Other> static EVT_INLINE To convert(Other x) { return To(float(x)); }
};

/// The pieces from `first` on, `step` apart.
template <class From, class To, class Pack>
EVT_INLINE void pack_pieces(const Pack &p, std::uint32_t first, std::uint32_t step) {
  constexpr int elements = 16 / sizeof(To);
  auto all = [&](auto packing) {
    for (std::uint32_t piece = first; piece < packing.pieces(); piece += step)
      packing.run(piece);
  };
  if (p.tile_columns % (elements * sizeof(To) / sizeof(std::uint16_t)) == 0) // whole pieces of 16 bytes on both sides
    all(Packing<Pack, From, To, elements>{p});
  else
    all(Packing<Pack, From, To, 1>{p});
}

/// `types` are numbered as in device/cuda/abi.h: bf16, f16, f32.
template <class To, class Pack> EVT_INLINE void pack_to(const Pack &p, std::uint32_t first, std::uint32_t step) {
  if (p.from_type == 0)
    pack_pieces<bf16, To>(p, first, step);
  else if (p.from_type == 1)
    pack_pieces<f16, To>(p, first, step);
  else
    pack_pieces<float, To>(p, first, step);
}

template <class Pack> EVT_INLINE void pack(const Pack &p, std::uint32_t first, std::uint32_t step) {
  if (p.to_type == 0)
    pack_to<bf16>(p, first, step);
  else if (p.to_type == 1)
    pack_to<f16>(p, first, step);
  else
    pack_to<float>(p, first, step);
}

} // namespace evt

#endif
