// The functions of device/cuda/instructions.h on a simulated GPU. What each does is said there.
#pragma once

#include "device/common/types.h"
#include "device/cuda/barrier.h"
#include "device/cuda/simulated/gpu.h"

namespace evt::ptx {

inline std::uint32_t shared_address(const void *p) {
  return (std::uint32_t)(static_cast<const char *>(p) - simulated::running->shared);
}

//===-- memory of the whole GPU: what other blocks see ------------------------------------------------------------===//

// A load is made when the thread's turn has come once more; so whoever waits for a word lets the others run.
template <class T> T load_acquire(const T *p) {
  simulated::look_again();
  return __atomic_load_n(p, __ATOMIC_SEQ_CST);
}
template <class T> T load_relaxed(const T *p) { return load_acquire(p); }
template <class T> void store_release(T *p, std::type_identity_t<T> v) {
  simulated::has_changed();
  __atomic_store_n(p, v, __ATOMIC_SEQ_CST);
}
template <class T> void store_relaxed(T *p, std::type_identity_t<T> v) { store_release(p, v); }
template <class T> T add_acq_rel(T *p, std::type_identity_t<T> v) {
  simulated::has_changed();
  return __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST);
}
template <class T> T add_relaxed(T *p, std::type_identity_t<T> v) { return add_acq_rel(p, v); }
template <class T> void reduce_relaxed(T *p, std::type_identity_t<T> v) { add_acq_rel(p, v); }
template <class T> void reduce_release(T *p, std::type_identity_t<T> v) { add_acq_rel(p, v); }

inline void load_relaxed(std::uint32_t (&words)[4], const std::uint32_t *p, bool loads) {
  simulated::look_again();
  if (loads)
    std::memcpy(words, p, sizeof words);
}

inline std::uint64_t nanoseconds() { return simulated::nanoseconds(); }

//===-- barriers inside a block -----------------------------------------------------------------------------------===//

inline void meet(int id, int threads) {
  __syncwarp();
  simulated::meet(id, threads, false);
}
inline bool meet_any(int id, int threads, bool mine) {
  __syncwarp();
  return simulated::meet(id, threads, mine);
}

inline int thread() { return (int)threadIdx.x; }
inline std::uint32_t kept(std::uint32_t value) { return value; }

inline void barrier_init(Barrier barrier, std::uint32_t arrivals) {
  simulated::barrier_init(barrier.address, arrivals);
}
inline void barrier_init_fence() {}
inline void barrier_arrive(Barrier barrier, int count = 1) {
  simulated::barrier_arrive(barrier.address, (std::uint32_t)count);
}
inline void barrier_expect(Barrier barrier, std::uint32_t bytes) {
  simulated::barrier_expect(barrier.address, bytes);
  simulated::barrier_arrive(barrier.address, 1);
}
inline bool barrier_try(Barrier barrier, std::uint32_t parity) {
  return simulated::barrier_try(barrier.address, parity);
}
inline bool barrier_test(Barrier barrier, std::uint32_t parity) {
  return simulated::barrier_is_over(barrier.address, parity);
}

inline void swap_flipped(std::uint32_t &a, std::uint32_t &b, std::uint32_t flip) {
  const std::uint32_t was = a;
  a = b ^ flip;
  b = was ^ flip;
}

template <int Count> void take_registers() {}
template <int Count> void give_registers() {}

//===-- the copy engine -------------------------------------------------------------------------------------------===//

inline void bulk_load_once(std::uint32_t to, const void *from, std::uint32_t bytes, Barrier barrier) {
  simulated::copy(to, from, bytes, barrier.address);
}

//===-- matrix products of a warp ---------------------------------------------------------------------------------===//

namespace detail {

template <class T> float half_of(std::uint32_t word, int high) {
  return (float)T::from_bits((std::uint16_t)(word >> 16 * high));
}

/// c (16x8) += a (16 x 8 Halves) * b (8 Halves x 8). A lane's words of `a` are, for every 8 columns, those of row l/4
/// and of row l/4 + 8; its words of `b` one for every 8 rows.
template <class T, int Halves>
void multiply(float (&c)[4], const std::uint32_t (&a)[2 * Halves], const std::uint32_t (&b)[Halves]) {
  std::uint32_t words[3 * Halves];
  std::memcpy(words, a, sizeof a);
  std::memcpy(words + 2 * Halves, b, sizeof b);
  const simulated::Lanes &lanes = simulated::exchange(simulated::Together::product, ~0u, words, 3 * Halves);
  const unsigned lane = simulated::running->lane;
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned row = lane / 4, column = lane % 4 * 2 + i % 2;
    double sum = 0;
    for (unsigned k = 0; k < 8 * Halves; ++k) {
      const unsigned half = k / 8, quarter = k % 8 / 2;
      const float x = half_of<T>(lanes.word[row * 4 + quarter][2 * half + i / 2], k % 2);
      const float y = half_of<T>(lanes.word[column * 4 + quarter][2 * Halves + half], k % 2);
      sum += (double)x * (double)y;
    }
    c[i] += (float)sum;
  }
}

} // namespace detail

