// What a simulated launch consists of; gpu.h says what it is for.
#pragma once

#include "device/cuda/simulated/gpu.h"

#include <boost/context/fiber.hpp>

#include <string>
#include <unordered_map>
#include <vector>

namespace evt::simulated {

/// Numbers that a seed determines.
class Random {
public:
  explicit Random(std::uint64_t seed) : state(seed * 0x9E3779B97F4A7C15ull + 0x1234567) {}
  std::uint32_t below(std::size_t bound) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (std::uint32_t)((state >> 32) * bound >> 32);
  }
  bool one_in(std::uint32_t n) { return below(n) == 0; }
  /// Some time from `now` on: most often soon, but up to 2^longest later.
  std::uint64_t soon(std::uint64_t now, std::uint32_t longest) { return now + below(1ull << below(longest + 1)); }

private:
  std::uint64_t state;
};

/// A copy that a thread has issued to the copy engine.
struct Copy {
  Block *block;
  std::uint32_t to, bytes, barrier;
  const void *from;          // or a map's box
  std::vector<char> already; // what was read from there when it was issued
  bool is_box;
  int at[5];
  std::uint64_t due = 0; // turns of threads
};

/// Bytes that a thread copies by itself, and products that it has issued: each belongs to a group.
struct Piece {
  std::uint32_t to;
  const void *from; // null: zeros
  std::uint64_t group;
};
struct Product {
  float *sums;
  int columns;
  bool is_bfloat16;
  std::uint64_t rows, weights, group;
};

struct Fiber : Thread {
  boost::context::fiber at;
  enum State { ready, sleeping, looking, left } state = ready;
  const char *waits_for = ""; // sleeping
  std::uint32_t address = 0;  // of the barrier that it sleeps at
  bool was_told = false;      // that a phase is not over yet
  std::vector<Piece> pieces;  // on their way, in order
  std::vector<Product> products;
  std::uint64_t piece_group = 0, product_group = 0;
};

struct Warp {
  Lanes lanes[2];
  int turn = 0;
  Together what = Together::nothing;
  std::uint32_t mask = 0, arrived = 0, live = 0;
  std::vector<Fiber *> waiting;
};

struct NamedBarrier {
  int arrived = 0;
  bool any = false, result[2] = {};
  unsigned round = 0;
  std::vector<Fiber *> waiting;
};

struct Block {
  unsigned number;
  std::vector<char> memory; // shared, with room for its alignment
  char *shared;
  std::uint32_t dynamic_bytes, used; // where variables begin, and end
  std::unordered_map<const void *, std::uint32_t> variables;
  std::unordered_map<std::uint32_t, std::vector<Fiber *>> waiting; // by the address of a barrier
  NamedBarrier barriers[16];
  std::vector<Warp> warps;
  int live;
};

/// One launch, or as many of its blocks as run at once.
class Gpu {
public:
  Gpu(Kernel kernel, const void *parameters, std::uint64_t seed);
  void run(unsigned first, unsigned blocks, unsigned threads, unsigned shared_bytes);

  /// The thread that runs stops here until it is woken.
  void sleep(const char *waits_for);
  void look_again();
  void wake(Fiber &fiber);
  void wake_all(std::vector<Fiber *> &fibers);
  void has_changed() { ++changes; }
  std::uint64_t turns = 0; // of threads, so far

  std::vector<Copy> copies; // on their way
  Random random;

  [[noreturn]] void fail(const std::string &what);

private:
  void start(Block &block, Fiber &fiber, unsigned number);
  void go_on(Fiber &fiber);
  void leave(Fiber &fiber);
  Fiber *next();
  bool nothing_is_new();
  bool pass_time();
  void tell_waiting();
  std::string report() const;

  Kernel kernel;
  const void *parameters;
  std::vector<Block> blocks;
  std::vector<Fiber> fibers;
  std::vector<Fiber *> ready, looking;
  struct Stalled {
    Fiber *fiber;
    std::uint64_t until;
  };
  std::vector<Stalled> stalled; // they could go on, but the GPU has better to do
  boost::context::fiber scheduler;
  std::uint64_t changes = 0, seen_changes = 0, looks = 0, quiet_since = 0;
  std::size_t running_fibers = 0;
  std::uint32_t haste; // one in so many times, any thread comes next instead of the last that was woken
};

extern Gpu *gpu;
inline Fiber &fiber() { return static_cast<Fiber &>(*running); }

/// The copy engine: a copy arrives.
void arrive(Copy &copy);

} // namespace evt::simulated
