// What an aborted launch says, in words: a fault in the names of the manifest, or who waits for what.
#ifndef EVT_RUNTIME_CUDA_REPORTS_H
#define EVT_RUNTIME_CUDA_REPORTS_H

#include "runtime/cuda/HostCopy.h"
#include "runtime/cuda/Session.h"

#include <string>
#include <vector>

namespace evt::runtime::cuda {

// Whether an abort code means that the launch stood still, rather than that the kernel found a mistake.
bool isStall(uint32_t abort);

// `done` is a byte for each task, or null where the launch kept no account of them.
std::string describeReport(const Manifest &manifest, const Kernel &kernel, const Request &request,
                           const KernelReport &report, const HostCopy &copy, const std::vector<uint8_t> *done);

} // namespace evt::runtime::cuda

#endif
