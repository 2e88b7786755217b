// What the workers of a CUDA launch wrote about their tasks, made into a LaunchTrace.
//
// A record has times and a task's number; its coordinates and what it waited for come from the kernel's enumeration.
#ifndef EVT_RUNTIME_CUDA_TRACERECORDS_H
#define EVT_RUNTIME_CUDA_TRACERECORDS_H

#include "device/cuda/abi.h"
#include "runtime/artifact/Artifact.h"
#include "runtime/launch/LaunchOptions.h"

#include <span>

namespace evt::runtime::cuda {

// Room for the records of each worker: all tasks, since one worker may run them all, within 64 MiB for all workers.
uint32_t recordsForEachWorker(int64_t tasks, unsigned workers);

// `records` is the device's array, worker by worker; `launch` is one over host copies.
LaunchTrace readRecords(std::span<const evt_cuda_record> records, uint32_t recordsEach, const Kernel &kernel,
                        const evt_launch &launch);

} // namespace evt::runtime::cuda

#endif
