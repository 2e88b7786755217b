// What the roles of a block share: who they are, tasks on their way through them, and what is told beside the events.
#pragma once

#include "device/common/rings.h"
#include "device/cuda/abi.h"
#include "device/cuda/ptx.h"

namespace evt {

/// A dependency counter.
struct Counter {
  std::uint32_t value;
};

/// What the workers of a launch share besides events. Lives in the region of kind "control"; each field on a line of
/// its own, since different workers hammer different fields.
struct Control {
  alignas(128) std::uint64_t ticket;   // next number of the ticket schedule
  alignas(128) std::uint64_t finished; // dynamic: tasks finished
  alignas(128) std::uint32_t left;     // workers that are through
  alignas(128) std::uint64_t head;     // dynamic: the queue's ends
  alignas(128) std::uint64_t tail;
  alignas(128) std::uint32_t reporting; // a worker is filling in the fault
};
inline constexpr std::size_t control_bytes = 768;
static_assert(sizeof(Control) <= control_bytes);

/// What loaders feed a task through the ring of weights: positions `begin` … `end` - 1 of a request, in parts of `part`
/// (tile/feed_parts.h). Control finds it out, once for all roles.
struct Feed {
  std::int32_t stages = 0; // none: the task reads what it needs by itself
  std::int32_t layer, head, request, begin, end, part;
};

/// Which tasks of the graph are a launch's.
struct Part {
  std::int32_t first, last, iteration; // calls
  /// Those of a call, in an iteration of its outermost repeat, if it has one.
  __device__ __forceinline__ bool has(std::int32_t call, std::int32_t in = -1) const {
    return first <= call && call <= last && (in < 0 || iteration < 0 || in == iteration);
  }
};

/// Bytes of a stage, and how many fewer the last one of a stream has.
__host__ __device__ constexpr std::uint32_t stage_word(std::uint32_t bytes, std::uint32_t missing) {
  return bytes | missing << 16;
}

/// A task on its way through the roles, in shared memory.
struct Task {
  static constexpr std::uint32_t none = ~0u; // `call` after the last task
  static constexpr int max_coords = 8;
  std::uint32_t call;
  std::uint32_t shape; // of the product it streams (the kernel numbers them from 1); 0: it does not stream
  std::uint32_t key;   // streams: another number when the rows or the events differ from the task's before
  std::uint32_t steps, streams, stage_bytes; // streams: the loader's stages (`stage_word`)
  std::uint32_t finisher;                    // streams: the epilogue warp that ends it
  std::uint32_t is_calm;                     // streams: it is loaded while a task runs that does not
  std::uint32_t skipped;                     // the launch is being aborted: nobody ends it
  Feed feed;                                 // does not stream
  std::int64_t index;
  std::int32_t coord[max_coords]; // iterations, then grid coordinates: the runtime refuses more tasks than that
  std::uint64_t taken, started;   // for the trace
};

/// A notify whose element was read from a table, kept until the task has read all it needs.
struct Notification {
  std::uint32_t event;
  std::int64_t at[8];
};

// Warps of a block, by role. Registers are dealt out to groups of four warps, so roles begin at such a group.
inline constexpr int compute_warps = 8, compute_threads = compute_warps * 32;
inline constexpr int control_warp = compute_warps, loader_first = control_warp + 1, loaders = 3;
inline constexpr int epilogue_first = loader_first + loaders, epilogue_warps = 4;
inline constexpr int teller_warp = epilogue_first - 1; // where two loaders are enough
__host__ __device__ constexpr int block_threads(bool streams) {
  return (epilogue_first + (streams ? epilogue_warps : 0)) * 32;
}
inline constexpr int compute_barrier = 1; // 0 is the whole block's
// Registers of a thread in a kernel that streams: 65536 in all, at launch the same for each.
inline constexpr int compute_registers = 176, other_registers = 80;
static_assert(compute_threads * compute_registers + (block_threads(true) - compute_threads) * other_registers <= 65536);

/// Notifies that an epilogue warp has put off.
struct Owed {
  Counter *counter;
  std::uint32_t count;
};

/// The part of a block's shared memory that is the same in every kernel.
struct BlockState {
  static constexpr int slots = 16;
  std::uint64_t full[slots], empty[slots]; // the task is there; every role has left it
  std::uint64_t begun[slots], fed[slots];  // its waits are passed; its weights are on their way
  std::uint64_t done[slots];               // all that it does is done but its notifies
  Task tasks[slots];
  static constexpr int remembered = 32;
  std::uint32_t seen[remembered][2]; // by compute: elements found complete, two of an event
  Owed owed[epilogue_warps];
  Part part;
  std::uint32_t last;    // this block was the last to leave
  std::uint32_t dead;    // compute runs no more tasks: the launch is being aborted
  std::uint32_t records; // of the trace
  std::uint32_t reports; // one of several that wait beside each other tells what for
};

/// Numbers runs of tasks that have the same rows and events.
struct Key {
  std::uint32_t number = 0, call = Task::none;
  std::int64_t at[Task::max_coords];
  /// Takes the next number if these are another call's rows, or other coordinates, or `always`.
  template <int N>
  __device__ __forceinline__ void follow(std::uint32_t now, const std::int64_t (&coord)[N], bool always) {
    bool same = call == now && !always;
#pragma unroll
    for (int i = 0; i < N; ++i)
      same &= at[i] == coord[i];
    call = now;
#pragma unroll
    for (int i = 0; i < N; ++i)
      at[i] = coord[i];
    number += !same;
  }
};

/// Notifies of the running task, in shared memory; only the thread that issues notifies uses them.
struct Collected {
  Notification *list;
  int count;
  __device__ void push_back(const Notification &n) { list[count++] = n; }
  __device__ const Notification *begin() const { return list; }
  __device__ const Notification *end() const { return list + count; }
  __device__ void clear() { count = 0; }
};

} // namespace evt
