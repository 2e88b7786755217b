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
    isl::map below = mapOf(domain.ctx(), "{ [v] -> [w] : v <= w }");
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

/// Bounds of an image coordinate; none if it has no bounds.
std::optional<DimBounds> boundsIfAny(const isl::map &relation, unsigned dim) {
  try {
    return imageBounds(relation, dim);
  } catch (const isl::exception_quota &) {
    throw;
  } catch (const isl::exception &) {
    return std::nullopt; // isl calls an infinite minimum or maximum an error
  }
}

/// One box around `target`, its bounds made simple and defined everywhere without adding anything where possible.
IndexBox fit(const isl::map &target, const isl::set &domain, const isl::set &shape) {
  // What the tasks' domain and the shape imply need not be said: it only makes cases at the borders.
  isl::map open =
      target.gist(isl::manage(checked(target.ctx(), isl_map_from_domain_and_range(domain.copy(), shape.copy()))));
  Bounds bounds;
  for (unsigned dim = 0; dim < target.range_tuple_dim(); ++dim) {
    std::optional<DimBounds> ends = boundsIfAny(open, dim);
    if (!ends)
      ends = imageBounds(target, dim);
    bounds.lo.push_back(ends->lo.coalesce());
    bounds.hi.push_back(ends->hi.coalesce());
  }
  isl::map box = relationOf(bounds, domain, shape);
  for (bool upper : {false, true})
    for (size_t dim = 0; dim < bounds.lo.size(); ++dim) {
      isl::pw_aff &bound = upper ? bounds.hi[dim] : bounds.lo[dim];
      std::vector<isl::pw_aff> terms = extendedPieces(bound);
      std::vector<isl::pw_aff> candidates = terms;
      if (terms.size() > 1) {
        // The tighter fold first: it is exact for the bounds of a convex set. The looser always contains the target.
        candidates.push_back(fold(terms, !upper));
        candidates.push_back(fold(terms, upper));
      }
      bool simple = false;
      for (size_t i = 0; i < candidates.size() && !simple; ++i) {
        bound = candidates[i];
        simple = relationOf(bounds, domain, shape).is_equal(box);
      }
      for (size_t i = terms.size() > 1 ? terms.size() : 0; i < candidates.size() && !simple; ++i) {
        bound = candidates[i];
        simple = box.is_subset(relationOf(bounds, domain, shape));
      }
      box = relationOf(bounds, domain, shape);
    }
  return bounds;
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

/// Which coordinate of the task each index follows, and the differences that occur.
struct Offsets {
  std::vector<unsigned> anchors;
  std::vector<Offset> values;
};

/// The differences of each index and the task's coordinate `anchors[dim]`, over all tasks and symbols.
isl::set differences(const isl::map &relation, const std::vector<unsigned> &anchors) {
  std::string coordinates, chosen;
  for (unsigned dim = 0; dim < relation.domain_tuple_dim(); ++dim)
    coordinates += (dim ? ", c" : "c") + std::to_string(dim);
  for (size_t i = 0; i < anchors.size(); ++i)
    chosen += (i ? ", c" : "c") + std::to_string(anchors[i]);
  isl::map choose = mapOf(relation.ctx(), "{ [" + coordinates + "] -> [" + chosen + "] }");
  isl_map *unnamed = isl_map_reset_tuple_id(isl_map_reset_tuple_id(relation.copy(), isl_dim_in), isl_dim_out);
  isl::map anchored = isl::manage(checked(relation.ctx(), unnamed)).apply_domain(choose);
  return anchored.deltas().project_out_all_params();
}

/// The number of points of a set without symbols, if it is between 1 and `most`.
std::optional<long> fewPoints(const isl::set &set, long most) {
  if (set.is_empty() || isl_set_is_bounded(set.get()) != isl_bool_true)
    return std::nullopt;
  isl::val number = isl::manage(checked(set.ctx(), isl_set_count_val(set.get())));
  return number.is_int() && number.num_si() <= most ? std::optional<long>(number.num_si()) : std::nullopt;
}

std::optional<Offsets> offsetsOf(const isl::map &relation) {
  constexpr long maxOffsets = 64;
  Offsets result;
  unsigned dims = relation.range_tuple_dim();
  for (unsigned dim = 0; dim < dims; ++dim) {
    isl_map *one = isl_map_project_out(relation.copy(), isl_dim_out, dim + 1, dims - dim - 1);
    isl::map index = isl::manage(checked(relation.ctx(), isl_map_project_out(one, isl_dim_out, 0, dim)));
    // Between tasks of one call a coordinate follows itself; otherwise the one that it stays closest to.
    std::optional<long> least;
    unsigned anchor = dim;
    if (relation.domain_tuple_dim() == dims && fewPoints(differences(index, {dim}), maxOffsets))
      least = 1;
    for (unsigned coordinate = 0; coordinate < relation.domain_tuple_dim(); ++coordinate) {
      std::optional<long> number = fewPoints(differences(index, {coordinate}), least ? *least - 1 : maxOffsets);
      if (number) {
        least = number;
        anchor = coordinate;
      }
    }
    if (!least)
      return std::nullopt;
    result.anchors.push_back(anchor);
  }
  isl::set offsets = differences(relation, result.anchors);
  if (!fewPoints(offsets, maxOffsets))
    return std::nullopt;
  offsets.foreach_point([&](isl::point point) {
    Offset offset;
    for (unsigned dim = 0; dim < dims; ++dim)
      offset.push_back(coordinate(point, dim));
    result.values.push_back(offset);
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

IndexBox movedBox(const isl::set &domain, const std::vector<unsigned> &anchors, const Offset &lo, const Offset &hi) {
  IndexBox box;
  for (size_t dim = 0; dim < lo.size(); ++dim) {
    isl_local_space *space = isl_local_space_from_space(domain.space().release());
    isl::pw_aff coordinate = isl::manage(
        checked(domain.ctx(), isl_pw_aff_from_aff(isl_aff_var_on_domain(space, isl_dim_set, anchors[dim]))));
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
  constexpr unsigned maxBoxes = 4;
  isl::map target = relation.coalesce();
  IndexBox around = fit(target, domain, shape);
  if (boxRelation(around, domain, shape).is_equal(target))
    return {around};
  if (std::optional<std::vector<IndexBox>> moved = coverByOffsets(target, domain))
    if (moved->size() <= maxBoxes && boxesRelation(*moved, domain, shape).is_equal(target))
      return *moved;
  if (target.n_basic_map() > 1 && target.n_basic_map() <= maxBoxes) {
    std::vector<IndexBox> boxes;
    target.foreach_basic_map([&](isl::basic_map piece) { boxes.push_back(fit(isl::map(piece), domain, shape)); });
    if (boxesRelation(boxes, domain, shape).is_equal(target))
      return boxes;
  }
  return {around};
}

std::optional<std::vector<IndexBox>> coverByOffsets(const isl::map &relation, const isl::set &domain) {
  std::optional<Offsets> offsets = offsetsOf(relation);
  if (!offsets)
    return std::nullopt;
  std::vector<IndexBox> boxes;
  for (const auto &[lo, hi] : coverOffsets(offsets->values))
    boxes.push_back(movedBox(domain, offsets->anchors, lo, hi));
  return boxes;
}

} // namespace evt
