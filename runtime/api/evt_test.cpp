#include "evt/evt.hpp"

#include "evt/abi.h"
#include "evt/memory.hpp"

#include <cstring>
#include <gtest/gtest.h>

namespace {

const std::string rowSum = std::string(EVT_TEST_ARTIFACTS) + "/row_sum";

struct Arguments {
  std::vector<float> x = std::vector<float>(2 * 4096 + 16, 0.5f), y = std::vector<float>(2);
  int64_t xShape[2] = {2, 4096}, yShape[1] = {2};
  DLTensor X{}, Y{};
  Arguments() {
    size_t skip = (16 - reinterpret_cast<uintptr_t>(x.data()) % 16) % 16;
    X = {reinterpret_cast<char *>(x.data()) + skip, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, xShape, nullptr, 0};
    Y = {y.data(), {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, yShape, nullptr, 0};
  }
};

TEST(CApi, Versions) {
  EXPECT_STREQ(evt_version(), "0.1.0");
  EXPECT_EQ(evt_api_version(), 1u);
}

TEST(CApi, DescribesAProgram) {
  evt_program *program = nullptr;
  ASSERT_EQ(evt_program_load(rowSum.c_str(), &program), EVT_OK) << evt_last_error();
  EXPECT_STREQ(evt_last_error(), "");
  EXPECT_STREQ(evt_program_graph(program), "row_sum");
  ASSERT_EQ(evt_program_argument_count(program), 2u);
  const evt_argument_info *x = evt_program_argument(program, 0);
  EXPECT_STREQ(x->name, "x");
  EXPECT_EQ(x->kind, EVT_ARGUMENT_TENSOR);
  EXPECT_EQ(x->type.bits, 32);
  ASSERT_EQ(x->rank, 2u);
  EXPECT_STREQ(x->dims[0], "n");
  EXPECT_STREQ(x->dims[1], "4096");
  EXPECT_EQ(x->access, EVT_ACCESS_READ);
  EXPECT_EQ(x->immutable, 1u);
  EXPECT_EQ(x->align, 16u);
  EXPECT_EQ(evt_program_argument(program, 2), nullptr);
  ASSERT_EQ(evt_program_symbol_count(program), 1u);
  EXPECT_EQ(evt_program_symbol(program, 0)->max, 1000000);
  ASSERT_EQ(evt_program_schedule_count(program), 3u);
  EXPECT_STREQ(evt_program_schedule(program, 1)->name, "ticket");
  EXPECT_EQ(evt_program_schedule(program, 1)->supported, 0u);
  EXPECT_STREQ(evt_program_schedule(program, 1)->reason, "this kernel was written by hand");
  evt_program_free(program);
  evt_program_free(nullptr);
}

TEST(CApi, IndexArguments) {
  evt::Program chain(std::string(EVT_TEST_ARTIFACTS) + "/chain");
  EXPECT_EQ(chain.arguments().at(0)->kind, EVT_ARGUMENT_INDEX);
  EXPECT_STREQ(chain.arguments().at(0)->symbol, "n");
  chain.launch({evt::index(9)}, {.workers = 2});
}

TEST(CApi, Launches) {
  evt_program *program = nullptr;
  ASSERT_EQ(evt_program_load(rowSum.c_str(), &program), EVT_OK);
  Arguments a;
  evt_value values[] = {{&a.X, 0}, {&a.Y, 0}};
  ASSERT_EQ(evt_program_launch(program, values, 2, nullptr), EVT_OK) << evt_last_error();
  EXPECT_EQ(a.y, (std::vector<float>{2048, 2048}));
  EXPECT_EQ(evt_program_launch(program, values, 1, nullptr), EVT_ERROR_ARGUMENT);
  EXPECT_STREQ(evt_last_error(), "graph 'row_sum' was given 1 arguments, required 2");
  EXPECT_EQ(evt_program_launch(program, nullptr, 2, nullptr), EVT_ERROR_ARGUMENT);
  EXPECT_STREQ(evt_last_error(), "array of argument values is null");
  EXPECT_EQ(evt_program_launch(nullptr, values, 2, nullptr), EVT_ERROR_ARGUMENT);
  EXPECT_STREQ(evt_last_error(), "program is null");
  evt_program_free(program);
}

TEST(CApi, OptionsOfOtherVersions) {
  evt_program *program = nullptr;
  ASSERT_EQ(evt_program_load(rowSum.c_str(), &program), EVT_OK);
  Arguments a;
  evt_value values[] = {{&a.X, 0}, {&a.Y, 0}};
  evt_launch_options options = EVT_LAUNCH_OPTIONS_INIT;
  options.size = 8; // a caller that knew only size and workers
  options.watchdog_seconds = -1;
  EXPECT_EQ(evt_program_launch(program, values, 2, &options), EVT_OK) << evt_last_error();
  options.size = 4000;
  EXPECT_EQ(evt_program_launch(program, values, 2, &options), EVT_ERROR_OPTION);
  EXPECT_EQ(evt_last_error(),
            "size of the launch options is 4000, this library knows " + std::to_string(sizeof(evt_launch_options)));
  options = EVT_LAUNCH_OPTIONS_INIT;
  options.stream = &options;
  EXPECT_EQ(evt_program_launch(program, values, 2, &options), EVT_ERROR_OPTION);
  EXPECT_STREQ(evt_last_error(), "stream is not null, required null: the cpu target has no streams");
  options.size = offsetof(evt_launch_options, stream); // a caller from before streams
  EXPECT_EQ(evt_program_launch(program, values, 2, &options), EVT_OK) << evt_last_error();
  evt_program_free(program);
}

TEST(CApi, TheScheduleCanBeLeftToTheRuntime) {
  evt_program *program = nullptr;
  ASSERT_EQ(evt_program_load(rowSum.c_str(), &program), EVT_OK);
  Arguments a;
  evt_value values[] = {{&a.X, 0}, {&a.Y, 0}};
  evt_launch_options options = EVT_LAUNCH_OPTIONS_INIT;
  options.schedule = "auto";
  ASSERT_EQ(evt_program_launch(program, values, 2, &options), EVT_OK) << evt_last_error();
  EXPECT_EQ(a.y, (std::vector<float>{2048, 2048}));
  evt_program_free(program);
}

TEST(CApi, LoadFailuresLeaveNoProgram) {
  evt_program *program = reinterpret_cast<evt_program *>(1);
  EXPECT_EQ(evt_program_load("/nowhere", &program), EVT_ERROR_FILE);
  EXPECT_EQ(program, nullptr);
  EXPECT_STREQ(evt_last_error(), "/nowhere: is not a directory; an artifact is one");
  EXPECT_EQ(evt_program_load(nullptr, &program), EVT_ERROR_ARGUMENT);
  EXPECT_STREQ(evt_last_error(), "directory of the artifact is null");
  EXPECT_EQ(evt_program_load("/nowhere", nullptr), EVT_ERROR_ARGUMENT);
  EXPECT_STREQ(evt_last_error(), "pointer to the program is null");
}

TEST(CppApi, LaunchesAndThrows) {
  evt::Program program(rowSum);
  EXPECT_EQ(program.graph(), "row_sum");
  EXPECT_EQ(program.symbols().size(), 1u);
  EXPECT_EQ(program.schedules().size(), 3u);
  Arguments a;
  program.launch({evt::tensor(a.X), evt::tensor(a.Y)}, {.schedule = "static", .workers = 2});
  EXPECT_EQ(a.y, (std::vector<float>{2048, 2048}));
  try {
    program.launch({evt::tensor(a.X), evt::tensor(a.Y)},
                   {.workers = 1, .watchdog_seconds = 0.5, .inject_call = 0, .inject_task = 0});
    FAIL() << "the injected fault was not seen";
  } catch (const evt::Error &error) {
    EXPECT_EQ(error.code(), EVT_ERROR_STUCK);
    EXPECT_NE(std::strstr(error.what(), "not notified by partial(0, 0)"), nullptr) << error.what();
  }
}

// On the CPU, the device is the host; the same calls as on a GPU.
TEST(Memory, OfTheHostServesAsADevices) {
  evt::Program program(rowSum);
  EXPECT_EQ(evt_program_device(program.get()).device_type, kDLCPU);
  evt::Stream stream(program);
  evt::Event begin(program), end(program);
  evt::DeviceMemory x(program, 2 * 4096 * sizeof(float)), y(program, 2 * sizeof(float));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(x.data()) % 256, 0u);
  std::vector<float> ones(2 * 4096, 1.f), sums(2);
  begin.record(stream.get());
  stream.copy(x.data(), ones.data(), ones.size() * sizeof(float), EVT_COPY_TO_DEVICE);
  stream.fill(y.data(), 0xff, y.bytes());
  Arguments arguments;
  arguments.X.data = x.data();
  arguments.Y.data = y.data();
  const std::vector<evt_value> values = {evt::tensor(arguments.X), evt::tensor(arguments.Y)};
  ASSERT_EQ(evt_program_prepare(program.get(), values.data(), 2, nullptr), EVT_OK) << evt_last_error();
  program.launch(values, {.stream = stream.get()});
  end.record(stream.get());
  stream.waitFor(end);
  stream.copy(sums.data(), y.data(), y.bytes(), EVT_COPY_TO_HOST);
  stream.synchronize();
  end.wait();
  ASSERT_EQ(evt_program_finish(program.get(), stream.get()), EVT_OK);
  EXPECT_EQ(sums, std::vector<float>(2, 4096.f));
  EXPECT_GE(begin.secondsTo(end), 0);
  evt_memory_use use;
  EXPECT_EQ(evt_memory_used(program.get(), &use, sizeof use), EVT_OK);
}

TEST(Memory, WhatIsWrongIsSaid) {
  evt::Program program(rowSum);
  void *memory = nullptr;
  EXPECT_EQ(evt_memory_allocate(nullptr, 1, &memory), EVT_ERROR_ARGUMENT);
  EXPECT_STREQ(evt_last_error(), "program is null");
  EXPECT_EQ(evt_memory_allocate(program.get(), 1, nullptr), EVT_ERROR_ARGUMENT);
  EXPECT_EQ(evt_memory_allocate(program.get(), UINT64_MAX, &memory), EVT_ERROR_MEMORY);
  EXPECT_STREQ(evt_last_error(), "cannot allocate 18446744073709551615 bytes");
  EXPECT_EQ(evt_memory_free(program.get(), nullptr), EVT_OK);
  EXPECT_EQ(evt_program_prepare(program.get(), nullptr, 1, nullptr), EVT_ERROR_ARGUMENT);
  EXPECT_EQ(evt_program_pack(program.get(), 9, nullptr, nullptr, {4, 16, 1}, 0, 0, 8, nullptr), EVT_ERROR_ARGUMENT);
  EXPECT_STREQ(evt_last_error(), "number of the argument is out of range");
  EXPECT_EQ(evt_program_pack(program.get(), 0, nullptr, nullptr, {4, 16, 1}, 0, 0, 8, nullptr), EVT_ERROR_INCOMPATIBLE);
  EXPECT_STREQ(evt_last_error(), "argument 'x' cannot be packed: the target cpu reads tensors as they are, row-major");
}

} // namespace
