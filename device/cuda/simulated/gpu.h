// A GPU that a CPU plays: what the threads of a launch share, and how they wait for each other.
//
// A kernel for CUDA, compiled by the host's compiler, runs here thread by thread: each of a block's threads is a fiber
// with a stack of its own, and one of them runs until it waits. So a machine without a GPU executes the same roles,
// rings, barriers and counters that a GPU would, and a run can be repeated: who comes next is drawn from a seed.
//
// A thread may stall for a while though nothing keeps it. What goes on beside the threads on a GPU, goes on beside them
// here. A copy is issued by a thread and arrives later, in any order; what it overwrites is poison from its issue on,
// and its source is read when it is issued or when it arrives, as the seed will have it. Products of a warpgroup read
// their tiles when they are waited for, or at once. A protocol that releases a stage too early, reads it before it is
// there, or fetches what an event should have ordered therefore gives wrong results under some seed, and the same ones
// again under the same seed.
//
// What is not here: time (nothing costs anything), caches, and orders of memory weaker than the program's. A missing
// fence is not noticed.
//
// Two ends of a wait are told apart. A thread that waits for a barrier, or for the other lanes of its warp, sleeps; one
// that asks again and again for a word of memory comes after those that have something to do. Where nobody can go on,
// threads that asked whether a barrier's phase is over are told "not yet", as a GPU does after a while: that is when
// they look whether the launch is being aborted.
#pragma once

#include <cstddef>
#include <cstdint>

namespace evt::simulated {

struct Index {
  unsigned x = 0, y = 0, z = 0;
};

struct Block;
struct Warp;

/// What code that runs may know of its thread.
struct Thread {
  Index index, block_index;
  unsigned lane = 0;
  char *shared = nullptr; // the memory that its block shares, from address 0 on
  Block *block = nullptr;
  Warp *warp = nullptr;
};
/// The one that runs.
extern Thread *running;

//===-- launches --------------------------------------------------------------------------------------------------===//

using Kernel = void (*)(const void *parameters);

/// Runs all blocks of a launch to their end. Ends the process with a report when no thread can go on for
/// EVT_SIMULATED_PATIENCE seconds (60).
void launch(Kernel kernel, const void *parameters, unsigned blocks, unsigned threads, unsigned shared_bytes);

//===-- shared memory ---------------------------------------------------------------------------------------------===//

/// What a kernel was launched with.
char *dynamic_shared();
/// A variable of the block, by the address of something that is there once for it.
void *shared_variable(const void *name, std::size_t bytes, std::size_t alignment);
template <class T, class Name> T *shared_variable(std::size_t count = 1) {
  static const char name = 0;
  return static_cast<T *>(shared_variable(&name, count * sizeof(T), alignof(T)));
}

//===-- a warp ----------------------------------------------------------------------------------------------------===//

/// What the lanes of a warp do together. They must all do the same: what differs is reported.
enum class Together : unsigned { nothing, meet, shuffle, vote, match, reduce, matrix, product };

/// A lane's words, for the others.
inline constexpr int words_of_lane = 8;
struct Lanes {
  std::uint32_t word[32][words_of_lane];
  std::uint32_t there; // lanes that take part
};
/// Gives `count` words to the other lanes of `mask`, and waits for theirs; they stay until this lane meets the others
/// once more.
const Lanes &exchange(Together what, std::uint32_t mask, const std::uint32_t *words, int count);

//===-- a block's barriers ----------------------------------------------------------------------------------------===//

/// `threads` threads meet at barrier `id` (0: all that have not left); true for all if `mine` is for any.
bool meet(int id, int threads, bool mine);

void barrier_init(std::uint32_t address, std::uint32_t arrivals);
void barrier_arrive(std::uint32_t address, std::uint32_t count);
/// `bytes` more have to be copied before the phase ends.
void barrier_expect(std::uint32_t address, std::uint32_t bytes);
bool barrier_is_over(std::uint32_t address, std::uint32_t parity);
/// The same; sleeps before it says no.
bool barrier_try(std::uint32_t address, std::uint32_t parity);

//===-- copies ----------------------------------------------------------------------------------------------------===//

/// So many bytes on their way to shared memory; the barrier counts them when they are there.
void copy(std::uint32_t to, const void *from, std::uint32_t bytes, std::uint32_t barrier);
/// The same for a box of a tensor from these coordinates on, by the map that the driver has made.
void copy_box(std::uint32_t to, const void *map, std::uint32_t barrier, const int *at, int rank);
/// 16 bytes on their way, by this thread; zeros unless `is_there`.
void copy_piece(std::uint32_t to, const void *from, bool is_there);
void end_copies();
/// Arrives at the barrier when all of this thread's pieces so far have arrived.
void arrive_when_copied(std::uint32_t barrier);
/// Until all of this thread's groups of pieces but the last `groups` have arrived.
void await_copies(int groups);

//===-- products of a warpgroup -----------------------------------------------------------------------------------===//

/// sums += rows * columns^T for what this thread has of a product of 64 rows, `columns` columns and a depth of 16.
void multiply_group(float *sums, int columns, bool is_bfloat16, std::uint64_t rows, std::uint64_t weights);
void end_products();
/// Until all of this thread's groups of products but the last `groups` are over.
void await_products(int groups);

//===-- memory of the whole GPU -----------------------------------------------------------------------------------===//

/// Between two looks at a word that another thread may change.
void look_again();
/// Somebody has changed such a word: who looks may find something.
void has_changed();

std::uint64_t nanoseconds();

} // namespace evt::simulated
