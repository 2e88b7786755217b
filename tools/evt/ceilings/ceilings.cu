// The kernels of `evt bench ceilings`: what a GPU's memory, events, tickets and tensor cores can do at best.
//
// Every kernel takes the same four words (Work, in GpuCeilings.cpp). Memory that is read holds the words that
// `ceiling_fill` writes, whose sums are known in closed form: a stream that skipped something is found out. The tool
// carries this text and compiles it on the machine that it measures; a cubin made elsewhere will do, too:
//
//   nvcc -std=c++20 -O3 -gencode=arch=compute_90a,code=sm_90a -cubin -o ceilings.cubin tools/evt/ceilings/ceilings.cu
#include <cstdint>

namespace {

struct Work {
  uint64_t in, out; // addresses
  uint64_t amount;  // of words, chunks or tickets
  uint64_t rounds;  // of an exchange or a product; stages of the ring
};

constexpr uint64_t step = 0x9e3779b97f4a7c15, first = 0xd1b54a32d192ed03; // word i is i * step + first
constexpr uint32_t chunkBytes = 16384;
constexpr uint64_t patience = 2000000000; // nanoseconds
constexpr unsigned lineWords = 32;        // counters lie on lines of their own

__device__ uint64_t *words(uint64_t address) { return reinterpret_cast<uint64_t *>(address); }
__device__ uint32_t *counters(uint64_t address) { return reinterpret_cast<uint32_t *>(address); }

__device__ void notify(uint32_t *counter) {
  asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(counter) : "memory");
}
__device__ uint32_t loadAcquire(const uint32_t *counter) {
  uint32_t value;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(counter) : "memory");
  return value;
}
__device__ uint64_t nanoseconds() {
  uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}
/// False, with a mark for the host in the fourth line, if the count does not come: not all blocks run at once.
__device__ bool await(uint32_t *base, const uint32_t *counter, uint32_t count) {
  uint64_t begin = 0;
  for (uint32_t tries = 0; static_cast<int32_t>(loadAcquire(counter) - count) < 0; ++tries)
    if (tries % 4096 == 4095) {
      uint64_t now = nanoseconds();
      if (begin == 0)
        begin = now;
      if (now - begin > patience || *reinterpret_cast<volatile uint32_t *>(base + 3 * lineWords)) {
        *reinterpret_cast<volatile uint32_t *>(base + 3 * lineWords) = 1;
        return false;
      }
    }
  return true;
}

} // namespace

extern "C" __global__ void ceiling_fill(Work work) {
  uint64_t stride = uint64_t(gridDim.x) * blockDim.x;
  for (uint64_t i = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < work.amount; i += stride)
    words(work.out)[i] = i * step + first;
}

/// Reads 16 bytes a thread at a time, eight of them in flight, and adds up the words.
extern "C" __global__ void __launch_bounds__(512) ceiling_read(Work work) {
  const ulonglong2 *in = reinterpret_cast<const ulonglong2 *>(work.in);
  uint64_t pairs = work.amount / 2, stride = uint64_t(gridDim.x) * blockDim.x, sum = 0;
  uint64_t i = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  for (; i + 7 * stride < pairs; i += 8 * stride) {
    ulonglong2 v[8];
#pragma unroll
    for (int u = 0; u < 8; ++u)
      v[u] = __ldcs(in + i + u * stride);
#pragma unroll
    for (int u = 0; u < 8; ++u)
      sum += v[u].x + v[u].y;
  }
  for (; i < pairs; i += stride)
    sum += in[i].x + in[i].y;
  for (int lane = 16; lane; lane /= 2)
    sum += __shfl_down_sync(~0u, sum, lane);
  if (threadIdx.x % 32 == 0)
    atomicAdd(reinterpret_cast<unsigned long long *>(work.out), sum);
}

/// One thread of each block fetches the block's own contiguous run of chunks into a ring of `rounds` stages.
extern "C" __global__ void ceiling_bulk_read(Work work) {
  extern __shared__ __align__(128) unsigned char ring[];
  __shared__ uint64_t barriers[16];
  if (threadIdx.x != 0)
    return;
  uint32_t ringAt = static_cast<uint32_t>(__cvta_generic_to_shared(ring));
  uint32_t barrierAt = static_cast<uint32_t>(__cvta_generic_to_shared(barriers));
  uint64_t chunks = work.amount, from = work.in + blockIdx.x * chunks * chunkBytes;
  uint32_t stages = static_cast<uint32_t>(work.rounds);
  for (uint32_t s = 0; s < stages; ++s)
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrierAt + 8 * s) : "memory");
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  auto fetch = [&](uint64_t chunk, uint32_t stage) {
    uint32_t barrier = barrierAt + 8 * stage;
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(chunkBytes) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     ringAt + stage * chunkBytes),
                 "l"(from + chunk * chunkBytes), "r"(chunkBytes), "r"(barrier)
                 : "memory");
  };
  for (uint32_t s = 0; s < stages && s < chunks; ++s)
    fetch(s, s);
  uint32_t stage = 0, parity = 0;
  for (uint64_t i = 0; i < chunks; ++i) {
    asm volatile("{\n"
                 ".reg .pred arrived;\n"
                 "again:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 arrived, [%0], %1;\n"
                 "@!arrived bra again;\n"
                 "}" ::"r"(barrierAt + 8 * stage),
                 "r"(parity)
                 : "memory");
    if (i + stages < chunks)
      fetch(i + stages, stage);
    if (++stage == stages) {
      stage = 0;
      parity ^= 1;
    }
  }
  // What the ring holds at the end: the run's last chunks.
  uint64_t sum = 0;
  for (uint32_t s = 0; s < stages && s < chunks; ++s)
    sum += *reinterpret_cast<const uint64_t *>(ring + s * chunkBytes);
  atomicAdd(reinterpret_cast<unsigned long long *>(work.out), static_cast<unsigned long long>(sum));
}

