#include "ScheduleCode.h"

#include "HostRoles.h"
#include "StreamCode.h"
#include "TileCode.h"
#include "TiledCode.h"

using namespace mlir;

namespace evt::emit {

namespace {

std::string num(int64_t n) { return std::to_string(n); }

std::string product(ArrayRef<std::string> factors) {
  std::string s;
  for (auto &f : factors)
    s += (s.empty() ? "" : " * ") + f;
  return s.empty() ? "INT64_C(1)" : s;
}

Block &bodyOf(const GraphCode &graph) {
  ir::GraphOp op = graph.signature.graph;
  return op.getBody().front();
}

/// Calls `visit` for each call, inside the loops of the repeats around it.
template <class Visit>
void walkProgram(const GraphCode &graph, Block &block, CodeWriter &out, unsigned depth, Visit visit) {
  for (Operation &op : block) {
    if (auto r = dyn_cast<ir::RepeatOp>(op)) {
      std::string l = "l" + num(depth);
      out.line("for (int64_t ", l, " = 0, ", l, "_end = ", graph.expression(r.getExtent()), "; ", l, " < ", l,
               "_end; ++", l, ") {");
      walkProgram(graph, r.getBody().front(), out, depth + 1, visit);
      out.line("}");
    } else if (auto c = dyn_cast<ir::CallOp>(op)) {
      visit(llvm::find(graph.signature.calls, c) - graph.signature.calls.begin());
    }
  }
}

/// The grid part (without iterations) of a call's linear index.
struct Grid {
  Grid(const GraphCode &graph, unsigned call) : op(graph.signature.calls[call]) {
    unsigned skip = graph.iterations(call);
    auto all = graph.extentList(call);
    extents.assign(all.begin() + skip, all.end());
    for (unsigned i = 0; i < op.getNumCoords(); ++i)
      coords.push_back("c" + num(i));
    // A ragged pair is one linear coordinate, its row tile; c0 and c1 are decoded from it.
    linear = coords;
    if (op.isRagged()) {
      linear.erase(linear.begin(), linear.begin() + 2);
      linear.insert(linear.begin(), "tile");
    }
  }
  ir::CallOp op;
  std::vector<std::string> extents, coords, linear;
};

/// Declares the linear coordinates of index `q`.
void decode(const Grid &g, const std::string &q, CodeWriter &out, bool mutableCoords = false) {
  std::string rest = q;
  for (unsigned d = g.linear.size(); d-- > 0;) {
    out.line(mutableCoords ? "" : "const ", "int64_t ", g.linear[d], " = ",
             d == 0 ? rest : "(" + rest + ") % (" + g.extents[d] + ")", ";");
    rest = "(" + rest + ") / (" + g.extents[d] + ")";
  }
}

/// Moves coordinates first … last - 1 to the next task: cheaper than taking an index apart for each.
void advance(const Grid &g, unsigned first, unsigned last, CodeWriter &out) {
  for (unsigned d = last; d-- > first + 1;)
    out.line("if (++c", d, " == ", g.extents[d], ") {"), out.line("c", d, " = 0;");
  if (first < last)
    out.line("++c", first, ";");
  for (unsigned d = last; d-- > first + 1;)
    out.line("}");
}

void decodeGroup(const Grid &g, CodeWriter &out) {
  ir::CallOp op = g.op;
  if (!op.isRagged())
    return;
  out.line("const int64_t c0 = groups.group(tile), c1 = tile - groups.offsets[c0];");
}

std::string taskCall(const GraphCode &graph, unsigned k, const char *use) {
  ir::CallOp op = graph.signature.calls[k];
  return "task_" + num(k) + "(" + use + ", P" + (op.isRagged() ? ", groups" : "") + graph.coordNames(k) + ")";
}

/// Waits for the guard of a ragged call and decodes its groups.
void openGroups(const GraphCode &graph, unsigned k, bool roles, CodeWriter &out) {
  ir::CallOp op = graph.signature.calls[k];
  if (!op.isRagged())
    return;
  if (op.getRaggedGuard()) {
    int e = graph.signature.eventOf(op.getRaggedGuard());
    if (roles)
      out.line("if (!end_handed_over(use, P)) return;");
    out.line("w.decodes(", k, ");");
    out.line("if (!w.await(", e, ", P.e", e, ", 0, (uint32_t)count_", e, "(P))) return;");
  }
  out.line("const Groups", k, " groups(w, P.m", graph.signature.memoryOf(op.getRaggedTable()), ", ",
           (int64_t)op.getRaggedBy(), ");");
  out.line("if (groups.tiles() > ", graph.expression(op.getRaggedBound()), ") return w.fail(EVT_ABORT_BOUND, ", k,
           ", groups.tiles(), ", graph.expression(op.getRaggedBound()), ");");
}

} // namespace

namespace {

/// CPU: a worker runs a task where the schedule comes to it. `name` is the function's, `first` what it begins with.
void emitTaskOnTheSpot(const GraphCode &graph, unsigned k, const std::string &groups, const std::string &name,
                       const std::string &first, const std::string &body, CodeWriter &out) {
  ir::CallOp op = graph.signature.calls[k];
  out.line("template <class Use> EVT_FN inline bool ", name, k, "(Use &use, const Program &P", groups,
           graph.coordParams(k), ") {");
  if (!first.empty())
    out.line(first);
  out.line("evt::Worker &w = use.w;");
  out.line("const int64_t task = linear_", k, "(P", op.isRagged() ? ", groups" : "", graph.coordNames(k), ");");
  std::string list = graph.coordNames(k);
  out.line("const int64_t coord[] = {", list.empty() ? "0" : list.substr(2), "};");
  out.line("if (!w.begin(", k, ", task, coord, ", graph.coordList(k).size(), ")) return false;");
  out.line("if constexpr (Use::dynamic) {");
  out.line("if (w.hooks) [[unlikely]] {");
  out.line("evt::Reporting report{w};");
  out.line("waits_", k, "(report, P", list, ");");
  out.line("}");
  out.line("} else {");
  out.line("if (!waits_", k, "(use, P", list, ")) return false;");
  out.line("}");
  if (op.isRagged()) {
    out.line("if (w.hooks) [[unlikely]] {");
    out.line("const int64_t at[] = {c0}, two[] = {2};");
    int m = graph.signature.memoryOf(op.getRaggedTable());
    out.line("evt::report(w, ", m, ", false, P.m", m, ".dims, at, two, 1);");
    out.line("}");
  }
  if (!body.empty())
    out.line("if constexpr (!Use::reports_only) ", body);
  out.line("const bool notified = !w.injected(", k, ", task);");
  out.line("if (notified) notifies_", k, "(use, P", list, ");");
  out.line("w.end(P.c", k, "_first + task, notified);");
  out.line("return true;");
  out.line("}");
}

std::string notifiesBy(const GraphCode &graph, unsigned k) {
  std::string call = "notifies_" + num(k) + "(use, P" + graph.coordNames(k) + "); }";
  return "[&] { if constexpr (dynamic) { evt::Triggering use{w}; " + call + " else { evt::Polling use{w}; " + call +
         " }";
}

/// CUDA: the schedule hands a task over, and the compute warps execute it.
void emitHandedTask(const GraphCode &graph, unsigned k, const std::string &groups, const std::string &args,
                    std::optional<Join> join, bool isTold, bool isFed, CodeWriter &out) {
  ir::CallOp op = graph.signature.calls[k];
  std::string list = graph.coordNames(k), body = "body_" + op.getCallee().str() + "(w" + args;
  out.line("template <class Use> EVT_FORCED bool task_", k, "(Use &use, const Program &P", groups, graph.coordParams(k),
           ") {");
  // Later tokens of a prompt attend to more: the longest tasks first, where the order is the schedule's.
  bool attendsToRuns = false;
  ir::calleeOf(op).walk([&](ir::AttendTokensOp) { attendsToRuns = true; });
  if (attendsToRuns && op.getNumCoords() > 0 && !op.isRagged())
    out.line("if constexpr (!dynamic) c0 = ", graph.extentList(k)[graph.coordList(k).size() - op.getNumCoords()],
             " - 1 - c0;");
  std::string fed = isFed ? "_fed(feed_" + op.getCallee().str() + "(use.w" + args + "), " : "(";
  out.line("return use.w.hand_over", fed, k, ", linear_", k, "(P", op.isRagged() ? ", groups" : "", list, ")", list,
           ");");
  out.line("}");
  out.line("EVT_FN inline bool execute_", k, "(evt::DynamicWorker &w, const Program &P, const evt::Task &task) {");
  declareCoords(graph, k, out);
  out.line("return evt::run_", join ? "joining_" : "", "task<dynamic", isTold ? ", Kernel::tells" : "", ">(");
  out.line("    w, task, P.c", k, "_first,");
  out.line("    [&] { evt::Polling use{w}; return waits_", k, "(use, P", list, "); },");
  if (waitsInside(ir::calleeOf(op)))
    out.line("    [&](auto pass) { return ", body, ", pass); },");
  else
    out.line("    [&](auto pass) { if (!pass()) return false; ", body, "); return true; },");
  // Coordinates are read again behind the body, which has better use for registers.
  CodeWriter again;
  declareCoords(graph, k, again);
  std::string coords = again.take();
  if (!join) {
    out.line("    [&] {");
    out.block(coords);
    out.line("    ", notifiesBy(graph, k), "();");
    out.line("    });");
  } else {
    auto notify = *op.getProtocol().getOps<ir::NotifyOp>().begin();
    auto locals = graph.locals(k);
    std::string element, indices, e = num(join->event);
    for (auto [d, v] : llvm::enumerate(notify.getLower())) {
      std::string i = graph.expression(v, locals);
      indices += ", " + i;
      element = element.empty() ? i : "(" + element + ") * P.e" + e + "_" + num(d) + " + " + i;
    }
    out.line("    [&] {");
    out.block(coords);
    out.line("    return evt::Worker::arrive(P.e", e, " + ", element.empty() ? "0" : element, ") == count_", e, "(P",
             indices, ");");
    out.line("    },");
    out.line("    [&] {");
    out.block(coords);
    out.line("    join_", join->call, "(w, P", indices, ");");
    out.line("    });");
  }
  out.line("}");
}

/// CUDA: the task of an element that a task of this block has completed.
void emitJoin(const GraphCode &graph, unsigned k, const std::string &args, CodeWriter &out) {
  out.line("EVT_FN void join_", k, "(evt::DynamicWorker &w, const Program &P", graph.coordParams(k), ") {");
  out.line("const uint64_t now = w.traced() ? evt::ptx::nanoseconds() : 0;");
  out.line("body_", ir::CallOp(graph.signature.calls[k]).getCallee().str(), "(w", args, ");");
  out.line("const int64_t task = linear_", k, "(P", graph.coordNames(k), ");");
  out.line("evt::end_joined<dynamic>(w, ", k, ", task, P.c", k, "_first + task, now, ", notifiesBy(graph, k), ");");
  out.line("}");
}

} // namespace

void emitTasks(const GraphCode &graph, const TaskForms &forms, const HandedOver &how, CodeWriter &out) {
  for (unsigned k = 0; k < graph.signature.calls.size(); ++k) {
    ir::CallOp op = graph.signature.calls[k];
    std::string groups;
    if (op.isRagged()) {
      int64_t n = cast<MemRefType>(op.getRaggedTable().getType()).getDimSize(0) - 1;
      out.line("using Groups", k, " = evt::Ragged<", n, ">;");
      groups = ", [[maybe_unused]] const Groups" + num(k) + " &groups";
    }
    auto extents = graph.extentList(k);
    auto coords = graph.coordList(k);
    if (op.isRagged()) {
      unsigned at = graph.iterations(k);
      coords.erase(coords.begin() + at);
      coords[at] = "(groups.offsets[c0] + c1)";
    }
    std::string linear;
    for (unsigned d = 0; d < extents.size(); ++d)
      linear = linear.empty() ? coords[d] : "(" + linear + ") * (" + extents[d] + ") + " + coords[d];
    out.line("EVT_FN inline int64_t linear_", k, "([[maybe_unused]] const Program &P", groups, graph.coordParams(k),
             ") { return ", linear.empty() ? "0" : linear, "; }");

    std::string args = argumentList(graph, k);
    TaskForm form = forms[k];
    if (form == TaskForm::handedOver)
      emitHandedTask(graph, k, groups, args, how.joins.empty() ? std::nullopt : how.joins[k],
                     !how.told.empty() && how.told[k], !how.fed.empty() && how.fed[k], out);
    else if (form == TaskForm::joined)
      emitJoin(graph, k, args, out);
    else if (form == TaskForm::tiled)
      emitTiledHandOver(graph, k, llvm::is_contained(forms, TaskForm::streamed), out);
    else if (form == TaskForm::onTheSpot || form == TaskForm::reported)
      emitTaskOnTheSpot(graph, k, groups, "task_", form == TaskForm::onTheSpot && hasRoles(forms) ? endsHandedOver : "",
                        form == TaskForm::reported ? "" : "body_" + op.getCallee().str() + "(w" + args + ");", out);
    else if (form == TaskForm::inRoles) {
      emitTaskOnTheSpot(graph, k, groups, "end_", "", lastRole(graph, k, args), out);
      emitRoleTask(graph, k, groups, out);
    }
    if (op.isRagged()) {
      Grid g(graph, k);
      ArrayRef<std::string> rest = ArrayRef<std::string>(g.extents).drop_front();
      out.line("// The groups are known: their tasks exist, the rest of the bound does not.");
      out.line("template <class Ready> EVT_FN void born_", k, "(evt::DynamicWorker &w, const Program &P, const Groups",
               k, " &groups, Ready ready) {");
      out.line("const int64_t bound = ", g.extents[0], ";");
      out.line("if (groups.tiles() > bound) return w.fail(EVT_ABORT_BOUND, ", k, ", groups.tiles(), bound);");
      out.line("w.absent((bound - groups.tiles()) * ", product(rest), ");");
      out.line("for (int64_t q = 0, n = groups.tiles() * ", product(rest), "; q < n; ++q) {");
      decode(g, "q", out);
      decodeGroup(g, out);
      std::string list2;
      for (auto &c : g.coords)
        list2 += (list2.empty() ? "" : ", ") + c;
      out.line("ready(", list2, ");");
      out.line("}");
      out.line("}");
    }
  }
  out.line();
}

namespace {

/// Puts what `visit` emits of a call under its guard.
template <class Visit> auto guarded(const Guards &guards, CodeWriter &out, Visit visit) {
  return [&guards, &out, visit](unsigned k) {
    if (guards.empty() || guards[k].empty())
      return visit(k);
    out.line(guards[k], "{");
    visit(k);
    out.line("}");
  };
}

} // namespace

void emitStaticSchedule(const GraphCode &graph, const Carried &carried, const TaskForms &forms,
                        const std::vector<std::optional<ElementDeal>> &deals, const Guards &guards, CodeWriter &out) {
  out.line("EVT_FORCED void run_static(evt::Worker &w, const Program &P) {");
  out.line("evt::Polling use{w};");
  auto isDealt = [&](unsigned k) {
    ir::CallOp call = graph.signature.calls[k];
    return forms[k] == TaskForm::streamed || forms[k] == TaskForm::tiled ||
           (forms[k] == TaskForm::handedOver && !call.isRagged() &&
            std::none_of(carried[k].begin() + graph.iterations(k), carried[k].end(), [](bool b) { return b; }));
  };
  if (llvm::any_of(llvm::seq<unsigned>(0, forms.size()), isDealt))
    out.line("uint32_t dealt = 0;");
  if (llvm::any_of(deals, [](auto &deal) { return deal.has_value(); }))
    out.line("int turn = 0; // an element is ended by one warp");
  auto visit = [&](unsigned k) {
    if (!isHandedOut(forms[k]))
      return;
    Grid g(graph, k);
    unsigned skip = graph.iterations(k), rank = g.extents.size();
    std::string run = "if (!" + taskCall(graph, k, "use") + ") return;";
    out.line("// ", graph.signature.callName(k));
    if (g.op.isRagged()) {
      out.line("if (", g.extents[0], " > 0 && ", product(ArrayRef<std::string>(g.extents).drop_front()), " > 0) {");
      openGroups(graph, k, hasRoles(forms), out);
      out.line("const evt::Range mine = evt::share(groups.tiles() * ",
               product(ArrayRef<std::string>(g.extents).drop_front()), ", w.id, w.workers);");
      out.line("for (int64_t q = mine.begin; q < mine.end; ++q) {");
      decode(g, "q", out);
      decodeGroup(g, out);
      out.line(run);
      out.line("}");
      out.line("}");
      return;
    }
    if (isDealt(k)) {
      // Dealt out one by one, on and on over the calls: what comes first in the grid is finished first by
      // all, so that who waits for a part of it does not wait for the whole. Neighbours run at the same
      // time and share operands in the cache. Neighbours that are long together (later tokens of a prompt,
      // tokens in short runs) are not one block's, and calls of few tasks are not the same blocks'.
      Grid each = g;
      const std::optional<ElementDeal> &deal = deals[k];
      const std::vector<unsigned> passes = deal ? deal->passes : std::vector<unsigned>();
      for (unsigned d = rank; d-- > 0;)
        if (llvm::is_contained(passes, d)) {
          each.extents.erase(each.extents.begin() + d);
          each.linear.erase(each.linear.begin() + d);
        }
      out.line("{");
      out.line("const int64_t n = ", product(each.extents), ";");
      if (deal && deal->first == k)
        out.line("turn = w.turn;");
      for (unsigned d : passes)
        out.line("for (int64_t c", d, " = 0; c", d, " < ", g.extents[d], "; ++c", d, ") {");
      if (deal)
        out.line("w.turn = turn;");
      // Each round begins with the next worker: of three tiles of tokens, the last of which has few, one in three
      // would otherwise fall to the same of 132 workers, again and again.
      bool isShifted = forms[k] == TaskForm::tiled;
      if (isShifted) {
        out.line("for (int64_t round = 0, q; round * w.workers < n; ++round) {");
        out.line("q = round * w.workers + (w.id + w.workers - dealt + round) % w.workers;");
        out.line("if (q >= n) break; // the last round");
      } else {
        out.line("for (int64_t q = (w.id + w.workers - dealt) % w.workers; q < n; q += w.workers) {");
      }
      decode(each, "q", out);
      out.line(run);
      out.line("}");
      for ([[maybe_unused]] unsigned d : passes)
        out.line("}");
      if (isShifted)
        out.line("dealt = (uint32_t)((dealt + n % w.workers + w.workers - n / w.workers % w.workers) % w.workers);");
      else if (!deal || deal->last == k)
        out.line("dealt = (uint32_t)((dealt + evt::most(n, 0)) % w.workers);");
      out.line("}");
      return;
    }
    auto isCarried = [&](unsigned d) { return carried[k][skip + d]; };
    unsigned first = 0, opened = 0;
    while (first < rank && isCarried(first)) {
      out.line("for (int64_t c", first, " = 0; c", first, " < ", g.extents[first], "; ++c", first, ") {");
      ++opened, ++first;
    }
    unsigned last = first;
    while (last < rank && !isCarried(last))
      ++last;
    if (first == last) { // nothing to share: the tasks form a chain, or there is one
      if (opened == 0) {
        out.line("if (w.id == ", k, " % w.workers) {");
        out.line(run);
        out.line("}");
      } else {
        out.line("if (w.id == ", k, " % w.workers) ", run);
      }
    } else {
      std::vector<std::string> shared(g.extents.begin() + first, g.extents.begin() + last);
      out.line("{");
      out.line("const evt::Range mine = evt::share(", product(shared), ", w.id, w.workers);");
      out.line("if (mine.begin < mine.end) { // so no extent is 0");
      std::string rest = "mine.begin";
      for (unsigned d = last; d-- > first;) {
        out.line("int64_t c", d, " = ", d == first ? rest : rest + " % (" + g.extents[d] + ")", ";");
        rest = "(" + rest + " / (" + g.extents[d] + "))";
      }
      out.line("for (int64_t q = mine.begin; q < mine.end; ++q) {");
      for (unsigned d = last; d < rank; ++d)
        out.line("for (int64_t c", d, " = 0; c", d, " < ", g.extents[d], "; ++c", d, ") {");
      out.line(run);
      for (unsigned d = last; d < rank; ++d)
        out.line("}");
      advance(g, first, last, out);
      out.line("}");
      out.line("}");
      out.line("}");
    }
    while (opened--)
      out.line("}");
  };
  walkProgram(graph, bodyOf(graph), out, 0, guarded(guards, out, visit));
  if (hasRoles(forms))
    out.line("end_handed_over(use, P);");
  out.line("}");
  out.line();
}

void emitTicketSchedule(const GraphCode &graph, const Carried &carried, const TaskForms &forms, const std::string &take,
                        const Guards &guards, CodeWriter &out) {
  out.line("EVT_FORCED void run_ticket(evt::Worker &w, const Program &P) {");
  out.line("evt::Polling use{w};");
  out.line("int64_t ticket = ", take, ", first = 0;");
  auto visit = [&](unsigned k) {
    if (!isHandedOut(forms[k]))
      return;
    Grid g(graph, k);
    unsigned skip = graph.iterations(k);
    std::vector<std::string> parallel;
    for (unsigned d = 0; d < g.extents.size(); ++d)
      if (g.op.isRagged() || !carried[k][skip + d])
        parallel.push_back(g.extents[d]);
    out.line("{ // ", graph.signature.callName(k));
    out.line("const int64_t n = ", product(g.extents), ", per = evt::tasks_per_ticket(n, ",
             parallel.empty() ? "1" : product(parallel), ", w.workers), tickets = evt::ceildiv(n, per);");
    if (g.op.isRagged()) {
      out.line("if (ticket < first + tickets) {");
      openGroups(graph, k, hasRoles(forms), out);
      out.line("const int64_t live = groups.tiles() * ", product(ArrayRef<std::string>(g.extents).drop_front()), ";");
    }
    out.line("for (; ticket < first + tickets; ticket = ", take, ") {");
    out.line("int64_t q = (ticket - first) * per;");
    out.line("const int64_t end = evt::least(q + per, ", g.op.isRagged() ? "live" : "n", ");");
    if (g.op.isRagged()) {
      out.line("for (; q < end; ++q) {");
      decode(g, "q", out);
      decodeGroup(g, out);
      out.line("if (!", taskCall(graph, k, "use"), ") return;");
      out.line("}");
    } else {
      decode(g, "q", out, /*mutableCoords=*/true);
      out.line("for (; q < end; ++q) {");
      out.line("if (!", taskCall(graph, k, "use"), ") return;");
      advance(g, 0, g.extents.size(), out);
      out.line("}");
    }
    out.line("}");
    if (g.op.isRagged())
      out.line("}");
    out.line("first += tickets;");
    out.line("}");
  };
  walkProgram(graph, bodyOf(graph), out, 0, guarded(guards, out, visit));
  if (hasRoles(forms))
    out.line("end_handed_over(use, P);");
  out.line("}");
  out.line();
}

namespace {

/// Declares every coordinate, iterations included, of linear index `q`.
void decodeAll(const GraphCode &graph, unsigned k, const std::string &q, CodeWriter &out) {
  Grid g(graph, k);
  auto extents = graph.extentList(k);
  std::vector<std::string> names;
  for (unsigned i = 0; i < graph.iterations(k); ++i)
    names.push_back("l" + num(i));
  names.insert(names.end(), g.linear.begin(), g.linear.end());
  std::string rest = q;
  for (unsigned d = names.size(); d-- > 0;) {
    out.line("const int64_t ", names[d], " = ", d == 0 ? rest : rest + " % (" + extents[d] + ")", ";");
    rest = "(" + rest + " / (" + extents[d] + "))";
  }
}

} // namespace

void emitDynamicSchedule(const GraphCode &graph, const TaskForms &forms, const std::vector<bool> &mayStartReady,
                         CodeWriter &out) {
  const ir::Signature &s = graph.signature;
  out.line("EVT_FORCED void run_dynamic(evt::DynamicWorker &w, const Program &P) {");
  out.line("// Tasks that wait for nothing are ready from the start; each worker finds its share of them.");
  for (unsigned k = 0; k < s.calls.size(); ++k) {
    ir::CallOp op = s.calls[k];
    bool waits = !op.getProtocol().front().getOps<ir::WaitOp>().empty();
    if (!isHandedOut(forms[k]))
      continue;
    if (op.isRagged() ? static_cast<bool>(op.getRaggedGuard()) : !mayStartReady[k])
      continue; // ragged: born when the guard completes
    out.line("{ // ", s.callName(k));
    if (op.isRagged()) {
      out.line("if (w.id == 0) {");
      out.line("const Groups", k, " groups(w, P.m", s.memoryOf(op.getRaggedTable()), ", ", (int64_t)op.getRaggedBy(),
               ");");
      out.line("born_", k, "(w, P, groups, [&](", graph.coordParamList(k), ") {");
      if (waits) {
        out.line("evt::Counting need{w};");
        out.line("waits_", k, "(need, P", graph.coordNames(k), ");");
        out.line("if (need.elements) return;");
      }
      out.line("w.push(", k, ", linear_", k, "(P, groups", graph.coordNames(k), "));");
      out.line("});");
      out.line("}");
    } else {
      out.line("const evt::Range mine = evt::share(P.c", k, "_n, w.id, w.workers);");
      if (!waits) {
        out.line("w.push(", k, ", mine.begin, mine.end - mine.begin);");
      } else {
        out.line("for (int64_t q = mine.begin; q < mine.end; ++q) {");
        decodeAll(graph, k, "q", out);
        out.line("evt::Counting need{w};");
        out.line("waits_", k, "(need, P", graph.coordNames(k), ");");
        out.line("if (need.elements == 0) w.push(", k, ", q);");
        out.line("}");
      }
    }
    out.line("}");
  }
  out.line("evt::Triggering use{w};");
  out.line("w.work([&](uint32_t call, int64_t q) {");
  out.line("switch (call) {");
  for (unsigned k = 0; k < s.calls.size(); ++k) {
    if (!isHandedOut(forms[k]))
      continue;
    ir::CallOp op = s.calls[k];
    Grid g(graph, k);
    out.line("case ", k, ": {");
    if (op.isRagged())
      out.line("const Groups", k, " groups(w, P.m", s.memoryOf(op.getRaggedTable()), ", ", (int64_t)op.getRaggedBy(),
               ");");
    decodeAll(graph, k, "q", out);
    decodeGroup(g, out);
    out.line(taskCall(graph, k, "use"), ";");
    out.line("break;");
    out.line("}");
  }
  out.line("}");
  out.line("});");
  out.line("}");
  out.line();
}

void emitExplain(const GraphCode &graph, CodeWriter &out) {
  const ir::Signature &s = graph.signature;
  out.line("EVT_FN void explain(evt::Worker &w, const Program &P) {");
  out.line("evt::Reporting use{w};");
  for (unsigned k = 0; k < s.calls.size(); ++k) {
    ir::CallOp op = s.calls[k];
    Grid g(graph, k);
    if (op.isRagged() && op.getRaggedGuard()) {
      int e = s.eventOf(op.getRaggedGuard());
      out.line("if (P.e", e, "[0].load(std::memory_order_acquire) >= count_", e, "(P)) { // ", s.callName(k));
    } else {
      out.line("{ // ", s.callName(k));
    }
    if (op.isRagged()) {
      out.line("const Groups", k, " groups(w, P.m", s.memoryOf(op.getRaggedTable()), ", ", (int64_t)op.getRaggedBy(),
               ");");
      out.line("const int64_t n = evt::least(groups.tiles(), ", g.extents[0], ") * ",
               product(ArrayRef<std::string>(g.extents).drop_front()), ";");
    } else {
      out.line("const int64_t n = P.c", k, "_n;");
    }
    out.line("for (int64_t q = 0; q < n; ++q) {");
    decodeAll(graph, k, "q", out);
    decodeGroup(g, out);
    out.line(taskCall(graph, k, "use"), ";");
    out.line("}");
    out.line("}");
  }
  out.line("}");
  out.line();
}

} // namespace evt::emit
