#include "runtime/cuda/KernelImage.h"

#include "runtime/Error.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <utility>

namespace evt::runtime::cuda {
namespace {

std::string readCubin(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::string content{std::istreambuf_iterator<char>(file), {}};
  if (!file)
    throw Error(EVT_ERROR_FILE, path + ": cannot be read");
  return content;
}

} // namespace

const CudaSection::Cubin &chooseCubin(const Manifest &manifest, int major, int minor, const std::string &gpuName) {
  const CudaSection::Cubin *best = nullptr;
  auto rank = [](const GpuArchitecture &architecture) { return architecture.minor * 2 + architecture.exact; };
  std::string names;
  for (const CudaSection::Cubin &cubin : manifest.cuda->cubins) {
    names += (names.empty() ? "" : ", ") + cubin.architecture.name;
    if (cubin.architecture.runsOn(major, minor) && (!best || rank(cubin.architecture) > rank(best->architecture)))
      best = &cubin;
  }
  if (!best)
    throw Error(EVT_ERROR_INCOMPATIBLE, "graph '" + manifest.graph + "' was compiled for " + names + ", the GPU " +
                                            gpuName + " has compute capability " + std::to_string(major) + "." +
                                            std::to_string(minor));
  return *best;
}

KernelImage::Loaded::Loaded(const Driver &driver, const std::string &path) : driver(driver), path(path) {
  std::string image = readCubin(path);
  if (Result result = driver.ModuleLoadData.raw(&module, image.c_str()); result != Result::success)
    throw Error(result == Result::outOfMemory ? EVT_ERROR_MEMORY : EVT_ERROR_INCOMPATIBLE,
                path + ": " + driver.describe("cuModuleLoadData", result));
}

KernelImage::Loaded::Loaded(Loaded &&other) noexcept
    : driver(other.driver), path(std::move(other.path)), module(std::exchange(other.module, nullptr)) {}

KernelImage::Loaded::~Loaded() {
  if (module)
    driver.ModuleUnload.raw(module);
}

Result KernelImage::Loaded::find(const std::string &name, Function &function) const {
  return driver.ModuleGetFunction.raw(&function, module, name.c_str());
}

KernelImage::KernelImage(const Gpu &gpu, const Artifact &artifact)
    : gpu_(gpu), variants_(artifact.manifest.cuda->variants), functions_(variants_.size()) {
  const Manifest &manifest = artifact.manifest;
  for (const std::string &file : chooseCubin(manifest, gpu.major(), gpu.minor(), gpu.name()).files)
    files_.emplace_back(gpu.driver(), artifact.directory + "/" + file);
  for (size_t variant = 0; variant < variants_.size(); ++variant)
    for (size_t schedule = 0; schedule < scheduleNames.size(); ++schedule)
      if (manifest.schedules[schedule].supported)
        prepare(manifest, variant, schedule);
  for (const Loaded &file : files_)
    if (Function found; !pack_ && file.find(manifest.entry + "_pack", found) == Result::success)
      pack_ = found;
  graph_ = manifest.graph;
  defaultWorkers_ = gpu.multiprocessors();
  mostWorkers_ = blocksPerMultiprocessor_ * gpu.multiprocessors();
}

Function KernelImage::find(const std::string &name, size_t variant) const {
  std::string paths;
  Result result = Result::success;
  for (size_t i = 0; i < files_.size(); ++i) {
    const Loaded &file = files_[(variant + i) % files_.size()]; // most artifacts have a file for each variant
    Function function;
    if ((result = file.find(name, function)) == Result::success)
      return function;
    paths += (paths.empty() ? "" : ", ") + file.path;
  }
  throw Error(EVT_ERROR_ARTIFACT,
              paths + ": has no kernel '" + name + "': " + gpu_.driver().describe("cuModuleGetFunction", result));
}

void KernelImage::prepare(const Manifest &manifest, size_t variant, size_t schedule) {
  const Driver &driver = gpu_.driver();
  const CudaSection::Variant &block = variants_[variant];
  Function &function = functions_[variant][schedule];
  function = find(manifest.entry + "_" + std::string(scheduleNames[schedule]) + block.suffix, variant);
  int fixedBytes = 0;
  driver.FuncGetAttribute(&fixedBytes, FunctionAttribute::staticSharedBytes, function);
  uint64_t sharedBytes = uint64_t(block.sharedBytes) + static_cast<unsigned>(fixedBytes);
  if (sharedBytes > gpu_.mostSharedBytes())
    throw Error(EVT_ERROR_INCOMPATIBLE, "kernel of graph '" + manifest.graph + "' needs " +
                                            std::to_string(sharedBytes) + " bytes of shared memory, the GPU " +
                                            gpu_.name() + " has " + std::to_string(gpu_.mostSharedBytes()) +
                                            " a block");
  driver.FuncSetAttribute(function, FunctionAttribute::dynamicSharedBytes, static_cast<int>(block.sharedBytes));
  int blocks = 0, registers = 0;
  driver.FuncGetAttribute(&registers, FunctionAttribute::registers, function);
  driver.OccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, static_cast<int>(block.threads),
                                                   static_cast<size_t>(block.sharedBytes));
  if (blocks < 1)
    throw Error(EVT_ERROR_INCOMPATIBLE, "kernel of graph '" + manifest.graph + "' does not fit on an SM of " +
                                            gpu_.name() + ": a block has " + std::to_string(block.threads) +
                                            " threads of " + std::to_string(registers) + " registers and " +
                                            std::to_string(sharedBytes) + " bytes of shared memory");
  unsigned fits = static_cast<unsigned>(blocks);
  blocksPerMultiprocessor_ = blocksPerMultiprocessor_ ? std::min(blocksPerMultiprocessor_, fits) : fits;
}

