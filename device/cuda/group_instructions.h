// The instructions of a warpgroup, and those of the copy engine that know a tensor's shape.
// device/cuda/simulated/group_instructions.h has the same functions for a CPU.
#pragma once

#include "device/cuda/instructions.h"

namespace evt::ptx {

/// Before the first product that uses registers which the thread itself has written.
__device__ __forceinline__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
/// The products since the last commit are one group.
__device__ __forceinline__ void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
/// Until at most `Groups` of the last groups still run.
template <int Groups> __device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Groups) : "memory");
}

/// c (64 x Columns, f32) = a (64 x 16) * b (Columns x 16)^T, added to c where `add`. Lane l of warp w of the group
/// holds of c rows 16w + l/4 and 8 more, and of every 8 columns 2(l%4)..+1: c[4j], c[4j+1] of the first row, c[4j+2],
/// c[4j+3] of the other.
template <int Columns, bool Bfloat16>
__device__ __forceinline__ void wgmma(float (&c)[Columns / 2], std::uint64_t a, std::uint64_t b);

// The instruction names all its registers, so each width is a text of its own.
#define EVT_WGMMA_REGISTERS_8 "%0, %1, %2, %3"
#define EVT_WGMMA_REGISTERS_16 EVT_WGMMA_REGISTERS_8 ", %4, %5, %6, %7"
#define EVT_WGMMA_REGISTERS_24 EVT_WGMMA_REGISTERS_16 ", %8, %9, %10, %11"
#define EVT_WGMMA_REGISTERS_32 EVT_WGMMA_REGISTERS_24 ", %12, %13, %14, %15"
#define EVT_WGMMA_REGISTERS_40 EVT_WGMMA_REGISTERS_32 ", %16, %17, %18, %19"
#define EVT_WGMMA_REGISTERS_48 EVT_WGMMA_REGISTERS_40 ", %20, %21, %22, %23"
#define EVT_WGMMA_REGISTERS_56 EVT_WGMMA_REGISTERS_48 ", %24, %25, %26, %27"
#define EVT_WGMMA_REGISTERS_64 EVT_WGMMA_REGISTERS_56 ", %28, %29, %30, %31"
#define EVT_WGMMA_REGISTERS_72 EVT_WGMMA_REGISTERS_64 ", %32, %33, %34, %35"
#define EVT_WGMMA_REGISTERS_80 EVT_WGMMA_REGISTERS_72 ", %36, %37, %38, %39"
#define EVT_WGMMA_REGISTERS_88 EVT_WGMMA_REGISTERS_80 ", %40, %41, %42, %43"
#define EVT_WGMMA_REGISTERS_96 EVT_WGMMA_REGISTERS_88 ", %44, %45, %46, %47"
#define EVT_WGMMA_REGISTERS_104 EVT_WGMMA_REGISTERS_96 ", %48, %49, %50, %51"
#define EVT_WGMMA_REGISTERS_112 EVT_WGMMA_REGISTERS_104 ", %52, %53, %54, %55"
#define EVT_WGMMA_REGISTERS_120 EVT_WGMMA_REGISTERS_112 ", %56, %57, %58, %59"
#define EVT_WGMMA_REGISTERS_128 EVT_WGMMA_REGISTERS_120 ", %60, %61, %62, %63"
#define EVT_WGMMA_REGISTERS_136 EVT_WGMMA_REGISTERS_128 ", %64, %65, %66, %67"
#define EVT_WGMMA_REGISTERS_144 EVT_WGMMA_REGISTERS_136 ", %68, %69, %70, %71"
#define EVT_WGMMA_REGISTERS_152 EVT_WGMMA_REGISTERS_144 ", %72, %73, %74, %75"
#define EVT_WGMMA_REGISTERS_160 EVT_WGMMA_REGISTERS_152 ", %76, %77, %78, %79"
#define EVT_WGMMA_REGISTERS_168 EVT_WGMMA_REGISTERS_160 ", %80, %81, %82, %83"
#define EVT_WGMMA_REGISTERS_176 EVT_WGMMA_REGISTERS_168 ", %84, %85, %86, %87"
#define EVT_WGMMA_REGISTERS_184 EVT_WGMMA_REGISTERS_176 ", %88, %89, %90, %91"
#define EVT_WGMMA_REGISTERS_192 EVT_WGMMA_REGISTERS_184 ", %92, %93, %94, %95"
#define EVT_WGMMA_REGISTERS_200 EVT_WGMMA_REGISTERS_192 ", %96, %97, %98, %99"
#define EVT_WGMMA_REGISTERS_208 EVT_WGMMA_REGISTERS_200 ", %100, %101, %102, %103"
#define EVT_WGMMA_REGISTERS_216 EVT_WGMMA_REGISTERS_208 ", %104, %105, %106, %107"
#define EVT_WGMMA_REGISTERS_224 EVT_WGMMA_REGISTERS_216 ", %108, %109, %110, %111"
#define EVT_WGMMA_REGISTERS_232 EVT_WGMMA_REGISTERS_224 ", %112, %113, %114, %115"
#define EVT_WGMMA_REGISTERS_240 EVT_WGMMA_REGISTERS_232 ", %116, %117, %118, %119"
#define EVT_WGMMA_REGISTERS_248 EVT_WGMMA_REGISTERS_240 ", %120, %121, %122, %123"
#define EVT_WGMMA_REGISTERS_256 EVT_WGMMA_REGISTERS_248 ", %124, %125, %126, %127"
#define EVT_WGMMA_SUMS_8 "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
#define EVT_WGMMA_SUMS_16 EVT_WGMMA_SUMS_8, "+f"(c[4]), "+f"(c[5]), "+f"(c[6]), "+f"(c[7])
#define EVT_WGMMA_SUMS_24 EVT_WGMMA_SUMS_16, "+f"(c[8]), "+f"(c[9]), "+f"(c[10]), "+f"(c[11])
#define EVT_WGMMA_SUMS_32 EVT_WGMMA_SUMS_24, "+f"(c[12]), "+f"(c[13]), "+f"(c[14]), "+f"(c[15])
#define EVT_WGMMA_SUMS_40 EVT_WGMMA_SUMS_32, "+f"(c[16]), "+f"(c[17]), "+f"(c[18]), "+f"(c[19])
#define EVT_WGMMA_SUMS_48 EVT_WGMMA_SUMS_40, "+f"(c[20]), "+f"(c[21]), "+f"(c[22]), "+f"(c[23])
#define EVT_WGMMA_SUMS_56 EVT_WGMMA_SUMS_48, "+f"(c[24]), "+f"(c[25]), "+f"(c[26]), "+f"(c[27])
#define EVT_WGMMA_SUMS_64 EVT_WGMMA_SUMS_56, "+f"(c[28]), "+f"(c[29]), "+f"(c[30]), "+f"(c[31])
#define EVT_WGMMA_SUMS_72 EVT_WGMMA_SUMS_64, "+f"(c[32]), "+f"(c[33]), "+f"(c[34]), "+f"(c[35])
#define EVT_WGMMA_SUMS_80 EVT_WGMMA_SUMS_72, "+f"(c[36]), "+f"(c[37]), "+f"(c[38]), "+f"(c[39])
#define EVT_WGMMA_SUMS_88 EVT_WGMMA_SUMS_80, "+f"(c[40]), "+f"(c[41]), "+f"(c[42]), "+f"(c[43])
#define EVT_WGMMA_SUMS_96 EVT_WGMMA_SUMS_88, "+f"(c[44]), "+f"(c[45]), "+f"(c[46]), "+f"(c[47])
#define EVT_WGMMA_SUMS_104 EVT_WGMMA_SUMS_96, "+f"(c[48]), "+f"(c[49]), "+f"(c[50]), "+f"(c[51])
#define EVT_WGMMA_SUMS_112 EVT_WGMMA_SUMS_104, "+f"(c[52]), "+f"(c[53]), "+f"(c[54]), "+f"(c[55])
#define EVT_WGMMA_SUMS_120 EVT_WGMMA_SUMS_112, "+f"(c[56]), "+f"(c[57]), "+f"(c[58]), "+f"(c[59])
#define EVT_WGMMA_SUMS_128 EVT_WGMMA_SUMS_120, "+f"(c[60]), "+f"(c[61]), "+f"(c[62]), "+f"(c[63])
#define EVT_WGMMA_SUMS_136 EVT_WGMMA_SUMS_128, "+f"(c[64]), "+f"(c[65]), "+f"(c[66]), "+f"(c[67])
#define EVT_WGMMA_SUMS_144 EVT_WGMMA_SUMS_136, "+f"(c[68]), "+f"(c[69]), "+f"(c[70]), "+f"(c[71])
#define EVT_WGMMA_SUMS_152 EVT_WGMMA_SUMS_144, "+f"(c[72]), "+f"(c[73]), "+f"(c[74]), "+f"(c[75])
#define EVT_WGMMA_SUMS_160 EVT_WGMMA_SUMS_152, "+f"(c[76]), "+f"(c[77]), "+f"(c[78]), "+f"(c[79])
#define EVT_WGMMA_SUMS_168 EVT_WGMMA_SUMS_160, "+f"(c[80]), "+f"(c[81]), "+f"(c[82]), "+f"(c[83])
#define EVT_WGMMA_SUMS_176 EVT_WGMMA_SUMS_168, "+f"(c[84]), "+f"(c[85]), "+f"(c[86]), "+f"(c[87])
#define EVT_WGMMA_SUMS_184 EVT_WGMMA_SUMS_176, "+f"(c[88]), "+f"(c[89]), "+f"(c[90]), "+f"(c[91])
#define EVT_WGMMA_SUMS_192 EVT_WGMMA_SUMS_184, "+f"(c[92]), "+f"(c[93]), "+f"(c[94]), "+f"(c[95])
#define EVT_WGMMA_SUMS_200 EVT_WGMMA_SUMS_192, "+f"(c[96]), "+f"(c[97]), "+f"(c[98]), "+f"(c[99])
#define EVT_WGMMA_SUMS_208 EVT_WGMMA_SUMS_200, "+f"(c[100]), "+f"(c[101]), "+f"(c[102]), "+f"(c[103])
#define EVT_WGMMA_SUMS_216 EVT_WGMMA_SUMS_208, "+f"(c[104]), "+f"(c[105]), "+f"(c[106]), "+f"(c[107])
#define EVT_WGMMA_SUMS_224 EVT_WGMMA_SUMS_216, "+f"(c[108]), "+f"(c[109]), "+f"(c[110]), "+f"(c[111])
#define EVT_WGMMA_SUMS_232 EVT_WGMMA_SUMS_224, "+f"(c[112]), "+f"(c[113]), "+f"(c[114]), "+f"(c[115])
#define EVT_WGMMA_SUMS_240 EVT_WGMMA_SUMS_232, "+f"(c[116]), "+f"(c[117]), "+f"(c[118]), "+f"(c[119])
#define EVT_WGMMA_SUMS_248 EVT_WGMMA_SUMS_240, "+f"(c[120]), "+f"(c[121]), "+f"(c[122]), "+f"(c[123])
#define EVT_WGMMA_SUMS_256 EVT_WGMMA_SUMS_248, "+f"(c[124]), "+f"(c[125]), "+f"(c[126]), "+f"(c[127])

