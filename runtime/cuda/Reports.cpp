#include "runtime/cuda/Reports.h"

#include "runtime/cuda/SynchronousLaunch.h"
#include "runtime/launch/Fault.h"
#include "runtime/launch/StallReport.h"

namespace evt::runtime::cuda {

bool isStall(uint32_t abort) { return abort == EVT_ABORT_HOST || abort == EVT_ABORT_LIMIT; }

std::string describeReport(const Manifest &manifest, const Kernel &kernel, const Request &request,
                           const KernelReport &report, const HostCopy &copy, const std::vector<uint8_t> *done) {
  const Shapes &shapes = request.binding.shapes;
  if (!isStall(report.abort))
    return describeFault(manifest, shapes, report.abort, report.fault);
  HostLaunch host(request.binding, copy.memories, copy.regions, request.schedule, request.workers);
  for (size_t w = 0; w < report.status.size(); ++w)
    host.status[w].status = report.status[w];
  if (done)
    host.done = *done;
  host.launch.done = done ? host.done.data() : nullptr;
  double limit = request.options.watchdogSeconds;
  StallCause cause = report.abort == EVT_ABORT_LIMIT
                         ? StallCause{StallSign::waitTooLong, limit}
                         : StallCause{StallSign::noTaskFinished, limit + SynchronousLaunch::graceSeconds};
  return describeStall(manifest, kernel, shapes, host.launch, captureStall(manifest, shapes, host.launch), cause);
}

} // namespace evt::runtime::cuda
