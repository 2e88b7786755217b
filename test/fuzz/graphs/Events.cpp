// Events made by hand: which tasks of a producer a task depends on follows from the offsets of their tiles alone.
//
// A producer's tile i covers [a i + b, a i + b + T) of a dimension, a consumer's [o, o + S). They meet for
//
//   floor((o - b - T) / a) + 1  <=  i  <=  floor((o + S - 1 - b) / a)
//
// a range of elements of an event with one element for each i. Where the event has one element for g consecutive i,
// both ends are divided by g once more; where it has one for all i, nothing is left to say and the count is larger.
#include "Generator.h"

#include <algorithm>

namespace evt::fuzz {

namespace {

/// The producer's tasks with lower <= coordinate <= last; all without them.
struct Needed {
  bool whole = true;
  Expr lower, last;
};

/// (a i + c) floordiv a is i + c floordiv a.
Expr simplified(Expr e) {
  auto divides = [&](int factor) { return factor % e.divisor == 0; };
  if (!std::all_of(e.variables.begin(), e.variables.end(), divides) ||
      !std::all_of(e.symbols.begin(), e.symbols.end(), divides))
    return e;
  for (int &f : e.variables)
    f /= e.divisor;
  for (int &f : e.symbols)
    f /= e.divisor;
  e.constant = static_cast<int>(floorDiv(e.constant, e.divisor));
  e.divisor = 1;
  return e;
}

bool isConstant(const Expr &e) {
  auto zero = [](int f) { return f == 0; };
  return std::all_of(e.variables.begin(), e.variables.end(), zero) &&
         std::all_of(e.symbols.begin(), e.symbols.end(), zero) && !e.modulus;
}

class EventMaker {
public:
  EventMaker(Model &model, Random &random) : model(model), random(random) {}

  void run() {
    for (size_t p = 0; p < model.calls.size(); ++p) {
      std::vector<int> own; // this producer's events
      for (size_t c = 0; c < model.calls.size(); ++c)
        for (const std::vector<Needed> &needed : conflicts(p, c)) {
          if (own.empty() || (own.size() < 2 && chance(random, 20)))
            own.push_back(addEvent(p));
          EventUse wait = waitFor(p, c, own[random() % own.size()], needed);
          std::vector<EventUse> &waits = model.calls[c].waits;
          if (std::find(waits.begin(), waits.end(), wait) == waits.end())
            waits.push_back(wait);
        }
    }
    for (Call &call : model.calls)
      std::shuffle(call.waits.begin(), call.waits.end(), random);
  }

private:
  enum class Form { Keep, Group, Drop };
  struct Shape {
    std::vector<Form> forms; // of the producer's coordinates
    int group = 1;
  };

  Call &call(size_t i) { return model.calls[i]; }

  std::vector<std::vector<Needed>> conflicts(size_t p, size_t c) {
    std::vector<std::vector<Needed>> all;
    auto add = [&](const Access &x, bool xWrites, const Access &y, bool yWrites) {
      if (x.memory != y.memory || !(xWrites || yWrites))
        return;
      if (auto needed = neededTasks(p, x, xWrites, c, y))
        all.push_back(*needed);
    };
    for (auto [xs, xWrites] : {std::pair{&call(p).reads, false}, {&call(p).writes, true}})
      for (auto [ys, yWrites] : {std::pair{&call(c).reads, false}, {&call(c).writes, true}})
        for (const Access &x : *xs)
          for (const Access &y : *ys)
            add(x, xWrites, y, yWrites);
    return all;
  }

  /// The tasks of `p`, by coordinate, whose access x meets access y of a task of `c` and that come before that task.
  std::optional<std::vector<Needed>> neededTasks(size_t p, const Access &x, bool xWrites, size_t c, const Access &y) {
    std::vector<Needed> needed(static_cast<size_t>(model.coordCount(call(p))));
    for (size_t d = 0; d < x.offset.size(); ++d) {
      const Expr &from = x.offset[d], &to = y.offset[d];
      int coord = from.onlyVariable();
      if (coord >= 0 && !to.modulus) {
        Needed &n = needed[static_cast<size_t>(coord)];
        int a = from.variables[static_cast<size_t>(coord)];
        if (!n.whole)
          continue;
        n.whole = false;
        n.lower = n.last = to;
        n.lower.divisor = n.last.divisor = a;
        n.lower.constant += a - from.constant - x.tile[d];
        n.last.constant += y.tile[d] - 1 - from.constant;
        n.lower = simplified(n.lower);
        n.last = simplified(n.last);
      } else if (isConstant(from) && isConstant(to) &&
                 (from.constant + x.tile[d] <= to.constant || to.constant + y.tile[d] <= from.constant)) {
        return std::nullopt;
      }
    }
    bool sameRepeat = call(p).inRepeat && call(c).inRepeat, self = p == c && call(p).carried;
    if (!sameRepeat && !self)
      return p < c ? std::optional(fromOutside(p, needed, xWrites)) : std::nullopt;
    Needed &step = needed[0];
    if (!step.whole) { // both tiles move with the steps: they meet at one distance
      int distance = step.lower.constant;
      if (distance > 0 || (distance == 0 && p >= c))
        return std::nullopt;
      return needed;
    }
    // Earlier steps than these come before them in turn: whoever writes an element has waited for all who touched it.
    step.whole = false;
    step.lower = step.last = variableExpr(0, 1, p < c ? 0 : -1);
    return needed;
  }

