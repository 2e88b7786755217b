#include "compiler/layout/Layout.h"

#include <algorithm>
#include <bit>

namespace evt::layout {

namespace {

using Dimensions = std::vector<std::vector<Iterator>>;

/// Cuts D where the dimensions of a shape end, from the innermost on.
Result<Dimensions> cut(std::vector<Iterator> iterators, std::span<const int64_t> shape) {
  Dimensions out(shape.size());
  for (size_t d = shape.size(); d-- > 0;)
    for (int64_t open = shape[d]; open > 1;) {
      assert(!iterators.empty() && "D counts as many elements as the shape");
      Iterator &last = iterators.back();
      if (open % last.extent == 0) {
        open /= last.extent;
        out[d].insert(out[d].begin(), last);
        iterators.pop_back();
      } else if (last.extent % open == 0) {
        out[d].insert(out[d].begin(), {open, last.stride, last.axis});
        last = {last.extent / open, last.stride * open, last.axis};
        open = 1;
      } else {
        return Failure{"cannot group by " + print(shape) + ": dimension " + std::to_string(d) +
                       " ends inside the iterator " + print(last) + ", and " + std::to_string(open) + " and " +
                       std::to_string(last.extent) + " do not divide each other"};
      }
    }
  return out;
}

std::string listOf(const std::vector<Iterator> &iterators) {
  std::string text;
  for (const Iterator &i : iterators)
    text += (text.empty() ? "" : ", ") + print(i);
  return "(" + text + ")";
}

/// One dimension of a slice: its iterators, innermost last; moves the offset to its first element.
std::optional<std::vector<Iterator>> sliceOf(const std::vector<Iterator> &iterators, int64_t begin, int64_t size,
                                             Place &offset) {
  std::vector<Iterator> out;
  for (size_t i = iterators.size(); i-- > 0;) {
    const Iterator &it = iterators[i];
    const int64_t digit = begin % it.extent;
    offset[it.axis] += digit * it.stride;
    if (digit + size <= it.extent) { // inside one block; the outer digits only move it
      if (size > 1)
        out.insert(out.begin(), {size, it.stride, it.axis});
      size = 1;
    } else if (digit == 0 && size % it.extent == 0) {
      out.insert(out.begin(), it);
      size /= it.extent;
    } else {
      return std::nullopt;
    }
    begin /= it.extent;
  }
  return out;
}

} // namespace

Result<Dimensions> dimensions(const Layout &layout) { return cut(canonical(layout).sharded(), layout.shape()); }

Result<Layout> group(const Layout &layout, std::vector<int64_t> shape) {
  Layout::Parts parts = layout.all();
  parts.shape = std::move(shape);
  // First of all, whether it is a shape of as many elements.
  if (auto made = Layout::make(parts); !made)
    return Failure{made.why()};
  auto dims = cut(canonical(layout).sharded(), parts.shape);
  if (!dims)
    return Failure{dims.why()};
  parts.sharded.clear();
  for (const auto &d : *dims)
    parts.sharded.insert(parts.sharded.end(), d.begin(), d.end());
  return Layout::make(std::move(parts));
}

Result<Layout> tile(const Layout &outer, const Layout &inner) {
  const size_t rank = inner.shape().size();
  if (outer.shape().size() != rank)
    return Failure{"cannot tile: the outer shape " + print(outer.shape()) + " and the inner shape " +
                   print(inner.shape()) + " differ in rank"};
  if (outer.swizzle())
    return Failure{"cannot tile: the outer layout has " + print(*outer.swizzle())};
  const Layout arrangement = canonical(outer);
  auto outerDims = dimensions(outer), innerDims = dimensions(inner);
  if (!outerDims)
    return Failure{outerDims.why()};
  if (!innerDims)
    return Failure{innerDims.why()};

  // The outer layout's parts, stretched by the inner one's span.
  bool tooFar = false;
  auto stretched = [&](int64_t value, Axis axis) {
    int64_t result = 0;
    tooFar |= __builtin_mul_overflow(value, inner.range(axis).span(), &result);
    return result;
  };
  std::vector<int64_t> apart; // copies lie at sums of multiples of these, in memory
  auto stretchedIterator = [&](const Iterator &i) {
    Iterator s{i.extent, stretched(i.stride, i.axis), i.axis};
    if (i.axis == Axis::m)
      apart.push_back(s.stride);
    return s;
  };

  Layout::Parts parts;
  for (size_t d = 0; d < rank; ++d) {
    int64_t extent = 0;
    tooFar |= __builtin_mul_overflow(outer.shape()[d], inner.shape()[d], &extent);
    parts.shape.push_back(extent);
    for (const Iterator &i : (*outerDims)[d])
      parts.sharded.push_back(stretchedIterator(i));
    parts.sharded.insert(parts.sharded.end(), (*innerDims)[d].begin(), (*innerDims)[d].end());
  }
  for (const Iterator &i : arrangement.replicated())
    parts.replicated.push_back(stretchedIterator(i));
  parts.replicated.insert(parts.replicated.end(), inner.replicated().begin(), inner.replicated().end());
  parts.offset = inner.offset();
  for (Axis a : allAxes) {
    const int64_t first = stretched(arrangement.offset()[a], a);
    tooFar |= __builtin_add_overflow(first, inner.offset()[a], &parts.offset[a]);
    if (a == Axis::m)
      apart.push_back(first);
  }
  if (tooFar)
    return Failure{"cannot tile: places reach beyond 2^60"};
  if (inner.swizzle()) {
    const int64_t period = inner.swizzle()->period();
    for (int64_t a : apart)
      if (a % period != 0)
        return Failure{"cannot tile: copies lie at multiples of " + std::to_string(a) +
                       " elements, required multiples of " + std::to_string(period) + ", the period of " +
                       print(*inner.swizzle())};
    parts.swizzle = inner.swizzle();
  }
  return Layout::make(std::move(parts));
}

Result<Layout> slice(const Layout &layout, std::span<const int64_t> begin, std::span<const int64_t> size) {
  const std::vector<int64_t> &shape = layout.shape();
  auto region = [&] { return "region of " + print(size) + " from " + print(begin) + " on"; };
  if (begin.size() != shape.size() || size.size() != shape.size())
    return Failure{region() + " and shape " + print(shape) + " differ in rank"};
  for (size_t d = 0; d < shape.size(); ++d)
    if (begin[d] < 0 || size[d] < 1 || size[d] > shape[d] || begin[d] > shape[d] - size[d])
      return Failure{region() + " is not inside shape " + print(shape)};
  auto dims = dimensions(layout);
  if (!dims)
    return Failure{dims.why()};
  Layout::Parts parts = layout.all();
  parts.shape.assign(size.begin(), size.end());
  parts.sharded.clear();
  for (size_t d = 0; d < shape.size(); ++d) {
    auto sliced = sliceOf((*dims)[d], begin[d], size[d], parts.offset);
    if (!sliced)
      return Failure{"cannot slice " + std::to_string(size[d]) + " elements from " + std::to_string(begin[d]) +
                     " on of dimension " + std::to_string(d) +
                     ": they are neither inside one block nor whole blocks of " + listOf((*dims)[d])};
    parts.sharded.insert(parts.sharded.end(), sliced->begin(), sliced->end());
  }
  return Layout::make(std::move(parts));
}

Result<Layout> swizzled(const Layout &layout, Swizzle swizzle) {
  Layout::Parts parts = layout.all();
  if (!parts.swizzle)
    parts.swizzle = swizzle;
  else if (*parts.swizzle == swizzle)
    parts.swizzle.reset();
  else
    return Failure{"cannot compose with " + print(swizzle) + ": the layout has " + print(*parts.swizzle)};
  return Layout::make(std::move(parts));
}

Result<Swizzle> sharedSwizzle(int64_t rowBytes, int64_t elementBytes) {
  constexpr int64_t pieceBytes = 16;
  if (rowBytes != 128 && rowBytes != 64 && rowBytes != 32)
    return Failure{"found rows of " + std::to_string(rowBytes) + " bytes, required 128, 64 or 32"};
  if (elementBytes < 1 || elementBytes > pieceBytes || !std::has_single_bit(static_cast<uint64_t>(elementBytes)))
    return Failure{"found elements of " + std::to_string(elementBytes) + " bytes, required 1, 2, 4, 8 or 16"};
  // Eight pieces are a line of all banks, whatever the row: the xored bits are those above it.
  auto log2 = [](int64_t n) { return std::countr_zero(static_cast<uint64_t>(n)); };
  return Swizzle{log2(rowBytes / pieceBytes), log2(pieceBytes / elementBytes), 3};
}

Result<Inverse> inverse(const Layout &layout) {
  const Layout from = canonical(layout);
  if (from.swizzle())
    return Failure{"no inverse: the layout has " + print(*from.swizzle())};
  if (!from.replicated().empty())
    return Failure{"no inverse: " + print(from.replicated().front()) + " replicates"};
  for (Axis a : allAxes)
    if (int64_t least = from.range(a).least)
      return Failure{"no inverse: places on " + std::string(nameOf(a)) + " begin at " + std::to_string(least) +
                     ", required 0"};

  struct Digit {
    Iterator iterator;
    int64_t weight; // of it in the flattened element
  };
  std::vector<Digit> digits;
  int64_t weight = 1;
  for (size_t i = from.sharded().size(); i-- > 0; weight *= from.sharded()[i].extent)
    digits.push_back({from.sharded()[i], weight});

  std::vector<Axis> axes;
  Layout::Parts parts;
  for (Axis a : allAxes) {
    std::vector<Digit> mine;
    std::copy_if(digits.begin(), digits.end(), std::back_inserter(mine),
                 [&](const Digit &d) { return d.iterator.axis == a; });
    if (mine.empty())
      continue;
    auto step = [](const Digit &d) { return d.iterator.stride < 0 ? -d.iterator.stride : d.iterator.stride; };
    std::sort(mine.begin(), mine.end(), [&](const Digit &x, const Digit &y) { return step(x) < step(y); });
    int64_t covered = 1;
    std::vector<Iterator> back; // outermost first
    for (const Digit &d : mine) {
      if (step(d) != covered)
        return Failure{"no inverse: places on " + std::string(nameOf(a)) + " are not dense: " + print(d.iterator) +
                       " follows " + std::to_string(covered) + " places"};
      covered *= d.iterator.extent;
      // A digit that counts places downwards is at its end where the place is 0.
      const int64_t direction = d.iterator.stride < 0 ? -1 : 1;
      if (direction < 0)
        parts.offset[Axis::m] += d.weight * (d.iterator.extent - 1);
      back.insert(back.begin(), {d.iterator.extent, direction * d.weight, Axis::m});
    }
    axes.push_back(a);
    parts.shape.push_back(covered);
    parts.sharded.insert(parts.sharded.end(), back.begin(), back.end());
  }
  return Inverse{std::move(axes), canonical(*Layout::make(std::move(parts)))};
}

} // namespace evt::layout
