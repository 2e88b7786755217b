// An artifact's kernels, one a schedule and variant, loaded on a GPU and ready to be launched.
#ifndef EVT_RUNTIME_CUDA_KERNELIMAGE_H
#define EVT_RUNTIME_CUDA_KERNELIMAGE_H

#include "device/cuda/abi.h"
#include "runtime/artifact/Artifact.h"
#include "runtime/artifact/Shapes.h"
#include "runtime/cuda/Gpu.h"

#include <array>
#include <span>
#include <string>

namespace evt::runtime::cuda {

// The cubin of a manifest for a GPU of this compute capability: one made for exactly that GPU before one that merely
// runs there. Throws Error (incompatible) naming what there is and what the GPU is.
const CudaSection::Cubin &chooseCubin(const Manifest &manifest, int major, int minor, const std::string &gpuName);

// The GPU's context must be current when one is made, used and destroyed.
class KernelImage {
public:
  // Throws Error: file, incompatible, memory.
  KernelImage(const Gpu &gpu, const Artifact &artifact);
  KernelImage(const KernelImage &) = delete;
  KernelImage &operator=(const KernelImage &) = delete;

  unsigned defaultWorkers() const { return defaultWorkers_; } // one for each SM
  unsigned mostWorkers() const { return mostWorkers_; }       // that are resident at once
  // Throws Error (option) if that many blocks cannot be resident at once.
  unsigned checkedWorkers(unsigned wanted) const;

  void launch(evt_schedule schedule, unsigned workers, const Shapes &shapes, std::span<const uint64_t> parameters,
              Stream stream) const;

  // Throws Error (incompatible) if the artifact has no kernel for it. `blocks` is filled in.
  void pack(evt_cuda_pack rows, Stream stream) const;

private:
  // A cubin, loaded; unloaded when the image is gone.
  struct Loaded {
    Loaded(const Driver &driver, const std::string &path);
    Loaded(Loaded &&other) noexcept;
    ~Loaded();
    Result find(const std::string &name, Function &function) const;

    const Driver &driver;
    std::string path;
    Module module = nullptr;
  };
  // In whichever file it is. Throws Error (artifact) if it is in none.
  /// A kernel, looked for first in the file that should have those of the variant.
  Function find(const std::string &name, size_t variant) const;
  void prepare(const Manifest &manifest, size_t variant, size_t schedule);
  // The first variant that lacks no call which has tasks. Throws Error (artifact) if there is none.
  size_t serving(const Shapes &shapes) const;

  const Gpu &gpu_;
  std::vector<CudaSection::Variant> variants_;
  std::vector<Loaded> files_;
  // Of each variant, those of the schedules the artifact supports.
  std::vector<std::array<Function, scheduleNames.size()>> functions_;
  Function pack_ = nullptr; // null in artifacts that have none
  std::string graph_;
  unsigned blocksPerMultiprocessor_ = 0, defaultWorkers_ = 0, mostWorkers_ = 0;
};

} // namespace evt::runtime::cuda

#endif
