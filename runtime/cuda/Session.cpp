#include "runtime/cuda/Session.h"

#include "runtime/Error.h"
#include "runtime/cuda/HostCopy.h"
#include "runtime/cuda/Parameters.h"
#include "runtime/cuda/Reports.h"
#include "runtime/cuda/SynchronousLaunch.h"
#include "runtime/cuda/TensorMaps.h"

namespace evt::runtime::cuda {
namespace {

void checkSupported(const LaunchOptions &options) {
  if (options.hooks)
    refuseOption("hooks are given, required none: the cuda target calls no observer; run it on the cpu target");
  if (options.perturb)
    refuseOption("perturb is " + std::to_string(options.perturb) +
                 ", required 0: the cuda target does not stall its workers; run it on the cpu target");
  if (options.stream && options.trace)
    refuseOption("a trace is asked for, required no stream: a launch on a stream is not waited for");
}

uint64_t nanoseconds(double seconds) { return static_cast<uint64_t>(seconds * 1e9); }

} // namespace

void checkExtents(const Manifest &manifest, const Shapes &shapes) {
  for (size_t m = 0; m < shapes.memories.size(); ++m)
    for (size_t d = 0; d < shapes.memories[m].dims.size(); ++d)
      if (int64_t extent = shapes.memories[m].dims[d]; extent > INT32_MAX)
        throw Error(EVT_ERROR_ARGUMENT, "dimension " + std::to_string(d) + " of '" + manifest.memories[m].name +
                                            "' is " + std::to_string(extent) + ", required at most " +
                                            std::to_string(INT32_MAX) + " on the cuda target");
  for (size_t k = 0; k < shapes.calls.size(); ++k)
    if (int64_t tasks = shapes.calls[k].tasks; tasks > INT32_MAX)
      throw Error(EVT_ERROR_ARGUMENT, "call '" + manifest.calls[k].name + "' has " + std::to_string(tasks) +
                                          " tasks, required at most " + std::to_string(INT32_MAX) +
                                          " on the cuda target");
}

evt_cuda_launch launchHeader(const Lane &lane, const Request &request) {
  evt_cuda_launch header{};
  header.abi_version = EVT_ABI_VERSION;
  header.schedule = request.schedule;
  header.workers = request.workers;
  header.status = devicePointer<evt_status>(lane.status());
  header.abort = devicePointer<uint32_t>(lane.abort());
  header.fault = devicePointer<evt_fault>(lane.fault());
  header.limit_ns = nanoseconds(request.options.watchdogSeconds);
  header.inject_call = request.options.injectCall;
  header.inject_task = request.options.injectCall == -1 ? -1 : request.options.injectTask;
  const int64_t last = static_cast<int64_t>(request.binding.shapes.calls.size()) - 1;
  header.first_call = std::max<int64_t>(request.options.firstCall, 0);
  header.last_call = request.options.lastCall == -1 ? last : request.options.lastCall;
  header.iteration = request.options.iteration;
  header.is_last = header.last_call == last;
  return header;
}

Session::OnGpu::OnGpu(const Gpu &gpu, const Artifact &artifact)
    : image(gpu, artifact), signals(gpu), lane(gpu, image.mostWorkers(), signals.main), done(gpu), records(gpu) {
  for (size_t m = 0; m < argumentMemories(artifact.manifest); ++m)
    copies.emplace_back(gpu);
}

Session::OnGpu::~OnGpu() {
  signals.driver.StreamSynchronize.raw(signals.main);
  if (!callers.empty())
    signals.driver.CtxSynchronize.raw(); // their streams may be gone, but not what runs on them
}

Session::Session(const Artifact &artifact, const std::string &library)
    : manifest_(artifact.manifest), kernel_(artifact.kernel), gpu_(openDriver(library)) {
  Gpu::Scope scope(gpu_);
  auto on = std::make_unique<OnGpu>(gpu_, artifact); // freed with the context current if what follows throws
  gpu_.driver().StreamSynchronize(on->signals.main);
  on_ = std::move(on);
}

Session::~Session() {
  // At the end of a process the driver may be gone already, and with it all that would be freed.
  try {
    Gpu::Scope scope(gpu_);
    on_.reset();
  } catch (const Error &) {
    on_.release();
  }
}

void Session::checkUsable() const {
  if (!broken_.empty())
    throw Error(EVT_ERROR_STUCK, "graph '" + manifest_.graph + "' " + broken_);
}

// A host address that is said to be the device's would end the process's use of the GPU; asking costs nothing.
void Session::checkOnDevice(const Binding &binding) const {
  for (size_t m = 0; m < binding.tensors.size(); ++m) {
    if (!binding.inPlace[m] || binding.shapes.memoryBytes[m] == 0)
      continue;
    int number = -1;
    Result result = gpu_.driver().PointerGetAttribute.raw(static_cast<void *>(&number), PointerAttribute::ordinal,
                                                          reinterpret_cast<Address>(binding.tensors[m]));
    std::string device = "cuda:" + std::to_string(gpu_.number());
    if (result != Result::success || number != gpu_.number())
      throw Error(EVT_ERROR_ARGUMENT, "argument '" + manifest_.arguments[*manifest_.memories[m].argument].name +
                                          "' is said to be on " + device + ", but its address is in the memory of " +
                                          (result != Result::success ? "no GPU" : "cuda:" + std::to_string(number)));
  }
}

bool Session::isCapturing(Stream stream) const {
  unsigned status = captureStatusNone;
  gpu_.driver().StreamIsCapturing(stream, &status);
  return status != captureStatusNone;
}

Session::Caller &Session::callerOf(Stream stream) {
  Caller &caller = on_->callers[stream];
  if (!caller.lane) {
    if (isCapturing(stream)) {
      on_->callers.erase(stream);
      refuseOption("stream is being captured, required a launch of graph '" + manifest_.graph +
                   "' on it before: the capture cannot allocate its workspace");
    }
    caller.lane = std::make_unique<Lane>(gpu_, on_->image.mostWorkers(), on_->signals.main);
    gpu_.driver().StreamSynchronize(on_->signals.main); // zeroed before the caller's stream uses it
  }
  return caller;
}

void Session::makeRoom(Caller &caller, const Shapes &shapes, Stream stream) {
  bool capturing = isCapturing(stream);
  if (!caller.lane->workspace.fits(manifest_, shapes)) {
    if (capturing)
      refuseOption(
          "stream is being captured, required a launch with arguments of this size on it before: the capture cannot "
          "make the workspace of graph '" +
          manifest_.graph + "' larger");
    if (caller.captured)
      caller.lane->workspace.retire();
    else
      gpu_.driver().StreamSynchronize(stream); // launches in flight use the memory that is about to be freed
    caller.lane->workspace.prepare(manifest_, shapes, on_->signals.main);
    gpu_.driver().StreamSynchronize(on_->signals.main); // zeroed before the caller's stream uses it
  }
  caller.captured |= capturing;
}

Binding Session::prepare(std::span<const evt_value> values, const LaunchOptions &options) {
  checkSupported(options);
  checkUsable();
  Binding binding = bindArguments(manifest_, values, {{kDLCUDA, gpu_.number()}, options.stream == nullptr});
  checkExtents(manifest_, binding.shapes);
  Gpu::Scope scope(gpu_);
  checkOnDevice(binding);
  Stream stream = static_cast<Stream>(options.stream);
  if (stream) {
    makeRoom(callerOf(stream), binding.shapes, stream);
    return binding;
  }
  on_->lane.workspace.prepare(manifest_, binding.shapes, on_->signals.main);
  for (size_t m = 0; m < binding.tensors.size(); ++m)
    if (!binding.inPlace[m])
      on_->copies[m].reserve(static_cast<size_t>(binding.shapes.memoryBytes[m]), on_->signals.main);
  return binding;
}

LaunchStats Session::launch(const Binding &binding, const LaunchOptions &options, evt_schedule schedule) {
  if (options.firstCall != -1 && !options.stream)
    refuseOption("a part of the graph is asked for, required a stream: parts follow each other on it");
  Gpu::Scope scope(gpu_);
  Request request{binding, options, schedule, workersOf(options)};
  return options.stream ? launchOn(static_cast<Stream>(options.stream), request)
                        : SynchronousLaunch(*this, request).run();
}

LaunchStats Session::launchOn(Stream stream, const Request &request) {
  Caller &caller = callerOf(stream);
  reportEarlier(caller, stream);
  // What its parts have counted would be taken for the launch's own.
  if (caller.inParts && request.options.firstCall == -1)
    refuseOption(
        "all of the graph is asked for, required the rest of its parts: the last launch on this stream was one of "
        "them");
  const Binding &binding = request.binding;
  std::vector<Address> memories, buffers = caller.lane->workspace.buffers();
  for (void *tensor : binding.tensors)
    memories.push_back(reinterpret_cast<Address>(tensor));
  memories.insert(memories.end(), buffers.begin(), buffers.end());
  const evt_cuda_launch header = launchHeader(*caller.lane, request);
  std::vector<uint64_t> parameters =
      packParameters(header, memories, binding.symbols, caller.lane->workspace.regions(),
                     encodeTensorMaps(gpu_.driver(), manifest_, binding.shapes, memories));
  on_->image.launch(request.schedule, request.workers, binding.shapes, parameters, stream);
  caller.binding = binding;
  caller.inParts = !header.is_last;
  caller.schedule = request.schedule;
  caller.workers = request.workers;
  caller.watchdogSeconds = request.options.watchdogSeconds;
  return {request.schedule, request.workers, 0, binding.shapes.tasks, {}, {}};
}

// The launch that is reported is taken to be the last one: an aborted launch leaves its mark, and later ones leave at
// once.
void Session::reportEarlier(Caller &caller, Stream stream) {
  auto now = std::chrono::steady_clock::now();
  if (!caller.binding || now - caller.looked < lookInterval || isCapturing(stream))
    return;
  caller.looked = now;
  report(caller, stream);
}

void Session::report(Caller &caller, Stream stream) {
  if (caller.lane->readAbort(on_->signals) == EVT_ABORT_NONE)
    return;
  gpu_.driver().StreamSynchronize(stream);
  KernelReport report = caller.lane->readReport(caller.workers, on_->signals);
  LaunchOptions options;
  options.watchdogSeconds = caller.watchdogSeconds;
  Request request{*caller.binding, options, caller.schedule, caller.workers};
  // The caller's tensors may be gone by now: only the regions are looked at.
  HostCopy copy =
      copyToHost(gpu_, manifest_, caller.binding->shapes, {}, caller.lane->workspace.regions(), on_->signals.side);
  std::string text = describeReport(manifest_, *kernel_, request, report, copy, nullptr);
  caller.lane->workspace.zeroRegions(manifest_, stream);
  caller.lane->zeroReport(stream);
  gpu_.driver().StreamSynchronize(stream);
  caller.binding.reset();
  caller.inParts = false;
  throw Error(isStall(report.abort) ? EVT_ERROR_STUCK : EVT_ERROR_FAULT, "an earlier launch on this stream: " + text);
}

void Session::finish(Stream stream) {
  checkUsable();
  Gpu::Scope scope(gpu_);
  gpu_.driver().StreamSynchronize(stream);
  if (auto found = on_->callers.find(stream); found != on_->callers.end() && found->second.binding)
    report(found->second, stream);
}

void Session::forget(Stream stream) {
  auto found = on_->callers.find(stream);
  if (found == on_->callers.end())
    return;
  if (found->second.captured)
    on_->orphans.push_back(std::move(found->second));
  else
    gpu_.driver().StreamSynchronize(stream);
  on_->callers.erase(found);
}

void Session::addUse(evt_memory_use &use) const {
  auto add = [&](const Lane &lane) {
    use.workspace += lane.workspace.valueBytes(manifest_);
    use.counters += lane.workspace.counterBytes(manifest_) + lane.reportBytes();
  };
  add(on_->lane);
  for (const auto &[stream, caller] : on_->callers)
    if (caller.lane)
      add(*caller.lane);
}

} // namespace evt::runtime::cuda
