#include "runtime/cuda/SynchronousLaunch.h"

#include "runtime/Error.h"
#include "runtime/cuda/HostCopy.h"
#include "runtime/cuda/Parameters.h"
#include "runtime/cuda/Reports.h"
#include "runtime/cuda/TensorMaps.h"
#include "runtime/cuda/TraceRecords.h"
#include "runtime/launch/Watchdog.h"

#include <algorithm>
#include <thread>

namespace evt::runtime::cuda {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

// Workers that were told to leave get at least this long to finish the task they are in.
constexpr double leastLeaveSeconds = 1.0;

// How long to sleep between two questions: short at first, for short kernels, then longer.
class Patience {
public:
  void sleep() {
    std::this_thread::sleep_for(next_);
    next_ = std::min<std::chrono::microseconds>(next_ * 2, 1000us);
  }

private:
  std::chrono::microseconds next_ = 5us;
};

} // namespace

SynchronousLaunch::SynchronousLaunch(Session &session, const Request &request)
    : session_(session), on_(*session.on_), driver_(session.gpu_.driver()), request_(request),
      shapes_(request.binding.shapes), regions_(on_.lane.workspace.regions()) {
  for (size_t m = 0; m < request.binding.tensors.size(); ++m)
    memories_.push_back(request.binding.inPlace[m] ? reinterpret_cast<Address>(request.binding.tensors[m])
                                                   : on_.copies[m].address());
  std::vector<Address> buffers = on_.lane.workspace.buffers();
  memories_.insert(memories_.end(), buffers.begin(), buffers.end());
}

LaunchStats SynchronousLaunch::run() {
  if (request_.options.trace)
    recordsEach_ = recordsForEachWorker(shapes_.tasks, request_.workers);
  try {
    waitForTensors();
    copyIn();
    start();
    waitForEnd();
    KernelReport report = on_.lane.readReport(request_.workers, on_.signals);
    if (recordsEach_)
      keepTrace(report);
    if (report.abort != EVT_ABORT_NONE) {
      bool stuck = isStall(report.abort);
      std::string text = describeAbort(report);
      on_.lane.workspace.zeroRegions(session_.manifest_, on_.signals.main);
      driver_.StreamSynchronize(on_.signals.main);
      throw Error(stuck ? EVT_ERROR_STUCK : EVT_ERROR_FAULT, text);
    }
    copyOut();
    float milliseconds = 0;
    driver_.EventElapsedTime(&milliseconds, on_.signals.begin, on_.signals.end);
    LaunchStats stats{request_.schedule, request_.workers, milliseconds / 1e3, shapes_.tasks, {}, {}};
    for (const evt_status &status : report.status)
      stats.finished.push_back(status.finished);
    return stats;
  } catch (...) {
    // No copy from or to the caller's memory outlives the launch.
    if (!session_.abandoned_)
      driver_.StreamSynchronize.raw(on_.signals.main);
    throw;
  }
}

// What the caller has put into other streams may still be writing tensors that are used in place.
void SynchronousLaunch::waitForTensors() {
  const std::vector<bool> &inPlace = request_.binding.inPlace;
  if (std::find(inPlace.begin(), inPlace.end(), true) != inPlace.end())
    driver_.CtxSynchronize();
}

// A tensor of the host as the kernel reads it: packed, where the manifest says so. A tensor on the GPU is packed by its
// owner.
const void *SynchronousLaunch::inKernelLayout(size_t memory, size_t bytes) {
  const void *tensor = request_.binding.tensors[memory];
  const Argument &argument = session_.manifest_.arguments[*session_.manifest_.memories[memory].argument];
  if (!argument.packed)
    return tensor;
  const std::vector<int64_t> &dims = shapes_.memories[memory].dims;
  if (!dividesIntoTiles(dims, *argument.packed))
    throw Error(EVT_ERROR_ARGUMENT, "tensor '" + argument.name + "' ends in " + std::to_string(dims[dims.size() - 2]) +
                                        " x " + std::to_string(dims.back()) + ", required multiples of " +
                                        std::to_string(argument.packed->rows) + " x " +
                                        std::to_string(argument.packed->columns));
  packed_.emplace_back(bytes);
  packTiles(tensor, packed_.back().data(), dims, bytesOf(argument.type), *argument.packed);
  return packed_.back().data();
}

// Tensors that are only written are copied in too: a graph may leave parts of them as they are.
void SynchronousLaunch::copyIn() {
  const Binding &binding = request_.binding;
  for (size_t m = 0; m < binding.tensors.size(); ++m)
    if (size_t bytes = static_cast<size_t>(shapes_.memoryBytes[m]); bytes && !binding.inPlace[m])
      driver_.MemcpyHtoDAsync(memories_[m], inKernelLayout(m, bytes), bytes, on_.signals.main);
}