#define EVT_WGMMA_OF(COLUMNS, BFLOAT16, TYPE, A, B)                                                                    \
  template <>                                                                                                          \
  __device__ __forceinline__ void wgmma<COLUMNS, BFLOAT16>(float(&c)[COLUMNS / 2], std::uint64_t a, std::uint64_t b) { \
    asm volatile("wgmma.mma_async.sync.aligned.m64n" #COLUMNS "k16.f32." TYPE "." TYPE                                 \
                 " {" EVT_WGMMA_REGISTERS_##COLUMNS "}, " A ", " B ", 1, 1, 1, 0, 0;"                                  \
                 : EVT_WGMMA_SUMS_##COLUMNS                                                                            \
                 : "l"(a), "l"(b));                                                                                    \
  }
#define EVT_WGMMA(COLUMNS, A, B)                                                                                       \
  EVT_WGMMA_OF(COLUMNS, true, "bf16", A, B)                                                                            \
  EVT_WGMMA_OF(COLUMNS, false, "f16", A, B)

EVT_WGMMA(8, "%4", "%5")
EVT_WGMMA(16, "%8", "%9")
EVT_WGMMA(24, "%12", "%13")
EVT_WGMMA(32, "%16", "%17")
EVT_WGMMA(40, "%20", "%21")
EVT_WGMMA(48, "%24", "%25")
EVT_WGMMA(56, "%28", "%29")
EVT_WGMMA(64, "%32", "%33")
EVT_WGMMA(72, "%36", "%37")
EVT_WGMMA(80, "%40", "%41")
EVT_WGMMA(88, "%44", "%45")
EVT_WGMMA(96, "%48", "%49")
EVT_WGMMA(104, "%52", "%53")
EVT_WGMMA(112, "%56", "%57")
EVT_WGMMA(120, "%60", "%61")
EVT_WGMMA(128, "%64", "%65")
EVT_WGMMA(136, "%68", "%69")
EVT_WGMMA(144, "%72", "%73")
EVT_WGMMA(152, "%76", "%77")
EVT_WGMMA(160, "%80", "%81")
EVT_WGMMA(168, "%84", "%85")
EVT_WGMMA(176, "%88", "%89")
EVT_WGMMA(184, "%92", "%93")
EVT_WGMMA(192, "%96", "%97")
EVT_WGMMA(200, "%100", "%101")
EVT_WGMMA(208, "%104", "%105")
EVT_WGMMA(216, "%108", "%109")
EVT_WGMMA(224, "%112", "%113")
EVT_WGMMA(232, "%116", "%117")
EVT_WGMMA(240, "%120", "%121")
EVT_WGMMA(248, "%124", "%125")
EVT_WGMMA(256, "%128", "%129")

