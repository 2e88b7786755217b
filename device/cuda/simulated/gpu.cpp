#include "device/cuda/simulated/state.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <mutex>
#include <sys/mman.h>

namespace evt::simulated {

Thread *running = nullptr;
Gpu *gpu = nullptr;

namespace {

// One in so many times, a thread that could go on does not, for 2^17 turns of others at most.
constexpr std::uint32_t stall = 256, longest_stall = 17;
constexpr std::size_t stack_bytes = 256 << 10;
constexpr unsigned reserved = 1024; // of a block's shared memory: nothing is at address 0
constexpr unsigned most_shared = 232448;
constexpr std::size_t alignment = 1024;

/// Stacks, kept from launch to launch: only what is used of them is memory.
class Stacks {
public:
  void reserve(std::size_t count) {
    if (count <= capacity)
      return;
    if (memory)
      munmap(memory, capacity * stack_bytes);
    capacity = count;
    memory = mmap(nullptr, capacity * stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                  -1, 0);
    if (memory == MAP_FAILED) {
      std::perror("simulated GPU: no memory for the stacks of its threads");
      std::abort();
    }
  }
  /// For boost: stack `number`, which nobody gives back.
  struct Allocator {
    char *base;
    boost::context::stack_context allocate() const {
      boost::context::stack_context stack;
      stack.size = stack_bytes;
      stack.sp = base + stack_bytes;
      return stack;
    }
    void deallocate(boost::context::stack_context &) const {}
  };
  Allocator of(std::size_t number) const { return {static_cast<char *>(memory) + number * stack_bytes}; }

private:
  void *memory = nullptr;
  std::size_t capacity = 0;
};
Stacks stacks;

std::uint64_t from_environment(const char *name, std::uint64_t otherwise) {
  const char *text = std::getenv(name);
  return text && *text ? std::strtoull(text, nullptr, 10) : otherwise;
}

/// Seconds without any change until a launch counts as stuck. A runtime that watches it says so earlier, and better.
std::uint64_t patience() {
  static const std::uint64_t seconds = from_environment("EVT_SIMULATED_PATIENCE", 60);
  return seconds;
}

} // namespace

Gpu::Gpu(Kernel kernel, const void *parameters, std::uint64_t seed)
    : random(seed), kernel(kernel), parameters(parameters) {
  constexpr std::uint32_t hastes[] = {2, 8, 64};
  haste = hastes[random.below(3)];
}

void Gpu::fail(const std::string &what) {
  std::fprintf(stderr, "simulated GPU: %s\n%s", what.c_str(), report().c_str());
  std::fflush(stderr);
  std::abort();
}

std::string Gpu::report() const {
  std::string text;
  if (running)
    text += "  thread " + std::to_string(running->index.x) + " of block " + std::to_string(running->block_index.x) +
            " runs\n";
  for (const Block &block : blocks) {
    std::unordered_map<std::string, std::vector<unsigned>> waiting;
    for (const Fiber &fiber : fibers)
      if (fiber.block == &block && fiber.state == Fiber::sleeping) {
        std::string what = fiber.waits_for;
        if (fiber.address)
          what += " at shared address " + std::to_string(fiber.address);
        waiting[what].push_back(fiber.index.x);
      } else if (fiber.block == &block && fiber.state == Fiber::looking) {
        waiting["a word of memory"].push_back(fiber.index.x);
      }
    for (const auto &[what, threads] : waiting)
      text += "  block " + std::to_string(block.number) + ": " + std::to_string(threads.size()) +
              " threads from number " + std::to_string(threads.front()) + " on wait for " + what + "\n";
  }
  return text;
}

//===-- who runs --------------------------------------------------------------------------------------------------===//

void Gpu::sleep(const char *waits_for) {
  Fiber &self = fiber();
  self.state = Fiber::sleeping;
  self.waits_for = waits_for;
  scheduler = std::move(scheduler).resume();
}

void Gpu::look_again() {
  Fiber &self = fiber();
  self.state = Fiber::looking;
  looking.push_back(&self);
  scheduler = std::move(scheduler).resume();
}

void Gpu::wake(Fiber &fiber) {
  fiber.state = Fiber::ready;
  fiber.address = 0;
  ready.push_back(&fiber);
  ++changes;
}

void Gpu::wake_all(std::vector<Fiber *> &fibers) {
  for (Fiber *fiber : fibers)
    wake(*fiber);
  fibers.clear();
}

namespace {
Fiber *take(std::vector<Fiber *> &list, std::size_t at) {
  std::swap(list[at], list.back());
  Fiber *taken = list.back();
  list.pop_back();
  return taken;
}
} // namespace

/// The thread that goes on, or null where something else has happened first.
Fiber *Gpu::next() {
  ++turns;
  if (!copies.empty())
    if (const std::size_t at = random.below(copies.size()); copies[at].due <= turns) {
      std::swap(copies[at], copies.back());
      Copy copy = std::move(copies.back());
      copies.pop_back();
      arrive(copy);
      ++changes;
      return nullptr;
    }
  for (Stalled &one : stalled)
    if (one.until <= turns) {
      ready.push_back(one.fiber);
      one = stalled.back();
      stalled.pop_back();
      break;
    }
  if (!ready.empty() && (looking.empty() || !random.one_in(16))) {
    Fiber *chosen = take(ready, random.one_in(haste) ? random.below(ready.size()) : ready.size() - 1);
    if (!random.one_in(stall))
      return chosen;
    stalled.push_back({chosen, random.soon(turns, longest_stall)});
    return nullptr;
  }
  if (ready.empty() && nothing_is_new()) {
    if (pass_time())
      return nullptr;
    tell_waiting();
  }
  return looking.empty() ? nullptr : take(looking, random.below(looking.size()));
}

/// Everybody who looks has looked, and nothing has changed since.
bool Gpu::nothing_is_new() {
  if (changes != seen_changes) {
    seen_changes = changes;
    looks = quiet_since = 0;
  }
  return looks++ >= 2 * looking.size();
}

/// On to the next copy that arrives, or the next thread that stalls no more. False if there is none.
bool Gpu::pass_time() {
  std::uint64_t then = ~0ull;
  for (const Copy &copy : copies)
    then = std::min(then, copy.due);
  for (const Stalled &one : stalled)
    then = std::min(then, one.until);
  if (then == ~0ull) {
    const std::uint64_t now = nanoseconds();
    if (!quiet_since)
      quiet_since = now;
    else if (now - quiet_since > patience() * 1000000000ull)
      fail("no thread can go on");
    return false;
  }
  turns = std::max(turns, then);
  return true;
}

/// Says "not yet" to threads that have asked whether a phase is over.
void Gpu::tell_waiting() {
  const std::uint64_t before = changes;
  for (Block &block : blocks)
    for (auto &[address, waiting] : block.waiting) {
      for (Fiber *fiber : waiting)
        fiber->was_told = true;
      wake_all(waiting);
    }
  changes = seen_changes = before; // that they ask once more is no change
  looks = 0;
}

void Gpu::go_on(Fiber &fiber) {
  fiber.state = Fiber::ready;
  running = &fiber;
  fiber.at = std::move(fiber.at).resume();
  running = nullptr;
  if (fiber.state == Fiber::left)
    leave(fiber);
}

void Gpu::leave(Fiber &fiber) {
  Warp &warp = *fiber.warp;
  Block &block = *fiber.block;
  --running_fibers;
  --block.live;
  warp.live &= ~(1u << fiber.lane);
  // Nobody waits for those that have left.
  if (warp.arrived && warp.arrived == (warp.mask & warp.live)) {
    warp.lanes[warp.turn].there = warp.arrived;
    warp.arrived = 0;
    warp.turn ^= 1;
    wake_all(warp.waiting);
  }
  NamedBarrier &all = block.barriers[0];
  if (all.arrived && all.arrived == block.live) {
    all.result[all.round++ & 1] = all.any;
    all.arrived = 0;
    all.any = false;
    wake_all(all.waiting);
  }
  ++changes;
}

void Gpu::start(Block &block, Fiber &fiber, unsigned number) {
  fiber.index.x = number;
  fiber.block_index.x = block.number;
  fiber.lane = number % 32;
  fiber.shared = block.shared;
  fiber.block = &block;
  fiber.warp = &block.warps[number / 32];
  fiber.warp->live |= 1u << fiber.lane;
  fiber.at = boost::context::fiber(std::allocator_arg, stacks.of((std::size_t)(&fiber - fibers.data())),
                                   [this, self = &fiber](boost::context::fiber &&from) {
                                     scheduler = std::move(from);
                                     kernel(parameters);
                                     await_copies(0);
                                     self->state = Fiber::left;
                                     return std::move(scheduler);
                                   });
  ready.push_back(&fiber);
}

void Gpu::run(unsigned first, unsigned count, unsigned threads, unsigned shared_bytes) {
  blocks = std::vector<Block>(count);
  fibers = std::vector<Fiber>((std::size_t)count * threads);
  stacks.reserve(fibers.size());
  running_fibers = fibers.size();
  for (unsigned b = 0; b < count; ++b) {
    Block &block = blocks[b];
    block.number = first + b;
    block.memory.assign(most_shared + reserved + alignment, (char)0xff);
    block.shared =
        block.memory.data() + (alignment - reinterpret_cast<std::uintptr_t>(block.memory.data()) % alignment);
    block.dynamic_bytes = shared_bytes;
    block.used = reserved + shared_bytes;
    block.warps = std::vector<Warp>((threads + 31) / 32);
    block.live = (int)threads;
    for (unsigned t = 0; t < threads; ++t)
      start(block, fibers[(std::size_t)b * threads + t], t);
  }
  while (running_fibers)
    if (Fiber *fiber = next())
      go_on(*fiber);
  if (!copies.empty())
    fail("copies arrive when their block has left");
}

void launch(Kernel kernel, const void *parameters, unsigned blocks, unsigned threads, unsigned shared_bytes) {
  static std::mutex one_at_a_time;
  static const std::uint64_t seed = from_environment("EVT_SIMULATED_SEED", 1);
  static std::uint64_t launches = 0;
  std::lock_guard lock(one_at_a_time);
  constexpr unsigned at_once = 64;
  for (unsigned first = 0; first < blocks; first += at_once) {
    Gpu launched(kernel, parameters, seed * 1000003 + launches++);
    gpu = &launched;
    launched.run(first, std::min(blocks - first, at_once), threads, shared_bytes);
    gpu = nullptr;
  }
}

//===-- shared memory ---------------------------------------------------------------------------------------------===//

char *dynamic_shared() { return running->shared + reserved; }

void *shared_variable(const void *name, std::size_t bytes, std::size_t alignment) {
  Block &block = *running->block;
  auto [found, is_new] = block.variables.try_emplace(name, 0);
  if (is_new) {
    found->second = (std::uint32_t)((block.used + alignment - 1) / alignment * alignment);
    block.used = found->second + (std::uint32_t)bytes;
    if (block.used > most_shared + reserved)
      gpu->fail("a block has " + std::to_string(block.used - reserved) + " bytes of shared memory, at most " +
                std::to_string(most_shared) + " are there");
  }
  return block.shared + found->second;
}

//===-- a warp ----------------------------------------------------------------------------------------------------===//

const Lanes &exchange(Together what, std::uint32_t mask, const std::uint32_t *words, int count) {
  Fiber &self = fiber();
  Warp &warp = *self.warp;
  Lanes &lanes = warp.lanes[warp.turn];
  if (!(mask >> self.lane & 1))
    gpu->fail("a lane is not among those that it wants to meet");
  if (!warp.arrived) {
    warp.what = what;
    warp.mask = mask;
  } else if (warp.what != what || warp.mask != mask) {
    gpu->fail("lanes of a warp meet to do different things");
  }
  std::memcpy(lanes.word[self.lane], words, (std::size_t)count * sizeof *words);
  warp.arrived |= 1u << self.lane;
  if (warp.arrived == (mask & warp.live)) {
    lanes.there = warp.arrived;
    warp.arrived = 0;
    warp.turn ^= 1;
    gpu->wake_all(warp.waiting);
  } else {
    warp.waiting.push_back(&self);
    gpu->sleep("the other lanes of its warp");
  }
  return lanes;
}

//===-- a block's barriers ----------------------------------------------------------------------------------------===//

bool meet(int id, int threads, bool mine) {
  Fiber &self = fiber();
  NamedBarrier &barrier = self.block->barriers[id];
  const unsigned round = barrier.round;
  barrier.any |= mine;
  if (++barrier.arrived == (threads ? threads : self.block->live)) {
    barrier.result[barrier.round++ & 1] = barrier.any;
    barrier.arrived = 0;
    barrier.any = false;
    gpu->wake_all(barrier.waiting);
  } else {
    barrier.waiting.push_back(&self);
    gpu->sleep("other threads, to meet them");
  }
  return barrier.result[round & 1];
}

namespace {

/// A barrier, as it is in shared memory.
struct Phase {
  std::uint64_t arrivals : 12, pending : 12, parity : 1;
  std::int64_t bytes : 39;
};
static_assert(sizeof(Phase) == 8);

Phase &phase_at(const Block &block, std::uint32_t address) {
  if (address % 8)
    gpu->fail("a barrier is at address " + std::to_string(address) + ", required is a multiple of 8");
  return *reinterpret_cast<Phase *>(block.shared + address);
}

void end_if_over(Block &block, std::uint32_t address) {
  Phase &phase = phase_at(block, address);
  if (phase.pending || phase.bytes)
    return;
  phase.pending = phase.arrivals;
  phase.parity ^= 1;
  if (auto found = block.waiting.find(address); found != block.waiting.end())
    gpu->wake_all(found->second);
}

} // namespace

void barrier_init(std::uint32_t address, std::uint32_t arrivals) {
  phase_at(*running->block, address) = {arrivals, arrivals, 0, 0};
}
void barrier_arrive_at(Block &block, std::uint32_t address, std::uint32_t count) {
  Phase &phase = phase_at(block, address);
  if (phase.pending < count)
    gpu->fail("a barrier at address " + std::to_string(address) + " has " + std::to_string(count) +
              " arrivals more, and room for " + std::to_string(phase.pending));
  phase.pending -= count;
  end_if_over(block, address);
}
void barrier_arrive(std::uint32_t address, std::uint32_t count) { barrier_arrive_at(*running->block, address, count); }
void barrier_expect(std::uint32_t address, std::uint32_t bytes) { phase_at(*running->block, address).bytes += bytes; }
void barrier_has(Block &block, std::uint32_t address, std::uint32_t bytes) {
  phase_at(block, address).bytes -= bytes;
  end_if_over(block, address);
}
bool barrier_is_over(std::uint32_t address, std::uint32_t parity) {
  return phase_at(*running->block, address).parity != parity;
}
bool barrier_try(std::uint32_t address, std::uint32_t parity) {
  Fiber &self = fiber();
  while (!barrier_is_over(address, parity)) {
    self.block->waiting[address].push_back(&self);
    self.address = address;
    self.was_told = false;
    gpu->sleep("a barrier");
    if (self.was_told)
      return barrier_is_over(address, parity);
  }
  return true;
}

//===-- memory of the whole GPU -----------------------------------------------------------------------------------===//

void look_again() { gpu->look_again(); }
void has_changed() { gpu->has_changed(); }

std::uint64_t nanoseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (std::uint64_t)now.tv_sec * 1000000000ull + (std::uint64_t)now.tv_nsec;
}

} // namespace evt::simulated
