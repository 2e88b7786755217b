#include "compiler/analysis/TestPrograms.h"

#include <stdexcept>

namespace evt::test {

namespace {

constexpr int64_t large = int64_t{1} << 30;

/// The index after the letter of a tuple name: 3 for M3.
int tupleIndex(const isl::map &relation) { return std::stoi(relation.range_tuple_id().name().substr(1)); }

} // namespace

GraphText::GraphText() { graph.context = set("{ : }"); }

std::string GraphText::withSymbols(const std::string &text) const {
  std::string names;
  for (const Symbol &symbol : graph.symbols)
    names += (names.empty() ? "" : ", ") + symbol.name;
  return "[" + names + "] -> " + text;
}

isl::map GraphText::map(const std::string &text) const { return isl::map(graph.ctx(), withSymbols(text)); }
isl::set GraphText::set(const std::string &text) const { return isl::set(graph.ctx(), withSymbols(text)); }

GraphText &GraphText::symbol(const std::string &name, int64_t min, int64_t max) {
  graph.symbols.push_back({name, min, max});
  isl::set range = set("{ : " + std::to_string(min) + " <= " + name + " <= " + std::to_string(max) + " }");
  graph.context = graph.context.intersect(range);
  return *this;
}

GraphText &GraphText::memory(const std::string &name, const std::string &shape) {
  graph.memories.push_back({name, set(shape), "memory " + name});
  return *this;
}

GraphText &GraphText::event(const std::string &name, const std::string &shape, const std::string &count) {
  graph.events.push_back({name, set(shape), Polynomial(graph.ctx(), withSymbols(count)), count, -1, "event " + name});
  return *this;
}

GraphText &GraphText::eventFromMemory(const std::string &name, const std::string &shape, const std::string &countText) {
  graph.events.push_back({name, set(shape), std::nullopt, countText, -1, "event " + name});
  return *this;
}

GraphText &GraphText::call(const std::string &name, std::vector<std::string> coords, const std::string &domain,
                           const std::string &order) {
  Call call;
  call.name = name;
  call.coordNames = std::move(coords);
  call.domain = set(domain);
  call.order = map(order);
  call.location = "call " + name;
  graph.calls.push_back(std::move(call));
  return *this;
}

GraphText &GraphText::ragged() {
  graph.calls.back().ragged = true;
  return *this;
}

void GraphText::access(const std::string &text, bool write, bool exact) {
  Call &call = graph.calls.back();
  Access access;
  access.relation = map(text);
  access.memory = tupleIndex(access.relation);
  const Memory &memory = graph.memories.at(static_cast<size_t>(access.memory));
  access.relation = access.relation.intersect_domain(call.domain).intersect_range(memory.shape);
  access.write = write;
  access.exact = exact;
  access.afterWaits = static_cast<unsigned>(call.waits.size());
  access.location = call.name + (write ? " writes " : " reads ") + memory.name;
  access.text = text;
  call.accesses.push_back(std::move(access));
}

GraphText &GraphText::reads(const std::string &relation, bool exact) {
  access(relation, false, exact);
  return *this;
}

GraphText &GraphText::writes(const std::string &relation, bool exact) {
  access(relation, true, exact);
  return *this;
}

GraphText &GraphText::readsTable(const std::string &relation) { return reads(relation); }

GraphText &GraphText::waits(const std::string &text, bool exact) {
  Call &call = graph.calls.back();
  isl::map relation = map(text);
  int event = tupleIndex(relation);
  const Event &declared = graph.events.at(static_cast<size_t>(event));
  relation = relation.intersect_domain(call.domain).intersect_range(declared.shape);
  call.waits.push_back({event, relation, exact, call.name + " waits " + declared.name});
  return *this;
}

GraphText &GraphText::notifies(const std::string &text, bool exact, bool orNone) {
  Call &call = graph.calls.back();
  isl::map relation = map(text).intersect_domain(call.domain);
  int event = tupleIndex(relation);
  call.notifies.push_back(
      {event, relation, exact, call.name + " notifies " + graph.events.at(static_cast<size_t>(event)).name, orNone});
  return *this;
}

TaskGraph rowSum() {
  GraphText text;
  text.symbol("n", 0, large)
      .memory("x", "{ M0[a, b] : 0 <= a < n and 0 <= b < 4096 }")
      .memory("p", "{ M1[a, b] : 0 <= a < n and 0 <= b < 4 }")
      .memory("y", "{ M2[a] : 0 <= a < n }")
      .event("done", "{ E0[e] : 0 <= e < n }", "{ E0[e] -> 4 }");
  text.call("partial", {"i", "j"}, "{ C0[i, j] : 0 <= i < n and 0 <= j < 4 }", "{ C0[i, j] -> [0, i, j] }")
      .reads("{ C0[i, j] -> M0[i, b] : 1024 j <= b < 1024 j + 1024 }")
      .writes("{ C0[i, j] -> M1[i, j] }")
      .notifies("{ C0[i, j] -> E0[i] }");
  text.call("total", {"i"}, "{ C1[i] : 0 <= i < n }", "{ C1[i] -> [1, i, 0] }")
      .waits("{ C1[i] -> E0[i] }")
      .reads("{ C1[i] -> M1[i, b] : 0 <= b < 4 }")
      .writes("{ C1[i] -> M2[i] }");
  return text.graph;
}

TaskGraph chainedMatmuls() {
  // m rows in tiles of 16, k columns of h in tiles of 64. up(r, c) makes a tile of h, down(r, d) needs row r of h.
  GraphText text;
  text.symbol("m", 1, large).symbol("k", 1, large);
  text.memory("x", "{ M0[a, b] : 0 <= a < m and 0 <= b < 512 }")
      .memory("h", "{ M1[a, b] : 0 <= a < m and 0 <= b < k }")
      .memory("y", "{ M2[a, b] : 0 <= a < m and 0 <= b < 512 }")
      .event("chunk", "{ E0[r, c] : 0 <= 16 r < m and 0 <= 64 c < k }", "{ E0[r, c] -> 1 }");
  text.call("up", {"r", "c"}, "{ C0[r, c] : 0 <= 16 r < m and 0 <= 64 c < k }", "{ C0[r, c] -> [0, r, c] }")
      .reads("{ C0[r, c] -> M0[a, b] : 16 r <= a < 16 r + 16 }")
      .writes("{ C0[r, c] -> M1[a, b] : 16 r <= a < 16 r + 16 and 64 c <= b < 64 c + 64 }")
      .notifies("{ C0[r, c] -> E0[r, c] }");
  text.call("down", {"r", "d"}, "{ C1[r, d] : 0 <= 16 r < m and 0 <= d < 8 }", "{ C1[r, d] -> [1, r, d] }")
      .waits("{ C1[r, d] -> E0[r, c] : 0 <= 64 c < k }")
      .reads("{ C1[r, d] -> M1[a, b] : 16 r <= a < 16 r + 16 and 0 <= b < k }")
      .writes("{ C1[r, d] -> M2[a, b] : 16 r <= a < 16 r + 16 and 64 d <= b < 64 d + 64 }");
  return text.graph;
}

TaskGraph stencil() {
  GraphText text;
  text.symbol("T", 0, large).symbol("h", 1, large).symbol("w", 1, large);
  std::string inside = "0 <= t < T and 0 <= i < h and 0 <= j < w";
  std::string near = "(a = i and j - 1 <= b <= j + 1) or (b = j and i - 1 <= a <= i + 1)";
  text.memory("grid", "{ M0[s, a, b] : 0 <= s < 2 and 0 <= a < h and 0 <= b < w }")
      .event("stepped", "{ E0[t, i, j] : 0 <= t < T and 0 <= i < h and 0 <= j < w }", "{ E0[t, i, j] -> 1 }");
  text.call("step", {"t", "i", "j"}, "{ C0[t, i, j] : " + inside + " }", "{ C0[t, i, j] -> [t, i, j] }")
      .waits("{ C0[t, i, j] -> E0[t - 1, a, b] : " + near + " }")
      .reads("{ C0[t, i, j] -> M0[t mod 2, a, b] : " + near + " }")
      .writes("{ C0[t, i, j] -> M0[(t + 1) mod 2, i, j] }")
      .notifies("{ C0[t, i, j] -> E0[t, i, j] }");
  return text.graph;
}

TaskGraph layers() {
  // Per layer l: norm(l) reads x and writes a; up(l, c) reads a and writes h[c]; down(l, d) reads all of h, adds to x.
  GraphText text;
  text.symbol("L", 1, large).symbol("c", 1, large);
  std::string l = "0 <= l < L";
  text.memory("x", "{ M0[b] : 0 <= b < 512 }")
      .memory("a", "{ M1[b] : 0 <= b < 512 }")
      .memory("h", "{ M2[b] : 0 <= b < c }")
      .event("normed", "{ E0[l] : " + l + " }", "{ E0[l] -> 1 }")
      .event("upped", "{ E1[l] : " + l + " }", "{ E1[l] -> c }")
      .event("downed", "{ E2[l] : " + l + " }", "{ E2[l] -> 8 }");
  text.call("norm", {"l"}, "{ C0[l] : " + l + " }", "{ C0[l] -> [0, l, 0, 0] }")
      .waits("{ C0[l] -> E2[l - 1] }")
      .reads("{ C0[l] -> M0[b] }")
      .writes("{ C0[l] -> M1[b] }")
      .notifies("{ C0[l] -> E0[l] }");
  text.call("up", {"l", "i"}, "{ C1[l, i] : " + l + " and 0 <= i < c }", "{ C1[l, i] -> [0, l, 1, i] }")
      .waits("{ C1[l, i] -> E0[l] }")
      .reads("{ C1[l, i] -> M1[b] }")
      .writes("{ C1[l, i] -> M2[i] }")
      .notifies("{ C1[l, i] -> E1[l] }");
  text.call("down", {"l", "d"}, "{ C2[l, d] : " + l + " and 0 <= d < 8 }", "{ C2[l, d] -> [0, l, 2, d] }")
      .waits("{ C2[l, d] -> E1[l] }")
      .reads("{ C2[l, d] -> M2[b] }")
      .reads("{ C2[l, d] -> M0[b] : 64 d <= b < 64 d + 64 }")
      .writes("{ C2[l, d] -> M0[b] : 64 d <= b < 64 d + 64 }")
      .notifies("{ C2[l, d] -> E2[l] }");
  for (Call &call : text.graph.calls)
    call.iterationDims = 1;
  return text.graph;
}

TaskGraph allToAll() {
  GraphText text;
  text.symbol("n", 1, large).symbol("m", 1, large);
  text.memory("a", "{ M0[i, j] : 0 <= i < n and 0 <= j < m }")
      .memory("b", "{ M1[i] : 0 <= i < n }")
      .event("all", "{ E0[] }", "{ E0[] -> n * m }");
  text.call("produce", {"i", "j"}, "{ C0[i, j] : 0 <= i < n and 0 <= j < m }", "{ C0[i, j] -> [0, i, j] }")
      .writes("{ C0[i, j] -> M0[i, j] }")
      .notifies("{ C0[i, j] -> E0[] }");
  text.call("consume", {"i"}, "{ C1[i] : 0 <= i < n }", "{ C1[i] -> [1, i, 0] }")
      .waits("{ C1[i] -> E0[] }")
      .reads("{ C1[i] -> M0[x, y] }")
      .writes("{ C1[i] -> M1[i] }");
  return text.graph;
}

TaskGraph withoutEvents(const TaskGraph &graph) {
  TaskGraph result = graph;
  result.events.clear();
  for (Call &call : result.calls) {
    call.waits.clear();
    call.notifies.clear();
    for (Access &access : call.accesses)
      access.afterWaits = 0;
  }
  return result;
}

} // namespace evt::test
