#include "runtime/cuda/FakeGpu_fixture.h"
#include "runtime/cuda/KernelImage.h"
#include "runtime/cuda/Session.h"

#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace evt::runtime::cuda {
namespace {

namespace fs = std::filesystem;

TEST(Driver, SaysWhatWasLookedFor) {
  std::string found = messageOf(EVT_ERROR_INCOMPATIBLE, [] { Driver driver("libnosuchcuda.so.1"); });
  EXPECT_TRUE(found.starts_with("graph needs a CUDA driver: libnosuchcuda.so.1 cannot be loaded: ")) << found;
  EXPECT_TRUE(found.ends_with("No such file or directory")) << found;
  EXPECT_EQ(
      messageOf(EVT_ERROR_INCOMPATIBLE, [] { Driver driver("libm.so.6"); }),
      "graph needs a CUDA driver: libm.so.6 has no function 'cuDriverGetVersion', required a driver for CUDA 12 or "
      "later");
  EXPECT_TRUE(describeGpu("libnosuchcuda.so.1").starts_with("none: libnosuchcuda.so.1 cannot be loaded: "));
}

TEST_F(FakeGpu, IsDescribed) {
  EXPECT_EQ(describeGpu(EVT_FAKE_CUDA), "driver for CUDA 12.8, Fake GPU (compute capability 9.0, 4 SMs)");
}

TEST_F(FakeGpu, ADriverWithoutAGpu) {
  fake->devices = 0;
  EXPECT_EQ(messageOf(EVT_ERROR_INCOMPATIBLE, [] { Driver unused(EVT_FAKE_CUDA); }),
            std::string("graph needs a CUDA driver: ") + EVT_FAKE_CUDA +
                " was loaded, but finds no GPU: cuInit: CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected");
  EXPECT_EQ(messageOf(EVT_ERROR_INCOMPATIBLE, [] { onGpu("row_sum"); }),
            "graph needs a GPU: the CUDA driver finds none");
  EXPECT_EQ(describeGpu(EVT_FAKE_CUDA), "none: the CUDA driver finds none");
}

TEST_F(FakeGpu, ErrorsNameFunctionErrorAndText) {
  Gpu gpu(driver);
  Gpu::Scope scope(gpu);
  EXPECT_EQ(messageOf(EVT_ERROR_INTERNAL, [&] { driver->MemFree(Address(5)); }),
            "cuMemFree: CUDA_ERROR_INVALID_VALUE: invalid argument");
  EXPECT_EQ(driver->describe("cuInit", static_cast<Result>(12345)), "cuInit: error 12345");
}

TEST_F(FakeGpu, WithoutAContextNothingGoes) { // the fake is strict, so the other tests show that a context is current
  Address address;
  EXPECT_EQ(driver->MemAlloc.raw(&address, size_t(16)), Result::invalidContext);
}

TEST_F(FakeGpu, OtherArchitectures) {
  fake->minor = 3;
  EXPECT_EQ(messageOf(EVT_ERROR_INCOMPATIBLE, [] { onGpu("row_sum"); }),
            "graph 'row_sum' was compiled for sm_90a, the GPU Fake GPU has compute capability 9.3");
}

TEST_F(FakeGpu, RefusesExtentsBeyondItsIndices) {
  Manifest manifest = artifact("row_sum").manifest;
  Shapes shapes;
  shapes.memories.push_back({{INT32_MAX, 4}, 0});
  EXPECT_NO_THROW(checkExtents(manifest, shapes));
  shapes.memories[0].dims[1] = int64_t(INT32_MAX) + 1;
  EXPECT_EQ(messageOf(EVT_ERROR_ARGUMENT, [&] { checkExtents(manifest, shapes); }),
            "dimension 1 of 'x' is 2147483648, required at most 2147483647 on the cuda target");
  shapes.memories[0].dims[1] = 4;
  shapes.calls.resize(1);
  shapes.calls[0].tasks = INT32_MAX;
  EXPECT_NO_THROW(checkExtents(manifest, shapes));
  shapes.calls[0].tasks++;
  EXPECT_EQ(messageOf(EVT_ERROR_ARGUMENT, [&] { checkExtents(manifest, shapes); }),
            "call 'partial' has 2147483648 tasks, required at most 2147483647 on the cuda target");
}

TEST_F(FakeGpu, AHeaderSaysWhichPartOfTheGraphIsRun) {
  Gpu gpu(driver);
  Gpu::Scope scope(gpu);
  Signals signals(gpu);
  Lane lane(gpu, 1, signals.main);
  gpu.driver().StreamSynchronize(signals.main); // it zeroes what the lane gives back
  Binding binding;
  binding.shapes.calls.resize(2);
  auto header = [&](const LaunchOptions &options) {
    return launchHeader(lane, Request{binding, options, EVT_STATIC, 1});
  };
  evt_cuda_launch all = header({}), first = header({.firstCall = 0, .lastCall = 0, .iteration = 3}),
                  second = header({.firstCall = 1, .lastCall = 1});
  EXPECT_EQ(std::tuple(all.first_call, all.last_call, all.iteration, all.is_last), std::tuple(0, 1, -1, 1u));
  EXPECT_EQ(std::tuple(first.first_call, first.last_call, first.iteration, first.is_last), std::tuple(0, 0, 3, 0u))
      << "what it counts is kept for the parts to come";
  EXPECT_EQ(std::tuple(second.first_call, second.last_call, second.iteration, second.is_last),
            std::tuple(1, 1, -1, 1u));
}

TEST_F(FakeGpu, ChoosesTheCubinThatFitsBest) {
  Manifest manifest = artifact("row_sum").manifest;
  auto add = [&](const char *name) {
    manifest.cuda->cubins.push_back({*GpuArchitecture::parse(name), {std::string(name) + ".cubin"}});
  };
  add("sm_90");
  add("sm_80");
  add("sm_86");
  EXPECT_EQ(chooseCubin(manifest, 9, 0, "a GPU").files.front(), "kernel.sm_90a.cubin");
  EXPECT_EQ(chooseCubin(manifest, 9, 1, "a GPU").files.front(), "sm_90.cubin");
  EXPECT_EQ(chooseCubin(manifest, 8, 9, "a GPU").files.front(), "sm_86.cubin");
  EXPECT_EQ(chooseCubin(manifest, 8, 0, "a GPU").files.front(), "sm_80.cubin");
  EXPECT_EQ(messageOf(EVT_ERROR_INCOMPATIBLE, [&] { chooseCubin(manifest, 10, 0, "a GPU"); }),
            "graph 'row_sum' was compiled for sm_90a, sm_90, sm_80, sm_86, the GPU a GPU has compute capability 10.0");
}

TEST_F(FakeGpu, KernelsThatDoNotFit) {
  fake->sharedBytesPerBlock = 1000;
  EXPECT_EQ(messageOf(EVT_ERROR_INCOMPATIBLE, [] { onGpu("row_sum"); }),
            "kernel of graph 'row_sum' needs 1100 bytes of shared memory, the GPU Fake GPU has 1000 a block");
  *fake = {};
  fake->blocksPerMultiprocessor = 0;
  EXPECT_EQ(messageOf(EVT_ERROR_INCOMPATIBLE, [] { onGpu("row_sum"); }),
            "kernel of graph 'row_sum' does not fit on an SM of Fake GPU: a block has 64 threads of 40 registers and "
            "1100 bytes of shared memory");
}

TEST_F(FakeGpu, KernelsInSeveralFiles) {
  // Nothing of row_sum is in the first.
  Artifact split = artifact("row_sum");
  std::string file = split.manifest.cuda->cubins[0].files[0];
  fs::path folder = fs::path(testing::TempDir()) / ("files_" + std::to_string(getpid()));
  fs::create_directory(folder);
  fs::copy_file(artifact("chain").directory + "/" + file, folder / "chain.cubin");
  fs::copy_file(split.directory + "/" + file, folder / file);
  fs::copy_file(split.directory + "/explain.so", folder / "explain.so");
  split.directory = folder;
  split.manifest.cuda->cubins[0].files = {"chain.cubin", file};
  split.manifest.entry = artifact("row_sum").manifest.entry;
  EXPECT_NO_THROW(onGpu(split));
  split.manifest.entry = "another";
  EXPECT_EQ(messageOf(EVT_ERROR_ARTIFACT, [&] { onGpu(split); }),
            (folder / "chain.cubin").string() + ", " + (folder / file).string() +
                ": has no kernel 'another_static': cuModuleGetFunction: CUDA_ERROR_NOT_FOUND: named symbol not found");
  fs::remove_all(folder);
}

TEST_F(FakeGpu, KernelsAreInTheFileOfTheirVariant) {
  Artifact two = artifact("row_sum");
  CudaSection &cuda = *two.manifest.cuda;
  cuda.variants.push_back(cuda.variants.front());
  cuda.cubins[0].files.push_back(cuda.cubins[0].files.front());
  onGpu(two);
  size_t schedules = fake->foundIn.size() / 2;
  ASSERT_GT(schedules, 0u);
  for (size_t i = 0; i < 2 * schedules; ++i)
    EXPECT_EQ(fake->foundIn[i], fake->foundIn[i < schedules ? 0 : schedules]);
  EXPECT_NE(fake->foundIn.front(), fake->foundIn[schedules]);
}

TEST_F(FakeGpu, CubinsThatAreNone) {
  Artifact broken = artifact("row_sum");
  std::string file = broken.directory + "/kernel.sm_90a.cubin";
  broken.manifest.entry = "another";
  EXPECT_EQ(messageOf(EVT_ERROR_ARTIFACT, [&] { onGpu(broken); }),
            file +
                ": has no kernel 'another_static': cuModuleGetFunction: CUDA_ERROR_NOT_FOUND: named symbol not found");
  fs::path folder = fs::path(testing::TempDir()) / ("cubin_" + std::to_string(getpid()));
  fs::create_directory(folder);
  std::ofstream(folder / "kernel.sm_90a.cubin") << "this is no image of a kernel";
  broken.directory = folder;
  EXPECT_EQ(messageOf(EVT_ERROR_INCOMPATIBLE, [&] { onGpu(broken); }),
            (folder / "kernel.sm_90a.cubin").string() +
                ": cuModuleLoadData: CUDA_ERROR_INVALID_IMAGE: device kernel image is invalid");
  fs::remove_all(folder);
  EXPECT_EQ(messageOf(EVT_ERROR_FILE, [&] { onGpu(broken); }),
            (folder / "kernel.sm_90a.cubin").string() + ": cannot be read");
}

} // namespace
} // namespace evt::runtime::cuda
