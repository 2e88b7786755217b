// The instructions of Hopper that C++ has no words for, one function each. device/cuda/simulated/instructions.h has the
// same functions for a CPU.
#pragma once

#include "device/cuda/barrier.h"

#include <cstdint>

namespace evt::ptx {

__device__ __forceinline__ std::uint32_t shared_address(const void *p) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(p));
}

//===-- memory of the whole GPU: what other blocks see ------------------------------------------------------------===//

__device__ __forceinline__ std::uint32_t load_acquire(const std::uint32_t *p) {
  std::uint32_t v;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
  return v;
}
__device__ __forceinline__ std::uint64_t load_acquire(const std::uint64_t *p) {
  std::uint64_t v;
  asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(v) : "l"(p) : "memory");
  return v;
}
__device__ __forceinline__ std::uint32_t load_relaxed(const std::uint32_t *p) {
  std::uint32_t v;
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
  return v;
}
__device__ __forceinline__ std::uint64_t load_relaxed(const std::uint64_t *p) {
  std::uint64_t v;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(v) : "l"(p) : "memory");
  return v;
}
__device__ __forceinline__ void store_release(std::uint32_t *p, std::uint32_t v) {
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}
__device__ __forceinline__ void store_release(std::uint64_t *p, std::uint64_t v) {
  asm volatile("st.release.gpu.global.u64 [%0], %1;" ::"l"(p), "l"(v) : "memory");
}
__device__ __forceinline__ void store_relaxed(std::uint32_t *p, std::uint32_t v) {
  asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}
