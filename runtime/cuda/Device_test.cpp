// Memory, streams, events and packing of weights, on a driver without a GPU.
#include "runtime/cuda/FakeGpu_fixture.h"
#include "runtime/launch/Device.h"
#include "runtime/tensor/PackedTiles.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace evt::runtime::cuda {
namespace {

constexpr DLDataType f32Type{2, 32, 1}, f16Type{2, 16, 1}, bf16Type{4, 16, 1};

class DeviceOfProgram : public FakeGpu {
protected:
  // Of row_sum; its x is given another type and layout.
  std::unique_ptr<Program> withPacked(DataType type, std::optional<TileShape> tile) {
    Artifact changed = artifact("row_sum");
    changed.manifest.arguments[0].type = type;
    changed.manifest.arguments[0].packed = tile;
    return onGpu(std::move(changed));
  }

  // Packs rows of x and returns what lies there.
  static std::vector<std::byte> packed(Program &program, const std::vector<std::byte> &from, DLDataType type,
                                       int64_t firstRow, int64_t rows, int64_t columns, size_t bytes) {
    Device &device = program.device();
    void *stream = device.createStream(), *source = device.allocate(from.size()), *to = device.allocate(bytes);
    std::vector<std::byte> found(bytes);
    device.copy(source, from.data(), from.size(), EVT_COPY_TO_DEVICE, stream);
    device.fill(to, 0x77, bytes, stream);
    device.pack({program.manifest().arguments[0], to, source, type, firstRow, rows, columns}, stream);
    device.copy(found.data(), to, bytes, EVT_COPY_TO_HOST, stream);
    device.synchronize(stream);
    device.free(source);
    device.free(to);
    program.destroyStream(stream);
    return found;
  }

  template <typename T> static std::vector<std::byte> bytesOf(const std::vector<T> &values) {
    std::vector<std::byte> bytes(values.size() * sizeof(T));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
  }