  /// A later call depends on all steps. Where each step waits for the one before, the last one is enough.
  std::vector<Needed> fromOutside(size_t p, std::vector<Needed> needed, bool xWrites) {
    if (!model.isSequential(call(p)) || !needed[0].whole || !xWrites || chance(random, 30))
      return needed;
    Size steps = model.extent(call(p), 0);
    Expr last = constantExpr(-1);
    if (steps.isConstant()) {
      last.constant += steps.plus;
    } else {
      last.symbols.assign(model.symbols.size(), 0);
      last.symbols[static_cast<size_t>(steps.symbol)] = 1;
    }
    needed[0] = {false, last, last};
    return needed;
  }

  /// A count is the smallest of some affine expressions, so only one coordinate may contribute a factor that varies.
  Form randomForm(const Size &extent, bool isStep, bool varies) {
    if (isStep || chance(random, 55))
      return Form::Keep;
    Form form = chance(random, 50) ? Form::Group : Form::Drop;
    bool needsVarying = form == Form::Group || !extent.isConstant();
    return needsVarying && (varies || extent.divisor != 1) ? Form::Keep : form;
  }

  int addEvent(size_t p) {
    Shape shape;
    Event event;
    event.name = "e" + std::to_string(model.events.size());
    EventUse notify{static_cast<int>(model.events.size()), {}};
    int count = 1;                    // the constant factor of the count
    std::optional<Size> varying;      // the one coordinate whose factor is no constant
    std::optional<size_t> groupedDim; // the event's dimension that counts groups of it; none: it is dropped
    for (int k = 0; k < model.coordCount(call(p)); ++k) {
      Size extent = model.extent(call(p), k);
      Form form = randomForm(extent, k == 0 && model.isSequential(call(p)), varying.has_value());
      shape.forms.push_back(form);
      if (form == Form::Drop) {
        if (extent.isConstant())
          count *= extent.plus;
        else
          varying = extent;
        continue;
      }
      Expr at = variableExpr(k);
      if (form == Form::Group) {
        varying = extent;
        groupedDim = event.dims.size();
        shape.group = at.divisor = pick(random, 2, 4);
        event.dims.push_back(extent.isConstant() ? constantSize((extent.plus + shape.group - 1) / shape.group)
                                                 : Size{extent.symbol, extent.factor, extent.plus, shape.group});
      } else {
        event.dims.push_back(extent);
      }
      notify.spans.push_back({at, std::nullopt, false});
    }
    if (!varying) {
      event.count.push_back(constantExpr(count));
    } else {
      // The extent, or for a group what is left of the extent at its beginning, times the constant factor.
      Expr left = constantExpr(count * varying->plus);
      if (!varying->isConstant()) {
        left.symbols.assign(model.symbols.size(), 0);
        left.symbols[static_cast<size_t>(varying->symbol)] = count * varying->factor;
      }
      if (groupedDim) {
        left.variables.assign(*groupedDim + 1, 0);
        left.variables.back() = -count * shape.group;
        event.count.push_back(constantExpr(count * shape.group));
      }
      event.count.push_back(left);
    }
    model.events.push_back(event);
    shapes.push_back(shape);
    call(p).notifies.push_back(notify);
    return notify.event;
  }

  EventUse waitFor(size_t p, size_t c, int event, const std::vector<Needed> &needed) {
    const Shape &shape = shapes[static_cast<size_t>(event)];
    EventUse wait{event, {}};
    for (size_t k = 0; k < needed.size(); ++k) {
      if (shape.forms[k] == Form::Drop)
        continue;
      bool isStep = k == 0 && model.isSequential(call(p));
      if (needed[k].whole || (!isStep && chance(random, 10))) {
        wait.spans.push_back({{}, std::nullopt, true});
        continue;
      }
      Expr lower = needed[k].lower, last = needed[k].last;
      if (shape.forms[k] == Form::Group) {
        lower.divisor *= shape.group;
        last.divisor *= shape.group;
      }
      lower = simplified(lower);
      last = simplified(last);
      Expr upper = last;
      upper.constant += last.divisor;
      int coord = lower.onlyVariable();
      bool isCoordinate =
          coord >= 0 && lower == last && lower == variableExpr(coord) &&
          model.extent(call(c), coord) == model.events[static_cast<size_t>(event)].dims[wait.spans.size()];
      wait.spans.push_back({lower, isCoordinate ? std::nullopt : std::optional(upper), false});
    }
    return wait;
  }

  Model &model;
  Random &random;
  std::vector<Shape> shapes; // one per event
};

} // namespace

void addEvents(Model &model, Random &random) { EventMaker(model, random).run(); }

} // namespace evt::fuzz
