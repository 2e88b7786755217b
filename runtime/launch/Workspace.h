// The memory a kernel needs beside its arguments: counter regions and planned buffers.
//
// It is kept between launches and only grows: a launch with smaller shapes uses the front of what is there. That is
// sound because a kernel leaves its regions zeroed, so a region is zero whatever shape used it last. After a launch
// that did not end by itself nothing is known about the regions, and `zeroRegions` restores the invariant.
#ifndef EVT_RUNTIME_LAUNCH_WORKSPACE_H
#define EVT_RUNTIME_LAUNCH_WORKSPACE_H

#include "runtime/artifact/Manifest.h"
#include "runtime/artifact/Shapes.h"

#include <cstddef>
#include <memory>
#include <vector>

namespace evt::runtime {

class Workspace {
public:
  static constexpr size_t alignment = 64;

  // Makes room for these shapes. Throws Error (memory) if it does not fit in this machine.
  void prepare(const Manifest &manifest, const Shapes &shapes);

  // Valid until the next prepare. Never null, even for 0 bytes; multiples of `alignment`.
  const std::vector<void *> &buffers() const { return bufferAddresses_; } // planned memories, in order
  const std::vector<void *> &regions() const { return regionAddresses_; }

  void zeroRegions(const Manifest &manifest);

  size_t bytes() const; // held now

private:
  // Memory from the system that is zero when it is new.
  class Block {
  public:
    // Returns whether it was allocated anew.
    bool reserve(size_t bytes);
    void *address() const { return address_; }
    size_t capacity() const { return capacity_; }

  private:
    struct Free {
      void operator()(void *memory) const;
    };
    std::unique_ptr<void, Free> storage_;
    void *address_ = nullptr;
    size_t capacity_ = 0;
  };

  std::vector<Block> buffers_, regions_;
  std::vector<void *> bufferAddresses_, regionAddresses_;
};

} // namespace evt::runtime

#endif
