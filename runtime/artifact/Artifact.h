// An artifact on disk, checked and loaded: its manifest, and its kernel ready to be called.
//
// Loading goes from the outside in, so that nothing is trusted before it is checked:
//   manifest.json   is JSON, has the right format, matches its checksum, refers only to what exists
//   target, CPU     are this runtime's and this machine's
//   files           have the size and fingerprint the manifest gives
//   kernel          loads, has the entry points of device/common/abi.h, and says the same abi
#ifndef EVT_RUNTIME_ARTIFACT_ARTIFACT_H
#define EVT_RUNTIME_ARTIFACT_ARTIFACT_H

#include "runtime/artifact/Manifest.h"

#include <memory>
#include <string>

namespace evt::runtime {

// A loaded kernel.so; unloaded when the last owner goes.
class Kernel {
public:
  // Throws Error: artifact if it cannot be loaded or lacks an entry point, incompatible if it is of another abi.
  // `entry` is what the names of its entry points start with. A library that only describes a kernel for another device
  // has `_explain` and no `_worker`.
  enum class Role : uint8_t { runs, describes };
  explicit Kernel(const std::string &path, const std::string &entry = "evt_kernel", Role role = Role::runs);
  ~Kernel();
  Kernel(const Kernel &) = delete;
  Kernel &operator=(const Kernel &) = delete;

  void worker(const evt_launch &launch, uint32_t worker) const { worker_(&launch, worker); }
  // A kernel without evt_kernel_explain can run; the watchdog then reports only what the workers were doing.
  bool canExplain() const { return explain_ != nullptr; }
  void explain(const evt_launch &launch, const evt_hooks &hooks) const { explain_(&launch, &hooks); }

private:
  void *handle_ = nullptr;
  void (*worker_)(const evt_launch *, uint32_t) = nullptr;
  void (*explain_)(const evt_launch *, const evt_hooks *) = nullptr;
};

struct Artifact {
  std::string directory;
  Manifest manifest;
  std::shared_ptr<const Kernel> kernel;
};

// Throws Error: file, artifact or incompatible.
Artifact loadArtifact(const std::string &directory);

// The first two steps and the files, without loading the kernel: what `evt info` shows of an artifact for another
// machine, with the reason why it cannot run here left in `unrunnable` (empty if it can).
struct InspectedArtifact {
  Manifest manifest;
  std::string unrunnable;
};
InspectedArtifact inspectArtifact(const std::string &directory);

} // namespace evt::runtime

#endif
