// Matrix products of a warpgroup: four neighbouring warps, of which the first has a number divisible by 4, multiply
// tiles that lie in shared memory and keep the sums in registers.
//
// Tiles are as the copy engine writes them with a swizzle of 128 bytes: a row is 64 elements of 16 bits along K, and
// the 16-byte pieces of row r are exchanged by the bits of r % 8. Eight rows are 1024 bytes, and every tile begins at a
// multiple of that; rows of several tiles that follow each other are one tile.
//
// Products are issued and run on their own, in order. Between `wgmma_fence` and a `wgmma_wait` that covers them, the
// sums belong to the tensor cores.
#pragma once

#include "device/cuda/ptx.h"
#ifdef EVT_SIMULATED
#include "device/cuda/simulated/group_instructions.h"
#else
#include "device/cuda/group_instructions.h"
#endif

namespace evt::ptx {

/// Where a tile begins, for the tensor cores, and how its rows lie. What is added to get further stays within the first
/// word, and is the same for all threads: as one number of 64 bits it took ten instructions for each product, which
/// with narrow tiles take longer than the products themselves.
struct Operand {
  std::uint32_t place, form;
  __device__ __forceinline__ Operand further(std::uint32_t by) const { return {place + by, form}; }
  __device__ __forceinline__ std::uint64_t word() const { return (std::uint64_t)form << 32 | place; }
};
/// 8 rows are 1024 bytes apart, swizzled by 128 bytes. 16 columns further along K is 2 more.
__device__ __forceinline__ Operand tile_operand(std::uint32_t address) {
  constexpr std::uint32_t swizzle_128 = 1u << 30, eight_rows = 1024 >> 4, unused = 1 << 16;
  return {unused | (address & 0x3FFFF) >> 4, swizzle_128 | eight_rows};
}
/// The same for rows that come from packed tiles (8 x 32), of which 2 * `Chunks` of a row of tiles are next to each
/// other: each is 512 bytes, swizzled by 64 (as it lies in memory: compiler/layout/PackedWeights.h).
template <int Chunks> __device__ __forceinline__ Operand packed_operand(std::uint32_t address) {
  constexpr std::uint32_t swizzle_64 = 2u << 30, eight_rows = Chunks * 1024 >> 4, unused = 1 << 16;
  return {unused | (address & 0x3FFFF) >> 4, swizzle_64 | eight_rows};
}
/// How much further the `k`-th 16 columns of 64 are.
template <bool Packed> __host__ __device__ constexpr std::uint32_t columns_further(int k) {
  return (std::uint32_t)(Packed ? k / 2 * (512 / 16) + k % 2 * 2 : 2 * k);
}

/// Copies columns from `x` on, 64 after 64, of rows from `y` on; the map has the 64s as a dimension.
__device__ __forceinline__ void chunks_load(std::uint32_t to, const void *map, Barrier barrier, int x, int y) {
  tensor_load(to, map, barrier, 0, y, x / 64);
}
__device__ __forceinline__ void chunks_load(std::uint32_t to, const void *map, Barrier barrier, int x, int y, int z) {
  tensor_load(to, map, barrier, 0, y, x / 64, z);
}
__device__ __forceinline__ void chunks_load(std::uint32_t to, const void *map, Barrier barrier, int x, int y, int z,
                                            int u) {
  tensor_load(to, map, barrier, 0, y, x / 64, z, u);
}

} // namespace evt::ptx
