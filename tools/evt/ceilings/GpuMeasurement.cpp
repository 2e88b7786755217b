#include "tools/evt/ceilings/GpuMeasurement.h"

#include "runtime/cuda/DeviceMemory.h"
#include "tools/evt/Failure.h"
#include "tools/evt/LaunchSettings.h"

#include <algorithm>
#include <functional>
#include <vector>

namespace evt::tool {
namespace {

using namespace runtime::cuda;

// The one parameter of every kernel, as in ceilings.cu.
struct Work {
  uint64_t in, out, amount, rounds;
};
constexpr uint64_t step = 0x9e3779b97f4a7c15, first = 0xd1b54a32d192ed03; // word i is i * step + first
constexpr uint64_t chunkBytes = 16384;
constexpr uint64_t ringStages[] = {4, 6, 8, 12}; // the best counts: too few starve, too many queue up in the memory
constexpr size_t markOffset = 3 * 128;           // where a kernel says that it waited in vain
constexpr size_t resultBytes = 4096;

struct Shape {
  unsigned blocks, threads, sharedBytes = 0;
};

// A loaded cubin with a stream and two events; the GPU's context is current as long as it lives.
class Laboratory {
public:
  Laboratory(const Gpu &gpu, const std::string &cubin)
      : gpu_(gpu), driver_(gpu.driver()), scope_(gpu), in_(gpu), out_(gpu), result_(gpu) {
    driver_.ModuleLoadData(&module_, cubin.c_str());
    driver_.StreamCreate(&stream_, streamNonBlocking);
    driver_.EventCreate(&begin_, 0u);
    driver_.EventCreate(&end_, 0u);
    result_.reserve(resultBytes, stream_);
  }
  ~Laboratory() {
    driver_.StreamSynchronize.raw(stream_);
    driver_.EventDestroy.raw(end_);
    driver_.EventDestroy.raw(begin_);
    driver_.StreamDestroy.raw(stream_);
    driver_.ModuleUnload.raw(module_);
  }
  Laboratory(const Laboratory &) = delete;
  Laboratory &operator=(const Laboratory &) = delete;

  void makeBuffers(size_t bytes) {
    in_.reserve(bytes, stream_);
    out_.reserve(bytes, stream_);
  }
  uint64_t in() const { return in_.address(); }
  uint64_t out() const { return out_.address(); }
  uint64_t result() const { return result_.address(); }

  bool has(const char *kernel) {
    Function function;
    return driver_.ModuleGetFunction.raw(&function, module_, kernel) == Result::success;
  }
  void launch(const char *kernel, Shape shape, Work work) {
    Function function;
    driver_.ModuleGetFunction(&function, module_, kernel);
    if (shape.sharedBytes)
      driver_.FuncSetAttribute(function, FunctionAttribute::dynamicSharedBytes, static_cast<int>(shape.sharedBytes));
    launch(function, shape, work);
  }
  // Seconds of a launch between two events, the median of several; the result is zero before each and stays after the
  // last.
  double time(const GpuMeasurement &how, const char *kernel, Shape shape, Work work) {
    return time(how, [&] { launch(kernel, shape, work); });
  }
  double time(const GpuMeasurement &how, const std::function<void()> &put) {
    std::vector<double> times;
    for (unsigned i = 0; i < how.repeats + 2; ++i) {
      driver_.MemsetD8Async(result(), static_cast<unsigned char>(0), resultBytes, stream_);
      driver_.EventRecord(begin_, stream_);
      put();
      driver_.EventRecord(end_, stream_);
      driver_.StreamSynchronize(stream_);
      float milliseconds = 0;
      driver_.EventElapsedTime(&milliseconds, begin_, end_);
      if (i >= 2)
        times.push_back(milliseconds / 1e3);
    }
    // A clock that does not move would make a ceiling infinite.
    return std::max(median(times), 1e-9);
  }
  double timeGraph(const GpuMeasurement &how, const char *kernel, Shape shape, unsigned nodes) {
    driver_.StreamBeginCapture(stream_, captureModeRelaxed);
    for (unsigned i = 0; i < nodes; ++i)
      launch(kernel, shape, {});
    Graph graph;
    GraphExec exec;
    driver_.StreamEndCapture(stream_, &graph);
    driver_.GraphInstantiateWithFlags(&exec, graph, 0ull);
    double seconds = time(how, [&] { driver_.GraphLaunch(exec, stream_); });
    driver_.GraphExecDestroy.raw(exec);
    driver_.GraphDestroy.raw(graph);
    return seconds;
  }