unsigned KernelImage::checkedWorkers(unsigned wanted) const {
  if (wanted > mostWorkers_)
    throw Error(EVT_ERROR_OPTION, "workers is " + std::to_string(wanted) + ", required at most " +
                                      std::to_string(mostWorkers_) + ": " + std::to_string(blocksPerMultiprocessor_) +
                                      " on each of " + std::to_string(gpu_.multiprocessors()) + " SMs of " +
                                      gpu_.name());
  return wanted ? wanted : defaultWorkers_;
}

size_t KernelImage::serving(const Shapes &shapes) const {
  auto serves = [&](const CudaSection::Variant &variant) {
    return std::all_of(variant.without.begin(), variant.without.end(),
                       [&](uint32_t call) { return shapes.calls[call].tasks <= 0; });
  };
  auto found = std::find_if(variants_.begin(), variants_.end(), serves);
  if (found == variants_.end())
    throw Error(EVT_ERROR_ARTIFACT, "no kernel has the code of all calls that this launch has tasks of");
  return static_cast<size_t>(found - variants_.begin());
}

void KernelImage::launch(evt_schedule schedule, unsigned workers, const Shapes &shapes,
                         std::span<const uint64_t> parameters, Stream stream) const {
  size_t variant = serving(shapes);
  const CudaSection::Variant &block = variants_[variant];
  // By its address, not as a buffer of all parameters: a parameter that holds tensor maps begins at a multiple of 64
  // bytes, and only the driver knows where that is in the buffer.
  void *arguments[] = {const_cast<uint64_t *>(parameters.data())};
  gpu_.driver().LaunchKernel(functions_[variant][schedule], workers, 1u, 1u, block.threads, 1u, 1u, block.sharedBytes,
                             stream, static_cast<void **>(arguments), static_cast<void **>(nullptr));
}

// A block for every piece that its threads take at once, up to so many that all SMs are busy.
void KernelImage::pack(evt_cuda_pack rows, Stream stream) const {
  if (!pack_)
    throw Error(EVT_ERROR_INCOMPATIBLE, "artifact of graph '" + graph_ +
                                            "' has no kernel that packs weights: compile it again with this version");
  if (rows.rows == 0)
    return;
  constexpr unsigned blocksEach = 16; // an SM
  const uint64_t pieces = std::max<uint64_t>(uint64_t(rows.rows) * rows.columns / 8, 1);
  const uint64_t wanted = (pieces + EVT_PACK_THREADS - 1) / EVT_PACK_THREADS;
  rows.blocks = static_cast<uint32_t>(std::min<uint64_t>(wanted, uint64_t(blocksEach) * gpu_.multiprocessors()));
  void *arguments[] = {&rows};
  gpu_.driver().LaunchKernel(pack_, rows.blocks, 1u, 1u, EVT_PACK_THREADS, 1u, 1u, 0u, stream,
                             static_cast<void **>(arguments), static_cast<void **>(nullptr));
}

} // namespace evt::runtime::cuda
