// The rings of a worker with threads as roles, a slow and unordered copy engine, and plain memory in between: a stage
// or a result that is touched too early or too late is a wrong number here, and a race where the test is built with a
// race detector (device_rings_race_test).
#include "device/common/rings.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

namespace evt {
namespace {

/// A barrier in shared memory as the GPU has it: a phase is over when all have arrived.
struct Phase {
  std::atomic<std::uint32_t> number{0};
  std::atomic<int> missing{0};
  int arrivals = 0;
  void init(int count) { missing = arrivals = count; }
  void arrive() {
    if (missing.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      missing.store(arrivals, std::memory_order_relaxed);
      number.fetch_add(1, std::memory_order_release);
    }
  }
};

/// Set when something was wrong, so that nobody waits for who has given up.
std::atomic<bool> failed{false};

struct HostSync {
  using Barrier = Phase *;
  struct Barriers {
    Phase *first;
    Barrier operator[](int i) const { return first + i; }
  };
  static void wait(Barrier barrier, std::uint32_t parity) {
    while ((barrier->number.load(std::memory_order_acquire) & 1) == parity && !failed)
      std::this_thread::yield();
  }
  static void arrive(Barrier barrier) { barrier->arrive(); }
  static void arrive_once(Barrier barrier) { barrier->arrive(); }
};

struct Array {
  Array(int count, int arrivals) : phases(new Phase[(size_t)count]) {
    for (int i = 0; i < count; ++i)
      phases[(size_t)i].init(arrivals);
  }
  HostSync::Barriers view() const { return {phases.get()}; }
  std::unique_ptr<Phase[]> phases;
};

constexpr int loaders = 3, computers = 4, finishers = 2, task_slots = 8, result_slots = 3, words = 16;
constexpr int ahead_of_loader = 3, ahead_of_compute = 4;

struct Item {
  bool ends = false;
  int number = 0, stages = 0, finisher = 0;
};

/// What the word of a stage must be.
int content(int task, int stage, int word) { return task * 1000 + stage * 20 + word; }

class Model {
public:
  Model(unsigned seed, int count, int slots, int in_flight)
      : slots(slots), in_flight(in_flight), random(seed), full(slots, 2), empty(slots, computers),
        sums_full(result_slots, computers), sums_empty(result_slots, 1), tasks_full(task_slots, 1),
        tasks_empty(task_slots, computers + loaders + finishers + 1), begun(task_slots, 1), fed(task_slots, loaders),
        done(task_slots, 1), stage_memory((size_t)(slots * words)), sums((size_t)(result_slots * computers)) {
    for (int t = 0; t < count; ++t)
      plan.push_back({false, t, random() % 4 ? 1 + (int)(random() % 7) : 0, 0});
    for (auto &p : loader_at)
      p = 0;
  }

  void run() {
    std::vector<std::thread> roles;
    roles.emplace_back([&] { control(); });
    for (int l = 0; l < loaders; ++l)
      roles.emplace_back([&, l] { load(l); });
    for (int c = 0; c < computers; ++c)
      roles.emplace_back([&, c] { compute(c); });
    for (int f = 0; f < finishers; ++f)
      roles.emplace_back([&, f] { finish(f); });
    roles.emplace_back([&] { tell(); });
    std::thread engine([&] { copy(); });
    for (std::thread &t : roles)
      t.join();
    over = true;
    engine.join();
    int streamed = 0;
    for (const Item &item : plan)
      streamed += item.stages > 0;
    EXPECT_EQ(finished, streamed);
    EXPECT_LE(most_in_flight, in_flight);
  }

private:
  using Tasks = TaskRing<HostSync, task_slots>;
  using Stages = StageRing<HostSync>;
  using Results = ResultRing<HostSync>;
  Tasks open_tasks() const {
    return {tasks_full.view(), tasks_empty.view(), begun.view(), fed.view(), done.view(), {}, false};
  }
  Stages open_stages() const { return {full.view(), empty.view(), slots, in_flight, {}, {}, 0}; }
  Results open_results() const { return {sums_full.view(), sums_empty.view(), {}}; }

