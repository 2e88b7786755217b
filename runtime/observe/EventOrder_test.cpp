#include "runtime/observe/EventOrder.h"

#include "runtime/observe/BoxTree.h"

#include <gtest/gtest.h>
#include <random>
#include <set>

namespace evt::observe {
namespace {

using Steps = std::vector<uint32_t>;

void addStep(EventOrder &order, std::vector<uint32_t> classes, uint32_t previous = EventOrder::kNone) {
  order.addStep(classes, previous);
}

std::vector<Steps> ancestors(EventOrder &order) {
  std::vector<Steps> result(order.stepCount());
  order.sweep([&](uint32_t step, uint32_t position, const AncestorSet &set) {
    EXPECT_EQ(order.stepAt(position), step);
    for (uint32_t at = 0; at < order.stepCount(); ++at)
      if (set.contains(at))
        result[step].push_back(order.stepAt(at));
    std::ranges::sort(result[step]);
  });
  return result;
}

TEST(EventOrder, FollowsChainsOfElementsAndStepsOfATask) {
  // 0 and 1 notify an element that 2 waits for; 3 continues the task of 2 and waits for nothing; 4 waits for 3.
  EventOrder order;
  uint32_t both = order.elementNotifiedBy(Steps{0, 1}), last = order.elementNotifiedBy(Steps{3});
  addStep(order, {});
  addStep(order, {});
  addStep(order, {both});
  addStep(order, {}, 2);
  addStep(order, {last});
  ASSERT_TRUE(order.sort());
  EXPECT_EQ(ancestors(order), (std::vector<Steps>{{}, {}, {0, 1}, {0, 1, 2}, {0, 1, 2, 3}}));
}

TEST(EventOrder, AnElementNobodyNotifiedOrdersNothing) {
  EventOrder order;
  uint32_t nobody = order.elementNotifiedBy(Steps{});
  addStep(order, {nobody});
  addStep(order, {nobody});
  ASSERT_TRUE(order.sort());
  EXPECT_EQ(ancestors(order), (std::vector<Steps>{{}, {}}));
}

TEST(EventOrder, KeepsProgramOrderWhereEventsLeaveAChoice) {
  // 0 waits for 3; 1, 2 and 3 are free.
  EventOrder order;
  uint32_t third = order.elementNotifiedBy(Steps{3});
  addStep(order, {third});
  for (int step = 1; step < 4; ++step)
    addStep(order, {});
  ASSERT_TRUE(order.sort());
  Steps sorted;
  for (uint32_t at = 0; at < 4; ++at)
    sorted.push_back(order.stepAt(at));
  EXPECT_EQ(sorted, (Steps{1, 2, 3, 0}));
}

TEST(EventOrder, NamesACircle) {
  // 1 -> 2 -> 3 -> 1, and 4 behind it.
  EventOrder order;
  uint32_t by[5];
  for (uint32_t step = 0; step < 5; ++step)
    by[step] = order.elementNotifiedBy(Steps{step});
  addStep(order, {});
  addStep(order, {by[3], by[0]});
  addStep(order, {by[1]});
  addStep(order, {by[2]});
  addStep(order, {by[3]});
  EXPECT_FALSE(order.sort());
  EXPECT_EQ(order.circle(), (Steps{1, 2, 3}));
}

TEST(EventOrder, SharesAndFreesAncestorSets) {
  // 100 layers of 64 steps, each layer behind one element of the layer before: one set a layer, two alive at a time.
  EventOrder order;
  std::vector<uint32_t> barrier;
  for (uint32_t layer = 0; layer < 100; ++layer) {
    Steps steps;
    for (uint32_t s = 0; s < 64; ++s)
      steps.push_back(layer * 64 + s);
    barrier.push_back(order.elementNotifiedBy(steps));
  }
  for (uint32_t layer = 0; layer < 100; ++layer)
    for (uint32_t s = 0; s < 64; ++s)
      addStep(order, layer == 0 ? std::vector<uint32_t>{} : std::vector<uint32_t>{barrier[layer - 1]});
  ASSERT_TRUE(order.sort());
  // Layer 98 needs 98*64 bits, layer 99 needs 99*64.
  EXPECT_EQ(order.peakBytes(), (98u + 99u) * 8u);
  uint32_t checked = 0;
  order.sweep([&](uint32_t step, uint32_t, const AncestorSet &set) {
    uint32_t layer = step / 64;
    for (uint32_t at = 0; at < order.stepCount(); ++at)
      ASSERT_EQ(set.contains(at), order.stepAt(at) < layer * 64);
    ++checked;
  });
  EXPECT_EQ(checked, 6400u);
}

TEST(BoxTree, FindsWhatAFullScanFinds) {
  std::mt19937 random(1);
  for (size_t rank : {0, 1, 2, 3}) {
    std::vector<std::vector<int64_t>> boxes;
    for (int b = 0; b < (rank == 0 ? 1 : 300); ++b) {
      std::vector<int64_t> box(2 * rank);
      for (size_t d = 0; d < rank; ++d) {
        box[d] = static_cast<int64_t>(random() % 40);
        box[rank + d] = 1 + static_cast<int64_t>(random() % 9);
      }
      boxes.push_back(box);
    }
    std::vector<BoxTree::Entry> entries;
    for (uint32_t b = 0; b < boxes.size(); ++b)
      entries.push_back({b, boxes[b]});
    BoxTree tree(entries, rank);
    for (const std::vector<int64_t> &query : boxes) {
      std::multiset<uint32_t> expected, got;
      for (uint32_t b = 0; b < boxes.size(); ++b) {
        bool apart = false;
        for (size_t d = 0; d < rank; ++d)
          apart |= boxes[b][d] + boxes[b][rank + d] <= query[d] || query[d] + query[rank + d] <= boxes[b][d];
        if (!apart)
          expected.insert(b);
      }
      tree.overlapping(query, [&](uint32_t id) { got.insert(id); });
      ASSERT_EQ(got, expected);
    }
  }
}

} // namespace
} // namespace evt::observe