#undef EVT_WGMMA
#undef EVT_WGMMA_OF
#undef EVT_WGMMA_REGISTERS_8
#undef EVT_WGMMA_SUMS_8
#undef EVT_WGMMA_REGISTERS_16
#undef EVT_WGMMA_SUMS_16
#undef EVT_WGMMA_REGISTERS_24
#undef EVT_WGMMA_SUMS_24
#undef EVT_WGMMA_REGISTERS_32
#undef EVT_WGMMA_SUMS_32
#undef EVT_WGMMA_REGISTERS_40
#undef EVT_WGMMA_SUMS_40
#undef EVT_WGMMA_REGISTERS_48
#undef EVT_WGMMA_SUMS_48
#undef EVT_WGMMA_REGISTERS_56
#undef EVT_WGMMA_SUMS_56
#undef EVT_WGMMA_REGISTERS_64
#undef EVT_WGMMA_SUMS_64
#undef EVT_WGMMA_REGISTERS_72
#undef EVT_WGMMA_SUMS_72
#undef EVT_WGMMA_REGISTERS_80
#undef EVT_WGMMA_SUMS_80
#undef EVT_WGMMA_REGISTERS_88
#undef EVT_WGMMA_SUMS_88
#undef EVT_WGMMA_REGISTERS_96
#undef EVT_WGMMA_SUMS_96
#undef EVT_WGMMA_REGISTERS_104
#undef EVT_WGMMA_SUMS_104
#undef EVT_WGMMA_REGISTERS_112
#undef EVT_WGMMA_SUMS_112
#undef EVT_WGMMA_REGISTERS_120
#undef EVT_WGMMA_SUMS_120
#undef EVT_WGMMA_REGISTERS_128
#undef EVT_WGMMA_SUMS_128
#undef EVT_WGMMA_REGISTERS_136
#undef EVT_WGMMA_SUMS_136
#undef EVT_WGMMA_REGISTERS_144
#undef EVT_WGMMA_SUMS_144
#undef EVT_WGMMA_REGISTERS_152
#undef EVT_WGMMA_SUMS_152
#undef EVT_WGMMA_REGISTERS_160
#undef EVT_WGMMA_SUMS_160
#undef EVT_WGMMA_REGISTERS_168
#undef EVT_WGMMA_SUMS_168
#undef EVT_WGMMA_REGISTERS_176
#undef EVT_WGMMA_SUMS_176
#undef EVT_WGMMA_REGISTERS_184
#undef EVT_WGMMA_SUMS_184
#undef EVT_WGMMA_REGISTERS_192
#undef EVT_WGMMA_SUMS_192
#undef EVT_WGMMA_REGISTERS_200
#undef EVT_WGMMA_SUMS_200
#undef EVT_WGMMA_REGISTERS_208
#undef EVT_WGMMA_SUMS_208
#undef EVT_WGMMA_REGISTERS_216
#undef EVT_WGMMA_SUMS_216
#undef EVT_WGMMA_REGISTERS_224
#undef EVT_WGMMA_SUMS_224
#undef EVT_WGMMA_REGISTERS_232
#undef EVT_WGMMA_SUMS_232
#undef EVT_WGMMA_REGISTERS_240
#undef EVT_WGMMA_SUMS_240
#undef EVT_WGMMA_REGISTERS_248
#undef EVT_WGMMA_SUMS_248
#undef EVT_WGMMA_REGISTERS_256
#undef EVT_WGMMA_SUMS_256

