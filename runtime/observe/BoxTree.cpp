#include "runtime/observe/BoxTree.h"

#include <algorithm>

namespace evt::observe {

namespace {
constexpr uint32_t kLeaf = 4;
} // namespace

BoxTree::BoxTree(std::vector<Entry> list, size_t rank) : entries(std::move(list)), rank(rank) {
  if (!entries.empty())
    build(0, static_cast<uint32_t>(entries.size()));
}

uint32_t BoxTree::build(uint32_t first, uint32_t last) {
  uint32_t node = static_cast<uint32_t>(nodes.size());
  nodes.push_back({first, last, 0});
  boxes.resize(boxes.size() + 2 * rank);
  size_t axis = 0;
  int64_t widest = -1;
  for (size_t d = 0; d < rank; ++d) {
    int64_t low = INT64_MAX, high = INT64_MIN;
    for (uint32_t e = first; e < last; ++e) {
      low = std::min(low, entries[e].box[d]);
      high = std::max(high, entries[e].box[d] + entries[e].box[rank + d]);
    }
    boxes[node * 2 * rank + d] = low;
    boxes[node * 2 * rank + rank + d] = high - low;
    if (high - low > widest) {
      widest = high - low;
      axis = d;
    }
  }
  if (last - first <= kLeaf || rank == 0)
    return node;
  auto centre = [&](const Entry &entry) { return 2 * entry.box[axis] + entry.box[rank + axis]; };
  uint32_t middle = first + (last - first) / 2;
  std::nth_element(
      entries.begin() + first, entries.begin() + middle, entries.begin() + last,
      [&](const Entry &a, const Entry &b) { return centre(a) != centre(b) ? centre(a) < centre(b) : a.id < b.id; });
  build(first, middle);
  uint32_t right = build(middle, last);
  nodes[node].right = right;
  return node;
}

} // namespace evt::observe
