// Everything an emitted kernel for CUDA includes, and the frame that runs it.
#pragma once

#include "device/common/math.h"
#include "device/common/scalar.h"
#include "device/common/types.h"
#include "device/cuda/dynamic.h"
#include "device/cuda/elements.h"
#include "device/cuda/launch.h"
#include "device/cuda/memory.h"
#include "device/cuda/pack.h"
#include "device/cuda/stream.h"
#include "device/cuda/tasks.h"
#include "device/cuda/tile/attend_parts.h"
#include "device/cuda/tile/attend_tokens.h"
#include "device/cuda/tile/matmul.h"
#include "device/cuda/tile/reduce.h"
#include "device/cuda/tile/rotate.h"
#include "device/cuda/tile/sample.h"
#include "device/cuda/tile/topk.h"
#include "device/cuda/tiled.h"

#include "device/common/protocol.h"

#include <type_traits>

namespace evt {

/// Where things are in a block's dynamic shared memory, which the emitter has counted: the ring of tiles for the tensor
/// cores, the ring of weights, then the sums on their way to the epilogue, or the tiles of other tasks: compute has one
/// or the other, and runs no such task before all sums have been taken.
struct SharedLayout {
  int slots, stage_bytes, in_flight; // of the ring; 0 slots if nothing streams
  int fragments;                     // of the largest product
  // Of the ring of tiles: how many stages it has at most (0 if there are no products of tiles), all its bytes, and
  // those of a stage at least. How large its stages are depends on how many rows a launch has.
  int tile_slots, tile_bytes, least_tile_bytes;
  /// What is swizzled by 128 bytes begins at a multiple of 1024. The ring is put there by hand: the alignment that a
  /// kernel asks of its dynamic shared memory is lost where another kernel of the source asks for less.
  static constexpr int tile_alignment = 1024;
  __host__ __device__ constexpr int padding() const { return tile_slots ? tile_alignment : 0; }
  __host__ __device__ constexpr int ring_bytes() const { return slots * stage_bytes; }
  __host__ __device__ constexpr int sums_bytes() const {
    return slots ? Results::slots * compute_warps * fragments * 256 : 0;
  }
  __host__ __device__ constexpr int tiles() const { return tile_bytes + ring_bytes(); }
  /// Of all, with so many for the tiles of other tasks.
  __host__ __device__ constexpr int bytes(int of_tiles) const {
    return padding() + tiles() + (of_tiles > sums_bytes() ? of_tiles : sums_bytes());
  }
  /// What loaders can feed attention through: where they stream, too, they have no registers for it.
  __host__ __device__ constexpr TileStages tile_stages() const {
    return slots ? TileStages{} : TileStages{tile_slots, least_tile_bytes};
  }
  __host__ __device__ constexpr StreamStages stream_stages() const { return {slots, stage_bytes}; }
};

/// Keys whose row values are kept: more than there can be tasks between their waits and their end.
inline constexpr int kept_keys = 12;
static_assert(kept_keys > Results::slots + epilogue_warps);

/// The barriers of a block's rings, and where the loader finds the weights of a task.
template <int Streams, int Slots> struct StreamState {
  std::uint64_t full[Slots], empty[Slots];
  std::uint64_t sums_full[Results::slots], sums_empty[Results::slots];
  const char *feeds[BlockState::slots * Streams];
  float kept[kept_keys][Kept::most * 8]; // row values of the last keys
  Ring ring;                             // for tasks that are fed through it
  std::uint32_t cursors[compute_warps][3];
};
template <int Slots> struct StreamState<0, Slots> {};

/// Runs one block of a launch. `Kernel` is emitted:
///   Program                                   a launch, unpacked, one a block, in shared memory: first its sizes, then
///                                             its parts, by a thread each
///   Program::reset(dynamic)                   by the threads of compute of the last block: zeroes the counters
///   Kernel::schedule(worker, program)         by the control warp: hands over every task of this block
///   Kernel::execute(worker, program, task)    by all compute threads: runs a task that does not stream; false when the
///                                             launch was aborted
///   Kernel::waits(worker, program, task, part) by one of them, for a task that streams: its waits; where rows are read
///                                             early, hints, while other warps pass the parts that are borrowed
///   Kernel::open(worker, program, task, …)    by all: its rows into registers, and the row values that its end needs;
///                                             returns how the rows are to be flipped
///   Kernel::multiply(shape, ring, results, …) by all: its products
///   Kernel::finish(worker, program, task, …)  by an epilogue warp: ends it
///   Kernel::load_weights, ::load_rows(worker, program, task, ring)  by a lane each, for a task on tiles: their part of
///                                             its stages, that of the rows after its waits
///   Kernel::feed(worker, program, task, ring, part) by all lanes of a loader, for a task that is fed through that ring
///                                             (tile/attend_fed.h)
///   Kernel::feed_stages(program, task, feeder) by a lane of a loader, if Kernel::feeds_stages: its stages of the ring
///                                             of weights, for a task that is fed through it (tile/feed_parts.h)
///   Kernel::tile_stage_bytes(program)         what the largest stage of a product of tiles takes in this launch
///   Kernel::tell(worker, program, task)       by a thread, if Kernel::tells: notifies for tasks that leave that to it
///   Kernel::ends_short                        whether the last stage of a task that streams may have fewer bytes
///   Kernel::layout, ::row_pieces, ::least_row_pieces, ::collected, ::wait_parts how much of everything there is
template <class Kernel, class Program, class Launch> struct Block {
  static constexpr SharedLayout layout = Kernel::layout;
  static constexpr bool streams = layout.slots > 0, multiplies = layout.tile_slots > 0;
  static constexpr int feeding = streams ? loaders : multiplies ? tile_loaders : 0; // warps that load
  static constexpr bool tells = Kernel::tells;
  static constexpr bool loads_with_all_lanes = layout.tile_stages().slots > 0;
  static_assert(!tells || loader_first + feeding <= teller_warp);
  static_assert(Kernel::wait_parts <= compute_warps); // a warp passes each
  static_assert(!streams || rounds_stay_apart(layout.slots, layout.in_flight, loaders));
  using State = StreamState<streams ? layout.fragments : 0, layout.slots>;
  using Tiles = TileBarriers<layout.tile_slots>;

  BlockState &block;
  State &stream;
  Tiles &tiles;
  char *shared;
  const Program &P;
  DynamicWorker &w;

  // Each role has its own view of the rings, in registers.
  __device__ __forceinline__ Ring open_ring() const {
    Ring ring{};
    ring.stages = shared + layout.tile_bytes;
    ring.address = ptx::kept(ptx::shared_address(ring.stages));
    ring.full = ptx::barriers_at(stream.full);
    ring.empty = ptx::barriers_at(stream.empty);
    ring.slots = layout.slots;
    ring.stage_bytes = layout.stage_bytes;
    ring.in_flight = layout.in_flight;
    return ring;
  }
  __device__ __forceinline__ TileRing open_tile_ring(TileLoader part) const {
    TileRing ring{};
    if constexpr (multiplies) {
      ring.address = ptx::kept(ptx::shared_address(shared));
      ring.full = ptx::barriers_at(tiles.full[part]);
      ring.weights = ptx::barriers_at(tiles.full[load_weights]);
      ring.empty = ptx::barriers_at(tiles.empty);
      ring.stage_bytes = (int)most(Kernel::tile_stage_bytes(P), layout.least_tile_bytes);
      ring.slots = (int)least(layout.tile_bytes / ring.stage_bytes, layout.tile_slots);
      ring.dead = &block.dead;
    }
    return ring;
  }
  __device__ __forceinline__ Results open_results() const {
    Results results{};
    results.sums = reinterpret_cast<float *>(shared + layout.tile_bytes + layout.ring_bytes());
    results.full = ptx::barriers_at(stream.sums_full);
    results.empty = ptx::barriers_at(stream.sums_empty);
    results.fragments = layout.fragments;
    return results;
  }

  __device__ __forceinline__ static void init(const evt_cuda_launch &launch, BlockState &block, State &stream,
                                              Tiles &tiles) {
    block.part = {(std::int32_t)launch.first_call, (std::int32_t)launch.last_call, (std::int32_t)launch.iteration};
    block.dead = block.records = block.reports = 0;
    for (auto &of_event : block.seen)
      for (std::uint32_t &seen : of_event)
        seen = 0;
    for (Owed &owed : block.owed)
      owed = {nullptr, 0};
    for (int s = 0; s < BlockState::slots; ++s) {
      ptx::barrier_init(ptx::barriers_at(block.full)[s], 1);
      ptx::barrier_init(ptx::barriers_at(block.empty)[s],
                        compute_warps + feeding + (streams ? epilogue_warps : 0) + (tells ? 1 : 0));
      ptx::barrier_init(ptx::barriers_at(block.begun)[s], 1);
      ptx::barrier_init(ptx::barriers_at(block.fed)[s], feeding ? feeding : 1);
      ptx::barrier_init(ptx::barriers_at(block.done)[s], 1);
    }
    if constexpr (streams) {
      for (int s = 0; s < layout.slots; ++s) {
        ptx::barrier_init(ptx::barriers_at(stream.full)[s], 1);
        ptx::barrier_init(ptx::barriers_at(stream.empty)[s], compute_warps);
      }
      for (int s = 0; s < Results::slots; ++s) {
        ptx::barrier_init(ptx::barriers_at(stream.sums_full)[s], compute_warps);
        ptx::barrier_init(ptx::barriers_at(stream.sums_empty)[s], 1);
      }
    }
    if constexpr (multiplies)
      for (int s = 0; s < layout.tile_slots; ++s) {
        for (auto &full : tiles.full)
          ptx::barrier_init(ptx::barriers_at(full)[s], TileRing::arrivals);
        ptx::barrier_init(ptx::barriers_at(tiles.empty)[s], compute_warps);
      }
    ptx::barrier_init_fence();
  }

  __device__ __forceinline__ void control() const {
    if constexpr (streams) {
      w.feeds = stream.feeds;
      w.feeds_each = layout.fragments;
      w.calm_stages = layout.slots;
    }
    Kernel::schedule(w, P);
    w.end_of_tasks();
  }

  __device__ __forceinline__ void compute() const {
    TileRing tile_ring = open_tile_ring(load_rows);
    w.tile_ring = &tile_ring;
    [[maybe_unused]] Ring ring{};
    [[maybe_unused]] Results results{};
    // Of the rows in registers; or the launch is being aborted, and nothing is run any more.
    constexpr std::uint32_t no_key = 0, aborted = ~0u;
    std::uint32_t key = no_key;
    [[maybe_unused]] uint4 rows[Kernel::row_pieces ? Kernel::row_pieces : 1];
    if constexpr (streams) {
      ring = open_ring();
      results = open_results();
      if constexpr (Kernel::feeds_stages) {
        if (w.leads())
          stream.ring = ring;
        w.sync();
        w.ring = &stream.ring;
      }
    }
    const bool leads_warp = threadIdx.x % 32 == 0;
    for (;; w.tasks.advance()) {
      if (w.next_task().call == Task::none)
        break;
      // Where a task is, is found anew after what needs all registers: kept, it would be in memory.
      if constexpr (streams) {
        if (w.task().shape) {
          if (w.leads() && w.traced())
            w.task().taken = ptx::nanoseconds();
          if (w.task().key != key && key != aborted) {
            put_by(w.tasks.at, ring.at, results.at);
            const bool is_open = open(w.task(), rows);
            take_back(w.tasks.at, ring.at, results.at);
            key = is_open ? w.task().key : aborted;
          }
          if (w.leads()) {
            if (key == aborted)
              w.task().skipped = 1;
            if (w.traced())
              w.task().started = ptx::nanoseconds();
            w.tasks.say_begun();
          }
          const std::uint32_t shape = w.task().shape;
          __syncwarp();
          if (leads_warp)
            w.tasks.leave();
          Kernel::multiply(shape, ring, results, rows);
          continue;
        }
      }
      if (w.leads())
        w.tasks.say_begun(); // nobody waits for this one's events: it lets control go on
      if constexpr (streams)
        results.await_taken(Results::slots);
      if constexpr (Kernel::feeds_stages) {
        w.fed_stages = w.task().feed.stages;
        w.fed_from = ring.at;
        put_by(w.tasks.at, ring.at, results.at);
      }
      const bool is_done = key != aborted && Kernel::execute(w, P, w.task());
      if constexpr (Kernel::feeds_stages) {
        take_back(w.tasks.at, ring.at, results.at);
        const int fed = w.task().feed.stages;
        if (!is_done) // nobody wants them, but they are in the ring
          stream.ring.from(ring.at).pass(fed);
        ring.at.skip_all(fed, layout.slots);
      }
      if (w.leads()) {
        if (!is_done) {
          w.task().skipped = 1;
          *(volatile std::uint32_t *)&block.dead = 1;
        }
        if constexpr (tells)
          w.tasks.say_done();
      }
      __syncwarp();
      if (leads_warp)
        w.tasks.leave();
      key = is_done ? no_key : aborted;
      if constexpr (streams) { // rows are not kept over such a task, which needs the registers
#pragma unroll
        for (uint4 &piece : rows)
          piece = {};
      }
    }
  }
  /// What a warp of compute keeps from task to task, out of registers and back, while it reads rows, or runs a task
  /// that does not stream: that may need them all, and what does not fit then would be in memory for all tasks.
  template <class... Cursors> __device__ __forceinline__ void put_by(const Cursors &...cursors) const {
    std::uint32_t to = ptx::shared_address(stream.cursors[ptx::kept_thread() / 32]);
    ((ptx::store_shared(to, (std::uint32_t)cursors.slot << 1 | cursors.round), to += 4), ...);
  }
  template <class... Cursors> __device__ __forceinline__ void take_back(Cursors &...cursors) const {
    std::uint32_t from = ptx::shared_address(stream.cursors[ptx::kept_thread() / 32]), word;
    ((word = ptx::load_shared_word(from), cursors = {(int)(word >> 1), word & 1}, from += 4), ...);
  }

  /// The waits of a task that streams, then its rows. False when the launch was aborted.
  __device__ __forceinline__ bool open(Task &task, uint4 (&rows)[Kernel::row_pieces ? Kernel::row_pieces : 1]) const {
    forget_rows<Kernel::least_row_pieces>(rows);
    bool stop = false;
    const int part = ptx::thread() / 32;
    if (w.leads())
      w.begin();
    if (part ? part < Kernel::wait_parts : w.leads()) {
      stop = !Kernel::dynamic && !Kernel::waits(w, P, task, part);
      if (stop)
        *(volatile std::uint32_t *)&block.dead = 1;
    }
    if (w.any(stop))
      return false;
    arrange_rows(rows, Kernel::open(w, P, task, rows, stream.kept[task.key % kept_keys]));
    return true;
  }

  /// Loader `mine`. Of a ring of weights, every so many stages are its own; of a ring of tiles, a part of each, which
  /// one lane has the copy engine fill, or all lanes do.
  __device__ __forceinline__ void load(int mine) const {
    constexpr bool feeds = loads_with_all_lanes;
    const bool leads = threadIdx.x % 32 == 0;
    [[maybe_unused]] Ring ring{};
    [[maybe_unused]] int turn = mine; // stages until the next of its own
    if constexpr (streams) {
      ring = open_ring();
      ring.start_loader(mine);
    }
    [[maybe_unused]] TileRing tile_ring = open_tile_ring(mine == load_weights ? load_weights : load_rows);
    for (;; w.tasks.advance()) {
      Task &task = w.next_task();
      if (task.call == Task::none)
        break;
      if constexpr (streams) {
        if (task.shape) {
#ifdef EVT_NO_RUN_AHEAD // to see what running ahead gains
          w.tasks.await_begun();
#endif
          const int total = (int)(task.steps * task.streams), each = (int)task.streams;
          std::uint32_t bytes = task.stage_bytes, missing = 0;
          if constexpr (Kernel::ends_short) {
            missing = bytes >> 16;
            bytes &= 0xffff;
          }
          // While compute runs tasks that do not stream, the ring fills in any case, and what is in flight is in their
          // way: every access takes longer, and so does a release, which waits for all that its SM has asked for.
          const bool calmly = task.is_calm;
          const char *const *from = stream.feeds + w.tasks.at.slot * layout.fragments;
          for (; turn < total; turn += loaders)
            ring.send(from[turn % each] + (std::size_t)(turn / each) * bytes,
                      turn < total - each ? bytes : bytes - missing, calmly);
          turn -= total;
        } else if constexpr (Kernel::feeds_stages) {
          tile::StageFeeder feeder{ring, turn};
          if (task.feed.stages)
            Kernel::feed_stages(P, task, feeder);
        }
      }
      if constexpr (multiplies)
        if (leads) {
          if (mine == load_weights)
            Kernel::load_weights(w, P, task, tile_ring);
          else if (mine == load_rows)
            Kernel::load_rows(w, P, task, tile_ring);
        }
      if constexpr (feeds) {
        Kernel::feed(w, P, task, tile_ring, (TileLoader)mine);
        __syncwarp();
      }
      if (leads) {
        w.tasks.say_fed();
        w.tasks.leave();
      }
    }
    if (multiplies && leads && mine < tile_loaders)
      tile_ring.settle();
  }

  /// Tells of tasks that compute has done: a release waits for all that its SM has asked for, which is most of the time
  /// a good part of the ring, and compute has other tasks to run meanwhile.
  __device__ __forceinline__ void tell() const {
    if (threadIdx.x % 32)
      return;
    for (;; w.tasks.advance()) {
      const Task &task = w.next_task();
      if (task.call == Task::none)
        break;
      Kernel::tell(w, P, task);
      w.tasks.leave();
    }
  }

  __device__ __forceinline__ void finish() const {
    Results results = open_results();
    const std::uint32_t mine = threadIdx.x / 32 - epilogue_first;
    std::uint32_t key = 0;
    for (;; w.tasks.advance()) {
      const Task &task = w.next_task();
      if (threadIdx.x % 32 == 0 && (task.call == Task::none || !task.shape || task.key != key))
        w.settle();
      if (task.call == Task::none)
        break;
      key = task.key;
      if (task.shape) {
        if (task.finisher == mine) {
          w.tasks.await_begun();
          if (task.skipped)
            results.drop();
          else
            Kernel::finish(w, P, task, results, stream.kept[task.key % kept_keys]);
        }
        results.at.advance(Results::slots);
      }
      __syncwarp();
      if (threadIdx.x % 32 == 0)
        w.tasks.leave();
    }
  }
};

template <class Kernel, class Program, class Launch> __device__ __forceinline__ void run_block(const Launch &launch) {
  using B = Block<Kernel, Program, Launch>;
  EVT_DYNAMIC_SHARED(dynamic_shared);
  char *shared = dynamic_shared;
  if constexpr (B::multiplies)
    shared += -ptx::shared_address(dynamic_shared) % SharedLayout::tile_alignment;
  EVT_BLOCK_VARIABLE(BlockState, block);
  EVT_BLOCK_VARIABLE(typename B::State, stream);
  EVT_BLOCK_VARIABLE(typename B::Tiles, tiles);
  EVT_BLOCK_STORAGE(Program, storage);
  EVT_BLOCK_ARRAY(Notification, room, Kernel::collected ? Kernel::collected : 1);
  Program &unpacked = *reinterpret_cast<Program *>(storage);
  if (threadIdx.x == 0)
    unpacked.unpack_sizes(launch);
  else if (threadIdx.x == 32)
    B::init(launch, block, stream, tiles);
  __syncthreads();
  static_assert(Program::parts <= epilogue_first);
  if (threadIdx.x % 32 == 0 && threadIdx.x / 32 < Program::parts)
    unpacked.unpack(launch, threadIdx.x / 32);
  __syncthreads();
  const Program &P = unpacked;
  DynamicWorker w(&launch, P.control, &block, shared + B::layout.tiles(), room, P.slots, P.tasks);
  const B roles{block, stream, tiles, shared, P, w};
  const int warp = (int)threadIdx.x / 32;
  if (warp < compute_warps) {
    if constexpr (B::streams)
      ptx::take_registers<compute_registers>();
    roles.compute();
  } else {
    if constexpr (B::streams)
      ptx::give_registers<other_registers>();
    if (warp == control_warp)
      roles.control();
    if constexpr (B::feeding > 0)
      if (warp >= loader_first && warp < loader_first + B::feeding) {
        // Lanes that waited for the one that loads would be looked after whenever it waits itself.
        if (!B::loads_with_all_lanes && threadIdx.x % 32)
          return;
        roles.load(warp - loader_first);
      }
    if constexpr (B::streams)
      if (warp >= epilogue_first)
        roles.finish();
    if constexpr (B::tells)
      if (warp == teller_warp)
        roles.tell();
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    if (!w.aborted())
      ptx::store_relaxed(&launch.status[w.id].state, (std::uint32_t)EVT_LEFT); // says nothing of the other fields
    block.last = ptx::add_acq_rel(&P.control->left, 1u) + 1 == w.workers && !w.aborted();
  }
  __syncthreads();
  if (block.last) {
    if (Kernel::dynamic && warp < compute_warps)
      w.reset_queue();
    __syncthreads(); // the queue's end is read before it is cleared
    if (launch.is_last && warp < compute_warps)
      P.reset(Kernel::dynamic);
    else if (threadIdx.x == 0)
      P.control->left = 0;
  }
}

} // namespace evt
