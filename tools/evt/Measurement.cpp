#include "tools/evt/Measurement.h"

#include "runtime/cuda/DeviceMemory.h"
#include "runtime/tensor/PackedTiles.h"
#include "tools/evt/LaunchSettings.h"
#include "tools/evt/Observation.h"

#include <algorithm>
#include <cstring>
#include <unistd.h>
#include <vector>

namespace evt::tool {
namespace {

using runtime::Manifest;

runtime::LaunchOptions optionsOf(const std::string &schedule, unsigned workers) {
  runtime::LaunchOptions options;
  options.schedule = schedule;
  options.workers = workers;
  return options;
}

// Larger than the CPU's caches; written before a launch, it takes their place.
class CacheFiller {
public:
  CacheFiller() {
    long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
    size_t bytes =
        std::clamp<size_t>(cache > 0 ? static_cast<size_t>(cache) * 2 : 0, size_t(64) << 20, size_t(512) << 20);
    memory_.resize(bytes);
  }
  void fill() { std::memset(memory_.data(), ++value_, memory_.size()); }

private:
  std::vector<char> memory_;
  int value_ = 0;
};

class HostMeasurement : public Measurement {
public:
  HostMeasurement(runtime::Program &program, const std::shared_ptr<Arguments> &arguments, bool cold)
      : program_(program), arguments_(arguments), filler_(cold ? std::make_unique<CacheFiller>() : nullptr) {}

  Launch launch(const std::string &schedule, unsigned workers) override {
    arguments_->restore();
    if (filler_)
      filler_->fill();
    runtime::LaunchStats stats = launchKept(program_, arguments_, nullptr, optionsOf(schedule, workers));
    return {stats.seconds, stats.workers, std::string(runtime::scheduleNames[stats.schedule])};
  }
  void fetch() override {}
  observe::Timeline trace(const std::string &schedule, unsigned workers) override {
    arguments_->restore();
    if (filler_)
      filler_->fill();
    runtime::LaunchOptions options = optionsOf(schedule, workers);
    const Manifest &manifest = program_.manifest();
    runtime::Binding binding = program_.prepare(arguments_->values());
    observe::ProgramDescription description = describeProgram(manifest, binding.shapes);
    if (manifest.cuda) {
      runtime::LaunchTrace trace;
      options.trace = &trace;
      launchKept(program_, arguments_, nullptr, options);
      return timelineOf(trace, description);
    }
    observe::RecorderOptions recording;
    recording.accesses = recording.notifies = false;
    auto recorder = std::make_shared<observe::Recorder>(workers, recording);
    launchKept(program_, arguments_, recorder, options);
    return observe::timeline(*recorder);
  }

private:
  runtime::Program &program_;
  std::shared_ptr<Arguments> arguments_;
  std::unique_ptr<CacheFiller> filler_;
};

class DeviceMeasurement : public Measurement {
public:
  DeviceMeasurement(runtime::Program &program, const std::shared_ptr<Arguments> &arguments)
      : program_(program), arguments_(arguments), gpu_(runtime::cuda::openDriver()), scope_(gpu_), signals_(gpu_),
        filler_(gpu_) {
    filler_.reserve(gpu_.cacheBytes() * 4, signals_.stream);
    values_ = arguments_->values();
    const Manifest &manifest = program_.manifest();
    blocks_.reserve(values_.size());
    views_.reserve(values_.size()); // the values point into it
    for (size_t i = 0; i < values_.size(); ++i) {
      blocks_.emplace_back(gpu_);
      if (!values_[i].tensor)
        continue;
      const runtime::HostTensor &tensor = arguments_->at(i);
      blocks_[i].reserve(tensor.bytes(), signals_.stream);
      if (manifest.arguments[i].packed)
        uploadPacked(i, *manifest.arguments[i].packed);
      else
        upload(i);
      DLTensor view = *values_[i].tensor;
      view.device = {kDLCUDA, gpu_.number()};
      view.data = reinterpret_cast<void *>(blocks_[i].address());
      views_.push_back(view);
      values_[i].tensor = &views_.back();
    }
    driver().StreamSynchronize(signals_.stream);
  }
  ~DeviceMeasurement() override { driver().StreamSynchronize.raw(signals_.stream); }

