// Compiled with contraction: a product and a sum are one instruction where the CPU has it.
#include "tools/evt/ceilings/CpuMeasurement.h"

#include "tools/evt/Failure.h"
#include "tools/evt/LaunchSettings.h"

#include <algorithm>
#include <barrier>
#include <chrono>
#include <fstream>
#include <memory>
#include <thread>
#include <unistd.h>
#include <vector>

namespace evt::tool {
namespace {

using Clock = std::chrono::steady_clock;

template <size_t bytes> struct Vectors {
  typedef uint64_t Words __attribute__((vector_size(bytes)));
  typedef float Floats __attribute__((vector_size(bytes)));
};

template <size_t bytes> inline __attribute__((always_inline)) uint64_t sumOf(const void *data, size_t size) {
  using Words = typename Vectors<bytes>::Words;
  const Words *vectors = static_cast<const Words *>(data);
  size_t count = size / bytes;
  Words a{}, b{}, c{}, d{};
  for (size_t i = 0; i + 4 <= count; i += 4) {
    a += vectors[i];
    b += vectors[i + 1];
    c += vectors[i + 2];
    d += vectors[i + 3];
  }
  a += b + c + d;
  uint64_t sum = 0;
  for (size_t i = 0; i < bytes / 8; ++i)
    sum += a[i];
  return sum;
}

constexpr int chains = 12; // latency of a multiply-add times two units, and registers for it

// Multiply-adds whose sums stay near 1; returns one of them.
template <size_t bytes> inline __attribute__((always_inline)) float multiplyAdd(uint64_t rounds, float seed) {
  using Floats = typename Vectors<bytes>::Floats;
  Floats sum[chains], factor = Floats{} + 0.5f, addend = Floats{} + 0.5f * seed;
  for (int i = 0; i < chains; ++i)
    sum[i] = Floats{} + seed * static_cast<float>(i);
  for (uint64_t r = 0; r < rounds; ++r) {
#pragma GCC unroll 12
    for (int i = 0; i < chains; ++i)
      sum[i] = sum[i] * factor + addend;
  }
  Floats all{};
  for (int i = 0; i < chains; ++i)
    all += sum[i];
  return all[0];
}

struct Kernels {
  size_t bytes; // of a vector
  uint64_t (*sum)(const void *, size_t);
  float (*multiplyAdd)(uint64_t, float);
};

#if defined(__x86_64__)
__attribute__((target("avx512f"))) uint64_t sum64(const void *data, size_t size) { return sumOf<64>(data, size); }
__attribute__((target("avx512f"))) float fma64(uint64_t rounds, float seed) { return multiplyAdd<64>(rounds, seed); }
__attribute__((target("avx2,fma"))) uint64_t sum32(const void *data, size_t size) { return sumOf<32>(data, size); }
__attribute__((target("avx2,fma"))) float fma32(uint64_t rounds, float seed) { return multiplyAdd<32>(rounds, seed); }
#endif
uint64_t sum16(const void *data, size_t size) { return sumOf<16>(data, size); }
float fma16(uint64_t rounds, float seed) { return multiplyAdd<16>(rounds, seed); }

Kernels widestKernels() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f"))
    return {64, sum64, fma64};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return {32, sum32, fma32};
#endif
  return {16, sum16, fma16};
}

std::string cpuName() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (size_t colon = line.find(": "); line.starts_with("model name") && colon != std::string::npos)
      return line.substr(colon + 2);
  return "unknown CPU";
}

size_t bytesBeyondCaches() {
  long cache = sysconf(_SC_LEVEL3_CACHE_SIZE), pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  size_t wanted = std::max(size_t(512) << 20, cache > 0 ? size_t(cache) * 4 : 0);
  size_t quarter = pages > 0 && page > 0 ? size_t(pages) * size_t(page) / 4 : wanted;
  return std::min({wanted, quarter, size_t(4) << 30});
}

double secondsSince(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// Seconds of one run of `body(thread)` on all threads at once, from the first start to the last end: the median.
template <class Body> double medianOfRuns(unsigned threads, unsigned repeats, Body body) {
  std::vector<double> times;
  Clock::time_point begin;
  std::barrier ready(threads, [&]() noexcept { begin = Clock::now(); });
  std::barrier finished(threads, [&]() noexcept { times.push_back(secondsSince(begin)); });
  std::vector<std::thread> team;
  for (unsigned t = 0; t < threads; ++t)
    team.emplace_back([&, t] {
      for (unsigned run = 0; run <= repeats; ++run) {
        ready.arrive_and_wait();
        body(t);
        finished.arrive_and_wait();
      }
    });
  for (std::thread &thread : team)
    thread.join();
  times.erase(times.begin()); // touches memory for the first time
  return median(times);
}

} // namespace

CpuCeilings measureCpu(const CpuMeasurement &how) {
  auto tell = [&](const char *what) {
    if (how.progress)
      how.progress(what);
  };
  Kernels kernels = widestKernels();
  CpuCeilings found;
  found.name = cpuName();
  found.threads = how.threads ? how.threads : defaultWorkers();

  tell("CPU: read stream");
  // Each thread's part, of whole vectors; word i of a part is i, so that the sum is known.
  size_t bytes = (how.bytes ? how.bytes : bytesBeyondCaches()) / found.threads / 4096 * 4096;
  if (bytes == 0)
    throw Failure(ExitCode::missing,
                  "not enough memory for a read stream of " + std::to_string(found.threads) + " threads");
  std::vector<std::unique_ptr<uint64_t[], void (*)(void *)>> parts;
  for (unsigned t = 0; t < found.threads; ++t) {
    void *memory = std::aligned_alloc(4096, bytes);
    if (!memory)
      throw std::bad_alloc();
    parts.emplace_back(static_cast<uint64_t *>(memory), std::free);
  }
  std::vector<uint64_t> sums(found.threads);
  std::vector<char> filled(found.threads);
  uint64_t words = bytes / 8;
  double seconds = medianOfRuns(found.threads, how.repeats, [&](unsigned t) {
    if (!filled[t]) // by the thread that reads it, which places it near
      for (uint64_t i = 0; i < words; ++i)
        parts[t][i] = i;
    filled[t] = 1;
    sums[t] = kernels.sum(parts[t].get(), bytes);
  });
  for (uint64_t sum : sums)
    if (sum != words * (words - 1) / 2)
      throw Failure(ExitCode::defect, "the read stream's sum is " + std::to_string(sum) + ", required " +
                                          std::to_string(words * (words - 1) / 2));
  found.readBytesPerSecond = static_cast<double>(bytes) * found.threads / seconds;
  parts.clear();

  tell("CPU: f32 multiply-adds");
  uint64_t rounds = 1 << 12;
  volatile float seed = 1;
  for (;; rounds *= 2) {
    Clock::time_point begin = Clock::now();
    kernels.multiplyAdd(rounds, seed);
    if (secondsSince(begin) >= how.seconds)
      break;
  }
  std::vector<float> results(found.threads);
  seconds =
      medianOfRuns(found.threads, how.repeats, [&](unsigned t) { results[t] = kernels.multiplyAdd(rounds, seed); });
  // Each sum tends to seed: x = x / 2 + seed / 2.
  for (float result : results)
    if (!(result > 11.99f && result < 12.01f))
      throw Failure(ExitCode::defect, "multiply-adds give " + std::to_string(result) + ", required 12");
  found.f32Flops = 2.0 * chains * static_cast<double>(kernels.bytes) / sizeof(float) * static_cast<double>(rounds) *
                   found.threads / seconds;
  return found;
}

} // namespace evt::tool
