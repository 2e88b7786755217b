#include "runtime/cuda/FakeGpu_fixture.h"

#include <numeric>

namespace evt::runtime::cuda {
namespace {

TEST_F(FakeGpu, ComputesFromTensorsOfTheHost) {
  auto program = onGpu("row_sum");
  for (int64_t n : {5, 1, 0, 37, 2}) // larger and smaller in turn: the memory is kept
    for (unsigned workers : {0u, 1u, 3u, 8u}) {
      RowSumArguments arguments(n);
      LaunchStats stats = program->launch(arguments.values(), {.workers = workers});
      EXPECT_TRUE(arguments.correct()) << n << " rows, " << workers << " workers";
      EXPECT_EQ(stats.workers, workers ? workers : 4u) << "one for each SM";
      EXPECT_EQ(stats.tasks, 5 * n);
      EXPECT_GT(stats.seconds, 0);
      EXPECT_EQ(std::accumulate(stats.finished.begin(), stats.finished.end(), uint64_t(0)),
                static_cast<uint64_t>(5 * n));
      EXPECT_EQ(fake->launched.back().grid, stats.workers);
      EXPECT_EQ(fake->launched.back().block, 64u);
      EXPECT_EQ(fake->launched.back().sharedBytes, 1024u);
    }
}

TEST_F(FakeGpu, KeepsItsMemoryBetweenLaunches) {
  auto program = onGpu("row_sum");
  RowSumArguments arguments(6);
  program->launch(arguments.values());
  int64_t kept = fake->allocations;
  for (int i = 0; i < 50; ++i) {
    arguments.y.set(3, -1);
    program->launch(arguments.values(), {.workers = 1u + i % 5});
    ASSERT_TRUE(arguments.correct()) << i;
  }
  EXPECT_EQ(fake->allocations, kept);
}

TEST_F(FakeGpu, UsesTensorsOnTheGpuInPlace) {
  auto program = onGpu("row_sum");
  Caller caller(driver);
  DeviceRowSum arguments(caller, 7);
  program->launch(arguments.values());
  EXPECT_TRUE(arguments.correct());
  uint64_t words[2];
  std::memcpy(words, fake->launched.back().parameters.data() + 112, sizeof words);
  EXPECT_EQ(words[0], reinterpret_cast<uint64_t>(arguments.x.data));
  EXPECT_EQ(words[1], reinterpret_cast<uint64_t>(arguments.y.data));
  // One of each kind.
  RowSumArguments host(7);
  std::vector<evt_value> mixed = {{&arguments.x, 0}, {&host.Y, 0}};
  program->launch(mixed);
  EXPECT_TRUE(host.correct());
}

// What the graph does not write must come back as it went in.
TEST_F(FakeGpu, WrittenTensorsAreCopiedThereAndBack) {
  auto program = onGpu("faults");
  HostTensor flag(DataType::i32, {1});
  DLTensor view = flag.dlpack();
  std::vector<evt_value> values = {{&view, 0}, {nullptr, 0}};
  flag.setInteger(0, 12345);
  program->launch(values);
  EXPECT_EQ(flag.getInteger(0), 12345);
}

TEST_F(FakeGpu, ChecksWhereTensorsAre) {
  auto program = onGpu("row_sum");
  Caller caller(driver);
  DeviceRowSum arguments(caller, 2);
  auto message = [&] { return messageOf(EVT_ERROR_ARGUMENT, [&] { program->launch(arguments.values()); }); };
  arguments.x.device.device_id = 1;
  EXPECT_EQ(message(), "argument 'x' is on cuda:1, required cpu or cuda:0");
  arguments.x.device = {kDLROCM, 0};
  EXPECT_EQ(message(), "argument 'x' is on DLPack device 10, required cpu or cuda:0");
  arguments.x.device = {kDLCUDA, 0};
  arguments.x.data = arguments.host.x.data();
  EXPECT_EQ(message(), "argument 'x' is said to be on cuda:0, but its address is in the memory of no GPU");
  arguments.x.device = {kDLCUDAHost, 0};
  EXPECT_EQ(message(), "no error") << "pinned memory is the host's, and copied";
  arguments.x.data = static_cast<char *>(arguments.host.x.data()) + 4;
  int64_t shape[] = {1, 4096}, rows[] = {1};
  arguments.x.shape = shape;
  arguments.y.shape = rows;
  EXPECT_EQ(message(), "no error") << "what is copied need not be aligned";
  arguments.x.device = {kDLCUDA, 0};
  EXPECT_EQ(message(), "argument 'x' starts 4 bytes after a multiple of 16, required an alignment of 16 bytes");
}

TEST_F(FakeGpu, OptionsAreChecked) {
  auto program = onGpu("row_sum");
  RowSumArguments arguments(2);
  auto message = [&](const LaunchOptions &options) {
    return messageOf(EVT_ERROR_OPTION, [&] { program->launch(arguments.values(), options); });
  };
  EXPECT_EQ(message({.workers = 9}), "workers is 9, required at most 8: 2 on each of 4 SMs of Fake GPU");
  EXPECT_EQ(message({.perturb = 3}),
            "perturb is 3, required 0: the cuda target does not stall its workers; run it on the cpu target");
  evt_hooks hooks{};
  EXPECT_EQ(message({.hooks = &hooks}),
            "hooks are given, required none: the cuda target calls no observer; run it on the cpu target");
  EXPECT_EQ(message({.schedule = "ticket"}),
            "schedule 'ticket' is not supported by graph 'row_sum': this kernel was written by hand");
  EXPECT_EQ(message({.injectCall = 2}), "call to inject a fault into is 2, required -1..1");
  EXPECT_EQ(message({.firstCall = 1, .lastCall = 2}), "calls to run are 1..2, required a range of 0..1");
  EXPECT_EQ(message({.firstCall = 1, .lastCall = 0}), "calls to run are 1..0, required a range of 0..1");
  EXPECT_EQ(message({.firstCall = 0, .lastCall = 0, .iteration = -2}), "iteration to run is -2, required -1 or more");
  EXPECT_EQ(fake->launches, 0) << "nothing ran";
}

TEST_F(FakeGpu, RefusesAWorkspaceLargerThanTheGpu) {
  auto program = onGpu("row_sum");
  RowSumArguments large(100), small(3);
  fake->memoryBytes = 1 << 20;
  EXPECT_EQ(messageOf(EVT_ERROR_MEMORY, [&] { program->launch(large.values()); }),
            "cannot allocate 1638400 bytes on cuda:0 (Fake GPU): cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY: out of memory");
  program->launch(small.values());
  EXPECT_TRUE(small.correct());
}

TEST_F(FakeGpu, AFaultyKernelEndsTheUseOfTheGpu) {
  auto program = onGpu("row_sum");
  RowSumArguments arguments(2);
  fake->failing = "cuEventQuery";
  fake->failingResult = 700;
  EXPECT_EQ(messageOf(EVT_ERROR_FAULT, [&] { program->launch(arguments.values()); }),
            "kernel of graph 'row_sum' failed: cuEventQuery: CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was "
            "encountered");
  EXPECT_EQ(messageOf(EVT_ERROR_STUCK, [&] { program->launch(arguments.values()); }),
            "graph 'row_sum' cannot be launched in this process any more: an earlier launch ended with cuEventQuery: "
            "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered");
}

// Whatever fails, and whenever: an error is thrown or the launch is right, and nothing stays behind.
TEST_F(FakeGpu, EveryFailureOfTheDriverIsAnErrorAndLeaksNothing) {
  const char *functions[] = {"cuDeviceGetCount",
                             "cuDeviceGet",
                             "cuDeviceGetName",
                             "cuDeviceGetAttribute",
                             "cuDevicePrimaryCtxRetain",
                             "cuCtxPushCurrent",
                             "cuModuleLoadData",
                             "cuModuleGetFunction",
                             "cuFuncGetAttribute",
                             "cuFuncSetAttribute",
                             "cuOccupancyMaxActiveBlocksPerMultiprocessor",
                             "cuLaunchKernel",
                             "cuMemAlloc",
                             "cuMemHostAlloc",
                             "cuMemcpyHtoDAsync",
                             "cuMemcpyDtoHAsync",
                             "cuMemsetD8Async",
                             "cuStreamCreate",
                             "cuStreamSynchronize",
                             "cuEventCreate",
                             "cuEventRecord",
                             "cuEventQuery",
                             "cuEventElapsedTime"};
  for (const char *name : functions) {
    int failures = 0, call = 0;
    for (;; ++call) { // the first call that does not happen ends it
      *fake = {};
      fake->failing = name;
      fake->failingResult = 1;
      fake->failingFrom = call;
      bool failed = false;
      try {
        auto program = onGpu("row_sum");
        RowSumArguments arguments(3);
        program->launch(arguments.values(), {.workers = 2, .watchdogSeconds = 0});
        EXPECT_TRUE(arguments.correct()) << name << " " << call;
        fake->failing.clear();
      } catch (const Error &error) {
        failed = true;
        EXPECT_NE(std::string(error.what()).find("CUDA_ERROR_INVALID_VALUE"), std::string::npos) << error.what();
      }
      fake->failing.clear();
      if (fake->failingCalls <= call)
        break;
      failures += failed;
      // With the context itself out of reach nothing can be given back.
      EXPECT_TRUE(fake->nothingLeft() || std::string(name) == "cuCtxPushCurrent") << name << " " << call;
    }
    EXPECT_GT(failures, 0) << name << " was never called, or its failure never noticed";
  }
  *fake = {};
}

} // namespace
} // namespace evt::runtime::cuda
