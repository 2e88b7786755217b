#include "device/cuda/simulated/state.h"

#include "device/common/types.h"

#include <cstring>

namespace evt::simulated {

namespace {

/// 16 columns of a tile's row, by the descriptor of the tile: rows are 8 by 8, each of those a swizzled block.
struct Tile {
  const char *shared;
  std::uint32_t first, eight_rows, pitch, swizzle; // swizzle: how many bits of the row go to the 16-byte pieces

  Tile(const char *shared, std::uint64_t descriptor)
      : shared(shared), first((std::uint32_t)(descriptor & 0x3fff) << 4),
        eight_rows((std::uint32_t)(descriptor >> 32 & 0x3fff) << 4) {
    const unsigned mode = (unsigned)(descriptor >> 62); // 128, 64 or 32 bytes
    if (mode == 0 || mode == 3)
      gpu->fail("a product of tiles with swizzle mode " + std::to_string(mode) + ", known are 1 and 2");
    pitch = mode == 1 ? 128 : 64;
    swizzle = mode == 1 ? 7 : 3;
  }
  void row(unsigned r, bool is_bfloat16, float (&columns)[16]) const {
    const std::uint32_t at = first + r / 8 * eight_rows + r % 8 * pitch;
    for (std::uint32_t piece = 0; piece < 2; ++piece) {
      const std::uint32_t plain = at + piece * 16;
      std::uint16_t bits[8];
      std::memcpy(bits, shared + (plain ^ (plain >> 7 & swizzle) << 4), 16);
      for (int i = 0; i < 8; ++i)
        columns[piece * 8 + (unsigned)i] =
            is_bfloat16 ? (float)bf16::from_bits(bits[i]) : (float)f16::from_bits(bits[i]);
    }
  }
};

float times(const float (&a)[16], const float (&b)[16]) {
  double sum = 0;
  for (int k = 0; k < 16; ++k)
    sum += (double)a[k] * (double)b[k];
  return (float)sum;
}

void multiply(const Product &product, const Thread &thread) {
  const Tile rows(thread.shared, product.rows), weights(thread.shared, product.weights);
  const unsigned row = thread.index.x % 128 / 32 * 16 + thread.lane / 4;
  float a[2][16], b[16];
  rows.row(row, product.is_bfloat16, a[0]);
  rows.row(row + 8, product.is_bfloat16, a[1]);
  for (int j = 0; j < product.columns / 8; ++j)
    for (unsigned c = 0; c < 2; ++c) {
      weights.row((unsigned)j * 8 + thread.lane % 4 * 2 + c, product.is_bfloat16, b);
      product.sums[4 * j + (int)c] += times(a[0], b);
      product.sums[4 * j + 2 + (int)c] += times(a[1], b);
    }
}

/// The products of groups before `group` are over.
void end_products_before(Fiber &of, std::uint64_t group) {
  std::size_t over = 0;
  while (over < of.products.size() && of.products[over].group < group)
    multiply(of.products[over++], of);
  of.products.erase(of.products.begin(), of.products.begin() + (std::ptrdiff_t)over);
}

} // namespace

void multiply_group(float *sums, int columns, bool is_bfloat16, std::uint64_t rows, std::uint64_t weights) {
  Fiber &self = fiber();
  self.products.push_back({sums, columns, is_bfloat16, rows, weights, self.product_group});
}
void end_products() {
  Fiber &self = fiber();
  ++self.product_group;
  if (gpu->random.one_in(4))
    end_products_before(self, self.product_group); // at once
}
void await_products(int groups) {
  Fiber &self = fiber();
  if (self.product_group > (std::uint64_t)groups)
    end_products_before(self, self.product_group - (std::uint64_t)groups);
}

} // namespace evt::simulated