  std::mt19937 random{5};
};

TEST_F(DeviceOfProgram, CopiesAreOrderedByEvents) {
  auto program = onGpu("row_sum");
  Device &device = program->device();
  EXPECT_EQ(device.place().device_type, kDLCUDA);
  void *first = device.createStream(), *second = device.createStream(), *event = device.createEvent();
  void *pinned = device.allocateHost(4), *a = device.allocate(4), *b = device.allocate(4);
  const uint32_t value = 0x12345678;
  uint32_t found = 0;
  for (int i = 0; i < 100; ++i) {
    device.fill(b, static_cast<uint8_t>(i), 4, second);
    device.synchronize(second);
    std::memcpy(pinned, &value, 4);
    device.copy(a, pinned, 4, EVT_COPY_TO_DEVICE, first);
    device.copy(b, a, 4, EVT_COPY_ON_DEVICE, first);
    device.record(event, first);
    device.streamWait(second, event);
    device.copy(&found, b, 4, EVT_COPY_TO_HOST, second);
    device.record(event, second);
    device.wait(event);
    ASSERT_EQ(found, value);
    found = 0;
  }
  EXPECT_EQ(device.used().total, fake->memoryBytes);
  EXPECT_LT(device.used().free, fake->memoryBytes);
  for (void *stream : {first, second})
    program->destroyStream(stream);
  device.destroyEvent(event);
  device.freeHost(pinned);
  device.free(a);
  device.free(b);
}

TEST_F(DeviceOfProgram, TooMuchMemoryIsAnError) {
  auto program = onGpu("row_sum");
  fake->memoryBytes = 1 << 20;
  try {
    program->device().allocate(1 << 21);
    FAIL();
  } catch (const Error &error) {
    EXPECT_EQ(error.code(), EVT_ERROR_MEMORY);
    EXPECT_STREQ(error.what(), "cannot allocate 2097152 bytes on cuda:0 (Fake GPU): cuMemAlloc: "
                               "CUDA_ERROR_OUT_OF_MEMORY: out of memory");
  }
}

// Against packTiles, which the runtime packs tensors of the host with.
TEST_F(DeviceOfProgram, PacksLikeTheHost) {
  const std::vector<int64_t> dims = {3, 16, 96};
  std::vector<uint16_t> values(3 * 16 * 96);
  for (uint16_t &value : values)
    value = static_cast<uint16_t>(random());
  for (TileShape tile : {TileShape{8, 32}, TileShape{4, 16}, TileShape{16, 96}, TileShape{2, 8}}) {
    std::vector<std::byte> expected(values.size() * 2);
    packTiles(values.data(), expected.data(), dims, 2, tile);
    auto program = withPacked(DataType::bf16, tile);
    EXPECT_EQ(packed(*program, bytesOf(values), bf16Type, 0, 48, 96, expected.size()), expected) << tile.rows;
  }
}

TEST_F(DeviceOfProgram, PacksSomeRowsAndLeavesTheOthers) {
  const std::vector<int64_t> dims = {8, 64};
  std::vector<uint16_t> values(8 * 64);
  for (uint16_t &value : values)
    value = static_cast<uint16_t>(random());
  std::vector<std::byte> expected(24 * 64 * 2, std::byte{0x77});
  packTiles(values.data(), expected.data() + 16 * 64 * 2, dims, 2, {8, 32});
  auto program = withPacked(DataType::bf16, TileShape{8, 32});
  EXPECT_EQ(packed(*program, bytesOf(values), bf16Type, 16, 8, 64, expected.size()), expected);
}

// All that is special about single precision, then conversions that the host does as well.
TEST_F(DeviceOfProgram, ConvertsLikeTheHost) {
  std::vector<float> values = {0.f,
                               -0.f,
                               1.f,
                               1.00390625f,
                               1.01171875f,
                               std::numeric_limits<float>::infinity(),
                               -std::numeric_limits<float>::infinity(),
                               3.4e38f,
                               1e-40f,
                               -65520.f,
                               6e-8f,
                               1e-9f};
  values.push_back(std::numeric_limits<float>::quiet_NaN());
  while (values.size() < 16 * 64)
    values.push_back(
        static_cast<float>(std::ldexp(static_cast<double>(random()), static_cast<int>(random() % 80) - 70)));
  for (int64_t columns : {64, 13}) { // whole pieces of 16 bytes, and not
    const int64_t rows = 16;
    const std::vector<float> some(values.begin(), values.begin() + rows * columns);
    std::vector<uint16_t> bf16, f16;
    std::vector<float> widened;
    for (float value : some) {
      bf16.push_back(toBf16(value));
      f16.push_back(toF16(value));
      widened.push_back(fromF16(f16.back()));
    }
    EXPECT_EQ(packed(*withPacked(DataType::bf16, {}), bytesOf(some), f32Type, 0, rows, columns, bf16.size() * 2),
              bytesOf(bf16));
    EXPECT_EQ(packed(*withPacked(DataType::f16, {}), bytesOf(some), f32Type, 0, rows, columns, f16.size() * 2),
              bytesOf(f16));
    EXPECT_EQ(packed(*withPacked(DataType::f32, {}), bytesOf(f16), f16Type, 0, rows, columns, widened.size() * 4),
              bytesOf(widened));
  }
}

TEST_F(DeviceOfProgram, WhatCannotBePackedIsRefused) {
  auto program = withPacked(DataType::bf16, TileShape{8, 32});
  auto message = [&](int64_t first, int64_t rows, int64_t columns, DLDataType type, uintptr_t from) -> std::string {
    try {
      program->device().pack(
          {program->manifest().arguments[0], nullptr, reinterpret_cast<void *>(from), type, first, rows, columns},
          nullptr);
    } catch (const Error &error) {
      return error.what();
    }
    return "nothing";
  };
  EXPECT_EQ(message(4, 8, 32, bf16Type, 0), "rows of argument 'x' are 8 x 32 from row 4, required multiples of 8 x 32");
  EXPECT_EQ(message(0, 8, 33, bf16Type, 0), "rows of argument 'x' are 8 x 33 from row 0, required multiples of 8 x 32");
  EXPECT_EQ(message(0, 8, 32, {0, 32, 1}, 0), "rows of argument 'x' have type i32, required bf16, f16 or f32");
  EXPECT_EQ(message(0, 8, 32, bf16Type, 8),
            "rows of argument 'x' begin 8 bytes after a multiple of 16, required a multiple");
}

// A launch after another went wrong says so; `finish` does, too, and does not wait for another launch to do it.
TEST_F(DeviceOfProgram, FinishSaysWhatWentWrong) {
  auto program = onGpu("row_sum");
  Device &device = program->device();
  Caller caller(driver);
  DeviceRowSum sums(caller, 3);
  void *stream = device.createStream();
  LaunchOptions options;
  options.stream = stream;
  options.workers = 1;
  program->prepare(sums.values(), options);
  const evt_memory_use use = device.used();
  EXPECT_GE(use.workspace, 3u * 4 * 4);
  EXPECT_GT(use.counters, 0u);
  const int64_t before = fake->allocations;
  program->launch(sums.values(), options);
  program->finish(stream);
  EXPECT_EQ(fake->allocations, before);
  EXPECT_TRUE(sums.correct());
  options.watchdogSeconds = 0.05;
  options.injectCall = 0;
  options.injectTask = 1;
  program->launch(sums.values(), options);
  try {
    program->finish(stream);
    FAIL();
  } catch (const Error &error) {
    EXPECT_EQ(error.code(), EVT_ERROR_STUCK);
  }
  program->finish(stream); // it was said
  program->destroyStream(stream);
}

} // namespace
} // namespace evt::runtime::cuda
