// Why a launch stands still, in words: which element of which event is incomplete, who waits for it and who has not
// notified it.
//
//   graph 'row_sum' is stuck: no task finished for 10 s; 7 of 15 tasks are done (schedule static, 2 workers)
//     done[1] has received 3 of 4 notifications
//       waited for by total(1), on worker 0
//       not notified by partial(1, 2), on no worker
//
// Two steps, because the evidence disappears when the workers are told to leave: `captureStall` copies what the
// workers and the counters say while they still stand; `describeStall`, after they left, asks the kernel to enumerate
// its tasks (evt_kernel_explain) and finds the *roots* among the incomplete elements: those with a missing notifier
// that waits for nothing itself. Elements further down the chain are only counted.
#ifndef EVT_RUNTIME_LAUNCH_STALLREPORT_H
#define EVT_RUNTIME_LAUNCH_STALLREPORT_H

#include "device/common/abi.h"
#include "runtime/artifact/Artifact.h"
#include "runtime/artifact/Shapes.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace evt::runtime {

struct StallEvidence {
  std::vector<evt_status> workers;
  std::vector<std::vector<uint32_t>> counters; // of each event, row-major; empty for an event without a region
  std::vector<uint8_t> done;                   // of each task, call by call; empty where the launch kept no account

  std::optional<uint32_t> received(uint32_t event, int64_t element) const;
};

StallEvidence captureStall(const Manifest &manifest, const Shapes &shapes, const evt_launch &launch);

// What gave the stall away, and how long it lasted until then.
enum class StallSign : uint8_t { noTaskFinished, waitTooLong };
struct StallCause {
  StallSign sign;
  double seconds;
};

// Without an account of the tasks that are done, only what the workers say is reported.
std::string describeStall(const Manifest &manifest, const Kernel &kernel, const Shapes &shapes,
                          const evt_launch &launch, const StallEvidence &evidence, StallCause cause);

} // namespace evt::runtime

#endif