  // Far beyond the cache, and so much that starting and ending do not count; two of it in half of the memory.
  uint64_t usualBytes() const {
    size_t free = 0, total = 0;
    driver_.MemGetInfo(&free, &total);
    return std::min<uint64_t>(gpu_.cacheBytes() * 128, free / 4);
  }
  // By the driver, from one buffer to the other.
  void copy(uint64_t bytes) { driver_.MemcpyDtoDAsync(out(), in(), bytes, stream_); }
  uint64_t resultWord() { return read(result(), 8); }
  void requireMeeting(const char *what) {
    if (read(result() + markOffset, 4))
      throw Failure(ExitCode::missing, std::string(what) + " waited in vain: not all blocks run at once on " +
                                           gpu_.name() + "; is somebody else using it?");
  }

private:
  void launch(Function function, Shape shape, Work work) {
    void *arguments[] = {&work};
    driver_.LaunchKernel(function, shape.blocks, 1u, 1u, shape.threads, 1u, 1u, shape.sharedBytes, stream_,
                         static_cast<void **>(arguments), static_cast<void **>(nullptr));
  }
  uint64_t read(uint64_t address, size_t bytes) {
    uint64_t word = 0;
    driver_.MemcpyDtoHAsync(static_cast<void *>(&word), address, bytes, stream_);
    driver_.StreamSynchronize(stream_);
    return word;
  }

