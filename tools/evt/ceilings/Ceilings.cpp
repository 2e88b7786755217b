#include "tools/evt/ceilings/Ceilings.h"

#include "evt/evt.h"
#include "runtime/Error.h"
#include "runtime/artifact/JsonView.h"
#include "tools/evt/Failure.h"
#include "tools/evt/InputFile.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <utility>
#include <vector>

namespace fs = std::filesystem;

namespace evt::tool {
namespace {

using Json = nlohmann::ordered_json;
using runtime::JsonView;

constexpr int64_t ceilingsFormat = 1;

struct CpuNumber {
  const char *key, *what, *unit;
  double scale; // of the unit
  double CpuCeilings::*value;
};
constexpr CpuNumber cpuNumbers[] = {
    {"read_bytes_per_second", "read stream", "GB/s", 1e9, &CpuCeilings::readBytesPerSecond},
    {"f32_flops", "f32 multiply-adds", "GFLOP/s", 1e9, &CpuCeilings::f32Flops},
};

struct GpuNumber {
  const char *key, *what, *unit;
  double scale;
  double GpuCeilings::*value;
};
constexpr GpuNumber gpuNumbers[] = {
    {"bulk_read_bytes_per_second", "read stream, bulk copies into shared memory", "TB/s", 1e12,
     &GpuCeilings::bulkReadBytesPerSecond},
    {"read_bytes_per_second", "read stream, 16-byte loads", "TB/s", 1e12, &GpuCeilings::readBytesPerSecond},
    {"copy_bytes_per_second", "copy, read and written", "TB/s", 1e12, &GpuCeilings::copyBytesPerSecond},
    {"event_one_way_seconds", "event, one to one", "µs", 1e-6, &GpuCeilings::eventOneWaySeconds},
    {"event_all_seconds", "event, all SMs to all", "µs", 1e-6, &GpuCeilings::eventAllSeconds},
    {"barrier_seconds", "barrier of all threads", "µs", 1e-6, &GpuCeilings::barrierSeconds},
    {"ticket_seconds", "ticket, all SMs asking", "ns", 1e-9, &GpuCeilings::ticketSeconds},
    {"ticket_latency_seconds", "ticket, one SM asking", "ns", 1e-9, &GpuCeilings::ticketLatencySeconds},
    {"graph_node_seconds", "empty kernel in a CUDA graph", "µs", 1e-6, &GpuCeilings::graphNodeSeconds},
    {"launch_seconds", "empty kernel, launched", "µs", 1e-6, &GpuCeilings::launchSeconds},
};

std::string line(const char *what, double value, const char *unit) {
  return fmt::format("  {:<46}{:>10.3f} {}\n", what, value, unit);
}

} // namespace

double GpuCeilings::bestReadBytesPerSecond() const { return std::max(bulkReadBytesPerSecond, readBytesPerSecond); }

std::string toJson(const Ceilings &ceilings) {
  Json json{{"format", ceilingsFormat}, {"tool", "evt " EVT_VERSION}, {"measured", ceilings.measured}};
  if (const auto &cpu = ceilings.cpu) {
    json["cpu"] = {{"name", cpu->name}, {"threads", cpu->threads}};
    for (const CpuNumber &number : cpuNumbers)
      json["cpu"][number.key] = (*cpu).*number.value;
  }
  if (const auto &gpu = ceilings.gpu) {
    json["gpu"] = {{"name", gpu->name}, {"multiprocessors", gpu->multiprocessors}};
    for (const GpuNumber &number : gpuNumbers)
      json["gpu"][number.key] = (*gpu).*number.value;
    if (gpu->bf16Flops)
      json["gpu"]["bf16_flops"] = *gpu->bf16Flops;
  }
  return json.dump(2) + "\n";
}

std::string toText(const Ceilings &ceilings) {
  std::string text;
  if (const auto &gpu = ceilings.gpu) {
    text += fmt::format("GPU: {}, {} SMs\n", gpu->name, gpu->multiprocessors);
    for (const GpuNumber &number : gpuNumbers)
      text += line(number.what, (*gpu).*number.value / number.scale, number.unit);
    if (gpu->bf16Flops)
      text += line("bf16 products, tiles in shared memory", *gpu->bf16Flops / 1e12, "TFLOP/s");
  }
  if (const auto &cpu = ceilings.cpu) {
    text += fmt::format("CPU: {}, {} {}\n", cpu->name, cpu->threads, cpu->threads == 1 ? "thread" : "threads");
    for (const CpuNumber &number : cpuNumbers)
      text += line(number.what, (*cpu).*number.value / number.scale, number.unit);
  }
  return text;
}

Ceilings parseCeilings(const std::string &text, const std::string &file) {
  nlohmann::json document = nlohmann::json::parse(text, nullptr, false);
  if (document.is_discarded())
    throw runtime::Error(EVT_ERROR_ARTIFACT, file + ": is not JSON");
  JsonView root(document, file);
  int64_t format = root.at("format").integer();
  if (format != ceilingsFormat)
    throw runtime::Error(EVT_ERROR_INCOMPATIBLE, file + ": format is " + std::to_string(format) +
                                                     ", this tool reads format " + std::to_string(ceilingsFormat));
  Ceilings ceilings;
  ceilings.measured = root.at("measured").string();
  if (std::optional<JsonView> json = root.find("cpu")) {
    CpuCeilings cpu;
    cpu.name = json->at("name").string();
    cpu.threads = static_cast<unsigned>(json->at("threads").integer(1, 1 << 20));
    for (const CpuNumber &number : cpuNumbers)
      cpu.*number.value = json->at(number.key).positive();
    ceilings.cpu = cpu;
  }
  if (std::optional<JsonView> json = root.find("gpu")) {
    GpuCeilings gpu;
    gpu.name = json->at("name").string();
    gpu.multiprocessors = static_cast<unsigned>(json->at("multiprocessors").integer(1, 1 << 20));
    for (const GpuNumber &number : gpuNumbers)
      gpu.*number.value = json->at(number.key).positive();
    if (std::optional<JsonView> flops = json->find("bf16_flops"))
      gpu.bf16Flops = flops->positive();
    ceilings.gpu = gpu;
  }
  if (!ceilings.cpu && !ceilings.gpu)
    root.fail("has neither 'cpu' nor 'gpu'");
  return ceilings;
}

Ceilings readCeilings(const std::string &file) {
  std::error_code error;
  if (!fs::exists(file, error) && !error)
    throw Failure(ExitCode::missing, "cannot read '" + file +
                                         "': No such file or directory; 'evt bench ceilings' measures this machine and "
                                         "writes it");
  return parseCeilings(readInput(file), file);
}

OutputFile beginCeilings(const std::string &file) {
  std::error_code error; // is said when the file cannot be opened
  fs::path folder = fs::path(file).parent_path();
  if (!folder.empty())
    fs::create_directories(folder, error);
  return OutputFile(file);
}

std::string defaultCeilingsFile() {
  const char *cache = std::getenv("XDG_CACHE_HOME"), *home = std::getenv("HOME");
  if (cache && *cache)
    return std::string(cache) + "/evt/ceilings.json";
  if (home && *home)
    return std::string(home) + "/.cache/evt/ceilings.json";
  throw Failure(ExitCode::missing, "neither XDG_CACHE_HOME nor HOME is set, so there is no place for the machine's "
                                   "ceilings: name a file");
}

} // namespace evt::tool
