// What a kernel means when it stops by itself, in the names of the manifest.
#ifndef EVT_RUNTIME_LAUNCH_FAULT_H
#define EVT_RUNTIME_LAUNCH_FAULT_H

#include "device/common/abi.h"
#include "runtime/artifact/Manifest.h"
#include "runtime/artifact/Shapes.h"

#include <string>

namespace evt::runtime {

// `code` is an evt_abort other than NONE and HOST.
std::string describeFault(const Manifest &manifest, const Shapes &shapes, uint32_t code, const evt_fault &fault);

} // namespace evt::runtime

#endif
