#include "tools/evt/ceilings/GpuMeasurement.h"

#include "runtime/Error.h"
#include "runtime/cuda/FakeGpu_fixture.h"
#include "tools/evt/Failure.h"

#include <gmock/gmock.h>

#include <fstream>
#include <iterator>

namespace evt::tool {
namespace {

class GpuMeasurementTest : public runtime::cuda::FakeGpu {
protected:
  static std::string cubin() {
    std::ifstream in(EVT_FAKE_CEILINGS, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static GpuMeasurement quick(unsigned rounds = 5) { return {1 << 20, rounds, 3, {}}; }
};

TEST_F(GpuMeasurementTest, MeasuresEverything) {
  runtime::cuda::Gpu gpu(driver);
  GpuCeilings found = measureGpu(gpu, cubin(), quick());
  EXPECT_EQ(found.name, "Fake GPU");
  EXPECT_EQ(found.multiprocessors, 4u);
  EXPECT_FALSE(found.bf16Flops); // the fake has no such kernel
  for (double number : {found.bulkReadBytesPerSecond, found.readBytesPerSecond, found.copyBytesPerSecond,
                        found.eventOneWaySeconds, found.eventAllSeconds, found.barrierSeconds, found.ticketSeconds,
                        found.ticketLatencySeconds, found.graphNodeSeconds, found.launchSeconds})
    EXPECT_GT(number, 0);
  // A median of 3 after 2 that do not count; a stream of 1 MB is 16 chunks of 16 KB for each of 4 SMs.
  const auto &launches = fake->launched;
  auto isBulk = [](const fakecuda::State::Launch &launch) {
    return launch.grid == 4 && launch.sharedBytes == 12 * 16384;
  };
  EXPECT_EQ(std::count_if(launches.begin(), launches.end(), isBulk), 5);
  auto isSmaller = [](const fakecuda::State::Launch &launch) { return launch.sharedBytes == 6 * 16384; };
  EXPECT_EQ(std::count_if(launches.begin(), launches.end(), isSmaller), 5);
  uint64_t amount;
  std::memcpy(&amount, std::find_if(launches.begin(), launches.end(), isBulk)->parameters.data() + 16, 8);
  EXPECT_EQ(amount, 16u);
}

TEST_F(GpuMeasurementTest, BuffersAreLargerThanTheCache) {
  fake->cacheBytes = 1 << 16;
  runtime::cuda::Gpu gpu(driver);
  GpuMeasurement how = quick();
  how.bytes = 0;
  measureGpu(gpu, cubin(), how);
  uint64_t words; // that ceiling_fill writes: 128 times 64 KB
  std::memcpy(&words, fake->launched[0].parameters.data() + 16, 8);
  EXPECT_EQ(words * 8, 128u << 16);
}

TEST_F(GpuMeasurementTest, BuffersFitIntoTheMemory) {
  fake->cacheBytes = 1 << 20;
  fake->memoryBytes = 8 << 20; // a quarter of what is free is 2 MB, less what results take
  runtime::cuda::Gpu gpu(driver);
  GpuMeasurement how = quick();
  how.bytes = 0;
  measureGpu(gpu, cubin(), how);
  uint64_t words;
  std::memcpy(&words, fake->launched[0].parameters.data() + 16, 8);
  EXPECT_LE(words * 8, 2u << 20);
  EXPECT_GT(words * 8, 1u << 20);
}

TEST_F(GpuMeasurementTest, BlocksThatDoNotRunAtOnceAreNoticed) {
  runtime::cuda::Gpu gpu(driver);
  try {
    measureGpu(gpu, cubin(), quick(13));
    ADD_FAILURE() << "nobody noticed";
  } catch (const Failure &failure) {
    EXPECT_EQ(failure.code(), ExitCode::missing);
    EXPECT_STREQ(failure.what(),
                 "an event waited in vain: not all blocks run at once on Fake GPU; is somebody else using it?");
  }
}

TEST_F(GpuMeasurementTest, WrongImagesAndFailuresAreErrors) {
  runtime::cuda::Gpu gpu(driver);
  EXPECT_THROW(measureGpu(gpu, "no cubin", quick()), runtime::Error);
  fake->failing = "cuMemAlloc";
  fake->failingResult = 2;
  fake->failingFrom = 1; // the stream's buffers
  EXPECT_THROW(measureGpu(gpu, cubin(), quick()), runtime::Error);
  fake->failing = "";
}

TEST_F(GpuMeasurementTest, OlderGpusAreRefused) {
  fake->major = 8;
  runtime::cuda::Gpu old(driver);
  try {
    ceilingsArchitecture(old);
    ADD_FAILURE() << "8.0 was accepted";
  } catch (const Failure &failure) {
    EXPECT_STREQ(failure.what(), "Fake GPU has compute capability 8.0, required 9.0 or later for bulk copies");
  }
  fake->major = 9;
  EXPECT_EQ(ceilingsArchitecture(runtime::cuda::Gpu(driver)), "sm_90a");
  fake->major = 12;
  EXPECT_EQ(ceilingsArchitecture(runtime::cuda::Gpu(driver)), "sm_120");
}

TEST(CeilingsSource, IsCarried) { EXPECT_THAT(std::string(ceilingsSource), testing::HasSubstr("ceiling_bulk_read")); }

} // namespace
} // namespace evt::tool
