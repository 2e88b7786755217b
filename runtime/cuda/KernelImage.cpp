#include "runtime/cuda/KernelImage.h"

#include "runtime/Error.h"

#include <algorithm>
#include <fstream>
#include <iterator>

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

KernelImage::KernelImage(const Gpu &gpu, const Artifact &artifact) : gpu_(gpu), section_(*artifact.manifest.cuda) {
  const Driver &driver = gpu.driver();
  const Manifest &manifest = artifact.manifest;
  const CudaSection::Cubin &cubin = chooseCubin(manifest, gpu.major(), gpu.minor(), gpu.name());
  std::string path = artifact.directory + "/" + cubin.file;
  std::string image = readCubin(path);
  if (Result result = driver.ModuleLoadData.raw(&module_, image.c_str()); result != Result::success)
    throw Error(result == Result::outOfMemory ? EVT_ERROR_MEMORY : EVT_ERROR_INCOMPATIBLE,
                path + ": " + driver.describe("cuModuleLoadData", result));
  try {
    for (size_t schedule = 0; schedule < functions_.size(); ++schedule)
      if (manifest.schedules[schedule].supported)
        prepare(manifest, path, schedule);
    defaultWorkers_ = gpu.multiprocessors();
    mostWorkers_ = blocksPerMultiprocessor_ * gpu.multiprocessors();
  } catch (...) {
    driver.ModuleUnload.raw(module_);
    throw;
  }
}

void KernelImage::prepare(const Manifest &manifest, const std::string &path, size_t schedule) {
  const Driver &driver = gpu_.driver();
  Function &function = functions_[schedule];
  std::string name = manifest.entry + "_" + std::string(scheduleNames[schedule]);
  if (Result result = driver.ModuleGetFunction.raw(&function, module_, name.c_str()); result != Result::success)
    throw Error(EVT_ERROR_ARTIFACT,
                path + ": has no kernel '" + name + "': " + driver.describe("cuModuleGetFunction", result));
  int fixedBytes = 0;
  driver.FuncGetAttribute(&fixedBytes, FunctionAttribute::staticSharedBytes, function);
  uint64_t sharedBytes = uint64_t(section_.sharedBytes) + static_cast<unsigned>(fixedBytes);
  if (sharedBytes > gpu_.mostSharedBytes())
    throw Error(EVT_ERROR_INCOMPATIBLE, "kernel of graph '" + manifest.graph + "' needs " +
                                            std::to_string(sharedBytes) + " bytes of shared memory, the GPU " +
                                            gpu_.name() + " has " + std::to_string(gpu_.mostSharedBytes()) +
                                            " a block");
  driver.FuncSetAttribute(function, FunctionAttribute::dynamicSharedBytes, static_cast<int>(section_.sharedBytes));
  int blocks = 0, registers = 0;
  driver.FuncGetAttribute(&registers, FunctionAttribute::registers, function);
  driver.OccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, static_cast<int>(section_.threads),
                                                   static_cast<size_t>(section_.sharedBytes));
  if (blocks < 1)
    throw Error(EVT_ERROR_INCOMPATIBLE, "kernel of graph '" + manifest.graph + "' does not fit on an SM of " +
                                            gpu_.name() + ": a block has " + std::to_string(section_.threads) +
                                            " threads of " + std::to_string(registers) + " registers and " +
                                            std::to_string(sharedBytes) + " bytes of shared memory");
  unsigned fits = static_cast<unsigned>(blocks);
  blocksPerMultiprocessor_ = blocksPerMultiprocessor_ ? std::min(blocksPerMultiprocessor_, fits) : fits;
}

KernelImage::~KernelImage() { gpu_.driver().ModuleUnload.raw(module_); }

unsigned KernelImage::checkedWorkers(unsigned wanted) const {
  if (wanted > mostWorkers_)
    throw Error(EVT_ERROR_OPTION, "workers is " + std::to_string(wanted) + ", required at most " +
                                      std::to_string(mostWorkers_) + ": " + std::to_string(blocksPerMultiprocessor_) +
                                      " on each of " + std::to_string(gpu_.multiprocessors()) + " SMs of " +
                                      gpu_.name());
  return wanted ? wanted : defaultWorkers_;
}

void KernelImage::launch(evt_schedule schedule, unsigned workers, std::span<const uint64_t> parameters,
                         Stream stream) const {
  // By its address, not as a buffer of all parameters: a parameter that holds tensor maps begins at a multiple of 64
  // bytes, and only the driver knows where that is in the buffer.
  void *arguments[] = {const_cast<uint64_t *>(parameters.data())};
  gpu_.driver().LaunchKernel(functions_[schedule], workers, 1u, 1u, section_.threads, 1u, 1u, section_.sharedBytes,
                             stream, static_cast<void **>(arguments), static_cast<void **>(nullptr));
}

} // namespace evt::runtime::cuda
