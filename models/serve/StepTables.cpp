#include "models/serve/StepTables.h"

#include <algorithm>
#include <cstring>

namespace evt::models {
namespace {

constexpr size_t alignment = 256, leastRoom = 1024;

} // namespace

size_t StepTable::bytes() const {
  size_t bytes = type.bits / 8u;
  for (int64_t extent : shape)
    bytes *= static_cast<size_t>(extent);
  return bytes;
}

void StepTables::grow(Ring &ring, size_t bytes) {
  uploads_.synchronize();
  launches_.synchronize();
  ring.room = std::max({(bytes + alignment - 1) / alignment * alignment, 2 * ring.room, leastRoom});
  ring.device = DeviceMemory(program_, ring.room * places_);
  ring.host = HostMemory(program_, ring.room * places_);
  ring.isKnown = false;
}

const DLTensor &StepTables::put(const StepTable &table, bool isRewritten) {
  Ring &ring = rings_[table.name];
  const size_t bytes = table.bytes();
  if (bytes > ring.room || !ring.room)
    grow(ring, bytes);
  ring.shape = table.shape;
  const bool isSame = ring.isKnown && ring.current.size() == bytes &&
                      (!bytes || std::memcmp(ring.current.data(), table.values, bytes) == 0);
  if (!isSame || isRewritten) {
    ring.place = (ring.place + 1) % places_;
    std::byte *host = ring.host.data() + ring.place * ring.room;
    if (bytes)
      std::memcpy(host, table.values, bytes);
    uploads_.copy(ring.device.data() + ring.place * ring.room, host, bytes, EVT_COPY_TO_DEVICE);
    ring.current.assign(host, host + bytes);
    ring.isKnown = !isRewritten;
    ++copies_;
  }
  ring.tensor = {ring.device.data() + ring.place * ring.room,
                 evt_program_device(program_.get()),
                 static_cast<int32_t>(ring.shape.size()),
                 table.type,
                 ring.shape.data(),
                 nullptr,
                 0};
  return ring.tensor;
}

size_t StepTables::deviceBytes() const {
  size_t sum = 0;
  for (const auto &[name, ring] : rings_)
    sum += ring.device.bytes();
  return sum;
}

} // namespace evt::models