__device__ __forceinline__ void store_relaxed(std::uint64_t *p, std::uint64_t v) {
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(p), "l"(v) : "memory");
}
__device__ __forceinline__ std::uint32_t add_acq_rel(std::uint32_t *p, std::uint32_t v) {
  std::uint32_t old;
  asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], %2;" : "=r"(old) : "l"(p), "r"(v) : "memory");
  return old;
}
__device__ __forceinline__ std::uint64_t add_acq_rel(std::uint64_t *p, std::uint64_t v) {
  std::uint64_t old;
  asm volatile("atom.acq_rel.gpu.global.add.u64 %0, [%1], %2;" : "=l"(old) : "l"(p), "l"(v) : "memory");
  return old;
}
__device__ __forceinline__ std::uint64_t add_relaxed(std::uint64_t *p, std::uint64_t v) {
  std::uint64_t old;
  asm volatile("atom.relaxed.gpu.global.add.u64 %0, [%1], %2;" : "=l"(old) : "l"(p), "l"(v) : "memory");
  return old;
}
__device__ __forceinline__ void reduce_relaxed(std::uint64_t *p, std::uint64_t v) {
  asm volatile("red.relaxed.gpu.global.add.u64 [%0], %1;" ::"l"(p), "l"(v) : "memory");
}
__device__ __forceinline__ void reduce_relaxed(std::uint32_t *p, std::uint32_t v) {
  asm volatile("red.relaxed.gpu.global.add.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}
/// Adds without waiting for the old value. The release is not free: it waits for every copy of the SM that is in
/// flight, 1.5 us when those are 40 KB.
__device__ __forceinline__ void reduce_release(std::uint32_t *p, std::uint32_t v) {
  asm volatile("red.release.gpu.global.add.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}

/// 16 bytes as four relaxed loads, for words that other blocks may be writing; `words` stays as it is unless `loads`.
__device__ __forceinline__ void load_relaxed(std::uint32_t (&words)[4], const std::uint32_t *p, bool loads) {
  asm volatile("{\n"
               ".reg .pred loads;\n"
               "setp.ne.u32 loads, %5, 0;\n"
               "@loads ld.relaxed.gpu.global.v4.u32 {%0, %1, %2, %3}, [%4];\n"
               "}"
               : "+r"(words[0]), "+r"(words[1]), "+r"(words[2]), "+r"(words[3])
               : "l"(p), "r"((std::uint32_t)loads));
}

__device__ __forceinline__ std::uint64_t nanoseconds() {
  std::uint64_t t;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
  return t;
}

//===-- barriers inside a block -----------------------------------------------------------------------------------===//

/// `threads` threads of the block meet at barrier `id`; 0 is __syncthreads'.
__device__ __forceinline__ void meet(int id, int threads) {
  __syncwarp();
  asm volatile("barrier.sync.aligned %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
/// The same; true for all if `mine` is true for any.
__device__ __forceinline__ bool meet_any(int id, int threads, bool mine) {
  __syncwarp();
  std::uint32_t any;
  asm volatile("{\n"
               ".reg .pred mine, any;\n"
               "setp.ne.u32 mine, %3, 0;\n"
               "barrier.red.or.aligned.pred any, %1, %2, mine;\n"
               "selp.u32 %0, 1, 0, any;\n"
               "}"
               : "=r"(any)
               : "r"(id), "r"(threads), "r"((std::uint32_t)mine)
               : "memory");
  return any;
}

/// The number of this thread in its block, read where it is asked for. What follows from `threadIdx` is the same in
/// every task, so the compiler computes it before the first one; a kernel of many kinds of tasks then holds hundreds of
/// such values, most of them in memory, from where products would have to fetch their addresses, too.
__device__ __forceinline__ int thread() {
  std::uint32_t number;
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(number));
  __builtin_assume(number < 1024);
  return (int)number;
}
/// Keeps a value in a register: the compiler would rather compute an address again, for each use.
__device__ __forceinline__ std::uint32_t kept(std::uint32_t value) {
  asm("mov.u32 %0, %1;" : "=r"(value) : "r"(value));
  return value;
}
__device__ __forceinline__ void barrier_init(Barrier barrier, std::uint32_t arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier.address), "r"(arrivals) : "memory");
}
/// Makes initialized barriers visible to the copy engine.
__device__ __forceinline__ void barrier_init_fence() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ __forceinline__ void barrier_arrive(Barrier barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier.address) : "memory");
}
/// `count` times.
__device__ __forceinline__ void barrier_arrive(Barrier barrier, int count) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0], %1;" ::"r"(barrier.address), "r"(count) : "memory");
}
/// Arrives, and lets the phase end only when `bytes` more have been copied.
__device__ __forceinline__ void barrier_expect(Barrier barrier, std::uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier.address), "r"(bytes) : "memory");
}
/// True if the phase of this parity is over; may take a while to say no.
__device__ __forceinline__ bool barrier_try(Barrier barrier, std::uint32_t parity) {
  std::uint32_t over;
  asm volatile("{\n"
               ".reg .pred over;\n"
               "mbarrier.try_wait.parity.shared::cta.b64 over, [%1], %2;\n"
               "selp.u32 %0, 1, 0, over;\n"
               "}"
               : "=r"(over)
               : "r"(barrier.address), "r"(parity)
               : "memory");
  return over;
}
/// The same, at once.
__device__ __forceinline__ bool barrier_test(Barrier barrier, std::uint32_t parity) {
  std::uint32_t over;
  asm volatile("{\n"
               ".reg .pred over;\n"
               "mbarrier.test_wait.parity.shared::cta.b64 over, [%1], %2;\n"
               "selp.u32 %0, 1, 0, over;\n"
               "}"
               : "=r"(over)
               : "r"(barrier.address), "r"(parity)
               : "memory");
  return over;
}
/// Two words trade places, each with the bits of `flip` turned. They trade registers, too: a compiler that knew this
/// for an exchange would have each stay where it is, and move it wherever four of them must follow each other.
__device__ __forceinline__ void swap_flipped(std::uint32_t &a, std::uint32_t &b, std::uint32_t flip) {
  asm("{ .reg .b32 both;\n"
      "xor.b32 both, %0, %1;\n"
      "lop3.b32 %0, %0, both, %2, 0x96;\n" // a ^ both ^ flip
      "lop3.b32 %1, %1, both, %2, 0x96; }"
      : "+r"(a), "+r"(b)
      : "r"(flip));
}

//===-- registers, by a group of four warps -----------------------------------------------------------------------===//

template <int Count> __device__ __forceinline__ void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Count));
}
template <int Count> __device__ __forceinline__ void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Count));
}

//===-- the copy engine -------------------------------------------------------------------------------------------===//

/// A cache policy: the data leaves the L2 cache first.
inline constexpr std::uint64_t evict_first = 0x12F0000000000000ull;

/// Copies `bytes` (a multiple of 16, both addresses too) to a shared-memory address; the barrier counts them as they
/// arrive. The data is read once.
__device__ __forceinline__ void bulk_load_once(std::uint32_t to, const void *from, std::uint32_t bytes,
                                               Barrier barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, [%3], "
               "%4;" ::"r"(to),
               "l"(from), "r"(bytes), "r"(barrier.address), "l"(evict_first)
               : "memory");
}

//===-- matrix products of a warp ---------------------------------------------------------------------------------===//

