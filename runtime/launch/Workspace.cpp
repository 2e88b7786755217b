#include "runtime/launch/Workspace.h"

#include "runtime/Error.h"

#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace evt::runtime {
namespace {

// Refuses what the machine cannot hold: with overcommitted memory the allocation itself would succeed, and the
// process would be killed when the kernel touches it.
void checkFits(const Manifest &manifest, const Shapes &shapes) {
  uint64_t needed = 0;
  bool overflow = false;
  for (size_t m = 0; m < manifest.memories.size(); ++m)
    if (!manifest.memories[m].argument)
      overflow |= __builtin_add_overflow(needed, static_cast<uint64_t>(shapes.memoryBytes[m]), &needed);
  for (int64_t bytes : shapes.regionBytes)
    overflow |= __builtin_add_overflow(needed, static_cast<uint64_t>(bytes), &needed);
  uint64_t available = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  if (overflow || needed > available)
    throw Error(EVT_ERROR_MEMORY, "graph '" + manifest.graph + "' needs a workspace of " +
                                      (overflow ? "more than 2^64" : std::to_string(needed)) +
                                      " bytes, this machine has " + std::to_string(available));
}

} // namespace

void Workspace::Block::Free::operator()(void *memory) const { std::free(memory); }

bool Workspace::Block::reserve(size_t bytes) {
  if (address_ && bytes <= capacity_)
    return false;
  // calloc gives large blocks as fresh pages, which are zero without being touched; the alignment is made by hand.
  storage_.reset();
  storage_.reset(std::calloc(1, bytes + alignment));
  if (!storage_) {
    address_ = nullptr;
    capacity_ = 0;
    throw Error(EVT_ERROR_MEMORY, "cannot allocate " + std::to_string(bytes) + " bytes of workspace");
  }
  uintptr_t start = reinterpret_cast<uintptr_t>(storage_.get());
  address_ = reinterpret_cast<void *>((start + alignment - 1) / alignment * alignment);
  capacity_ = bytes;
  return true;
}

void Workspace::prepare(const Manifest &manifest, const Shapes &shapes) {
  checkFits(manifest, shapes);
  size_t arguments = 0;
  while (arguments < manifest.memories.size() && manifest.memories[arguments].argument)
    ++arguments;
  buffers_.resize(manifest.memories.size() - arguments);
  regions_.resize(manifest.regions.size());
  bufferAddresses_.clear();
  regionAddresses_.clear();
  for (size_t b = 0; b < buffers_.size(); ++b) {
    buffers_[b].reserve(static_cast<size_t>(shapes.memoryBytes[arguments + b]));
    bufferAddresses_.push_back(buffers_[b].address());
  }
  for (size_t r = 0; r < regions_.size(); ++r) {
    regions_[r].reserve(static_cast<size_t>(shapes.regionBytes[r]));
    regionAddresses_.push_back(regions_[r].address());
  }
}

void Workspace::zeroRegions(const Manifest &manifest) {
  for (size_t r = 0; r < regions_.size(); ++r)
    if (manifest.regions[r].zero)
      std::memset(regions_[r].address(), 0, regions_[r].capacity());
}

size_t Workspace::bytes() const {
  size_t total = 0;
  for (const Block &block : buffers_)
    total += block.capacity();
  for (const Block &block : regions_)
    total += block.capacity();
  return total;
}

} // namespace evt::runtime
