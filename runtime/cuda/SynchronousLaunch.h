// One launch that is waited for, from the arguments on the host to the results on the host.
//
//   copy in, zero the reports · kernel, between two events · copy out
//
// The thread sleeps shortly and asks whether the kernel has ended. The kernel stops itself when a single wait lasts
// longer than the watchdog's limit; for a kernel that stands still without waiting, the thread reads how many tasks are
// finished from time to time and, when none was for the limit and `grace` more, tells the workers to leave.
#ifndef EVT_RUNTIME_CUDA_SYNCHRONOUSLAUNCH_H
#define EVT_RUNTIME_CUDA_SYNCHRONOUSLAUNCH_H

#include "runtime/cuda/Session.h"

#include <vector>

namespace evt::runtime::cuda {

class SynchronousLaunch {
public:
  static constexpr double graceSeconds = 2.0;

  SynchronousLaunch(Session &session, const Request &request);

  // Throws Error: fault or stuck.
  LaunchStats run();

private:
  void waitForTensors();
  void copyIn();
  const void *inKernelLayout(size_t memory, size_t bytes);
  void start();
  void waitForEnd();
  bool endsWithin(double seconds);
  void stopWorkers();
  void copyOut();
  std::string describeAbort(const KernelReport &report);
  void keepTrace(const KernelReport &report);
  [[noreturn]] void breakSession(Result result);

  Session &session_;
  Session::OnGpu &on_;
  const Driver &driver_;
  const Request &request_;
  const Shapes &shapes_;
  std::vector<Address> memories_, regions_;
  std::vector<std::vector<char>> packed_; // copies of tensors, while they are copied to the GPU
  uint32_t recordsEach_ = 0;              // 0: no trace
};

} // namespace evt::runtime::cuda

#endif
