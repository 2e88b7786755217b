// What racecheck knows of hand-overs: one warp writes 32 words, another reads them behind an mbarrier. The second
// kernel is how the rings of device/common/rings.h hand over; it is reported, though it is in order.
// docs/perf/endurance.md has more.
//
//   nvcc -O3 -lineinfo -std=c++17 -gencode=arch=compute_90a,code=sm_90a -o handover test/gpu/handover.cu
//   compute-sanitizer --tool racecheck ./handover
#include <cstdint>
#include <cstdio>

namespace {

enum class Arrives { everyLane, oneLane, nobody };

__device__ uint32_t sharedAddress(const void *p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }
__device__ void init(uint64_t *barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(sharedAddress(barrier)), "r"(arrivals) : "memory");
}
__device__ void arrive(uint64_t *barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(sharedAddress(barrier)) : "memory");
}
__device__ void wait(uint64_t *barrier) {
  for (uint32_t over = 0; !over;)
    asm volatile("{\n"
                 ".reg .pred over;\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 over, [%1], 0;\n"
                 "selp.u32 %0, 1, 0, over;\n"
                 "}"
                 : "=r"(over)
                 : "r"(sharedAddress(barrier))
                 : "memory");
}

template <Arrives Who> __global__ void handOver(int *out) {
  __shared__ int words[32];
  __shared__ uint64_t full;
  if (threadIdx.x == 0)
    init(&full, Who == Arrives::everyLane ? 32 : 1);
  __syncthreads();
  if (threadIdx.x < 32) {
    words[threadIdx.x] = static_cast<int>(threadIdx.x);
    if (Who == Arrives::oneLane)
      __syncwarp();
    if (Who == Arrives::everyLane || (Who == Arrives::oneLane && threadIdx.x == 0))
      arrive(&full);
  } else {
    if (Who != Arrives::nobody)
      wait(&full);
    out[threadIdx.x - 32] = words[(threadIdx.x - 31) % 32];
  }
}

/// As a block finds out that it was the last to leave.
__global__ void flag(int *counter, int *out) {
  __shared__ int last;
  if (threadIdx.x == 0)
    last = atomicAdd(counter, 1);
  __syncthreads();
  if (last == 3)
    out[threadIdx.x % 32] = last;
}

} // namespace

int main() {
  int *out;
  cudaMalloc(&out, 4096);
  cudaMemset(out, 0, 4096);
  auto report = [](const char *what) {
    cudaDeviceSynchronize();
    std::printf("that was: %s\n", what);
    std::fflush(stdout);
  };
  handOver<Arrives::everyLane><<<1, 64>>>(out);
  report("every lane arrives");
  handOver<Arrives::oneLane><<<1, 64>>>(out);
  report("one lane arrives for its warp");
  handOver<Arrives::nobody><<<1, 64>>>(out);
  report("nobody waits, a race");
  flag<<<4, 384>>>(out + 512, out);
  report("a flag and __syncthreads");
  std::printf("%s\n", cudaGetErrorString(cudaGetLastError()));
  return cudaGetLastError() == cudaSuccess ? 0 : 1;
}
