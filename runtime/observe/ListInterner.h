// ListInterner: gives equal lists the same small number.
//
// Millions of event elements fall into few classes (all elements a given set of tasks notifies), and hundreds of
// thousands of accesses touch few distinct boxes. Numbers are handed out in order of first appearance, so they depend
// on the order of the calls only.
#ifndef EVT_RUNTIME_OBSERVE_LISTINTERNER_H
#define EVT_RUNTIME_OBSERVE_LISTINTERNER_H

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace evt::observe {

template <typename T> class ListInterner {
public:
  uint32_t intern(std::span<const T> list) {
    if (count() * 2 >= table.size())
      rehash(table.empty() ? 64 : table.size() * 2);
    size_t slot = find(list, hash(list));
    if (table[slot] == kFree) {
      table[slot] = count();
      values.insert(values.end(), list.begin(), list.end());
      starts.push_back(values.size());
    }
    return table[slot];
  }
  uint32_t count() const { return static_cast<uint32_t>(starts.size() - 1); }
  std::span<const T> operator[](uint32_t id) const {
    return {values.data() + starts[id], values.data() + starts[id + 1]};
  }

private:
  static constexpr uint32_t kFree = UINT32_MAX;
  static uint64_t hash(std::span<const T> list) {
    uint64_t state = 0x9e3779b97f4a7c15ull ^ list.size();
    for (T value : list) {
      state = (state ^ static_cast<uint64_t>(value)) * 0xff51afd7ed558ccdull;
      state ^= state >> 32;
    }
    return state;
  }
  size_t find(std::span<const T> list, uint64_t hashed) const {
    size_t slot = hashed & (table.size() - 1);
    while (table[slot] != kFree && !std::ranges::equal((*this)[table[slot]], list))
      slot = (slot + 1) & (table.size() - 1);
    return slot;
  }
  void rehash(size_t size) {
    table.assign(size, kFree);
    for (uint32_t id = 0; id < count(); ++id)
      table[find((*this)[id], hash((*this)[id]))] = id;
  }
  std::vector<T> values;
  std::vector<size_t> starts{0};
  std::vector<uint32_t> table;
};

} // namespace evt::observe
#endif
