// The CUDA target as a backend, with the driver's library to choose: tests bring their own.
#ifndef EVT_RUNTIME_CUDA_CUDABACKEND_H
#define EVT_RUNTIME_CUDA_CUDABACKEND_H

#include "runtime/launch/Backend.h"

#include <memory>
#include <string>

namespace evt::runtime::cuda {

std::unique_ptr<Backend> makeBackendOn(const Artifact &artifact, const std::string &library);

} // namespace evt::runtime::cuda

#endif
