// Memory on a GPU: single blocks, and the workspace of a program made of them.
//
// Like the host's workspace it is kept between launches, only grows, and is zero when it is new; the kernel leaves its
// regions zeroed, and `zeroRegions` restores that after a launch that did not end by itself.
#ifndef EVT_RUNTIME_CUDA_DEVICEMEMORY_H
#define EVT_RUNTIME_CUDA_DEVICEMEMORY_H

#include "runtime/artifact/Manifest.h"
#include "runtime/artifact/Shapes.h"
#include "runtime/cuda/Gpu.h"

#include <vector>

namespace evt::runtime::cuda {

// The GPU's context must be current when a block is made larger and when it is destroyed.
class DeviceBlock {
public:
  explicit DeviceBlock(const Gpu &gpu) : gpu_(&gpu) {}
  ~DeviceBlock();
  DeviceBlock(DeviceBlock &&other) noexcept;
  DeviceBlock &operator=(DeviceBlock &&other) noexcept;

  bool fits(size_t bytes) const { return address_ != 0 && bytes <= capacity_; }
  // Makes room, losing what was there if it was too small; new memory is zeroed in the stream. Returns whether it is
  // new. Throws Error (memory).
  bool reserve(size_t bytes, Stream stream);
  void zero(size_t bytes, Stream stream);

  Address address() const { return address_; } // of a multiple of 256; never 0 after reserve, even for 0 bytes
  size_t capacity() const { return capacity_; }

private:
  const Gpu *gpu_;
  Address address_ = 0;
  size_t capacity_ = 0;
};

class DeviceWorkspace {
public:
  explicit DeviceWorkspace(const Gpu &gpu) : gpu_(&gpu) {}

  // Whether `prepare` would allocate nothing.
  bool fits(const Manifest &manifest, const Shapes &shapes) const;
  // Throws Error (memory). Nothing may use the old memory any more when it does not fit; zeroing happens in the stream.
  void prepare(const Manifest &manifest, const Shapes &shapes, Stream stream);
  // Keeps the memory there is as long as this object, and allocates anew at the next prepare.
  void retire();
  void zeroRegions(const Manifest &manifest, Stream stream);

  // In the manifest's order; planned buffers follow the arguments among its memories.
  std::vector<Address> buffers() const { return addresses(buffers_); }
  std::vector<Address> regions() const { return addresses(regions_); }

  // How much it has allocated: for values between calls (rows that are read early are in regions), and for the rest.
  size_t valueBytes(const Manifest &manifest) const;
  size_t counterBytes(const Manifest &manifest) const;

private:
  static std::vector<Address> addresses(const std::vector<DeviceBlock> &blocks);

  const Gpu *gpu_;
  std::vector<DeviceBlock> buffers_, regions_, retired_;
};

// How many of a manifest's memories are arguments; the planned buffers follow them.
size_t argumentMemories(const Manifest &manifest);

} // namespace evt::runtime::cuda

#endif
