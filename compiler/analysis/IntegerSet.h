// Integer sets and relations, as the analysis uses them: isl behind one header.
//
// A *set* is { C2[i, j] : constraints }, a *relation* { C2[i, j] -> M3[a, b] : constraints }: integer points described
// by affine (in)equalities with integer division, over *parameters* (the program's symbols: shapes known at run time).
// isl's own RAII classes (isl::set, isl::map, isl::pw_aff, …) are used as they are. This header adds what they lack:
//
//   ContextOwner  owns the isl_ctx that every isl object of one analysis lives in
//   Polynomial    a quasi-polynomial by pieces (isl_pw_qpolynomial has no C++ class): counts such as n * m
//   OperationLimit  bounds the work isl does while it is alive; over the limit isl throws isl::exception_quota
//   checked()     takes the result of a C function of isl and throws if it failed
//
// isl objects throw isl::exception on failure, so files that include this header must be compiled with exceptions.
#ifndef EVT_COMPILER_ANALYSIS_INTEGERSET_H
#define EVT_COMPILER_ANALYSIS_INTEGERSET_H

#include <isl/aff.h>
#include <isl/ctx.h>
#include <isl/map.h>
#include <isl/options.h>
#include <isl/point.h>
#include <isl/polynomial.h>
#include <isl/set.h>
#include <isl/space.h>
#include <isl/union_map.h>
#include <isl/val.h>

#include <isl/cpp.h>

#if !ISL_USE_EXCEPTIONS
#error "compile with -fexceptions: the isl classes abort on errors otherwise"
#endif

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace evt {

/// Owns an isl_ctx. Declare it before every member that holds isl objects, so that it is destroyed after them.
class ContextOwner {
public:
  ContextOwner();
  isl::ctx get() const { return isl::ctx(owned.get()); }

private:
  std::shared_ptr<isl_ctx> owned;
};

/// Throws the isl_ctx's pending error (isl::exception_quota when an OperationLimit was reached).
[[noreturn]] void throwIslError(isl::ctx ctx);

/// The result of a C function of isl, or the exception that its failure means.
template <typename T> T *checked(isl::ctx ctx, T *result) {
  if (!result)
    throwIslError(ctx);
  return result;
}

/// While alive, isl may do at most `operations` elementary operations; then it throws isl::exception_quota. Nested
/// limits are not supported. Whoever catches the exception must treat the question as unanswered.
class OperationLimit {
public:
  OperationLimit(isl::ctx ctx, unsigned long operations);
  ~OperationLimit();
  OperationLimit(const OperationLimit &) = delete;
  OperationLimit &operator=(const OperationLimit &) = delete;

private:
  isl::ctx ctx;
};

/// The relation of a text. It counts for no limit: one that is reached inside isl's parser looks like a wrong text.
isl::map mapOf(isl::ctx ctx, const std::string &text);

/// The points where a polynomial is not zero. If `decided` is false, some pieces are products of symbols that isl
/// cannot decide point by point: `where` then holds the whole of them. An empty `where` always means zero everywhere.
struct PossiblyNonZero {
  isl::set where;
  bool decided = true;
};

/// A piecewise quasi-polynomial with rational coefficients over a set: { E0[e] -> 4 * n : 0 <= e < n }. Outside its
/// pieces it is zero, which is what a count of notifications outside the notified elements is.
class Polynomial {
public:
  Polynomial() = default;
  explicit Polynomial(isl_pw_qpolynomial *taken) : ptr(taken) {}
  Polynomial(isl::ctx ctx, const std::string &text);
  Polynomial(const Polynomial &other);
  Polynomial(Polynomial &&other) noexcept : ptr(std::exchange(other.ptr, nullptr)) {}
  Polynomial &operator=(Polynomial other) noexcept {
    std::swap(ptr, other.ptr);
    return *this;
  }
  ~Polynomial();

  static Polynomial constant(const isl::set &domain, int64_t value);
  static Polynomial fromAffine(const isl::pw_aff &affine);

  Polynomial operator+(const Polynomial &other) const;
  Polynomial operator-(const Polynomial &other) const;
  Polynomial operator*(const Polynomial &other) const;
  Polynomial intersectDomain(const isl::set &domain) const;
  Polynomial gist(const isl::set &context) const;

  isl::ctx ctx() const;
  /// The union of the pieces (zero outside; a piece may itself be zero).
  isl::set domain() const;
  /// Where on `set` it may differ from zero.
  PossiblyNonZero nonZeroOn(const isl::set &set) const;
  /// The value at one point, whose space carries values for all parameters.
  int64_t evaluate(const isl::point &point) const;
  std::string text() const;

  isl_pw_qpolynomial *get() const { return ptr; }
  isl_pw_qpolynomial *copy() const { return isl_pw_qpolynomial_copy(ptr); }
  bool isNull() const { return ptr == nullptr; }

private:
  isl_pw_qpolynomial *ptr = nullptr;
};

/// Bounds of one coordinate of a relation's images: { C2[i] -> lo(i) } and { C2[i] -> hi(i) }, inclusive, defined where
/// the image is not empty.
struct DimBounds {
  isl::pw_aff lo, hi;
};
DimBounds imageBounds(const isl::map &relation, unsigned dim);
/// The relation whose image of each point is the box of `relation`'s image there.
isl::map boxHull(const isl::map &relation);

/// The expressions of the pieces of a piecewise expression, each now defined everywhere.
std::vector<isl::pw_aff> extendedPieces(const isl::pw_aff &expression);

/// { a -> b : a lexicographically before b } over a space of timestamps.
isl::map lexBefore(const isl::space &timestamps);
/// { a -> b : a in first's domain, b in second's, first(a) lexicographically before second(b) }.
isl::map orderedPairs(const isl::map &first, const isl::map &second);

/// The value of coordinate `dim` of a point, or of parameter `name` (which the point's space must have).
int64_t coordinate(const isl::point &point, unsigned dim);
int64_t parameter(const isl::point &point, const std::string &name);

isl::set fixParameter(const isl::set &set, const std::string &name, int64_t value);
isl::map fixParameter(const isl::map &map, const std::string &name, int64_t value);

} // namespace evt

#endif