  static void expect(bool good, const char *what) {
    if (!good && !failed.exchange(true))
      ADD_FAILURE() << what;
  }
  static void dawdle(std::mt19937 &random) {
    for (unsigned n = random() % 8 == 0 ? random() % 50 : 0; n; --n)
      std::this_thread::yield();
  }

  void control() {
    std::mt19937 mine(1);
    Tasks ring = open_tasks();
    int turn = 0;
    for (int t = 0; t <= (int)plan.size() && !failed; ++t) {
      dawdle(mine);
      Item item = t < (int)plan.size() ? plan[(size_t)t] : Item{true, t, 0, 0};
      item.finisher = turn;
      turn = item.stages ? (turn + 1) % finishers : turn;
      if (item.stages) {
        ring.enter(ring.fed, ahead_of_loader);
        for (auto &at : loader_at)
          expect(at >= t - ahead_of_loader + 1 || t < ahead_of_loader, "control is too far ahead of a loader");
      } else {
        ring.enter(ring.begun, ahead_of_compute);
      }
      items[ring.at.slot] = item;
      ring.hand_over();
      ring.step();
    }
  }

  void load(int loader) {
    std::mt19937 mine(10 + (unsigned)loader);
    Tasks ring = open_tasks();
    Stages stages = open_stages();
    stages.start_loader(loader);
    for (int turn = loader;; ring.advance()) {
      ring.await();
      if (failed || items[ring.at.slot].ends)
        return;
      const int total = items[ring.at.slot].stages, task = items[ring.at.slot].number;
      for (; turn < total; turn += loaders) {
        dawdle(mine);
        stages.send<loaders>([](Phase *arrived) { arrived->arrive(); },
                             [&](int slot, Phase *arrived) {
                               start_copy({slot, task, turn, arrived});
                             },
                             task % 3 == 1);
      }
      turn -= total;
      ++loader_at[loader];
      ring.say_fed();
      ring.leave();
    }
  }

  void compute(int me) {
    std::mt19937 mine(100 + (unsigned)me);
    Tasks ring = open_tasks();
    Stages stages = open_stages();
    Results results = open_results();
    for (;; ring.advance()) {
      ring.await();
      if (failed || items[ring.at.slot].ends)
        return;
      const Item item = items[ring.at.slot];
      if (me == 0) {
        dawdle(mine);
        waits_passed[ring.at.slot] = item.number;
        ring.say_begun();
        done_with[ring.at.slot] = item.number;
        ring.say_done();
      }
      ring.leave();
      if (!item.stages) { // it may use the memory of results
        results.await_taken(result_slots);
        for (int slot = 0; slot < result_slots; ++slot)
          sums[(size_t)(slot * computers + me)] = -1;
        continue;
      }
      int sum = 0;
      for (int s = 0; s < item.stages && !failed; ++s) {
        dawdle(mine);
        const int *stage = &stage_memory[(size_t)(stages.receive() * words)];
        for (int w = 0; w < words; ++w)
          expect(stage[w] == content(item.number, s, w), "a stage does not hold what was sent");
        sum += stage[me];
        stages.release();
      }
      results.begin_put();
      sums[(size_t)(results.at.slot * computers + me)] = sum;
      results.end_put(result_slots);
    }
  }

  void finish(int me) {
    std::mt19937 mine(1000 + (unsigned)me);
    Tasks ring = open_tasks();
    Results results = open_results();
    for (;; ring.advance()) {
      ring.await();
      if (failed || items[ring.at.slot].ends)
        return;
      const Item item = items[ring.at.slot];
      if (item.stages) {
        if (item.finisher == me) {
          ring.await_begun();
          expect(waits_passed[ring.at.slot] == item.number, "a task is ended before its waits are passed");
          dawdle(mine);
          results.begin_take();
          for (int c = 0; c < computers; ++c) {
            int expected = 0;
            for (int s = 0; s < item.stages; ++s)
              expected += content(item.number, s, c);
            expect(sums[(size_t)(results.at.slot * computers + c)] == expected, "a result is not the task's");
          }
          results.end_take();
          ++finished;
        }
        results.at.advance(result_slots);
      }
      ring.leave();
    }
  }

