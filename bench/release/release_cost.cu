// What it costs an SM to publish: stores, releases and atomics of one warp while another thread of the block streams
// through shared memory with bulk copies, as a kernel does whose weights run ahead.
//
//   nvcc -O3 -std=c++17 -gencode=arch=compute_90a,code=sm_90a -o release_cost release_cost.cu && ./release_cost
//
// One warp of the first and of the last block performs the operation 300 times, some 3 us apart; times are the mean, in
// microseconds, by the clock that the SM ran at. Then nobody streams, all SMs but the last block's, or all.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define CHECK(call)                                                                                                    \
  do {                                                                                                                 \
    cudaError_t error = (call);                                                                                        \
    if (error != cudaSuccess) {                                                                                        \
      std::printf("%s: %s\n", #call, cudaGetErrorString(error));                                                       \
      std::exit(1);                                                                                                    \
    }                                                                                                                  \
  } while (0)

enum Operation { store_release, store_relaxed, store_fence, fence_alone, atomic_return, load_acquire, load_plain };
constexpr const char *names[] = {"store, red.release",
                                 "store, red.relaxed",
                                 "store, fence",
                                 "fence alone",
                                 "atomic with a result",
                                 "ld.acquire",
                                 "ld"};
constexpr int stage_bytes = 8192, stages = 16, repeats = 300;

__device__ std::uint32_t shared_address(const void *p) { return (std::uint32_t)__cvta_generic_to_shared(p); }
__device__ long long nanoseconds() {
  long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}
__device__ void wait(std::uint64_t *barrier, std::uint32_t parity) {
  std::uint32_t over = 0;
  while (!over)
    asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
                 : "=r"(over)
                 : "r"(shared_address(barrier)), "r"(parity)
                 : "memory");
}

template <Operation Op>
__global__ void __launch_bounds__(128, 1)
    measure(const char *weights, std::size_t each, unsigned in_flight, unsigned streaming, float *data,
            std::uint32_t *counters, long long *cycles, volatile int *stop) {
  extern __shared__ __align__(128) char ring[];
  __shared__ std::uint64_t full[stages];
  if (threadIdx.x == 0) {
    for (std::uint64_t &barrier : full)
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&barrier)));
    asm volatile("fence.mbarrier_init.release.cluster;");
  }
  __syncthreads();
  const unsigned block = blockIdx.x, lane = threadIdx.x % 32;
  if (threadIdx.x == 0 && block < streaming) {
    const char *source = weights + each * block;
    std::size_t at = 0;
    unsigned n = 0;
    for (;; ++n) {
      if (n >= in_flight) {
        wait(full + (n - in_flight) % stages, (n - in_flight) / stages & 1);
        if (n % 64 == 0 && *stop)
          break;
      }
      const std::uint32_t barrier = shared_address(full + n % stages);
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(stage_bytes)
                   : "memory");
      asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                       shared_address(ring + n % stages * stage_bytes)),
                   "l"(source + at), "r"(stage_bytes), "r"(barrier)
                   : "memory");
      at = at + 2 * stage_bytes > each ? 0 : at + stage_bytes;
    }
    for (unsigned q = n - in_flight + 1; q < n; ++q)
      wait(full + q % stages, q / stages & 1);
  } else if (threadIdx.x / 32 == 1 && (block == 0 || block == gridDim.x - 1)) {
    std::uint32_t *counter = counters + block * 32, seen = 0;
    long long total = 0, first = clock64(), first_ns = nanoseconds();
    for (int i = 0; i < repeats; ++i) {
      const long long begin = clock64();
      if ((Op == store_release || Op == store_relaxed || Op == store_fence) && lane < 4)
        reinterpret_cast<float2 *>(data + (std::size_t)((i * gridDim.x + block) % 4096) * 64)[lane] =
            make_float2(i, block);
      __syncwarp();
      if (lane == 0) {
        if (Op == store_release)
          asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(counter) : "memory");
        if (Op == store_relaxed)
          asm volatile("red.relaxed.gpu.global.add.u32 [%0], 1;" ::"l"(counter) : "memory");
        if (Op == store_fence || Op == fence_alone)
          asm volatile("fence.acq_rel.gpu;" ::: "memory");
        if (Op == atomic_return)
          asm volatile("atom.relaxed.gpu.global.add.u32 %0, [%1], 1;" : "=r"(seen) : "l"(counter) : "memory");
        if (Op == load_acquire)
          asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(counter) : "memory");
        if (Op == load_plain)
          seen = __ldcg(counter + 64 * i % 8192);
        if (seen == 0xffffffffu)
          cycles[4] = 1; // so that the result is waited for
      }
      __syncwarp();
      const long long end = clock64();
      total += end - begin;
      while (clock64() - end < 6000)
        ;
    }
    if (lane == 0) {
      cycles[block != 0] = total;
      cycles[2 + (block != 0)] = (clock64() - first) * 1000 / (nanoseconds() - first_ns); // of a microsecond
      __threadfence();
      atomicAdd((int *)stop + 1, 1);
      if (block == 0) {
        while (stop[1] < 2)
          ;
        *stop = 1;
      }
    }
  }
}

template <Operation Op>
void run(unsigned blocks, const char *weights, std::size_t each, float *data, std::uint32_t *counters,
         long long *cycles, int *stop) {
  CHECK(cudaFuncSetAttribute(measure<Op>, cudaFuncAttributeMaxDynamicSharedMemorySize, stages * stage_bytes));
  for (unsigned in_flight : {2u, 5u, 8u})
    for (unsigned streaming : {0u, blocks - 1, blocks}) {
      if (streaming == 0 && in_flight > 2)
        continue;
      CHECK(cudaMemset(stop, 0, 8));
      measure<Op>
          <<<blocks, 128, stages * stage_bytes>>>(weights, each, in_flight, streaming, data, counters, cycles, stop);
      CHECK(cudaGetLastError());
      CHECK(cudaDeviceSynchronize());
      std::printf("%-20s %3u SMs stream, %2u KB in flight: first block %.2f us, last %.2f us\n", names[Op], streaming,
                  streaming ? in_flight * 8 : 0, double(cycles[0]) / cycles[2] / repeats,
                  double(cycles[1]) / cycles[3] / repeats);
    }
}

int main() {
  const std::size_t each = 64 << 20;
  char *weights;
  float *data;
  std::uint32_t *counters;
  long long *cycles;
  int *stop;
  int multiprocessors = 0;
  CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
  const unsigned blocks = (unsigned)multiprocessors;
  CHECK(cudaMalloc(&weights, each * blocks));
  CHECK(cudaMemset(weights, 1, each * blocks));
  CHECK(cudaMalloc(&data, 4096 * 64 * sizeof(float)));
  CHECK(cudaMalloc(&counters, 1 << 20));
  CHECK(cudaMemset(counters, 0, 1 << 20));
  CHECK(cudaMallocManaged(&cycles, 64));
  CHECK(cudaMalloc(&stop, 8));
  run<store_release>(blocks, weights, each, data, counters, cycles, stop);
  run<store_relaxed>(blocks, weights, each, data, counters, cycles, stop);
  run<store_fence>(blocks, weights, each, data, counters, cycles, stop);
  run<fence_alone>(blocks, weights, each, data, counters, cycles, stop);
  run<atomic_return>(blocks, weights, each, data, counters, cycles, stop);
  run<load_acquire>(blocks, weights, each, data, counters, cycles, stop);
  run<load_plain>(blocks, weights, each, data, counters, cycles, stop);
  return 0;
}
