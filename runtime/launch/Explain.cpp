#include "runtime/launch/Explain.h"

#include "runtime/Error.h"
#include "runtime/launch/HostLaunch.h"
#include "runtime/launch/Workspace.h"

namespace evt::runtime {

Binding explainGraph(const Artifact &artifact, std::span<const evt_value> values, const evt_hooks &hooks) {
  const Manifest &manifest = artifact.manifest;
  if (!artifact.kernel->canExplain())
    throw Error(EVT_ERROR_INCOMPATIBLE, "kernel of graph '" + manifest.graph + "' cannot enumerate its tasks");
  Binding binding = bindArguments(manifest, values);
  Workspace workspace;
  workspace.prepare(manifest, binding.shapes);
  std::vector<void *> memories = binding.tensors;
  memories.insert(memories.end(), workspace.buffers().begin(), workspace.buffers().end());
  HostLaunch host(std::move(binding), std::move(memories), workspace.regions(), EVT_STATIC, 1);
  artifact.kernel->explain(host.launch, hooks);
  return std::move(host.binding);
}

} // namespace evt::runtime
