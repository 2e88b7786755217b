#include "compiler/analysis/IntegerSet.h"

#include <cstdlib>
#include <stdexcept>

namespace evt {

ContextOwner::ContextOwner() : owned(isl_ctx_alloc(), isl_ctx_free) {
  isl_options_set_on_error(owned.get(), ISL_ON_ERROR_CONTINUE);
}

void throwIslError(isl::ctx ctx) {
  isl::exception::throw_last_error(ctx);
  throw std::logic_error("an isl function failed without an error");
}

OperationLimit::OperationLimit(isl::ctx ctx, unsigned long operations) : ctx(ctx) {
  isl_ctx_reset_operations(ctx.get());
  isl_ctx_set_max_operations(ctx.get(), operations);
}

OperationLimit::~OperationLimit() {
  isl_ctx_set_max_operations(ctx.get(), 0);
  isl_ctx_reset_operations(ctx.get());
}

isl::map mapOf(isl::ctx ctx, const std::string &text) {
  unsigned long limit = isl_ctx_get_max_operations(ctx.get());
  isl_ctx_set_max_operations(ctx.get(), 0);
  isl_map *map = isl_map_read_from_str(ctx.get(), text.c_str());
  isl_ctx_set_max_operations(ctx.get(), limit);
  return isl::manage(checked(ctx, map));
}

//===----------------------------------------------------------------------===//
// Polynomial
//===----------------------------------------------------------------------===//

Polynomial::Polynomial(isl::ctx ctx, const std::string &text)
    : ptr(checked(ctx, isl_pw_qpolynomial_read_from_str(ctx.get(), text.c_str()))) {}

Polynomial::Polynomial(const Polynomial &other) : ptr(other.ptr ? isl_pw_qpolynomial_copy(other.ptr) : nullptr) {}

Polynomial::~Polynomial() { isl_pw_qpolynomial_free(ptr); }

Polynomial Polynomial::constant(const isl::set &domain, int64_t value) {
  isl::ctx ctx = domain.ctx();
  isl_qpolynomial *poly = isl_qpolynomial_val_on_domain(isl_set_get_space(domain.get()),
                                                        isl_val_int_from_si(ctx.get(), static_cast<long>(value)));
  return Polynomial(checked(ctx, isl_pw_qpolynomial_alloc(domain.copy(), poly)));
}

Polynomial Polynomial::fromAffine(const isl::pw_aff &affine) {
  return Polynomial(checked(affine.ctx(), isl_pw_qpolynomial_from_pw_aff(affine.copy())));
}

isl::ctx Polynomial::ctx() const { return isl::ctx(isl_pw_qpolynomial_get_ctx(ptr)); }

Polynomial Polynomial::operator+(const Polynomial &other) const {
  return Polynomial(checked(ctx(), isl_pw_qpolynomial_add(copy(), other.copy())));
}

Polynomial Polynomial::operator-(const Polynomial &other) const {
  return Polynomial(checked(ctx(), isl_pw_qpolynomial_sub(copy(), other.copy())));
}

Polynomial Polynomial::operator*(const Polynomial &other) const {
  return Polynomial(checked(ctx(), isl_pw_qpolynomial_mul(copy(), other.copy())));
}

Polynomial Polynomial::intersectDomain(const isl::set &domain) const {
  return Polynomial(checked(ctx(), isl_pw_qpolynomial_intersect_domain(copy(), domain.copy())));
}

Polynomial Polynomial::gist(const isl::set &context) const {
  return Polynomial(checked(ctx(), isl_pw_qpolynomial_gist(copy(), context.copy())));
}

isl::set Polynomial::domain() const { return isl::manage(checked(ctx(), isl_pw_qpolynomial_domain(copy()))); }

namespace {

bool isAffine(isl_qpolynomial *poly) {
  bool affine = true;
  isl_qpolynomial_foreach_term(
      poly,
      [](isl_term *term, void *user) -> isl_stat {
        int degree = 0;
        for (isl_dim_type type : {isl_dim_param, isl_dim_set, isl_dim_div}) {
          int dims = isl_term_dim(term, type);
          for (int i = 0; i < dims; ++i)
            degree += isl_term_get_exp(term, type, i);
        }
        if (degree > 1)
          *static_cast<bool *>(user) = false;
        isl_term_free(term);
        return isl_stat_ok;
      },
      &affine);
  return affine;
}

/// One piece of a polynomial. The polynomial is owned by hand: isl has no C++ class for it.
struct Piece {
  isl::set where;
  isl_qpolynomial *polynomial;
};

/// Callbacks run inside isl's C code, which exceptions must not cross: this one only stores.
isl_stat storePiece(isl_set *where, isl_qpolynomial *polynomial, void *user) {
  static_cast<std::vector<Piece> *>(user)->push_back({isl::manage(where), polynomial});
  return isl_stat_ok;
}

} // namespace

PossiblyNonZero Polynomial::nonZeroOn(const isl::set &set) const {
  Polynomial here = intersectDomain(set);
  std::vector<Piece> pieces;
  bool stored = isl_pw_qpolynomial_foreach_piece(here.ptr, storePiece, &pieces) == isl_stat_ok;
  std::vector<std::shared_ptr<isl_qpolynomial>> owned;
  for (Piece &piece : pieces)
    owned.emplace_back(piece.polynomial, isl_qpolynomial_free);
  if (!stored)
    throwIslError(ctx());

  // Each convex part by itself: n * m is zero where n = 0 and where m = 0, but no equality holds on both.
  std::vector<Piece> parts;
  for (Piece &piece : pieces)
    piece.where.foreach_basic_set([&](isl::basic_set part) { parts.push_back({isl::set(part), piece.polynomial}); });
  PossiblyNonZero result{isl::set::empty(set.space()), true};
  for (Piece &piece : parts) {
    if (piece.where.is_empty())
      continue;
    // Equalities that hold on the part may turn a product into an affine expression, or into zero.
    std::shared_ptr<isl_qpolynomial> simple(
        checked(ctx(), isl_qpolynomial_gist(isl_qpolynomial_copy(piece.polynomial), piece.where.copy())),
        isl_qpolynomial_free);
    if (isl_qpolynomial_is_zero(simple.get()) == isl_bool_true)
      continue;
    if (!isAffine(simple.get())) {
      result.where = result.where.unite(piece.where);
      result.decided = false;
      continue;
    }
    isl::map value = isl::manage(
        checked(ctx(), isl_map_from_basic_map(isl_basic_map_from_qpolynomial(isl_qpolynomial_copy(simple.get())))));
    value = value.intersect_domain(piece.where);
    isl::map zero = isl::manage(checked(ctx(), isl_map_fix_si(value.copy(), isl_dim_out, 0, 0)));
    result.where = result.where.unite(value.subtract(zero).domain());
  }
  result.where = result.where.coalesce();
  return result;
}

int64_t Polynomial::evaluate(const isl::point &point) const {
  // Restricted to the point, the polynomial has the point's symbols, in an order of its own.
  Polynomial here = intersectDomain(isl::set(point));
  isl::set domain = here.domain();
  if (domain.is_empty())
    return 0;
  isl::val value = isl::manage(checked(ctx(), isl_pw_qpolynomial_eval(here.copy(), domain.sample_point().release())));
  if (!value.is_int())
    throw std::domain_error("a count is not an integer: " + text());
  return value.num_si();
}

std::string Polynomial::text() const {
  char *chars = checked(ctx(), isl_pw_qpolynomial_to_str(ptr));
  std::string result(chars);
  std::free(chars);
  return result;
}

//===----------------------------------------------------------------------===//
// Relations
//===----------------------------------------------------------------------===//

DimBounds imageBounds(const isl::map &relation, unsigned dim) {
  isl::ctx ctx = relation.ctx();
  int position = static_cast<int>(dim);
  return {isl::manage(checked(ctx, isl_map_dim_min(relation.copy(), position))),
          isl::manage(checked(ctx, isl_map_dim_max(relation.copy(), position)))};
}

isl::map boxHull(const isl::map &relation) {
  isl::map box = isl::map::universe(relation.space()).intersect_domain(relation.domain());
  if (relation.range_tuple_dim() == 0)
    return box;
  return box.lower_bound(relation.min_multi_pw_aff()).upper_bound(relation.max_multi_pw_aff());
}

namespace {
isl_stat storeExpression(isl_set *where, isl_aff *expression, void *user) {
  isl_set_free(where);
  static_cast<std::vector<isl_aff *> *>(user)->push_back(expression);
  return isl_stat_ok;
}
} // namespace

std::vector<isl::pw_aff> extendedPieces(const isl::pw_aff &expression) {
  std::vector<isl_aff *> stored;
  isl_stat done = isl_pw_aff_foreach_piece(expression.get(), storeExpression, &stored);
  std::vector<isl::pw_aff> result;
  for (isl_aff *piece : stored)
    result.push_back(isl::pw_aff(isl::manage(piece)));
  if (done != isl_stat_ok)
    throwIslError(expression.ctx());
  return result;
}

isl::map lexBefore(const isl::space &timestamps) {
  return isl::manage(checked(timestamps.ctx(), isl_map_lex_lt(timestamps.copy())));
}

isl::map orderedPairs(const isl::map &first, const isl::map &second) {
  return first.apply_range(lexBefore(first.range().space())).apply_range(second.reverse());
}

int64_t coordinate(const isl::point &point, unsigned dim) {
  return isl::manage(
             checked(point.ctx(), isl_point_get_coordinate_val(point.get(), isl_dim_set, static_cast<int>(dim))))
      .num_si();
}

namespace {
int parameterPosition(isl_space *taken, const std::string &name) {
  int position = isl_space_find_dim_by_name(taken, isl_dim_param, name.c_str());
  isl_space_free(taken);
  return position;
}
} // namespace

int64_t parameter(const isl::point &point, const std::string &name) {
  int position = parameterPosition(isl_point_get_space(point.get()), name);
  if (position < 0)
    throw std::logic_error("the point has no symbol " + name);
  return isl::manage(checked(point.ctx(), isl_point_get_coordinate_val(point.get(), isl_dim_param, position))).num_si();
}

isl::set fixParameter(const isl::set &set, const std::string &name, int64_t value) {
  int position = parameterPosition(isl_set_get_space(set.get()), name);
  if (position < 0)
    return set;
  isl_val *number = isl_val_int_from_si(set.ctx().get(), static_cast<long>(value));
  return isl::manage(
      checked(set.ctx(), isl_set_fix_val(set.copy(), isl_dim_param, static_cast<unsigned>(position), number)));
}

isl::map fixParameter(const isl::map &map, const std::string &name, int64_t value) {
  int position = parameterPosition(isl_map_get_space(map.get()), name);
  if (position < 0)
    return map;
  isl_val *number = isl_val_int_from_si(map.ctx().get(), static_cast<long>(value));
  return isl::manage(
      checked(map.ctx(), isl_map_fix_val(map.copy(), isl_dim_param, static_cast<unsigned>(position), number)));
}

} // namespace evt