void SynchronousLaunch::start() {
  Stream stream = on_.signals.main;
  size_t tasks = static_cast<size_t>(shapes_.tasks);
  on_.lane.zeroReport(stream);
  on_.done.reserve(tasks, stream);
  on_.done.zero(tasks, stream);
  evt_cuda_launch header = launchHeader(on_.lane, request_);
  header.done = devicePointer<uint8_t>(on_.done.address());
  if (recordsEach_) {
    size_t bytes = size_t(recordsEach_) * request_.workers * sizeof(evt_cuda_record);
    on_.records.reserve(bytes, stream);
    on_.records.zero(bytes, stream);
    header.trace = devicePointer<evt_cuda_record>(on_.records.address());
    header.trace_records = recordsEach_;
  }
  std::vector<uint64_t> parameters = packParameters(header, memories_, request_.binding.symbols, regions_,
                                                    encodeTensorMaps(driver_, session_.manifest_, shapes_, memories_));
  driver_.EventRecord(on_.signals.begin, stream);
  on_.image.launch(request_.schedule, request_.workers, shapes_, parameters, stream);
  driver_.EventRecord(on_.signals.end, stream);
}

void SynchronousLaunch::waitForEnd() {
  double limit = request_.options.watchdogSeconds;
  std::vector<evt_status> status(request_.workers);
  Watchdog watchdog(status, limit > 0 ? limit + graceSeconds : 0, Clock::now());
  std::optional<Clock::duration> interval = watchdog.interval();
  Clock::time_point look = Clock::now() + interval.value_or(0s);
  Patience patience;
  for (;;) {
    Result result = driver_.EventQuery.raw(on_.signals.end);
    if (result == Result::success)
      return;
    if (result != Result::notReady)
      breakSession(result);
    if (interval && Clock::now() >= look) {
      std::vector<evt_status> now = on_.lane.readReport(request_.workers, on_.signals).status;
      std::copy(now.begin(), now.end(), status.begin());
      if (watchdog.expired(Clock::now()))
        return stopWorkers();
      look = Clock::now() + *interval;
    }
    patience.sleep();
  }
}

bool SynchronousLaunch::endsWithin(double seconds) {
  Clock::time_point deadline =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  Patience patience;
  for (;;) {
    Result result = driver_.EventQuery.raw(on_.signals.end);
    if (result == Result::success)
      return true;
    if (result != Result::notReady)
      breakSession(result);
    if (Clock::now() >= deadline)
      return false;
    patience.sleep();
  }
}

void SynchronousLaunch::stopWorkers() {
  // What the kernel itself said stays: it knows more.
  if (on_.lane.readAbort(on_.signals) == EVT_ABORT_NONE)
    on_.lane.writeAbort(EVT_ABORT_HOST, on_.signals);
  if (endsWithin(std::max(request_.options.watchdogSeconds, leastLeaveSeconds)))
    return;
  session_.abandoned_ = true;
  session_.broken_ = "has workers of an earlier launch that never left; load it again";
  throw Error(EVT_ERROR_STUCK, describeAbort(on_.lane.readReport(request_.workers, on_.signals)) +
                                   "\n  workers did not leave when told to: they still use the arguments, and the "
                                   "graph cannot be launched again");
}

void SynchronousLaunch::copyOut() {
  const Binding &binding = request_.binding;
  for (size_t m = 0; m < binding.tensors.size(); ++m) {
    const Argument &argument = session_.manifest_.arguments[*session_.manifest_.memories[m].argument];
    size_t bytes = static_cast<size_t>(shapes_.memoryBytes[m]);
    if (bytes && !binding.inPlace[m] && argument.access != Access::read)
      driver_.MemcpyDtoHAsync(binding.tensors[m], memories_[m], bytes, on_.signals.main);
  }
  driver_.StreamSynchronize(on_.signals.main);
}

std::string SynchronousLaunch::describeAbort(const KernelReport &report) {
  std::vector<uint8_t> done(static_cast<size_t>(shapes_.tasks));
  if (!done.empty())
    driver_.MemcpyDtoHAsync(static_cast<void *>(done.data()), on_.done.address(), done.size(), on_.signals.side);
  HostCopy copy = copyToHost(session_.gpu_, session_.manifest_, shapes_, memories_, regions_, on_.signals.side);
  return describeReport(session_.manifest_, *session_.kernel_, request_, report, copy, &done);
}

void SynchronousLaunch::keepTrace(const KernelReport &report) {
  std::vector<evt_cuda_record> records(size_t(recordsEach_) * request_.workers);
  driver_.MemcpyDtoHAsync(static_cast<void *>(records.data()), on_.records.address(),
                          records.size() * sizeof(evt_cuda_record), on_.signals.side);
  HostCopy copy = copyToHost(session_.gpu_, session_.manifest_, shapes_, memories_, regions_, on_.signals.side);
  HostLaunch host(request_.binding, copy.memories, copy.regions, request_.schedule, request_.workers);
  for (size_t w = 0; w < report.status.size(); ++w)
    host.status[w].status = report.status[w];
  *request_.options.trace = readRecords(records, recordsEach_, *session_.kernel_, host.launch);
}

// The context is lost for the whole process: the driver answers every later call with the same error.
void SynchronousLaunch::breakSession(Result result) {
  std::string what = driver_.describe("cuEventQuery", result);
  session_.broken_ = "cannot be launched in this process any more: an earlier launch ended with " + what;
  throw Error(Driver::isKernelFault(result) ? EVT_ERROR_FAULT : EVT_ERROR_INTERNAL,
              "kernel of graph '" + session_.manifest_.graph + "' failed: " + what);
}

} // namespace evt::runtime::cuda
