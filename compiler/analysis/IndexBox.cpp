#include "compiler/analysis/IndexBox.h"

#include <algorithm>
#include <optional>

namespace evt {

namespace {

/// Bounds while they are being simplified: at first defined only where the relation is.
using Bounds = IndexBox;

isl::map relationOf(const Bounds &bounds, const isl::set &domain, const isl::set &shape) {
  isl::map result = isl::manage(checked(domain.ctx(), isl_map_from_domain_and_range(domain.copy(), shape.copy())));
  for (size_t dim = 0; dim < bounds.lo.size(); ++dim) {
    // { task -> index : lo(task) <= index[dim] <= hi(task) } through the projection of the index onto dim.
    isl_map *projection = isl_set_identity(shape.copy());
    unsigned dims = shape.tuple_dim();
    projection = isl_map_project_out(projection, isl_dim_out, static_cast<unsigned>(dim) + 1,
                                     dims - static_cast<unsigned>(dim) - 1);
    projection = isl_map_project_out(projection, isl_dim_out, 0, static_cast<unsigned>(dim));
    projection = isl_map_reset_tuple_id(projection, isl_dim_out);
    isl::map toIndex = isl::manage(checked(domain.ctx(), projection)).reverse();
    isl::map below(domain.ctx(), "{ [v] -> [w] : v <= w }");
    isl::map lo = isl::multi_pw_aff(bounds.lo[dim]).as_map().apply_range(below);
    isl::map hi = isl::multi_pw_aff(bounds.hi[dim]).as_map().apply_range(below.reverse());
    result = result.intersect(lo.apply_range(toIndex)).intersect(hi.apply_range(toIndex));
  }
  return result;
}

isl::pw_aff fold(const std::vector<isl::pw_aff> &terms, bool takeMax) {
  isl::pw_aff result = terms.front();
  for (size_t i = 1; i < terms.size(); ++i)
    result = takeMax ? result.max(terms[i]) : result.min(terms[i]);
  return result.coalesce();
}

/// One box around `target`, its bounds made simple and defined everywhere without adding anything where possible.
IndexBox fit(const isl::map &target, const isl::set &domain, const isl::set &shape) {
  Bounds bounds;
  for (unsigned dim = 0; dim < target.range_tuple_dim(); ++dim) {
    DimBounds ends = imageBounds(target, dim);
    bounds.lo.push_back(ends.lo.coalesce());
    bounds.hi.push_back(ends.hi.coalesce());
  }
  isl::map box = relationOf(bounds, domain, shape);
  for (bool upper : {false, true})
    for (size_t dim = 0; dim < bounds.lo.size(); ++dim) {
      isl::pw_aff &bound = upper ? bounds.hi[dim] : bounds.lo[dim];
      isl::pw_aff original = bound;
      std::vector<isl::pw_aff> candidates = extendedPieces(original);
      std::vector<isl::pw_aff> terms = candidates;
      // The tighter fold first: it is exact for the bounds of a convex set. The looser always contains the target.
      candidates.push_back(fold(terms, !upper));
      candidates.push_back(fold(terms, upper));
      bool simple = false;
      for (const isl::pw_aff &candidate : candidates) {
        bound = candidate;
        if ((simple = relationOf(bounds, domain, shape).is_equal(box)))
          break;
      }
      for (size_t i = terms.size(); !simple && i < candidates.size(); ++i) {
        bound = candidates[i];
        simple = box.is_subset(relationOf(bounds, domain, shape));
      }
      box = relationOf(bounds, domain, shape);
    }
  return bounds;
}

bool isBox(const isl::map &relation, const isl::set &shape) {
  return boxHull(relation).intersect_range(shape).is_equal(relation);
}

//===----------------------------------------------------------------------===//
// Indices at constant offsets from the task's coordinates
//===----------------------------------------------------------------------===//

using Offset = std::vector<int64_t>;

bool inside(const Offset &offset, const Offset &lo, const Offset &hi) {
  for (size_t dim = 0; dim < offset.size(); ++dim)
    if (offset[dim] < lo[dim] || offset[dim] > hi[dim])
      return false;
  return true;
}

/// The differences between a task's indices and its first coordinates, over all tasks and symbols, if they are few.
std::optional<std::vector<Offset>> offsetsOf(const isl::map &relation) {
  constexpr long maxOffsets = 64;
  isl::ctx ctx = relation.ctx();
  unsigned dims = relation.range_tuple_dim();
  if (relation.domain_tuple_dim() < dims)
    return std::nullopt;
  isl_map *unnamed = isl_map_reset_tuple_id(isl_map_reset_tuple_id(relation.copy(), isl_dim_in), isl_dim_out);
  unnamed = isl_map_project_out(unnamed, isl_dim_in, dims, relation.domain_tuple_dim() - dims);
  isl::set offsets = isl::manage(checked(ctx, isl_map_deltas(unnamed))).project_out_all_params();
  if (isl_set_is_bounded(offsets.get()) != isl_bool_true)
    return std::nullopt;
  isl::val number = isl::manage(checked(ctx, isl_set_count_val(offsets.get())));
  if (!number.is_int() || number.num_si() > maxOffsets)
    return std::nullopt;
  std::vector<Offset> result;
  offsets.foreach_point([&](isl::point point) {
    Offset offset;
    for (unsigned dim = 0; dim < dims; ++dim)
      offset.push_back(coordinate(point, dim));
    result.push_back(offset);
  });
  return result;
}

/// Covers a set of offsets with boxes that hold nothing else, the largest first.
std::vector<std::pair<Offset, Offset>> coverOffsets(const std::vector<Offset> &offsets) {
  std::vector<std::pair<Offset, Offset>> boxes;
  std::vector<Offset> left = offsets;
  while (!left.empty()) {
    std::pair<Offset, Offset> best;
    int64_t mostCovered = 0;
    for (const Offset &lo : offsets)
      for (const Offset &hi : offsets) {
        int64_t volume = inside(lo, lo, hi);
        for (size_t dim = 0; dim < lo.size(); ++dim)
          volume *= hi[dim] - lo[dim] + 1;
        auto held = [&](const Offset &offset) { return inside(offset, lo, hi); };
        if (volume <= 0 || std::count_if(offsets.begin(), offsets.end(), held) != volume)
          continue;
        int64_t covered = std::count_if(left.begin(), left.end(), held);
        if (covered > mostCovered) {
          mostCovered = covered;
          best = {lo, hi};
        }
      }
    boxes.push_back(best);
    std::erase_if(left, [&](const Offset &offset) { return inside(offset, best.first, best.second); });
  }
  return boxes;
}

IndexBox movedBox(const isl::set &domain, const Offset &lo, const Offset &hi) {
  IndexBox box;
  for (size_t dim = 0; dim < lo.size(); ++dim) {
    isl_local_space *space = isl_local_space_from_space(domain.space().release());
    isl::pw_aff coordinate = isl::manage(checked(
        domain.ctx(), isl_pw_aff_from_aff(isl_aff_var_on_domain(space, isl_dim_set, static_cast<unsigned>(dim)))));
    box.lo.push_back(coordinate.add_constant(static_cast<long>(lo[dim])));
    box.hi.push_back(coordinate.add_constant(static_cast<long>(hi[dim])));
  }
  return box;
}

} // namespace

isl::map boxRelation(const IndexBox &box, const isl::set &domain, const isl::set &shape) {
  return relationOf(box, domain, shape);
}

isl::map boxesRelation(const std::vector<IndexBox> &boxes, const isl::set &domain, const isl::set &shape) {
  isl::map result = isl::manage(checked(domain.ctx(), isl_map_empty(isl_space_map_from_domain_and_range(
                                                          domain.space().release(), shape.space().release()))));
  for (const IndexBox &box : boxes)
    result = result.unite(relationOf(box, domain, shape));
  return result.coalesce();
}

std::vector<IndexBox> coverByBoxes(const isl::map &relation, const isl::set &domain, const isl::set &shape) {
  isl::map target = relation.coalesce();
  constexpr unsigned maxBoxes = 4;
  if (!isBox(target, shape) && target.n_basic_map() <= maxBoxes) {
    std::vector<IndexBox> boxes;
    bool allBoxes = true;
    target.foreach_basic_map([&](isl::basic_map piece) {
      allBoxes = allBoxes && isBox(isl::map(piece), shape);
      if (allBoxes)
        boxes.push_back(fit(isl::map(piece), domain, shape));
    });
    if (allBoxes)
      return boxes;
  }
  if (std::optional<std::vector<IndexBox>> moved = coverByOffsets(target, domain))
    if (moved->size() <= maxBoxes && boxesRelation(*moved, domain, shape).is_equal(target))
      return *moved;
  return {fit(target, domain, shape)};
}

std::optional<std::vector<IndexBox>> coverByOffsets(const isl::map &relation, const isl::set &domain) {
  std::optional<std::vector<Offset>> offsets = offsetsOf(relation);
  if (!offsets)
    return std::nullopt;
  std::vector<IndexBox> boxes;
  for (const auto &[lo, hi] : coverOffsets(*offsets))
    boxes.push_back(movedBox(domain, lo, hi));
  return boxes;
}

} // namespace evt
