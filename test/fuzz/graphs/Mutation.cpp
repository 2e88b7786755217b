#include "Mutation.h"

namespace evt::fuzz {

namespace {

class Mutator {
public:
  Mutator(Model &model, Random &random) : model(model), random(random) {
    for (Call &call : model.calls) {
      for (size_t i = 0; i < call.waits.size(); ++i)
        waits.push_back({&call, i});
      for (size_t i = 0; i < call.notifies.size(); ++i)
        notifies.push_back({&call, i});
    }
  }

  std::optional<std::string> run() {
    if (waits.empty() || notifies.empty())
      return std::nullopt;
    switch (pick(random, 0, 6)) {
    case 0:
      return drop(any(notifies), false);
    case 1:
      return drop(any(waits), true);
    case 2:
      return countOffByOne();
    case 3:
      return shift();
    case 4:
      return permute();
    case 5:
      return narrow();
    default:
      return regroup();
    }
  }

private:
  struct Place {
    Call *call;
    size_t index;
  };
  using Answer = std::optional<std::string>;

  Place any(const std::vector<Place> &places) { return places[random() % places.size()]; }
  std::string eventName(int event) const { return model.events[static_cast<size_t>(event)].name; }

  Answer drop(Place place, bool wait) {
    auto &list = wait ? place.call->waits : place.call->notifies;
    std::string what = std::string("dropped ") + (wait ? "wait for " : "notify of ") +
                       eventName(list[place.index].event) + " in " + place.call->name;
    list.erase(list.begin() + static_cast<std::ptrdiff_t>(place.index));
    return what;
  }

  Answer countOffByOne() {
    Event &event = model.events[random() % model.events.size()];
    int by = chance(random, 50) ? 1 : -1;
    for (Expr &term : event.count)
      term.constant += by;
    // A constant below 0 cannot be written; 0 can.
    for (const Expr &term : event.count)
      if (term.onlyVariable() < 0 && term.symbols.empty() && term.constant < 0)
        return std::nullopt;
    return "count of " + event.name + (by > 0 ? " one larger" : " one smaller");
  }

  /// A span of a wait or notify, or null.
  Span *anySpan(std::string &where) {
    bool wait = chance(random, 60);
    Place place = any(wait ? waits : notifies);
    EventUse &use = (wait ? place.call->waits : place.call->notifies)[place.index];
    where = (wait ? "wait for " : "notify of ") + eventName(use.event) + " in " + place.call->name;
    if (use.spans.empty())
      return nullptr;
    Span &span = use.spans[random() % use.spans.size()];
    return span.whole ? nullptr : &span;
  }

  Answer shift() {
    std::string where;
    Span *span = anySpan(where);
    if (!span)
      return std::nullopt;
    int by = chance(random, 50) ? 1 : -1;
    span->lower.constant += by * span->lower.divisor;
    if (span->upper)
      span->upper->constant += by * span->upper->divisor;
    return "index shifted by " + std::to_string(by) + " in " + where;
  }

  Answer permute() {
    bool wait = chance(random, 50);
    Place place = any(wait ? waits : notifies);
    EventUse &use = (wait ? place.call->waits : place.call->notifies)[place.index];
    if (use.spans.size() < 2)
      return std::nullopt;
    size_t a = random() % use.spans.size(), b = random() % use.spans.size();
    if (use.spans[a] == use.spans[b])
      return std::nullopt;
    std::swap(use.spans[a], use.spans[b]);
    return std::string("indices swapped in ") + (wait ? "wait for " : "notify of ") + eventName(use.event) + " in " +
           place.call->name;
  }

  /// ceildiv(a, b) = floordiv(a + b - 1, b)
  Expr sizeExpr(const Size &size) const {
    Expr e = constantExpr(size.plus);
    if (size.isConstant())
      return e;
    e.symbols.assign(model.symbols.size(), 0);
    e.symbols[static_cast<size_t>(size.symbol)] = size.factor;
    e.constant += size.divisor - 1;
    e.divisor = size.divisor;
    return e;
  }

  Answer narrow() {
    Place place = any(waits);
    EventUse &use = place.call->waits[place.index];
    for (size_t d = 0; d < use.spans.size(); ++d) {
      Span &span = use.spans[d];
      if (span.whole) {
        span = {constantExpr(1), sizeExpr(model.events[static_cast<size_t>(use.event)].dims[d]), false};
        return "range without its first element in wait for " + eventName(use.event) + " in " + place.call->name;
      }
      if (!span.upper)
        continue;
      bool low = chance(random, 50);
      Expr &end = low ? span.lower : *span.upper;
      end.constant += (low ? 1 : -1) * end.divisor;
      return std::string("range one shorter at its ") + (low ? "start" : "end") + " in wait for " +
             eventName(use.event) + " in " + place.call->name;
    }
    return std::nullopt;
  }

  Answer regroup() {
    for (size_t tries = 0; tries < 8; ++tries) {
      Place place = any(notifies);
      EventUse &use = place.call->notifies[place.index];
      for (Span &span : use.spans)
        if (span.lower.divisor > 1) {
          span.lower.divisor += chance(random, 50) ? 1 : -1;
          return "groups of " + std::to_string(span.lower.divisor) + " in notify of " + eventName(use.event);
        }
    }
    return std::nullopt;
  }

  Model &model;
  Random &random;
  std::vector<Place> waits, notifies;
};

} // namespace

std::optional<std::string> mutate(Model &model, Random &random) { return Mutator(model, random).run(); }

} // namespace evt::fuzz
