#include "Routing.h"

namespace evt::fuzz {

// The tables, computed the plain way.
struct RoutingSubject::Plan {
  int64_t n = 0;
  std::vector<int64_t> groupOf, slotOf;        // of each token
  std::vector<int64_t> tokensOf, start, tiles; // of each group; start has one more
  std::vector<int64_t> tokenOf;                // of each place, -1: nobody
};

RoutingSubject::RoutingSubject(Random &random, RoutingMistake mistake)
    : groups(1 << pick(random, 0, 3)), rows(1 << pick(random, 0, 2)), tokensPerTask(pick(random, 1, 4)),
      columns(pick(random, 1, 3)), mistake(mistake) {}

RoutingSubject::Plan RoutingSubject::plan(const Tensor &x) const {
  Plan p;
  p.n = static_cast<int64_t>(x.size());
  p.tokensOf.assign(static_cast<size_t>(groups), 0);
  for (int32_t v : x) {
    p.groupOf.push_back(v & (groups - 1));
    ++p.tokensOf[static_cast<size_t>(p.groupOf.back())];
  }
  p.start = {0};
  for (int64_t tokens : p.tokensOf) {
    p.tiles.push_back((tokens + rows - 1) / rows);
    p.start.push_back(p.start.back() + p.tiles.back() * rows);
  }
  p.tokenOf.assign(static_cast<size_t>((p.n + groups * (rows - 1)) / rows * rows), -1);
  std::vector<int64_t> next = p.start;
  for (int64_t t = 0; t < p.n; ++t) {
    p.slotOf.push_back(next[static_cast<size_t>(p.groupOf[static_cast<size_t>(t)])]++);
    p.tokenOf[static_cast<size_t>(p.slotOf.back())] = t;
  }
  return p;
}

Values RoutingSubject::randomValues(Random &random, int largest) const {
  return {chance(random, 10) ? 0 : pick(random, 0, std::min(3 * largest, mostTokens))};
}

std::vector<Argument> RoutingSubject::arguments(const Values &values, Random &random) const {
  std::vector<Argument> arguments(2);
  bool lopsided = chance(random, 30); // most groups stay empty
  int32_t favourite = static_cast<int32_t>(random());
  for (Argument &a : arguments) {
    a.dims = {values[0]};
    for (int64_t t = 0; t < values[0]; ++t)
      a.data.push_back(lopsided && chance(random, 80) ? favourite : static_cast<int32_t>(random()));
  }
  return arguments;
}

std::vector<Argument> RoutingSubject::expected(const Values &, const std::vector<Argument> &arguments) const {
  Plan p = plan(arguments[0].data);
  std::vector<uint32_t> y(p.tokenOf.size(), 0);
  for (size_t e = 0; e < p.tiles.size(); ++e)
    for (int64_t s = p.start[e]; s < p.start[e + 1]; ++s) {
      int64_t token = p.tokenOf[static_cast<size_t>(s)];
      uint32_t value = token < 0 ? 0 : static_cast<uint32_t>(arguments[0].data[static_cast<size_t>(token)]) * 3 + 7;
      for (int j = 0; j < columns; ++j)
        y[static_cast<size_t>(s)] +=
            (value * static_cast<uint32_t>(2 * j + 5) + static_cast<uint32_t>(e)) * static_cast<uint32_t>(2 * j + 1);
    }
  std::vector<Argument> result = arguments;
  for (size_t t = 0; t < p.slotOf.size(); ++t)
    result[1].data[t] = static_cast<int32_t>(y[static_cast<size_t>(p.slotOf[t])] * 11 + static_cast<uint32_t>(t));
  return result;
}

namespace {

enum MemoryNumber { X, Out, GroupOf, TokensOf, Indptr, HasTile, SlotOf, TokenOf, Value, H, Y };
enum EventNumber { Planned, Arrived, Activated, Done };

Box box(int memory, std::vector<int64_t> lower, std::vector<int64_t> upper, bool write, size_t afterWaits = SIZE_MAX) {
  return {memory, std::move(lower), std::move(upper), write, afterWaits};
}

} // namespace

Enumeration RoutingSubject::enumerate(const Values &values, const std::vector<Argument> &arguments) const {
  using M = RoutingMistake;
  Plan p = plan(arguments[0].data);
  Enumeration program;
  int64_t n = values[0], slots = static_cast<int64_t>(p.tokenOf.size()), most = (n + rows - 1) / rows;
  program.counts[{Planned, {}}] = 1;
  for (int64_t e = 0; e < groups; ++e) {
    program.counts[{Arrived, {e}}] = p.tokensOf[static_cast<size_t>(e)];
    for (int64_t r = 0; r < most; ++r)
      program.counts[{Activated, {e, r}}] =
          r < p.tiles[static_cast<size_t>(e)] ? columns + (mistake == M::UpCountLarger) : 0;
  }
  for (int64_t t = 0; t < n; ++t)
    program.counts[{Done, {t}}] = 1 + (mistake == M::DoneCountLarger);

  Task plan{"plan", {}, {}, {}};
  auto writes = [&](int memory, std::vector<int64_t> shape) {
    for (int64_t s : shape)
      if (s == 0)
        return;
    plan.boxes.push_back(box(memory, std::vector<int64_t>(shape.size(), 0), shape, true));
  };
  writes(GroupOf, {n});
  writes(TokensOf, {groups});
  writes(Indptr, {groups + 1});
  writes(HasTile, {groups, most});
  writes(SlotOf, {n});
  writes(TokenOf, {slots});
  if (mistake != M::PlanDoesNotNotify)
    plan.notifies.push_back({Planned, {}});
  program.tasks.push_back(plan);

  const std::vector<Element> planned{{Planned, {}}};
  for (int64_t first = 0; first < n; first += tokensPerTask) {
    int64_t end = std::min(first + tokensPerTask, n);
    Task task{"produce(" + std::to_string(first / tokensPerTask) + ")", {}, {}, {}};
    if (mistake != M::ProduceDoesNotWait)
      task.waits.push_back(planned);
    task.boxes.push_back(box(Value, {first}, {end}, true));
    for (int64_t t = first; t < end - (mistake == M::ProduceSkipsLast); ++t) {
      task.boxes.push_back(box(GroupOf, {t}, {t + 1}, false));
      task.notifies.push_back(
          {Arrived, {p.groupOf[static_cast<size_t>(t)] + (mistake == M::ProduceNotifiesNextGroup)}});
    }
    program.tasks.push_back(task);
  }

  auto forTiles = [&](auto visit) {
    for (int64_t e = 0; e < groups; ++e)
      for (int64_t r = 0; r < p.tiles[static_cast<size_t>(e)]; ++r)
        visit(e, r, p.start[static_cast<size_t>(e)] + r * rows);
  };
  auto tokensIn = [&](int64_t first) {
    std::vector<int64_t> tokens;
    for (int64_t s = first; s < first + rows; ++s)
      if (p.tokenOf[static_cast<size_t>(s)] >= 0)
        tokens.push_back(p.tokenOf[static_cast<size_t>(s)]);
    return tokens;
  };
  forTiles([&](int64_t e, int64_t r, int64_t row) {
    for (int64_t j = 0; j < columns; ++j) {
      Task task{
          "up(" + std::to_string(e) + ", " + std::to_string(r) + ", " + std::to_string(j) + ")", {planned}, {}, {}};
      if (mistake != M::UpDoesNotWait)
        task.waits.push_back({{Arrived, {e}}});
      task.boxes.push_back(box(TokenOf, {row}, {row + rows}, false));
      for (int64_t t : tokensIn(row))
        task.boxes.push_back(box(Value, {t}, {t + 1}, false));
      task.boxes.push_back(box(H, {row, j}, {row + rows, j + 1}, true));
      if (mistake != M::UpDoesNotNotify)
        task.notifies.push_back({Activated, {e, r}});
      program.tasks.push_back(task);
    }
  });
  forTiles([&](int64_t e, int64_t r, int64_t row) {
    Task task{"down(" + std::to_string(e) + ", " + std::to_string(r) + ")", {planned}, {}, {}};
    if (mistake != M::DownDoesNotWait)
      task.waits.push_back({{Activated, {e, r}}});
    task.boxes.push_back(box(H, {row, 0}, {row + rows, columns}, false));
    task.boxes.push_back(box(Y, {row}, {row + rows}, true));
    std::vector<int64_t> tokens = tokensIn(row);
    if (mistake == M::DownSkipsLast)
      tokens.pop_back();
    for (int64_t t : tokens)
      task.notifies.push_back({Done, {mistake == M::DownNotifiesFirstToken ? tokens[0] : t}});
    program.tasks.push_back(task);
  });
  for (int64_t t = 0; t < n; ++t) {
    Task task{"combine(" + std::to_string(t) + ")", {planned}, {}, {}};
    int64_t waited = t + (mistake == M::CombineWaitsForNext);
    if (mistake != M::CombineDoesNotWait && waited < n)
      task.waits.push_back({{Done, {waited}}});
    int64_t slot = p.slotOf[static_cast<size_t>(t)];
    task.boxes.push_back(box(SlotOf, {t}, {t + 1}, false));
    task.boxes.push_back(box(Y, {slot}, {slot + 1}, false));
    task.boxes.push_back(box(Out, {t}, {t + 1}, true));
    program.tasks.push_back(task);
  }
  return program;
}

} // namespace evt::fuzz
