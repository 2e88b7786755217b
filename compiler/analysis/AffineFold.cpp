#include "compiler/analysis/AffineFold.h"

namespace evt {

std::optional<AffineFold> foldOf(const isl::pw_aff &value, const isl::set &where) {
  isl::pw_aff here = value.intersect_domain(where).gist(where).coalesce();
  std::vector<isl::aff> pieces;
  isl_stat done = isl_pw_aff_foreach_piece(
      here.get(),
      [](isl_set *domain, isl_aff *piece, void *user) {
        isl_set_free(domain);
        static_cast<std::vector<isl::aff> *>(user)->push_back(isl::manage(piece));
        return isl_stat_ok;
      },
      &pieces);
  if (done != isl_stat_ok)
    throwIslError(value.ctx());
  AffineFold fold;
  fold.terms = pieces;
  if (pieces.empty())
    return fold;
  isl::pw_aff least = pieces[0], most = pieces[0];
  for (const isl::aff &piece : pieces) {
    least = least.min(isl::pw_aff(piece));
    most = most.max(isl::pw_aff(piece));
  }
  if (where.is_subset(here.eq_set(least)))
    return fold;
  fold.largest = true;
  return where.is_subset(here.eq_set(most)) ? std::optional(fold) : std::nullopt;
}

namespace {

/// The values of an expression of coordinates or of symbols alone.
isl::set valuesOf(const isl::pw_aff &value) {
  isl::space domain = isl::manage(checked(value.ctx(), isl_pw_aff_get_domain_space(value.get())));
  return isl_space_is_params(domain.get()) == isl_bool_true ? value.as_set()
                                                            : isl::multi_pw_aff(value).as_map().range();
}

} // namespace

isl::val leastValue(const isl::pw_aff &value) { return valuesOf(value).dim_min_val(0); }
isl::val largestValue(const isl::pw_aff &value) { return valuesOf(value).dim_max_val(0); }

} // namespace evt