  Launch launch(const std::string &schedule, unsigned workers) override {
    restore();
    runtime::LaunchOptions options = optionsOf(schedule, workers);
    options.stream = signals_.stream;
    // While the GPU is busy with this, the host puts the launch behind it: nothing but the kernel is between the
    // events.
    driver().MemsetD8Async(filler_.address(), ++fill_, filler_.capacity(), signals_.stream);
    driver().EventRecord(signals_.begin, signals_.stream);
    runtime::LaunchStats stats = program_.launch(values_, options);
    driver().EventRecord(signals_.end, signals_.stream);
    driver().StreamSynchronize(signals_.stream);
    float milliseconds = 0;
    driver().EventElapsedTime(&milliseconds, signals_.begin, signals_.end);
    return {milliseconds / 1e3, stats.workers, std::string(runtime::scheduleNames[stats.schedule])};
  }
  void fetch() override {
    for (size_t i : arguments_->written())
      if (runtime::HostTensor &tensor = arguments_->at(i); tensor.bytes())
        driver().MemcpyDtoHAsync(tensor.data(), blocks_[i].address(), tensor.bytes(), signals_.stream);
    driver().StreamSynchronize(signals_.stream);
    fetched_ = true;
  }
  observe::Timeline trace(const std::string &schedule, unsigned workers) override {
    restore();
    driver().MemsetD8Async(filler_.address(), ++fill_, filler_.capacity(), signals_.stream);
    driver().StreamSynchronize(signals_.stream);
    runtime::LaunchTrace trace;
    runtime::LaunchOptions options = optionsOf(schedule, workers);
    options.trace = &trace;
    runtime::Binding binding = program_.prepare(values_);
    program_.launch(values_, options);
    return timelineOf(trace, describeProgram(program_.manifest(), binding.shapes));
  }

private:
  // The stream and the events; destroyed while the context is current.
  struct Signals {
    explicit Signals(const runtime::cuda::Gpu &gpu) : driver(gpu.driver()) {
      driver.StreamCreate(&stream, runtime::cuda::streamNonBlocking);
      driver.EventCreate(&begin, 0u);
      driver.EventCreate(&end, 0u);
    }
    ~Signals() {
      driver.EventDestroy.raw(end);
      driver.EventDestroy.raw(begin);
      driver.StreamDestroy.raw(stream);
    }
    Signals(const Signals &) = delete;
    Signals &operator=(const Signals &) = delete;
    const runtime::cuda::Driver &driver;
    runtime::cuda::Stream stream = nullptr;
    runtime::cuda::Event begin = nullptr, end = nullptr;
  };

  const runtime::cuda::Driver &driver() const { return gpu_.driver(); }

  void upload(size_t argument) {
    const runtime::HostTensor &tensor = arguments_->at(argument);
    if (tensor.bytes())
      driver().MemcpyHtoDAsync(blocks_[argument].address(), static_cast<const void *>(tensor.data()), tensor.bytes(),
                               signals_.stream);
  }
  void uploadPacked(size_t argument, runtime::TileShape tile) {
    const runtime::HostTensor &tensor = arguments_->at(argument);
    if (!runtime::dividesIntoTiles(tensor.shape(), tile))
      return upload(argument); // the launch refuses it, and says why
    std::vector<char> packed(tensor.bytes());
    runtime::packTiles(tensor.data(), packed.data(), tensor.shape(), runtime::bytesOf(tensor.type()), tile);
    driver().MemcpyHtoDAsync(blocks_[argument].address(), static_cast<const void *>(packed.data()), packed.size(),
                             signals_.stream);
    driver().StreamSynchronize(signals_.stream);
  }
  void restore() {
    if (fetched_)
      arguments_->restore();
    fetched_ = false;
    for (size_t i : arguments_->written())
      upload(i);
  }

  runtime::Program &program_;
  std::shared_ptr<Arguments> arguments_;
  runtime::cuda::Gpu gpu_;
  runtime::cuda::Gpu::Scope scope_;
  Signals signals_;
  runtime::cuda::DeviceBlock filler_;
  std::vector<runtime::cuda::DeviceBlock> blocks_; // of each argument, empty for an index
  std::vector<DLTensor> views_;
  std::vector<evt_value> values_;
  unsigned char fill_ = 0;
  bool fetched_ = true; // the arguments may have been used before
};

} // namespace

std::unique_ptr<Measurement> measureWarm(runtime::Program &program, const std::shared_ptr<Arguments> &arguments) {
  return std::make_unique<HostMeasurement>(program, arguments, false);
}

std::unique_ptr<Measurement> measureCold(runtime::Program &program, const std::shared_ptr<Arguments> &arguments) {
  if (program.manifest().cuda)
    return std::make_unique<DeviceMeasurement>(program, arguments);
  return std::make_unique<HostMeasurement>(program, arguments, true);
}

} // namespace evt::tool
