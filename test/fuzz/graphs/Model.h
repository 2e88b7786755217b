// A random program as plain numbers: what the generator makes, and what everything else here starts from.
//
// The same model is written out as a program (ProgramText.h), evaluated task by task in program order (Reference.h) and
// enumerated for the judge (Judge.h). None of the three goes through the compiler, so none can share its mistakes.
//
// A task computes one number from everything it reads and from its own coordinates, in 32-bit integers that wrap:
//
//   h = salt + Σ coordinate[k] * (2 k + 3)
//   for each read, in order:   h = h * 31 + Σ tile[x, y, …] * weight(x, y, …)      weight = 1 + 2 (x + 3 y + 5 z)
//   for each write:            tile[x, y, …] = h + 7 (x + 3 y + 5 z)
//
// so a tile read in another state than program order gives changes whatever is computed from it later.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace evt::fuzz {

using Values = std::vector<int64_t>; // one per symbol

int64_t floorDiv(int64_t a, int64_t b);

/// ceildiv(factor * symbol + plus, divisor); `plus` alone without a symbol. Never negative.
struct Size {
  int symbol = -1;
  int factor = 1, plus = 0, divisor = 1;

  int64_t at(const Values &symbols) const;
  bool isConstant() const { return symbol < 0; }
  bool isSymbol() const { return symbol >= 0 && factor == 1 && plus == 0 && divisor == 1; }
  bool operator==(const Size &) const = default;
};
inline Size constantSize(int n) { return {-1, 1, n, 1}; }

/// floordiv(Σ terms, divisor), then mod `modulus` unless that is 0. Variables are the task's coordinates (of a count:
/// the element's), iteration first.
struct Expr {
  std::vector<int> variables; // factors, may be shorter than the number of variables
  std::vector<int> symbols;
  int constant = 0;
  int divisor = 1;
  int modulus = 0;

  int64_t at(const std::vector<int64_t> &variable, const Values &symbol) const;
  /// The variable of an expression `a * v + b`, or -1.
  int onlyVariable() const;
  bool operator==(const Expr &) const = default;
};
Expr constantExpr(int c);
Expr variableExpr(int variable, int factor = 1, int plus = 0);

struct Memory {
  enum Role { Input, Output, Buffer } role; // an immutable argument, an argument that is read and written, an evt.alloc
  std::string name;
  std::vector<Size> dims;
};

/// A box of a memory: outside it reads give 0 and writes are dropped.
struct Access {
  int memory = -1;
  std::vector<Expr> offset;
  std::vector<int> tile;
  bool operator==(const Access &) const = default;
};

/// One dimension of a wait or notify: a single element (no `upper`), a half-open range, or the whole dimension.
struct Span {
  Expr lower;
  std::optional<Expr> upper;
  bool whole = false;
  bool operator==(const Span &) const = default;
};

struct EventUse {
  int event = -1;
  std::vector<Span> spans;
  bool operator==(const EventUse &) const = default;
};

struct Event {
  std::string name;
  std::vector<Size> dims;
  std::vector<Expr> count; // the smallest of these, over the element's coordinates
};

struct Call {
  std::string name;
  std::vector<Size> grid;
  bool inRepeat = false;
  bool carried = false; // the grid's first coordinate is a step: tasks depend on earlier steps of their own call
  std::vector<Access> reads, writes;
  std::vector<EventUse> waits, notifies;
  int salt = 0;
};

struct Model {
  std::vector<std::string> symbols;
  std::vector<Memory> memories;
  std::vector<Event> events;
  std::vector<Call> calls; // those of the repeat are consecutive
  Size repeat;             // its extent, where a call is in it
  bool shorthand = false;  // waits and notifies are written as maps where that is possible

  int coordCount(const Call &call) const { return static_cast<int>(call.grid.size()) + (call.inRepeat ? 1 : 0); }
  Size extent(const Call &call, int coord) const;
  /// Whether the first coordinate orders tasks of the call among themselves: an iteration or a step.
  bool isSequential(const Call &call) const { return call.inRepeat || call.carried; }
  /// Whether a symbol is a dimension of an argument; if not it is an index argument.
  bool isDimension(int symbol) const;
};

/// Calls visit(call, coordinates) for every task in program order.
template <typename Visit> void forEachTask(const Model &model, const Values &symbols, Visit visit);

/// Calls visit(indices) for all points of a box of the given extents, row-major.
template <typename Visit> void forEachPoint(const std::vector<int64_t> &extents, Visit visit) {
  for (int64_t e : extents)
    if (e <= 0)
      return;
  std::vector<int64_t> point(extents.size(), 0);
  while (true) {
    visit(static_cast<const std::vector<int64_t> &>(point));
    size_t d = extents.size();
    while (d > 0 && ++point[d - 1] == extents[d - 1])
      point[--d] = 0;
    if (d == 0)
      return;
  }
}

template <typename Visit> void forEachTask(const Model &model, const Values &symbols, Visit visit) {
  auto run = [&](size_t c, std::optional<int64_t> iteration) {
    const Call &call = model.calls[c];
    std::vector<int64_t> extents;
    for (const Size &s : call.grid)
      extents.push_back(s.at(symbols));
    forEachPoint(extents, [&](const std::vector<int64_t> &point) {
      std::vector<int64_t> coords = point;
      if (iteration)
        coords.insert(coords.begin(), *iteration);
      visit(static_cast<int>(c), coords);
    });
  };
  for (size_t c = 0; c < model.calls.size();) {
    if (!model.calls[c].inRepeat) {
      run(c++, std::nullopt);
      continue;
    }
    size_t end = c;
    while (end < model.calls.size() && model.calls[end].inRepeat)
      ++end;
    for (int64_t l = 0; l < model.repeat.at(symbols); ++l)
      for (size_t k = c; k < end; ++k)
        run(k, l);
    c = end;
  }
}

} // namespace evt::fuzz