  const Gpu &gpu_;
  const Driver &driver_;
  Gpu::Scope scope_;
  Module module_ = nullptr;
  Stream stream_ = nullptr;
  Event begin_ = nullptr, end_ = nullptr;
  DeviceBlock in_, out_, result_;
};

uint64_t wordAt(uint64_t i) { return i * step + first; }
// Of the words 0 .. count - 1.
uint64_t sumOfWords(uint64_t count) {
  uint64_t pairs = count % 2 ? count * ((count - 1) / 2) : count / 2 * (count - 1);
  return pairs * step + count * first;
}

void requireSum(const char *what, uint64_t found, uint64_t required) {
  if (found != required)
    throw Failure(ExitCode::defect, std::string(what) + " read words of sum " + std::to_string(found) + ", required " +
                                        std::to_string(required));
}

} // namespace

std::string ceilingsArchitecture(const Gpu &gpu) {
  if (gpu.major() < 9)
    throw Failure(ExitCode::missing, gpu.name() + " has compute capability " + std::to_string(gpu.major()) + "." +
                                         std::to_string(gpu.minor()) + ", required 9.0 or later for bulk copies");
  return gpu.major() == 9 ? "sm_90a" : "sm_" + std::to_string(gpu.major()) + std::to_string(gpu.minor());
}

GpuCeilings measureGpu(const Gpu &gpu, const std::string &cubin, const GpuMeasurement &how) {
  auto tell = [&](const char *what) {
    if (how.progress)
      how.progress(what);
  };
  unsigned sms = gpu.multiprocessors();
  GpuCeilings found;
  found.name = gpu.name();
  found.multiprocessors = sms;
  Laboratory lab(gpu, cubin);

  // Whole chunks for each SM, and as many for all kernels.
  uint64_t bytes = how.bytes ? how.bytes : lab.usualBytes();
  uint64_t chunks = std::max<uint64_t>(bytes / chunkBytes / sms, 1), words = chunks * sms * chunkBytes / 8;
  bytes = words * 8;
  lab.makeBuffers(bytes);
  Shape stream{sms * 4, 512};
  lab.launch("ceiling_fill", stream, {0, lab.in(), words, 0});

  tell("GPU: read stream by bulk copies");
  double seconds = 0;
  for (uint64_t stages : ringStages) {
    if (stages * chunkBytes + 2048 > gpu.mostSharedBytes())
      continue;
    seconds = lab.time(how, "ceiling_bulk_read", {sms, 32, static_cast<unsigned>(stages * chunkBytes)},
                       {lab.in(), lab.result(), chunks, stages});
    uint64_t expected = 0;
    for (uint64_t block = 0; block < sms; ++block)
      for (uint64_t c = chunks > stages ? chunks - stages : 0; c < chunks; ++c)
        expected += wordAt((block * chunks + c) * (chunkBytes / 8));
    requireSum("the stream of bulk copies", lab.resultWord(), expected);
    found.bulkReadBytesPerSecond = std::max(found.bulkReadBytesPerSecond, static_cast<double>(bytes) / seconds);
  }

  tell("GPU: read stream by loads");
  seconds = lab.time(how, "ceiling_read", stream, {lab.in(), lab.result(), words, 0});
  requireSum("the stream of loads", lab.resultWord(), sumOfWords(words));
  found.readBytesPerSecond = static_cast<double>(bytes) / seconds;

  tell("GPU: copy");
  seconds = lab.time(how, [&] { lab.copy(bytes); });
  found.copyBytesPerSecond = 2.0 * static_cast<double>(bytes) / seconds;
  lab.launch("ceiling_read", stream, {lab.out(), lab.result(), words, 0});
  requireSum("the copy", lab.resultWord(), sumOfWords(words));

  tell("GPU: events");
  // Blocks with more than half of an SM's shared memory have an SM each.
  unsigned most = gpu.mostSharedBytes() - 2048;
  Work exchange{0, lab.result(), 0, how.rounds};
  found.eventOneWaySeconds = lab.time(how, "ceiling_event_one_way", {sms, 32, most}, exchange) / (2.0 * how.rounds);
  lab.requireMeeting("an event");
  found.eventAllSeconds = lab.time(how, "ceiling_event_all", {sms, 32, most}, exchange) / how.rounds;
  lab.requireMeeting("an event");
  found.barrierSeconds = lab.time(how, "ceiling_barrier", {sms, 384, most}, exchange) / how.rounds;
  lab.requireMeeting("a barrier");

  tell("GPU: tickets");
  uint64_t tickets = uint64_t(how.rounds) * sms;
  found.ticketSeconds =
      lab.time(how, "ceiling_ticket", {sms, 32, most}, {0, lab.result(), tickets, 0}) / double(tickets);
  found.ticketLatencySeconds =
      lab.time(how, "ceiling_ticket", {1, 32, most}, {0, lab.result(), how.rounds, 0}) / how.rounds;

  tell("GPU: launches");
  unsigned launches = std::min(how.rounds, 500u);
  found.graphNodeSeconds = lab.timeGraph(how, "ceiling_empty", {sms, 32}, launches) / launches;
  found.launchSeconds = lab.time(how, [&] {
    for (unsigned i = 0; i < launches; ++i)
      lab.launch("ceiling_empty", {sms, 32}, {});
  }) / launches;

  if (lab.has("ceiling_bf16")) {
    tell("GPU: bf16 products");
    constexpr unsigned tileBytes = 49152; // B of 256 x 64, two A of 64 x 64
    // 16 products of 64 x 16 by 16 x 256 a round, in two groups of warps.
    double flops = 2.0 * 64 * 16 * 256 * 16 * 2 * how.rounds * sms;
    found.bf16Flops = flops / lab.time(how, "ceiling_bf16", {sms, 256, tileBytes}, {0, lab.result(), 0, how.rounds});
  }
  return found;
}

} // namespace evt::tool
