// BoxTree: which boxes of a memory overlap a given one.
//
// A bounding-volume hierarchy over a fixed list of boxes, split at the median of the widest axis. Any rank, including
// 0 (a scalar: every box is the same one). The order in which overlaps are visited depends on the boxes only.
#ifndef EVT_RUNTIME_OBSERVE_BOXTREE_H
#define EVT_RUNTIME_OBSERVE_BOXTREE_H

#include <cstdint>
#include <span>
#include <vector>

namespace evt::observe {

// A box is 2 * rank numbers: `rank` offsets, then `rank` sizes.
inline bool overlap(std::span<const int64_t> a, std::span<const int64_t> b) {
  size_t rank = a.size() / 2;
  for (size_t d = 0; d < rank; ++d)
    if (a[d] >= b[d] + b[rank + d] || b[d] >= a[d] + a[rank + d])
      return false;
  return true;
}

class BoxTree {
public:
  struct Entry {
    uint32_t id;
    std::span<const int64_t> box; // outlives the tree
  };
  BoxTree() = default;
  BoxTree(std::vector<Entry> entries, size_t rank);

  // Calls visit(id) for every entry that overlaps `box`.
  template <typename Visit> void overlapping(std::span<const int64_t> box, Visit visit) const {
    if (!nodes.empty())
      descend(0, box, visit);
  }

private:
  struct Node {
    uint32_t first = 0; // a leaf's entries
    uint32_t last = 0;
    uint32_t right = 0; // the right child; 0 for a leaf; the left child follows its parent
  };
  uint32_t build(uint32_t first, uint32_t last);
  std::span<const int64_t> bounds(uint32_t node) const { return {boxes.data() + node * 2 * rank, 2 * rank}; }
  template <typename Visit> void descend(uint32_t node, std::span<const int64_t> box, Visit &visit) const {
    if (!overlap(bounds(node), box))
      return;
    const Node &at = nodes[node];
    if (at.right != 0) {
      descend(node + 1, box, visit);
      descend(at.right, box, visit);
      return;
    }
    for (uint32_t e = at.first; e < at.last; ++e)
      if (overlap(entries[e].box, box))
        visit(entries[e].id);
  }
  std::vector<Entry> entries;
  std::vector<Node> nodes;
  std::vector<int64_t> boxes; // of the nodes
  size_t rank = 0;
};

} // namespace evt::observe
#endif
