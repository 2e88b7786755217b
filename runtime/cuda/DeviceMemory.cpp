#include "runtime/cuda/DeviceMemory.h"

#include "runtime/Error.h"

#include <algorithm>
#include <utility>

namespace evt::runtime::cuda {

DeviceBlock::~DeviceBlock() {
  if (address_)
    gpu_->driver().MemFree.raw(address_);
}

DeviceBlock::DeviceBlock(DeviceBlock &&other) noexcept
    : gpu_(other.gpu_), address_(std::exchange(other.address_, 0)), capacity_(std::exchange(other.capacity_, 0)) {}

DeviceBlock &DeviceBlock::operator=(DeviceBlock &&other) noexcept {
  std::swap(gpu_, other.gpu_);
  std::swap(address_, other.address_);
  std::swap(capacity_, other.capacity_);
  return *this;
}

bool DeviceBlock::reserve(size_t bytes, Stream stream) {
  if (fits(bytes))
    return false;
  const Driver &driver = gpu_->driver();
  if (address_)
    driver.MemFree(address_);
  address_ = 0;
  capacity_ = 0;
  size_t wanted = std::max<size_t>(bytes, 16); // the driver refuses 0 bytes
  if (Result result = driver.MemAlloc.raw(&address_, wanted); result != Result::success) {
    address_ = 0;
    throw Error(EVT_ERROR_MEMORY, "cannot allocate " + std::to_string(bytes) +
                                      " bytes on cuda:" + std::to_string(gpu_->number()) + " (" + gpu_->name() +
                                      "): " + driver.describe("cuMemAlloc", result));
  }
  capacity_ = wanted;
  driver.MemsetD8Async(address_, 0, capacity_, stream);
  return true;
}

void DeviceBlock::zero(size_t bytes, Stream stream) {
  if (bytes)
    gpu_->driver().MemsetD8Async(address_, 0, bytes, stream);
}

size_t argumentMemories(const Manifest &manifest) {
  size_t arguments = 0;
  while (arguments < manifest.memories.size() && manifest.memories[arguments].argument)
    ++arguments;
  return arguments;
}

bool DeviceWorkspace::fits(const Manifest &manifest, const Shapes &shapes) const {
  size_t arguments = argumentMemories(manifest);
  if (buffers_.size() != manifest.memories.size() - arguments || regions_.size() != manifest.regions.size())
    return false;
  for (size_t b = 0; b < buffers_.size(); ++b)
    if (!buffers_[b].fits(static_cast<size_t>(shapes.memoryBytes[arguments + b])))
      return false;
  for (size_t r = 0; r < regions_.size(); ++r)
    if (!regions_[r].fits(static_cast<size_t>(shapes.regionBytes[r])))
      return false;
  return true;
}

void DeviceWorkspace::prepare(const Manifest &manifest, const Shapes &shapes, Stream stream) {
  size_t arguments = argumentMemories(manifest);
  while (buffers_.size() < manifest.memories.size() - arguments)
    buffers_.emplace_back(*gpu_);
  while (regions_.size() < manifest.regions.size())
    regions_.emplace_back(*gpu_);
  for (size_t b = 0; b < buffers_.size(); ++b)
    buffers_[b].reserve(static_cast<size_t>(shapes.memoryBytes[arguments + b]), stream);
  for (size_t r = 0; r < regions_.size(); ++r)
    regions_[r].reserve(static_cast<size_t>(shapes.regionBytes[r]), stream);
}

void DeviceWorkspace::retire() {
  std::move(buffers_.begin(), buffers_.end(), std::back_inserter(retired_));
  std::move(regions_.begin(), regions_.end(), std::back_inserter(retired_));
  buffers_.clear();
  regions_.clear();
}

void DeviceWorkspace::zeroRegions(const Manifest &manifest, Stream stream) {
  for (size_t r = 0; r < regions_.size(); ++r)
    if (manifest.regions[r].zero)
      regions_[r].zero(regions_[r].capacity(), stream);
}

size_t DeviceWorkspace::valueBytes(const Manifest &manifest) const {
  size_t sum = 0;
  for (const DeviceBlock &block : buffers_)
    sum += block.capacity();
  for (size_t r = 0; r < regions_.size(); ++r)
    sum += manifest.regions[r].kind == "early" ? regions_[r].capacity() : 0;
  return sum;
}

size_t DeviceWorkspace::counterBytes(const Manifest &manifest) const {
  size_t sum = 0;
  for (size_t r = 0; r < regions_.size(); ++r)
    sum += manifest.regions[r].kind == "early" ? 0 : regions_[r].capacity();
  return sum;
}

std::vector<Address> DeviceWorkspace::addresses(const std::vector<DeviceBlock> &blocks) {
  std::vector<Address> list;
  for (const DeviceBlock &block : blocks)
    list.push_back(block.address());
  return list;
}

} // namespace evt::runtime::cuda