/// c (16x8, f32) += a (16x16) * b (16x8), bf16. Lane l holds: a rows l/4 and l/4+8, columns 2(l%4)..+1 and +8; b rows
/// 2(l%4)..+1 and +8, column l/4; c rows l/4 and l/4+8, columns 2(l%4)..+1.
__device__ __forceinline__ void mma_bf16(float (&c)[4], std::uint32_t a0, std::uint32_t a1, std::uint32_t a2,
                                         std::uint32_t a3, std::uint32_t b0, std::uint32_t b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
               "{%0,%1,%2,%3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}
__device__ __forceinline__ void mma_f16(float (&c)[4], std::uint32_t a0, std::uint32_t a1, std::uint32_t a2,
                                        std::uint32_t a3, std::uint32_t b0, std::uint32_t b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
               "{%0,%1,%2,%3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}
/// 16 bytes of shared memory, there and back; never kept in registers in between.
__device__ __forceinline__ void store_shared(std::uint32_t address, const uint4 &v) {
  asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
               : "memory");
}
__device__ __forceinline__ uint4 load_shared(std::uint32_t address) {
  uint4 v;
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "r"(address));
  return v;
}

__device__ __forceinline__ void store_shared(std::uint32_t address, std::uint32_t v) {
  asm volatile("st.shared.u32 [%0], %1;" ::"r"(address), "r"(v) : "memory");
}
__device__ __forceinline__ std::uint32_t load_shared_word(std::uint32_t address) {
  std::uint32_t v;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(v) : "r"(address) : "memory");
  return v;
}
__device__ __forceinline__ std::uint32_t load_shared_byte(std::uint32_t address) {
  std::uint32_t v;
  asm volatile("ld.shared.u8 %0, [%1];" : "=r"(v) : "r"(address));
  return v;
}

//===-- asynchronous copies to shared memory, by each thread ------------------------------------------------------===//

/// 16 bytes on their own, which pass by the cache of the SM; zeros unless `is_there`.
__device__ __forceinline__ void copy_piece(std::uint32_t to, const void *from, bool is_there) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(is_there ? 16 : 0) : "memory");
}
/// The same from row `row`, `stride` bytes each; zeros if that is negative. In as few instructions as can be.
__device__ __forceinline__ void copy_piece_of(std::uint32_t to, const char *rows, int row, std::uint32_t stride) {
  asm volatile("{\n"
               ".reg .pred none;\n"
               ".reg .u64 from;\n"
               "setp.lt.s32 none, %2, 0;\n"
               "mad.wide.u32 from, %2, %3, %1;\n"
               "cp.async.cg.shared.global [%0], [from], 16, none;\n"
               "}\n" ::"r"(to),
               "l"(rows), "r"(row), "r"(stride)
               : "memory");
}
/// The same; zeros unless `index` < `count`.
__device__ __forceinline__ void copy_piece_below(std::uint32_t to, const char *from, int index, int count) {
  asm volatile("{\n"
               ".reg .pred none;\n"
               "setp.ge.s32 none, %2, %3;\n"
               "cp.async.cg.shared.global [%0], [%1], 16, none;\n"
               "}\n" ::"r"(to),
               "l"(from), "r"(index), "r"(count)
               : "memory");
}
/// Ends a group of this thread's copies.
__device__ __forceinline__ void end_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
/// Arrives at a barrier when this thread's copies so far are there.
__device__ __forceinline__ void arrive_when_copied(Barrier barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(barrier.address) : "memory");
}
/// Until all of this thread's groups but the last `Groups` are there.
template <int Groups> __device__ __forceinline__ void await_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(Groups) : "memory");
}

/// The same with 8 columns of A.
__device__ __forceinline__ void mma8_bf16(float (&c)[4], std::uint32_t a0, std::uint32_t a1, std::uint32_t b0) {
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a0), "r"(a1), "r"(b0));
}
__device__ __forceinline__ void mma8_f16(float (&c)[4], std::uint32_t a0, std::uint32_t a1, std::uint32_t b0) {
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a0), "r"(a1), "r"(b0));
}

/// Four 8 x 8 matrices of 16 bits; lane l gives the address of row l % 8 of matrix l / 8.
__device__ __forceinline__ void load_matrices(std::uint32_t (&to)[4], std::uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address)
               : "memory");
}
__device__ __forceinline__ void load_matrices_transposed(std::uint32_t (&to)[4], std::uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address)
               : "memory");
}

/// Two numbers, rounded, the first in the low half.
__device__ __forceinline__ std::uint32_t pack_bf16(float low, float high) {
  std::uint32_t both;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  return both;
}
__device__ __forceinline__ std::uint32_t pack_f16(float low, float high) {
  std::uint32_t both;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  return both;
}

} // namespace evt::ptx
