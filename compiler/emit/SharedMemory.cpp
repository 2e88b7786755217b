#include "SharedMemory.h"

using namespace mlir;

namespace evt::emit {

namespace {

std::string num(int64_t n) { return std::to_string(n); }

constexpr int64_t sharedBytes = 227 << 10; // of a block, at most
// What a block knows of a launch, of each event, and of each stage of weights. The pipeline looks at what nvcc made of
// it.
constexpr int64_t ownBytes = 6 << 10, eventBytes = 32, slotBytes = 16;
constexpr int64_t mostRingBytes = 208 << 10;
constexpr int64_t mostTileSlots = 10, tileAlignment = 1024;
/// Keys, or values, of attention that loaders feed have no more than these bytes of a stage:
/// device/cuda/tile/attend_fed.h.
constexpr int64_t fedStageBytes = 19 << 10;

} // namespace

SharedMemory::SharedMemory(const ir::Signature &signature, const StreamPlan &streams,
                           const StreamPlan::Variant &variant, int64_t tiles, std::string &why)
    : tiles(tiles) {
  int64_t all = sharedBytes - ownBytes - (int64_t)signature.events.size() * eventBytes;
  for (Value memory : signature.memories) // where it is, its extents, its number
    all -= 16 + 8 * std::max<int64_t>(cast<MemRefType>(memory.getType()).getRank(), 1);
  if (variant.tiles) {
    // Next to a ring of weights it has to do with half of the room.
    int64_t room = (all - tileAlignment - tiles) / (variant.streams ? 2 : 1);
    tileBytes = room / tileAlignment * tileAlignment;
    leastTileBytes = fedStageBytes;
    tileSlots = std::min(tileBytes / leastTileBytes, mostTileSlots);
    if (tileBytes < 2 * streams.tileStageBytes())
      why = num(room) + " bytes of a block's shared memory for the tiles of products, required at least " +
            num(2 * streams.tileStageBytes());
  }
  if (variant.streams) {
    stageBytes = streams.stageBytes();
    fragments = streams.fragments();
    int64_t room = all - tileBytes - std::max(tiles, sumsBytes());
    slots = std::min(room, mostRingBytes) / (stageBytes + slotBytes);
    if (slots < 4)
      why = num(room) + " bytes of a block's shared memory for weights, required at least " + num(4 * stageBytes);
  }
}

/// Sums on their way to the epilogue: 4 results of 8 warps, 256 bytes a fragment.
int64_t SharedMemory::sumsBytes() const { return 4 * 8 * fragments * 256; }

int64_t SharedMemory::bytes() const {
  return (tileSlots ? tileAlignment : 0) + tileBytes + slots * stageBytes + std::max(tiles, slots ? sumsBytes() : 0);
}

std::string SharedMemory::text() const {
  return "{" + num(slots) + ", " + num(stageBytes) + ", " +
         (slots ? "evt::stages_in_flight(EVT_IN_FLIGHT_BYTES, " + num(stageBytes) + ", " + num(slots) + ")" : "0") +
         ", " + num(fragments) + ", " + num(tileSlots) + ", " + num(tileBytes) + ", " + num(leastTileBytes) + "}";
}

} // namespace evt::emit
