// Early rows with threads as writers and readers of a tensor that is written again and again, ordered by no more than
// what the protocol asks for: a word of another generation is a wrong number here.
#include "device/common/early.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace evt {
namespace {

struct HostWords {
  static void store(std::uint32_t *to, std::uint32_t word) { __atomic_store_n(to, word, __ATOMIC_RELAXED); }
  static std::uint32_t load(const std::uint32_t *from) { return __atomic_load_n(from, __ATOMIC_RELAXED); }
};

constexpr int writers = 2, readers = 3, words = 24;

/// Some contents look as if they were not there.
std::uint32_t content(int launch, int generation, int word) {
  if ((generation + word) % 11 == 0)
    return ~0u;
  return (std::uint32_t)(launch * 100000 + generation * 100 + word);
}

struct Event {
  std::atomic<int> hint{0}, count{0};
  void notify() {
    hint.fetch_add(1, std::memory_order_relaxed);
    std::this_thread::yield(); // the release takes its time
    count.fetch_add(1, std::memory_order_release);
  }
  void wait(int enough) const {
    while (count.load(std::memory_order_acquire) < enough)
      std::this_thread::yield();
  }
  void wait_hint(int enough) const {
    while (hint.load(std::memory_order_relaxed) < enough)
      std::this_thread::yield();
  }
};

/// Generations of one launch. Writers acquire that the generation before is written, which cleared their place, and
/// that the one before it is read, whose place they clear; readers acquire that the generation before is written.
class Model {
public:
  Model(int generations, bool hints)
      : generations(generations), hints(hints), written((size_t)generations), read((size_t)generations) {}

  void launch(int number, Places places) {
    std::vector<std::thread> threads;
    for (int w = 0; w < writers; ++w)
      threads.emplace_back([=, this] { write(number, w, places); });
    for (int r = 0; r < readers; ++r)
      threads.emplace_back([=, this] { take(number, r, places); });
    for (auto &thread : threads)
      thread.join();
    if (generations % 3) // the last one to leave
      std::fill_n(places.place[0], words, 0u);
  }
  std::atomic<int> wrong{0};

private:
  void write(int launch, int writer, Places places) {
    for (int g = 0; g < generations; ++g) {
      if (g > 0)
        written[(size_t)g - 1].wait(writers);
      if (g > 1)
        read[(size_t)g - 2].wait(readers);
      for (int i = (writer + g) % writers; i < words; i += writers) // others' words than before
        write_early<HostWords>(places.writes(g), i, content(launch, g, i));
      written[(size_t)g].notify();
    }
  }
  void take(int launch, int reader, Places places) {
    std::mt19937 random((unsigned)(launch * readers + reader));
    for (int g = 0; g < generations; ++g) {
      if (g)
        written[(size_t)g - 1].wait(writers);
      if (hints) // most of it is there
        written[(size_t)g].wait_hint(writers - 1);
      std::uint32_t found[words] = {};
      read_early(
          1 + (int)(random() % 20),
          [&] {
            bool there = true;
            for (int i = 0; i < words; ++i) {
              if (!found[i]) // what was there stays
                found[i] = HostWords::load(places.of(g) + i);
              there &= found[i] != 0;
            }
            return there;
          },
          [&] { written[(size_t)g].wait(writers); });
      for (int i = 0; i < words; ++i)
        wrong += (found[i] ^ early_flip) != content(launch, g, i);
      read[(size_t)g].notify();
    }
  }

  const int generations;
  const bool hints;
  std::vector<Event> written, read;
};

/// Launches of different lengths over the same memory.
TEST(Early, EveryWordIsOfItsGeneration) {
  for (bool hints : {true, false}) {
    std::vector<std::uint32_t> first(words), second(words), third(words);
    for (int launch = 0; launch < 60; ++launch) {
      Model model(1 + launch % 7, hints);
      model.launch(launch, {{first.data(), second.data(), third.data()}});
      ASSERT_EQ(model.wrong, 0) << "launch " << launch;
      EXPECT_EQ(first, std::vector<std::uint32_t>(words)) << "launch " << launch;
    }
  }
}

} // namespace
} // namespace evt