/// The first block and the last one notify each other in turn.
extern "C" __global__ void ceiling_event_one_way(Work work) {
  uint32_t *base = counters(work.out), *there = base, *back = base + lineWords;
  if (threadIdx.x != 0)
    return;
  for (uint32_t r = 1; r <= work.rounds; ++r)
    if (blockIdx.x == 0) {
      notify(there);
      if (!await(base, back, r))
        return;
    } else if (blockIdx.x == gridDim.x - 1) {
      if (!await(base, there, r))
        return;
      notify(back);
    }
}

/// Every block notifies one counter, and waits until all have.
extern "C" __global__ void ceiling_event_all(Work work) {
  uint32_t *base = counters(work.out);
  if (threadIdx.x != 0)
    return;
  for (uint32_t r = 1; r <= work.rounds; ++r) {
    notify(base);
    if (!await(base, base, r * gridDim.x))
      return;
  }
}

/// The same for all threads of all blocks: what a grid-wide barrier does.
extern "C" __global__ void ceiling_barrier(Work work) {
  uint32_t *base = counters(work.out);
  for (uint32_t r = 1; r <= work.rounds; ++r) {
    bool passed = true;
    __syncthreads();
    if (threadIdx.x == 0) {
      __threadfence();
      notify(base);
      passed = await(base, base, r * gridDim.x);
    }
    if (!__syncthreads_and(passed))
      return;
  }
}

/// Blocks take numbers from one counter, each after the one before, until `amount` are gone.
extern "C" __global__ void ceiling_ticket(Work work) {
  unsigned long long *counter = reinterpret_cast<unsigned long long *>(work.out);
  if (threadIdx.x == 0)
    while (atomicAdd(counter, 1ull) < work.amount) {
    }
}

extern "C" __global__ void ceiling_empty(Work) {}

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
/// Two groups of four warps multiply 64 x 64 by 64 x 256 tiles of bf16 that lie in shared memory, again and again.
extern "C" __global__ void __launch_bounds__(256, 1) ceiling_bf16(Work work) {
  extern __shared__ __align__(1024) unsigned char tiles[]; // B, then an A for each group
  uint32_t tilesAt = static_cast<uint32_t>(__cvta_generic_to_shared(tiles));
  uint32_t seed = blockIdx.x * blockDim.x + threadIdx.x + 1;
  for (uint32_t i = threadIdx.x; i < 49152 / 2; i += blockDim.x) {
    seed = seed * 1664525u + 1013904223u;
    // Between 1 and 2 in size, of either sign.
    reinterpret_cast<uint16_t *>(tiles)[i] = static_cast<uint16_t>(0x3f80 | (seed >> 16 & 0x807f));
  }
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  // Rows of 128 bytes in the 128-byte swizzle, eight of them 1024 bytes apart from the next eight.
  auto describe = [](uint32_t address) {
    return uint64_t(address >> 4 & 0x3fff) | uint64_t(1) << 16 | uint64_t(64) << 32 | uint64_t(1) << 62;
  };
  uint64_t b = describe(tilesAt), a = describe(tilesAt + 32768 + threadIdx.x / 128 * 8192);
  float d[128];
#pragma unroll
  for (int i = 0; i < 128; ++i)
    d[i] = 0;
  for (uint64_t r = 0; r < work.rounds; ++r) {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (int k = 0; k < 16; ++k) // along K of 64 and again, so that a wait is rare
      asm volatile(
          "{\n"
          ".reg .pred p;\n"
          "setp.ne.b32 p, 1, 0;\n"
          "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {"
          "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
          "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
          "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
          "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
          "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
          "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
          "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
          "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}, "
          "%128, %129, p, 1, 1, 0, 0;\n"
          "}"
          : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]),
            "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]),
            "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]),
            "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]),
            "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]),
            "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]),
            "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]),
            "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]), "+f"(d[64]),
            "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71]), "+f"(d[72]),
            "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79]), "+f"(d[80]),
            "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]), "+f"(d[88]),
            "+f"(d[89]), "+f"(d[90]), "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]), "+f"(d[96]),
            "+f"(d[97]), "+f"(d[98]), "+f"(d[99]), "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103]), "+f"(d[104]),
            "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]), "+f"(d[110]), "+f"(d[111]),
            "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115]), "+f"(d[116]), "+f"(d[117]), "+f"(d[118]),
            "+f"(d[119]), "+f"(d[120]), "+f"(d[121]), "+f"(d[122]), "+f"(d[123]), "+f"(d[124]), "+f"(d[125]),
            "+f"(d[126]), "+f"(d[127])
          : "l"(a + 2 * (k % 4)), "l"(b + 2 * (k % 4)));
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  }
  float sum = 0;
#pragma unroll
  for (int i = 0; i < 128; ++i)
    sum += d[i];
  if (sum == 12345.678f) // never: the products must not be left out
    words(work.out)[0] = 1;
}
#endif