inline void mma_bf16(float (&c)[4], std::uint32_t a0, std::uint32_t a1, std::uint32_t a2, std::uint32_t a3,
                     std::uint32_t b0, std::uint32_t b1) {
  detail::multiply<bf16, 2>(c, {a0, a1, a2, a3}, {b0, b1});
}
inline void mma_f16(float (&c)[4], std::uint32_t a0, std::uint32_t a1, std::uint32_t a2, std::uint32_t a3,
                    std::uint32_t b0, std::uint32_t b1) {
  detail::multiply<f16, 2>(c, {a0, a1, a2, a3}, {b0, b1});
}
inline void mma8_bf16(float (&c)[4], std::uint32_t a0, std::uint32_t a1, std::uint32_t b0) {
  detail::multiply<bf16, 1>(c, {a0, a1}, {b0});
}
inline void mma8_f16(float (&c)[4], std::uint32_t a0, std::uint32_t a1, std::uint32_t b0) {
  detail::multiply<f16, 1>(c, {a0, a1}, {b0});
}

inline void store_shared(std::uint32_t address, const uint4 &v) {
  std::memcpy(simulated::running->shared + address, &v, sizeof v);
}
inline uint4 load_shared(std::uint32_t address) {
  uint4 v;
  std::memcpy(&v, simulated::running->shared + address, sizeof v);
  return v;
}
inline void store_shared(std::uint32_t address, std::uint32_t v) {
  std::memcpy(simulated::running->shared + address, &v, sizeof v);
}
inline std::uint32_t load_shared_word(std::uint32_t address) {
  std::uint32_t v;
  std::memcpy(&v, simulated::running->shared + address, sizeof v);
  return v;
}
inline std::uint32_t load_shared_byte(std::uint32_t address) {
  return (unsigned char)simulated::running->shared[address];
}

namespace detail {

/// Lane l gets, of each of four matrices, two elements: of row l/4, or of column l/4.
inline void load_matrices(std::uint32_t (&to)[4], std::uint32_t address, bool transposed) {
  const simulated::Lanes &lanes = simulated::exchange(simulated::Together::matrix, ~0u, &address, 1);
  const unsigned lane = simulated::running->lane;
  for (unsigned m = 0; m < 4; ++m) {
    to[m] = 0;
    for (unsigned e = 0; e < 2; ++e) {
      const unsigned row = transposed ? lane % 4 * 2 + e : lane / 4, column = transposed ? lane / 4 : lane % 4 * 2 + e;
      std::uint16_t bits;
      std::memcpy(&bits, simulated::running->shared + lanes.word[m * 8 + row][0] + column * 2, 2);
      to[m] |= (std::uint32_t)bits << 16 * e;
    }
  }
}

} // namespace detail

inline void load_matrices(std::uint32_t (&to)[4], std::uint32_t address) { detail::load_matrices(to, address, false); }
inline void load_matrices_transposed(std::uint32_t (&to)[4], std::uint32_t address) {
  detail::load_matrices(to, address, true);
}

inline std::uint32_t pack_bf16(float low, float high) { return bf16(low).bits | (std::uint32_t)bf16(high).bits << 16; }
inline std::uint32_t pack_f16(float low, float high) { return f16(low).bits | (std::uint32_t)f16(high).bits << 16; }

//===-- asynchronous copies to shared memory, by each thread ------------------------------------------------------===//

inline void copy_piece(std::uint32_t to, const void *from, bool is_there) { simulated::copy_piece(to, from, is_there); }
inline void copy_piece_of(std::uint32_t to, const char *rows, int row, std::uint32_t stride) {
  simulated::copy_piece(to, rows + (std::size_t)(row < 0 ? 0 : row) * stride, row >= 0);
}
inline void copy_piece_below(std::uint32_t to, const char *from, int index, int count) {
  simulated::copy_piece(to, from, index < count);
}
inline void end_copies() { simulated::end_copies(); }
inline void arrive_when_copied(Barrier barrier) { simulated::arrive_when_copied(barrier.address); }
template <int Groups> void await_copies() { simulated::await_copies(Groups); }

} // namespace evt::ptx