//===-- the copy engine, with a tensor's shape --------------------------------------------------------------------===//

/// What other threads wrote to global memory, and this one has seen, is seen by copies that it issues. Who wrote it
/// needs no fence of this kind: one on the way from the store to the copy is enough.
__device__ __forceinline__ void copy_fence() { asm volatile("fence.proxy.async.global;" ::: "memory"); }
/// What threads wrote to the block's shared memory, and this one has seen, is overwritten by copies that it issues.
__device__ __forceinline__ void shared_copy_fence() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

/// Copies the map's box from (x, y) or (x, y, z, …), x being the column, into shared memory; zero outside the tensor.
__device__ __forceinline__ void tensor_load(std::uint32_t to, const void *map, Barrier barrier, int x, int y) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], "
               "[%2];" ::"r"(to),
               "l"(map), "r"(barrier.address), "r"(x), "r"(y)
               : "memory");
}
__device__ __forceinline__ void tensor_load(std::uint32_t to, const void *map, Barrier barrier, int x, int y, int z) {
  asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, "
               "%5}], [%2];" ::"r"(to),
               "l"(map), "r"(barrier.address), "r"(x), "r"(y), "r"(z)
               : "memory");
}
__device__ __forceinline__ void tensor_load(std::uint32_t to, const void *map, Barrier barrier, int x, int y, int z,
                                            int u) {
  asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, "
               "%5, %6}], [%2];" ::"r"(to),
               "l"(map), "r"(barrier.address), "r"(x), "r"(y), "r"(z), "r"(u)
               : "memory");
}
__device__ __forceinline__ void tensor_load(std::uint32_t to, const void *map, Barrier barrier, int x, int y, int z,
                                            int u, int v) {
  asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, "
               "%5, %6, %7}], [%2];" ::"r"(to),
               "l"(map), "r"(barrier.address), "r"(x), "r"(y), "r"(z), "r"(u), "r"(v)
               : "memory");
}
/// Copies columns from `x` on of packed rows from `y` on, `z` being the place in the dimension before them. They are
/// read once: they leave the L2 cache first.
__device__ __forceinline__ void packed_load(std::uint32_t to, const void *map, Barrier barrier, int x, int y) {
  asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint [%0], "
               "[%1, {%3, %4, %5}], [%2], %6;" ::"r"(to),
               "l"(map), "r"(barrier.address), "r"(0), "r"(x / 32), "r"(y / 8), "l"(evict_first)
               : "memory");
}
__device__ __forceinline__ void packed_load(std::uint32_t to, const void *map, Barrier barrier, int x, int y, int z) {
  asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint [%0], "
               "[%1, {%3, %4, %5, %6}], [%2], %7;" ::"r"(to),
               "l"(map), "r"(barrier.address), "r"(0), "r"(x / 32), "r"(y / 8), "r"(z), "l"(evict_first)
               : "memory");
}
/// Fetches a map ahead of its first use.
__device__ __forceinline__ void tensor_prefetch(const void *map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

} // namespace evt::ptx
