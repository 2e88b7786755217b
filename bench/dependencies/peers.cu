// What a phase of tiny tasks costs without evt: the same body (read what a task of the phase before wrote, add one,
// store) with the other ways to order phases. The slope between few and many phases, so that starting and ending do not
// count.
//
//   nvcc -O3 -std=c++20 -gencode=arch=compute_90a,code=sm_90a -o peers bench/dependencies/peers.cu && ./peers
#include <algorithm>
#include <cooperative_groups.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

namespace {

constexpr int threads = 384, few = 64, many = 1024, warm_up = 30, repeats = 41;

void check(cudaError_t error) {
  if (error != cudaSuccess) {
    std::fprintf(stderr, "error: %s\n", cudaGetErrorString(error));
    std::exit(1);
  }
}

__device__ void step(float *v, int phase, int from) {
  const int width = (int)gridDim.x;
  v[(phase + 1) * width + blockIdx.x] = *(volatile float *)&v[phase * width + from] + 1;
}
__device__ void notify(unsigned *counter) {
  asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(counter) : "memory");
}
__device__ void await(const unsigned *counter, unsigned count) {
  for (unsigned value = 0; value < count;)
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(counter) : "memory");
}

__global__ void by_grid_sync(float *v, int phases) {
  for (int p = 0; p < phases; ++p) {
    if (threadIdx.x == 0)
      step(v, p, (int)(gridDim.x - 1 - blockIdx.x));
    cooperative_groups::this_grid().sync();
  }
}
__global__ void by_events_of_all(float *v, unsigned *counters, int phases) {
  if (threadIdx.x)
    return;
  for (int p = 0; p < phases; ++p) {
    if (p)
      await(counters + (p - 1) * 32, gridDim.x);
    step(v, p, (int)(gridDim.x - 1 - blockIdx.x));
    notify(counters + p * 32);
  }
}
__global__ void by_events_one_to_one(float *v, unsigned *counters, int phases) {
  if (threadIdx.x)
    return;
  const int from = (int)(gridDim.x - 1 - blockIdx.x);
  for (int p = 0; p < phases; ++p) {
    if (p)
      await(counters + (p - 1) * gridDim.x + from, 1);
    step(v, p, from);
    notify(counters + p * gridDim.x + blockIdx.x);
  }
}
__global__ void one_phase(float *v, int phase) {
  if (threadIdx.x == 0)
    step(v, phase, (int)(gridDim.x - 1 - blockIdx.x));
}
/// Launched before the phase before it has ended, of which it waits for the end.
__global__ void one_phase_early(float *v, int phase) {
  cudaTriggerProgrammaticLaunchCompletion();
  cudaGridDependencySynchronize();
  if (threadIdx.x == 0)
    step(v, phase, (int)(gridDim.x - 1 - blockIdx.x));
}

struct Bench {
  int width;
  float *v;
  unsigned *counters;
  cudaStream_t stream;

  /// Milliseconds of `put`, the median of launches queued one behind another.
  double time(const std::function<void()> &put) {
    std::vector<cudaEvent_t> begins(warm_up + repeats), ends(warm_up + repeats);
    for (int i = 0; i < warm_up + repeats; ++i) {
      check(cudaEventCreate(&begins[i]));
      check(cudaEventCreate(&ends[i]));
      check(cudaMemsetAsync(counters, 0, sizeof(unsigned) * many * std::max(width, 32), stream));
      check(cudaEventRecord(begins[i], stream));
      put();
      check(cudaEventRecord(ends[i], stream));
    }
    check(cudaStreamSynchronize(stream));
    std::vector<float> times;
    for (int i = warm_up; i < warm_up + repeats; ++i) {
      times.push_back(0);
      check(cudaEventElapsedTime(&times.back(), begins[i], ends[i]));
    }
    std::nth_element(times.begin(), times.begin() + repeats / 2, times.end());
    return times[repeats / 2];
  }
  /// `put(phases)` runs so many; the last row must hold their number.
  void report(const char *what, const std::function<std::function<void()>(int)> &put) {
    double times[2];
    for (int i = 0; i < 2; ++i) {
      const int phases = i ? many : few;
      check(cudaMemset(v, 0, sizeof(float) * width * (many + 1)));
      check(cudaDeviceSynchronize());
      times[i] = time(put(phases));
      std::vector<float> last(width);
      check(cudaMemcpy(last.data(), v + phases * width, sizeof(float) * width, cudaMemcpyDeviceToHost));
      for (float value : last)
        if (value != (float)phases) {
          std::printf("%-44s width %3d: FAILED, %g after %d phases\n", what, width, value, phases);
          std::exit(1);
        }
    }
    std::printf("%-44s width %3d: %7.3f us a phase\n", what, width, (times[1] - times[0]) / (many - few) * 1e3);
  }
  std::function<void()> graph(int phases, bool early) {
    cudaGraph_t graph;
    cudaGraphExec_t ready;
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    for (int p = 0; p < phases; ++p) {
      cudaLaunchAttribute attribute{};
      attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
      attribute.val.programmaticStreamSerializationAllowed = 1;
      cudaLaunchConfig_t config{dim3(width), dim3(threads), 0, stream, &attribute, early ? 1u : 0u};
      check(cudaLaunchKernelEx(&config, early ? one_phase_early : one_phase, v, p));
    }
    check(cudaStreamEndCapture(stream, &graph));
    check(cudaGraphInstantiate(&ready, graph, 0));
    return [=, this] { check(cudaGraphLaunch(ready, stream)); };
  }
};

void measure(int width) {
  Bench bench{};
  bench.width = width;
  check(cudaMalloc(&bench.v, sizeof(float) * width * (many + 1)));
  check(cudaMalloc(&bench.counters, sizeof(unsigned) * many * std::max(width, 32)));
  check(cudaStreamCreate(&bench.stream));
  bench.report("events by hand, one to one", [&](int phases) {
    return [&bench, phases, width] {
      by_events_one_to_one<<<width, threads, 0, bench.stream>>>(bench.v, bench.counters, phases);
    };
  });
  bench.report("events by hand, all to all", [&](int phases) {
    return [&bench, phases, width] {
      by_events_of_all<<<width, threads, 0, bench.stream>>>(bench.v, bench.counters, phases);
    };
  });
  bench.report("grid.sync, 384 threads a block", [&](int phases) {
    return [&bench, phases, width] {
      int count = phases;
      void *arguments[] = {&bench.v, &count};
      check(cudaLaunchCooperativeKernel(by_grid_sync, dim3(width), dim3(threads), arguments, 0, bench.stream));
    };
  });
  bench.report("CUDA graph, a node each", [&](int phases) { return bench.graph(phases, false); });
  bench.report("CUDA graph, a node each, dependent launch", [&](int phases) { return bench.graph(phases, true); });
}

} // namespace

int main() {
  for (int width : {2, 132})
    measure(width);
}
