#include "tools/evt/ceilings/Ceilings.h"

#include "runtime/Error.h"
#include "tools/evt/Failure.h"
#include "tools/evt/ceilings/CpuMeasurement.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <fstream>

namespace evt::tool {
namespace {

using testing::HasSubstr;

const std::string good = R"({
  "format": 1, "tool": "evt 0.1.0", "measured": "2026-11-15T10:00:00Z",
  "cpu": {"name": "A CPU", "threads": 4, "read_bytes_per_second": 2e10, "f32_flops": 1.5e11},
  "gpu": {"name": "A GPU", "multiprocessors": 132, "bulk_read_bytes_per_second": 4.7e12,
          "read_bytes_per_second": 4.4e12, "copy_bytes_per_second": 4.2e12, "event_one_way_seconds": 5e-7,
          "event_all_seconds": 8e-7, "barrier_seconds": 1e-6, "ticket_seconds": 2e-9,
          "ticket_latency_seconds": 2.7e-7, "graph_node_seconds": 5.5e-7, "launch_seconds": 4e-6}})";

std::string refusalOf(const std::string &text) {
  try {
    parseCeilings(text, "c.json");
  } catch (const runtime::Error &error) {
    return error.what();
  }
  return "";
}

std::string with(const std::string &pointer, const nlohmann::json &value) {
  nlohmann::json json = nlohmann::json::parse(good);
  json[nlohmann::json::json_pointer(pointer)] = value;
  return json.dump();
}

std::string without(const std::string &section, const std::string &key) {
  nlohmann::json json = nlohmann::json::parse(good);
  (section.empty() ? json : json[section]).erase(key);
  return json.dump();
}

TEST(Ceilings, AreReadAsWritten) {
  Ceilings found = parseCeilings(good, "c.json");
  EXPECT_EQ(found.measured, "2026-11-15T10:00:00Z");
  ASSERT_TRUE(found.cpu && found.gpu);
  EXPECT_EQ(found.cpu->threads, 4u);
  EXPECT_EQ(found.cpu->f32Flops, 1.5e11);
  EXPECT_EQ(found.gpu->multiprocessors, 132u);
  EXPECT_EQ(found.gpu->ticketLatencySeconds, 2.7e-7);
  EXPECT_EQ(found.gpu->bestReadBytesPerSecond(), 4.7e12);
  EXPECT_FALSE(found.gpu->bf16Flops);
  EXPECT_EQ(nlohmann::json::parse(toJson(found)), nlohmann::json::parse(good));
  EXPECT_EQ(*parseCeilings(with("/gpu/bf16_flops", 8e14), "c.json").gpu->bf16Flops, 8e14);
}

TEST(Ceilings, HaveALineEach) {
  std::string text = toText(parseCeilings(with("/gpu/bf16_flops", 8e14), "c.json"));
  EXPECT_THAT(text, HasSubstr("GPU: A GPU, 132 SMs\n"));
  EXPECT_THAT(text, HasSubstr("  read stream, bulk copies into shared memory        4.700 TB/s\n"));
  EXPECT_THAT(text, HasSubstr("  ticket, one SM asking                            270.000 ns\n"));
  EXPECT_THAT(text, HasSubstr("  bf16 products, tiles in shared memory            800.000 TFLOP/s\n"));
  EXPECT_THAT(text, HasSubstr("CPU: A CPU, 4 threads\n"));
}

TEST(Ceilings, RefuseWhatIsNoCeiling) {
  EXPECT_EQ(refusalOf(""), "c.json: is not JSON");
  EXPECT_EQ(refusalOf(good.substr(0, 100)), "c.json: is not JSON");
  EXPECT_EQ(refusalOf(with("/format", 2)), "c.json: format is 2, this tool reads format 1");
  EXPECT_THAT(refusalOf(with("/gpu/read_bytes_per_second", 0)),
              HasSubstr("gpu.read_bytes_per_second: found 0, required a number above 0"));
  EXPECT_THAT(refusalOf(with("/cpu/f32_flops", -1.5)), HasSubstr("found -1.5, required a number above 0"));
  EXPECT_THAT(refusalOf(with("/cpu/f32_flops", "fast")), HasSubstr("cpu.f32_flops: found a string, required a number"));
  EXPECT_THAT(refusalOf(with("/cpu/threads", 0)), HasSubstr("cpu.threads: found 0"));
  EXPECT_THAT(refusalOf(without("gpu", "barrier_seconds")), HasSubstr("barrier_seconds"));
  EXPECT_THAT(refusalOf(R"({"format": 1, "measured": "then"})"), HasSubstr("has neither 'cpu' nor 'gpu'"));
}

TEST(Ceilings, AreKeptInTheCache) {
  std::string folder = testing::TempDir() + "ceilings_cache";
  setenv("XDG_CACHE_HOME", folder.c_str(), 1);
  std::string file = defaultCeilingsFile();
  EXPECT_EQ(file, folder + "/evt/ceilings.json");
  std::remove(file.c_str());
  try {
    readCeilings(file);
    ADD_FAILURE() << "a file that is not there was read";
  } catch (const Failure &failure) {
    EXPECT_EQ(failure.code(), ExitCode::missing);
    EXPECT_THAT(failure.what(), HasSubstr("No such file or directory; 'evt bench ceilings' measures this machine"));
  }
  OutputFile out = beginCeilings(file);
  out.stream() << toJson(parseCeilings(good, "c.json"));
  out.finish();
  EXPECT_EQ(toJson(readCeilings(file)), toJson(parseCeilings(good, "c.json")));
  unsetenv("XDG_CACHE_HOME");
  setenv("HOME", "/home/somebody", 1);
  EXPECT_EQ(defaultCeilingsFile(), "/home/somebody/.cache/evt/ceilings.json");
  unsetenv("HOME");
  EXPECT_THROW(defaultCeilingsFile(), Failure);
}

TEST(CpuMeasurement, SumsAndProductsAreChecked) {
  std::vector<std::string> told;
  CpuMeasurement how;
  how.threads = 3;
  how.bytes = 3 << 16;
  how.seconds = 1e-4;
  how.repeats = 2;
  how.progress = [&](const std::string &what) { told.push_back(what); };
  CpuCeilings found = measureCpu(how);
  EXPECT_EQ(found.threads, 3u);
  EXPECT_GT(found.readBytesPerSecond, 0);
  EXPECT_GT(found.f32Flops, 0);
  EXPECT_EQ(told, (std::vector<std::string>{"CPU: read stream", "CPU: f32 multiply-adds"}));
}

} // namespace
} // namespace evt::tool
