// The layout is written down here in numbers: a kernel that is already compiled will not follow a change.
#include "runtime/cuda/Parameters.h"

#include <cstring>
#include <gtest/gtest.h>

namespace evt::runtime::cuda {
namespace {

template <typename T> T at(const std::vector<uint64_t> &words, size_t byte) {
  T value;
  std::memcpy(&value, reinterpret_cast<const char *>(words.data()) + byte, sizeof value);
  return value;
}

TEST(Parameters, EveryByteIsWhereTheKernelReadsIt) {
  evt_cuda_launch launch{};
  launch.abi_version = 0x11;
  launch.schedule = 0x12;
  launch.workers = 0x13;
  launch.trace_records = 0x14;
  launch.status = devicePointer<evt_status>(0x2100000001);
  launch.abort = devicePointer<uint32_t>(0x2200000002);
  launch.fault = devicePointer<evt_fault>(0x2300000003);
  launch.done = devicePointer<uint8_t>(0x2400000004);
  launch.trace = devicePointer<evt_cuda_record>(0x2500000005);
  launch.limit_ns = 0x3100000006;
  launch.inject_call = -7;
  launch.inject_task = 0x3300000008;
  launch.first_call = 0x41;
  launch.last_call = 0x42;
  launch.iteration = -1;
  launch.is_last = 1;
  Address memories[] = {0xa000000000, 0xb000000000}, regions[] = {0xc000000000};
  int64_t symbols[] = {-1, 42, int64_t(1) << 40};
  std::vector<uint64_t> words = packParameters(launch, memories, symbols, regions);
  ASSERT_EQ(words.size() * 8, 112u + 8 * 6);
  EXPECT_EQ(at<uint32_t>(words, 0), 0x11u);
  EXPECT_EQ(at<uint32_t>(words, 4), 0x12u);
  EXPECT_EQ(at<uint32_t>(words, 8), 0x13u);
  EXPECT_EQ(at<uint32_t>(words, 12), 0x14u);
  EXPECT_EQ(at<uint64_t>(words, 16), 0x2100000001u);
  EXPECT_EQ(at<uint64_t>(words, 24), 0x2200000002u);
  EXPECT_EQ(at<uint64_t>(words, 32), 0x2300000003u);
  EXPECT_EQ(at<uint64_t>(words, 40), 0x2400000004u);
  EXPECT_EQ(at<uint64_t>(words, 48), 0x2500000005u);
  EXPECT_EQ(at<uint64_t>(words, 56), 0x3100000006u);
  EXPECT_EQ(at<int64_t>(words, 64), -7);
  EXPECT_EQ(at<int64_t>(words, 72), 0x3300000008);
  EXPECT_EQ(at<int64_t>(words, 80), 0x41);
  EXPECT_EQ(at<int64_t>(words, 88), 0x42);
  EXPECT_EQ(at<int64_t>(words, 96), -1);
  EXPECT_EQ(at<uint64_t>(words, 104), 1u);
  EXPECT_EQ(at<uint64_t>(words, 112), 0xa000000000u);
  EXPECT_EQ(at<uint64_t>(words, 120), 0xb000000000u);
  EXPECT_EQ(at<int64_t>(words, 128), -1);
  EXPECT_EQ(at<int64_t>(words, 136), 42);
  EXPECT_EQ(at<int64_t>(words, 144), int64_t(1) << 40);
  EXPECT_EQ(at<uint64_t>(words, 152), 0xc000000000u);
}

// 112 bytes and 3 words end at 136; maps begin at 192.
TEST(Parameters, TensorMapsBeginAtAMultipleOf64) {
  Address memories[] = {0xa000000000}, regions[] = {0xc000000000};
  int64_t symbols[] = {42};
  TensorMap maps[2] = {};
  for (uint64_t i = 0; i < 16; ++i) {
    maps[0].words[i] = 0x100 + i;
    maps[1].words[i] = 0x200 + i;
  }
  std::vector<uint64_t> words = packParameters(evt_cuda_launch{}, memories, symbols, regions, maps);
  ASSERT_EQ(words.size() * 8, 192u + 2 * 128);
  EXPECT_EQ(at<uint64_t>(words, 128), 0xc000000000u);
  EXPECT_EQ(at<uint64_t>(words, 136), 0u);
  EXPECT_EQ(at<uint64_t>(words, 192), 0x100u);
  EXPECT_EQ(at<uint64_t>(words, 192 + 120), 0x10fu);
  EXPECT_EQ(at<uint64_t>(words, 320), 0x200u);
}

TEST(Parameters, NothingToAddress) { EXPECT_EQ(packParameters(evt_cuda_launch{}, {}, {}, {}).size() * 8, 112u); }

} // namespace
} // namespace evt::runtime::cuda
