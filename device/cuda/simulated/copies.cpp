#include "device/cuda/simulated/state.h"
#include "device/cuda/simulated/tensor_map.h"

#include <cstring>

namespace evt::simulated {

void barrier_arrive_at(Block &block, std::uint32_t address, std::uint32_t count);
void barrier_has(Block &block, std::uint32_t address, std::uint32_t bytes);

namespace {

constexpr std::size_t element = 2; // bytes: bf16 and f16 are all there are

/// 16-byte pieces of 128 bytes trade places by the row they are in.
std::uint32_t swizzled_128(std::uint32_t address) { return address ^ (address >> 7 & 7) << 4; }

/// The box's bytes, in order; zeros outside the tensor.
std::vector<char> read_box(const TensorMap &map, const int *at) {
  std::size_t count = 1;
  for (std::uint32_t d = 0; d < map.rank; ++d)
    count *= map.box_of((int)d);
  std::vector<char> bytes(count * element);
  for (std::size_t i = 0; i < count; ++i) {
    std::size_t rest = i, offset = 0;
    bool inside = true;
    for (std::uint32_t d = 0; d < map.rank; ++d) {
      const std::int64_t place = at[d] + (std::int64_t)(rest % map.box_of((int)d));
      rest /= map.box_of((int)d);
      inside &= 0 <= place && place < (std::int64_t)map.extents[d];
      offset += (std::size_t)place * (d ? map.strides[d - 1] : element);
    }
    if (inside)
      std::memcpy(&bytes[i * element], reinterpret_cast<const char *>(map.address) + offset, element);
  }
  return bytes;
}

std::vector<char> read(const Copy &copy) {
  if (copy.is_box)
    return read_box(*static_cast<const TensorMap *>(copy.from), copy.at);
  const char *from = static_cast<const char *>(copy.from);
  return {from, from + copy.bytes};
}

constexpr std::uint32_t longest_copy = 15; // 2^15 turns of threads

void issue(Copy copy) {
  if (copy.to % 16 || copy.bytes % 16 || copy.bytes == 0)
    gpu->fail("a copy of " + std::to_string(copy.bytes) + " bytes to shared address " + std::to_string(copy.to) +
              ": both have to be multiples of 16");
  if (!copy.is_box && reinterpret_cast<std::uintptr_t>(copy.from) % 16)
    gpu->fail("a copy's source is not at a multiple of 16 bytes");
  if (gpu->random.one_in(2))
    copy.already = read(copy);
  std::memset(copy.block->shared + copy.to, 0xff, copy.bytes);
  copy.due = gpu->random.soon(gpu->turns, longest_copy);
  gpu->copies.push_back(std::move(copy));
}

void land(const Piece &piece, char *shared) {
  if (piece.from)
    std::memcpy(shared + piece.to, piece.from, 16);
  else
    std::memset(shared + piece.to, 0, 16);
}

/// The pieces of groups before `group` arrive.
void land_pieces(Fiber &of, std::uint64_t group) {
  std::size_t landed = 0;
  while (landed < of.pieces.size() && of.pieces[landed].group < group)
    land(of.pieces[landed++], of.shared);
  of.pieces.erase(of.pieces.begin(), of.pieces.begin() + (std::ptrdiff_t)landed);
}

} // namespace

void arrive(Copy &copy) {
  if (copy.bytes == 0) { // a thread's pieces, all of them
    Fiber &of = *static_cast<Fiber *>(const_cast<void *>(copy.from));
    land_pieces(of, of.piece_group + 1);
    barrier_arrive_at(*copy.block, copy.barrier, 1);
    return;
  }
  const std::vector<char> bytes = copy.already.empty() ? read(copy) : std::move(copy.already);
  char *shared = copy.block->shared;
  if (copy.is_box && static_cast<const TensorMap *>(copy.from)->is_swizzled())
    for (std::uint32_t i = 0; i < copy.bytes; i += 16)
      std::memcpy(shared + swizzled_128(copy.to + i), &bytes[i], 16);
  else
    std::memcpy(shared + copy.to, bytes.data(), copy.bytes);
  barrier_has(*copy.block, copy.barrier, copy.bytes);
}

void copy(std::uint32_t to, const void *from, std::uint32_t bytes, std::uint32_t barrier) {
  issue({running->block, to, bytes, barrier, from, {}, false, {}, 0});
}

void copy_box(std::uint32_t to, const void *map, std::uint32_t barrier, const int *at, int rank) {
  const TensorMap &of = *static_cast<const TensorMap *>(map);
  if ((int)of.rank != rank)
    gpu->fail("a copy of " + std::to_string(rank) + " dimensions by a map that has " + std::to_string(of.rank));
  std::uint32_t bytes = element;
  Copy copy{running->block, to, 0, barrier, map, {}, true, {}, 0};
  for (int d = 0; d < rank; ++d) {
    bytes *= (std::uint32_t)of.box_of(d);
    copy.at[d] = at[d];
  }
  if (to % (of.is_swizzled() ? 1024 : 128))
    gpu->fail("a box is copied to shared address " + std::to_string(to) + ", required is a multiple of " +
              (of.is_swizzled() ? "1024" : "128"));
  copy.bytes = bytes;
  issue(std::move(copy));
}

//===-- by a thread itself ----------------------------------------------------------------------------------------===//

void copy_piece(std::uint32_t to, const void *from, bool is_there) {
  Fiber &self = fiber();
  if (to % 16 || (is_there && reinterpret_cast<std::uintptr_t>(from) % 16))
    gpu->fail("16 bytes are copied from or to what is no multiple of 16");
  const Piece piece{to, is_there ? from : nullptr, self.piece_group};
  if (self.pieces.empty() && gpu->random.one_in(4))
    return land(piece, self.shared); // at once
  std::memset(self.shared + to, 0xff, 16);
  self.pieces.push_back(piece);
}
void end_copies() { ++fiber().piece_group; }
void await_copies(int groups) {
  Fiber &self = fiber();
  land_pieces(self, groups == 0 ? self.piece_group + 1 : self.piece_group - (std::uint64_t)groups + 1);
}
void arrive_when_copied(std::uint32_t barrier) {
  const std::uint64_t due = gpu->random.soon(gpu->turns, longest_copy);
  gpu->copies.push_back({running->block, 0, 0, barrier, running, {}, false, {}, due});
}

} // namespace evt::simulated
