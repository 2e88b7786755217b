// Describes the kernel of faults.cpp: it has no task that waits.
#include "device/common/abi.h"

extern "C" uint32_t evt_kernel_abi() { return EVT_ABI_VERSION; }
extern "C" void evt_kernel_explain(const evt_launch *, const evt_hooks *) {}
