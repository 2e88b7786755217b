#include "compiler/layout/Layout.h"

#include <algorithm>
#include <tuple>

namespace evt::layout {

namespace {

// Far enough from the ends of int64_t that no sum or product of the operations overflows: they stay within a few times
// the distance between two places.
constexpr int64_t limit = int64_t{1} << 60;

/// The product, or 0 if it is beyond the limit.
int64_t productOf(std::span<const int64_t> factors) {
  __int128 n = 1;
  for (int64_t f : factors)
    if ((n *= f) > limit)
      return 0;
  return static_cast<int64_t>(n);
}

std::vector<int64_t> extentsOf(const std::vector<Iterator> &iterators) {
  std::vector<int64_t> extents;
  extents.reserve(iterators.size());
  for (const Iterator &i : iterators)
    extents.push_back(i.extent);
  return extents;
}

bool reachesTooFar(const Layout::Parts &parts) {
  for (Axis a : allAxes) {
    __int128 least = parts.offset[a], most = least;
    for (const auto *iterators : {&parts.sharded, &parts.replicated})
      for (const Iterator &i : *iterators)
        if (i.axis == a)
          (i.stride < 0 ? least : most) += static_cast<__int128>(i.extent - 1) * i.stride;
    if (least < -limit || most > limit)
      return true;
  }
  return false;
}

/// D of a canonical form.
std::vector<Iterator> merged(const std::vector<Iterator> &iterators) {
  std::vector<Iterator> out;
  for (Iterator i : iterators) {
    if (i.extent == 1)
      continue;
    if (i.stride == 0)
      i.axis = Axis::m;
    if (!out.empty() && out.back().axis == i.axis && out.back().stride == i.extent * i.stride) {
      out.back().extent *= i.extent;
      out.back().stride = i.stride;
    } else {
      out.push_back(i);
    }
  }
  return out;
}

/// R of a canonical form; what negative strides reach goes to the offset.
std::vector<Iterator> covering(const std::vector<Iterator> &iterators, Place &offset) {
  std::vector<Iterator> out;
  for (Iterator i : iterators) {
    if (i.extent == 1 || i.stride == 0)
      continue;
    if (i.stride < 0) {
      offset[i.axis] += (i.extent - 1) * i.stride;
      i.stride = -i.stride;
    }
    out.push_back(i);
  }
  std::sort(out.begin(), out.end(), [](const Iterator &a, const Iterator &b) {
    return std::tie(a.axis, a.stride, a.extent) < std::tie(b.axis, b.stride, b.extent);
  });
  // Steps of a multiple of the smaller stride that leave no gap make one longer iterator of two.
  for (size_t small = 0; small < out.size(); ++small)
    for (size_t large = small + 1; large < out.size();) {
      Iterator &s = out[small];
      const Iterator l = out[large];
      if (s.axis == l.axis && l.stride % s.stride == 0 && l.stride / s.stride <= s.extent) {
        s.extent += l.stride / s.stride * (l.extent - 1);
        out.erase(out.begin() + static_cast<std::ptrdiff_t>(large));
      } else {
        ++large;
      }
    }
  return out;
}

} // namespace

std::string_view nameOf(Axis axis) {
  switch (axis) {
  case Axis::m:
    return "m";
  case Axis::reg:
    return "reg";
  case Axis::lane:
    return "lane";
  case Axis::warp:
    return "warp";
  case Axis::warpgroup:
    return "warpgroup";
  case Axis::cta:
    return "cta";
  case Axis::rank:
    return "rank";
  }
  assert(false && "an axis without a name");
  return "";
}

Result<Layout> Layout::make(Parts parts) {
  for (auto [what, extents] :
       {std::pair("the shape", parts.shape), std::pair("the sharded iterators", extentsOf(parts.sharded)),
        std::pair("the replicated iterators", extentsOf(parts.replicated))}) {
    for (int64_t e : extents)
      if (e < 1)
        return Failure{"found extent " + std::to_string(e) + " in " + what + ", required at least 1"};
    if (productOf(extents) == 0)
      return Failure{std::string("more than 2^60 elements in ") + what};
  }
  int64_t elements = productOf(parts.shape), counted = productOf(extentsOf(parts.sharded));
  if (elements != counted)
    return Failure{"shape " + print(parts.shape) + " has " + std::to_string(elements) +
                   " elements, the sharded iterators count " + std::to_string(counted)};
  if (reachesTooFar(parts))
    return Failure{"places reach beyond 2^60"};
  if (parts.swizzle) {
    const Swizzle &s = *parts.swizzle;
    if (s.bits < 0 || s.base < 0 || s.shift < s.bits || s.base > 60 || s.shift > 60 || s.base + s.shift + s.bits > 60)
      return Failure{"found " + print(s) + ", required bits, base >= 0, shift >= bits and at most 60 bits in all"};
  }
  Layout layout(std::move(parts));
  if (layout.swizzle() && layout.range(Axis::m).least < 0)
    return Failure{"a swizzle of addresses from " + std::to_string(layout.range(Axis::m).least) +
                   " on, required addresses from 0 on"};
  return layout;
}

Result<Layout> Layout::rowMajor(std::vector<int64_t> shape, Axis axis) {
  // An iterator for each dimension, so that make refuses what is no shape.
  std::vector<Iterator> sharded;
  sharded.reserve(shape.size());
  for (int64_t extent : shape)
    sharded.push_back({extent, 0, axis});
  auto counted = make({.shape = shape, .sharded = std::move(sharded)});
  if (!counted)
    return counted;
  return make({.shape = std::move(shape), .sharded = {{counted->elements(), 1, axis}}});
}

int64_t Layout::elements() const { return productOf(parts.shape); }

int64_t Layout::flatten(std::span<const int64_t> coordinate) const {
  assert(coordinate.size() == parts.shape.size());
  int64_t x = 0;
  for (size_t d = 0; d < coordinate.size(); ++d) {
    assert(0 <= coordinate[d] && coordinate[d] < parts.shape[d]);
    x = x * parts.shape[d] + coordinate[d];
  }
  return x;
}

std::vector<Place> Layout::places(int64_t element) const {
  assert(0 <= element && element < elements());
  Place first = parts.offset;
  for (size_t i = parts.sharded.size(); i-- > 0;) {
    const Iterator &it = parts.sharded[i];
    first[it.axis] += element % it.extent * it.stride;
    element /= it.extent;
  }
  std::vector<Place> all{first};
  for (const Iterator &r : parts.replicated) {
    const size_t before = all.size();
    for (int64_t copy = 1; copy < r.extent; ++copy)
      for (size_t i = 0; i < before; ++i) {
        all.push_back(all[i]);
        all.back()[r.axis] += copy * r.stride;
      }
  }
  if (parts.swizzle)
    for (Place &p : all)
      p[Axis::m] = (*parts.swizzle)(p[Axis::m]);
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

Place Layout::place(int64_t element) const {
  std::vector<Place> all = places(element);
  assert(all.size() == 1 && "a replicated element has no single place");
  return all.front();
}

Layout::Range Layout::range(Axis axis) const {
  Range r{parts.offset[axis], parts.offset[axis]};
  for (const auto *iterators : {&parts.sharded, &parts.replicated})
    for (const Iterator &i : *iterators)
      if (i.axis == axis)
        (i.stride < 0 ? r.least : r.most) += (i.extent - 1) * i.stride;
  return r;
}

Layout canonical(const Layout &layout) {
  Layout::Parts parts = layout.all();
  parts.sharded = merged(parts.sharded);
  parts.replicated = covering(parts.replicated, parts.offset);
  if (const auto &s = parts.swizzle;
      s && (s->bits == 0 || layout.range(Axis::m).most < int64_t{1} << (s->base + s->shift)))
    parts.swizzle.reset();
  return *Layout::make(std::move(parts));
}

} // namespace evt::layout
