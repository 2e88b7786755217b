#include "runtime/observe/UnwrittenReads.h"

#include <algorithm>
#include <map>
#include <set>

namespace evt::observe {

namespace {

// Which elements of a memory are written.
class Elements {
public:
  explicit Elements(std::span<const int64_t> shape) : shape(shape), written(static_cast<size_t>(elementCount(shape))) {}

  void write(std::span<const int64_t> box) {
    forEachRow(box, [&](size_t begin, size_t end) {
      std::fill(written.begin() + static_cast<std::ptrdiff_t>(begin),
                written.begin() + static_cast<std::ptrdiff_t>(end), true);
      return true;
    });
  }

  std::optional<std::vector<int64_t>> firstUnwritten(std::span<const int64_t> box) const {
    std::optional<std::vector<int64_t>> first;
    forEachRow(box, [&](size_t begin, size_t end) {
      auto last = written.begin() + static_cast<std::ptrdiff_t>(end);
      auto found = std::find(written.begin() + static_cast<std::ptrdiff_t>(begin), last, false);
      if (found != last)
        first = unflatten(found - written.begin(), shape);
      return !first;
    });
    return first;
  }

private:
  // Calls visit(begin, end) for the elements of each row of the box until it says false.
  template <class Visit> void forEachRow(std::span<const int64_t> box, Visit visit) const {
    size_t rank = shape.size();
    std::vector<int64_t> at(box.begin(), box.begin() + static_cast<std::ptrdiff_t>(rank));
    int64_t length = rank ? box[2 * rank - 1] : 1;
    while (true) {
      int64_t linear = 0;
      for (size_t d = 0; d < rank; ++d)
        linear = linear * shape[d] + at[d];
      if (!visit(static_cast<size_t>(linear), static_cast<size_t>(linear + length)))
        return;
      size_t d = rank ? rank - 1 : 0;
      while (d-- > 0 && ++at[d] == box[d] + box[rank + d])
        at[d] = box[d];
      if (d == SIZE_MAX)
        return;
    }
  }

  std::span<const int64_t> shape;
  std::vector<bool> written;
};

} // namespace

void UnwrittenReads::add(uint32_t task, uint32_t memory, std::span<const int64_t> offset, std::span<const int64_t> size,
                         evt_access_kind kind) {
  if (!program.memories[memory].planned || std::ranges::any_of(size, [](int64_t extent) { return extent <= 0; }))
    return;
  std::vector<int64_t> list{memory};
  list.insert(list.end(), offset.begin(), offset.end());
  list.insert(list.end(), size.begin(), size.end());
  uint32_t box = boxes.intern(list);
  if (kind == EVT_WRITE)
    written.push_back(box);
  else
    reads.push_back({task, box});
}

std::vector<UnwrittenRead> UnwrittenReads::find() const {
  std::map<uint32_t, Elements> memories;
  auto elementsOf = [&](uint32_t box) -> Elements & {
    uint32_t memory = static_cast<uint32_t>(boxes[box][0]);
    return memories.try_emplace(memory, program.memories[memory].shape).first->second;
  };
  for (uint32_t box : written)
    elementsOf(box).write(boxes[box].subspan(1));
  std::map<uint32_t, std::optional<std::vector<int64_t>>> known; // by box
  std::set<std::pair<uint32_t, uint32_t>> found;                 // task and memory
  std::vector<UnwrittenRead> result;
  for (auto [task, id] : reads) {
    std::span<const int64_t> box = boxes[id].subspan(1);
    auto [slot, added] = known.try_emplace(id);
    if (added)
      slot->second = elementsOf(id).firstUnwritten(box);
    uint32_t memory = static_cast<uint32_t>(boxes[id][0]);
    if (slot->second && found.emplace(task, memory).second)
      result.push_back({task, memory, box.first(box.size() / 2), box.last(box.size() / 2), *slot->second});
  }
  return result;
}

} // namespace evt::observe
