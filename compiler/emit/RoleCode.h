// CUDA: `struct Kernel`, what the roles of a block do (device/cuda/kernel.h): functions that go by a task's call.
#pragma once

#include "StreamCode.h"

#include <string>

namespace evt::emit {

/// `layout` is that of shared memory, as an initializer; `collected`, notifies that a task keeps until it has read all.
void emitCudaRoles(const GraphCode &graph, const StreamPlan &streams, const std::string &layout, bool hasDynamic,
                   int64_t collected, CodeWriter &out);

} // namespace evt::emit