  void tell() {
    std::mt19937 mine(2000);
    Tasks ring = open_tasks();
    for (;; ring.advance()) {
      ring.await();
      if (failed || items[ring.at.slot].ends)
        return;
      const Item item = items[ring.at.slot];
      if (!item.stages) { // not of every task
        dawdle(mine);
        ring.await_done();
        expect(done_with[ring.at.slot] == item.number, "a task is told of before it is done");
      }
      ring.leave();
    }
  }

  // The copy engine: what was started ends later, in any order.
  struct Copy {
    int slot, task, stage;
    Phase *arrived;
  };
  void start_copy(const Copy &copy) {
    std::lock_guard lock(mutex);
    started.push_back(copy);
    most_in_flight = std::max(most_in_flight, ++in_flight_now);
  }
  void copy() {
    std::mt19937 mine(5);
    while (!over) {
      dawdle(mine);
      Copy copy{};
      {
        std::lock_guard lock(mutex);
        if (started.empty()) {
          std::this_thread::yield();
          continue;
        }
        size_t which = mine() % started.size();
        copy = started[which];
        started.erase(started.begin() + (std::ptrdiff_t)which);
      }
      for (int w = 0; w < words; ++w)
        stage_memory[(size_t)(copy.slot * words + w)] = content(copy.task, copy.stage, w);
      {
        std::lock_guard lock(mutex);
        --in_flight_now;
      }
      copy.arrived->arrive();
    }
  }

  const int slots, in_flight;
  std::mt19937 random;
  Array full, empty, sums_full, sums_empty, tasks_full, tasks_empty, begun, fed, done;
  std::vector<int> stage_memory, sums;
  Item items[task_slots];
  int waits_passed[task_slots] = {}, done_with[task_slots] = {};
  std::vector<Item> plan;
  std::atomic<int> loader_at[loaders], finished{0};
  std::atomic<bool> over{false};
  std::mutex mutex;
  std::vector<Copy> started;
  int in_flight_now = 0, most_in_flight = 0;
};

class Rings : public testing::TestWithParam<std::pair<int, int>> {};

TEST_P(Rings, HandEverythingOnInOrder) {
  auto [slots, in_flight] = GetParam();
  ASSERT_TRUE(rounds_stay_apart(slots, in_flight, loaders));
  for (unsigned seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    failed = false;
    Model(seed, 150, slots, in_flight).run();
  }
}

// Fewer in flight than loaders, the tightest of both kinds, the whole ring, and what kernels use.
INSTANTIATE_TEST_SUITE_P(Sizes, Rings,
                         testing::Values(std::pair(4, 1), std::pair(6, 2), std::pair(6, 3), std::pair(12, 4),
                                         std::pair(9, 9), std::pair(24, 5)));

TEST(StageRing, SizesThatWouldHang) { // each did, in this model
  EXPECT_FALSE(rounds_stay_apart(5, 3, loaders));
  EXPECT_FALSE(rounds_stay_apart(9, 4, loaders));
}

TEST(Cursor, SkippingAnyNumberIsAdvancing) {
  for (int slots : {1, 4, 21})
    for (int places = 0; places < 100; ++places) {
      Cursor skipped{slots / 2, 1}, advanced = skipped;
      skipped.skip_all(places, slots);
      for (int i = 0; i < places; ++i)
        advanced.advance(slots);
      EXPECT_EQ(skipped.slot, advanced.slot) << places << " of " << slots;
      EXPECT_EQ(skipped.round, advanced.round) << places << " of " << slots;
    }
}

TEST(Cursor, SkippingIsAdvancing) {
  for (int slots = 4; slots <= 9; ++slots)
    for (int places = 0; places <= slots; ++places) {
      Cursor skipped, advanced;
      for (int n = 0; n < 50; ++n) {
        skipped.skip(places, slots);
        for (int i = 0; i < places; ++i)
          advanced.advance(slots);
        ASSERT_EQ(skipped.slot, advanced.slot);
        ASSERT_EQ(skipped.round, advanced.round);
      }
    }
}

} // namespace
} // namespace evt
