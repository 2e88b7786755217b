#include "ProtocolCode.h"

#include "ScalarCode.h"

#include "compiler/analysis/Triggers.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace evt::emit {

namespace {

std::string num(int64_t n) { return std::to_string(n); }

unsigned rankOf(ir::EventOp e) { return e.getEvent().getType().getRank(); }

/// `, int64_t a0, int64_t a1`
std::string elementParams(ir::EventOp e, const char *type = "int64_t ") {
  std::string s;
  for (unsigned d = 0; d < rankOf(e); ++d)
    s += std::string(", ") + type + "a" + num(d);
  return s;
}

std::string elementIndex(unsigned event, ir::EventOp e) {
  std::string s;
  for (unsigned d = 0; d < rankOf(e); ++d)
    s = s.empty() ? "a" + num(d) : "(" + s + ") * P.e" + num(event) + "_" + num(d) + " + a" + num(d);
  return s.empty() ? "0" : s;
}

/// A count that tasks of the graph write: it is known only after its guard. A count in a memory that nobody writes is
/// known from the start and is like any other.
bool isGuarded(ir::EventOp e) { return e.getTable() && e.getGuard(); }

/// Writes the operations of a protocol as C++, one after the other.
class ProtocolBody {
public:
  /// Waits for events that are `hinted` wait for their hints.
  ProtocolBody(const GraphCode &graph, unsigned call, CodeWriter &out, std::vector<bool> hinted = {})
      : graph(graph), call(graph.signature.calls[call]), out(out), local(graph.locals(call)),
        hinted(std::move(hinted)) {}

  /// Of all waits, those that are `wanted`.
  void waits(llvm::function_ref<bool(ir::WaitOp)> wanted = [](ir::WaitOp) { return true; }) {
    Operation *last = nullptr;
    for (Operation &op : call.getProtocol().front())
      if (isa<ir::WaitOp>(op))
        last = &op;
    if (call.isRagged() && call.getRaggedGuard())
      out.line("if (!use.wait(", graph.signature.eventOf(call.getRaggedGuard()), ", P.e",
               graph.signature.eventOf(call.getRaggedGuard()), ", 0, count_",
               graph.signature.eventOf(call.getRaggedGuard()), "(P))) return false;");
    if (last)
      for (Operation &op : call.getProtocol().front()) {
        auto wait = dyn_cast<ir::WaitOp>(op);
        if (!wait || wanted(wait))
          emit(&op);
        if (&op == last)
          break;
      }
  }

  /// A wait for a range of elements: for those of them that are `from` … `to` - 1.
  void waitAlong(ir::WaitOp wait) {
    isAlong = true;
    emit(wait);
  }

  /// A notify follows every access of its task. Where a protocol reads tables for its notifies, they are collected
  /// first and issued after the last read.
  void notifies() {
    collects = false;
    call.getProtocol().walk([&](ir::ReadOp) { collects = true; });
    for (Operation &op : call.getProtocol().front())
      if (!isa<ir::WaitOp>(op))
        emit(&op);
    if (!collects)
      return;
    llvm::SmallSetVector<int, 4> events;
    call.getProtocol().walk([&](ir::NotifyOp n) { events.insert(graph.signature.eventOf(n.getEvent())); });
    out.line("for (const evt::Notification &n : use.w.collected) {");
    out.line("switch (n.event) {");
    for (int e : events) {
      std::string args;
      for (unsigned d = 0; d < rankOf(graph.signature.events[e]); ++d)
        args += ", n.at[" + num(d) + "]";
      out.line("case ", e, ": notify_", e, "(use, P", args, "); break;");
    }
    out.line("}");
    out.line("}");
    out.line("use.w.collected.clear();");
  }

private:
  void emit(Operation *op) {
    if (isa<ir::EndOp, scf::YieldOp>(op))
      return;
    if (auto w = dyn_cast<ir::WaitOp>(op))
      return emitUse(
          w, w.getEvent(), w.getLower(), [&](unsigned d) { return w.getUpperOf(d); }, true);
    if (auto n = dyn_cast<ir::NotifyOp>(op))
      return emitUse(
          n, n.getEvent(), n.getLower(), [&](unsigned d) { return n.getUpperOf(d); }, false);
    if (auto f = dyn_cast<scf::ForOp>(op)) {
      std::string iv = "k" + num(next++);
      local[f.getInductionVar()] = iv;
      out.line("for (int64_t ", iv, " = ", value(f.getLowerBound()), "; ", iv, " < ", value(f.getUpperBound()), "; ",
               iv, " += ", value(f.getStep()), ") {");
      for (Operation &inner : *f.getBody())
        emit(&inner);
      out.line("}");
      return;
    }
    if (auto r = dyn_cast<ir::ReadOp>(op)) {
      std::string at;
      for (Value i : r.getIndices())
        at += (at.empty() ? "" : ", ") + value(i);
      std::string n = "v" + num(next++);
      out.line("const int64_t ", n, " = evt::read_table(use.w, P.m", graph.signature.memoryOf(r.getTable()), ", {",
               at.empty() ? "0" : at, "});");
      local[r.getValue()] = n;
      return;
    }
    // Index arithmetic is written where it is used.
  }

  std::string value(Value v) { return graph.expression(v, local); }

  template <class UpperOf> void emitUse(Operation *op, Value event, OperandRange lower, UpperOf upperOf, bool isWait) {
    int e = graph.signature.eventOf(event);
    ir::EventOp def = graph.signature.events[e];
    std::string extent = "P.e" + num(e) + "_", args;
    out.line("{");
    unsigned opened = 1;
    for (unsigned d = 0; d < lower.size(); ++d) {
      std::string a = "a" + num(d);
      args += ", " + a;
      if (Value hi = upperOf(d)) {
        std::string from = value(lower[d]), to = value(hi);
        if (isWait) {
          from = "evt::most(" + from + ", 0)";
          to = "evt::least(" + to + ", " + extent + num(d) + ")";
          if (isAlong)
            from = "evt::most(" + from + ", from)", to = "evt::least(" + to + ", to)";
        } else if (ir::constantOf(hi) == ir::wholeDimension) {
          to = extent + num(d);
        }
        out.line("for (int64_t ", a, " = ", from, ", z", d, " = ", to, "; ", a, " < z", d, "; ++", a, ") {");
        ++opened;
      } else {
        out.line("const int64_t ", a, " = ", value(lower[d]), ";");
        if (isWait) {
          out.line("if (0 <= ", a, " && ", a, " < ", extent, d, ") {");
          ++opened;
        }
      }
    }
    if (!isWait && collects) {
      out.line("use.w.collected.push_back({", e, ", {", args.empty() ? "0" : args.substr(2), "}});");
    } else if (!isWait) {
      out.line("notify_", e, "(use, P", args, ");");
    } else if (isGuarded(def)) {
      Value table = def.getTable();
      std::string at = args.empty() ? "0" : args.substr(2);
      int g = graph.signature.eventOf(def.getGuard());
      out.line("if (!use.wait_guard(", g, ", P.e", g, ", 0, count_", g, "(P))) return false;");
      out.line("if (!use.wait_table(", e, ", P.e", e, ", ", elementIndex(e, def), ", P.m",
               graph.signature.memoryOf(table), ", {", at, "}, ", (int64_t)def.getFactor(), ")) return false;");
    } else {
      bool isHint = (size_t)e < hinted.size() && hinted[e];
      out.line("if (!use.", isHint ? "hint(" : "wait(", e, isHint ? ", P.h" : ", P.e", e, ", ", elementIndex(e, def),
               ", count_", e, "(P", args, "))) return false;");
    }
    while (opened--)
      out.line("}");
  }

  const GraphCode &graph;
  ir::CallOp call;
  CodeWriter &out;
  DenseMap<Value, std::string> local;
  std::vector<bool> hinted;
  unsigned next = 0;
  bool collects = false, isAlong = false;
};

} // namespace

void emitCounts(const GraphCode &graph, CodeWriter &out) {
  for (auto [e, event] : llvm::enumerate(graph.signature.events)) {
    ir::EventOp op = event;
    out.line("// ", op.getName().str(), ": notifications that complete an element");
    if (isGuarded(op))
      continue;
    if (op.getTable()) {
      out.line("EVT_FN inline int64_t count_", e, "(const Program &P", elementParams(op), ") { return evt::most(P.m",
               graph.signature.memoryOf(op.getTable()), ".data[", elementIndex(e, op), "] * INT64_C(",
               (int64_t)op.getFactor(), "), 0); }");
      continue;
    }
    std::vector<std::string> dims, symbols;
    for (unsigned d = 0; d < rankOf(op); ++d)
      dims.push_back("a" + num(d));
    for (Value v : op.getCountOperands())
      symbols.push_back(graph.expression(v));
    AffineMap map = op.getCountMap();
    std::string text = affineExpression(map.getResult(0), dims, symbols);
    for (AffineExpr r : map.getResults().drop_front())
      text = "evt::least(" + text + ", " + affineExpression(r, dims, symbols) + ")";
    out.line("EVT_FN inline int64_t count_", e, "([[maybe_unused]] const Program &P",
             elementParams(op, "[[maybe_unused]] int64_t "), ") { return evt::most(", text, ", 0); }");
  }
  out.line();
}

void declareCompletions(const GraphCode &graph, CodeWriter &out) {
  for (auto [e, event] : llvm::enumerate(graph.signature.events))
    out.line("EVT_FN void complete_", e, "(evt::DynamicWorker &w, const Program &P", elementParams(event), ");");
  out.line();
}

void emitNotifies(const GraphCode &graph, const std::vector<bool> &proved, const std::vector<bool> &hinted,
                  CodeWriter &out) {
  for (auto [e, event] : llvm::enumerate(graph.signature.events)) {
    ir::EventOp op = event;
    std::string args;
    for (unsigned d = 0; d < rankOf(op); ++d)
      args += ", a" + num(d);
    out.line("template <class Use> EVT_FN inline void notify_", e, "(Use &use, const Program &P", elementParams(op),
             ") {");
    for (unsigned d = 0; d < rankOf(op); ++d)
      out.line("if (a", d, " < 0 || a", d, " >= P.e", e, "_", d, ") [[unlikely]] return use.w.fail(EVT_ABORT_INDEX, ",
               e, ", ", d, ", a", d, ");");
    out.line("const int64_t element = ", elementIndex(e, op), ";");
    out.line("use.w.notifies(", e, ", element);");
    out.line("if constexpr (!Use::reports_only) {");
    if (e < hinted.size() && hinted[e])
      out.line("if constexpr (!Use::dynamic) evt::Worker::hint(P.h", e, " + element);");
    if (e < proved.size() && proved[e]) {
      // Nobody needs the sum of a count that is known to be right, except who looks for its end.
      out.line("if constexpr (!Use::dynamic) {");
      bool isEarly = e < hinted.size() && hinted[e];
      out.line(isEarly ? "evt::signal_early(use, P.e" : "evt::Worker::signal(P.e", e, " + element);");
      out.line("} else if (evt::Worker::arrive(P.e", e, " + element) == count_", e, "(P", args, ")) {");
      out.line("complete_", e, "(use.w, P", args, ");");
      out.line("}");
      out.line("}");
      out.line("}");
      continue;
    }
    out.line("const uint32_t now = evt::Worker::arrive(P.e", e, " + element);");
    if (isGuarded(op)) {
      out.line("if constexpr (Use::dynamic) {");
      out.line("if (now == evt::table_bias) complete_", e, "(use.w, P", args, ");");
      out.line("}");
    } else {
      out.line("const int64_t count = count_", e, "(P", args, ");");
      out.line("if (now > count) [[unlikely]] return use.w.fail(EVT_ABORT_OVERRUN, ", e, ", element, count);");
      out.line("if constexpr (Use::dynamic) {");
      out.line("if (now == count) complete_", e, "(use.w, P", args, ");");
      out.line("}");
    }
    out.line("}");
    out.line("}");
  }
  out.line();
}

void emitHints(const GraphCode &graph, unsigned k, const std::vector<bool> &hinted, CodeWriter &out) {
  out.line("// ", graph.signature.callName(k), ": when to look for its rows");
  out.line("template <class Use> EVT_FN inline bool hints_", k, "(Use &use, const Program &P", graph.coordParams(k),
           ") {");
  ProtocolBody(graph, k, out, hinted).waits();
  out.line("return true;");
  out.line("}");
}

void emitProtocols(const GraphCode &graph, CodeWriter &out) {
  for (unsigned k = 0; k < graph.signature.calls.size(); ++k) {
    std::string params = "([[maybe_unused]] Use &use, [[maybe_unused]] const Program &P";
    for (auto &c : graph.coordList(k))
      params += ", [[maybe_unused]] int64_t " + c;
    params += ") {";
    out.line("// ", graph.signature.callName(k));
    out.line("template <class Use> EVT_FN inline bool waits_", k, params);
    ProtocolBody(graph, k, out).waits();
    out.line("return true;");
    out.line("}");
    out.line("template <class Use> EVT_FN inline void notifies_", k, params);
    ProtocolBody(graph, k, out).notifies();
    out.line("}");
  }
  out.line();
}

void emitSunkWaits(const GraphCode &graph, unsigned k, const SunkWait &sunk, CodeWriter &out) {
  ir::CallOp call = graph.signature.calls[k];
  auto wait = *std::next(call.getProtocol().getOps<ir::WaitOp>().begin(), sunk.wait);
  std::string params = "([[maybe_unused]] Use &use, [[maybe_unused]] const Program &P", coords;
  for (auto &c : graph.coordList(k))
    coords += ", [[maybe_unused]] int64_t " + c;
  out.line("// ", graph.signature.callName(k), ": what is waited for at once, and for columns of K");
  out.line("template <class Use> EVT_FN inline bool waits_beside_", k, params, coords, ") {");
  ProtocolBody(graph, k, out).waits([&](ir::WaitOp other) { return other != wait; });
  out.line("return true;");
  out.line("}");
  out.line("template <class Use> EVT_FN inline bool waits_along_", k, params, ", int64_t from, int64_t to", coords,
           ") {");
  ProtocolBody(graph, k, out).waitAlong(wait);
  out.line("return true;");
  out.line("}");
}

void emitTriggers(const GraphCode &graph, const Triggers &triggers, const std::vector<unsigned> &sharedTail,
                  CodeWriter &out) {
  const ir::Signature &s = graph.signature;
  for (unsigned k = 0; k < s.calls.size(); ++k) {
    ir::CallOp call = s.calls[k];
    auto waits = call.getProtocol().front().getOps<ir::WaitOp>();
    bool single = llvm::hasSingleElement(waits) && !llvm::is_contained((*waits.begin()).getIsRange(), true) &&
                  !call.getRaggedGuard();
    std::string ragged = call.isRagged() ? ", const Groups" + num(k) + " &groups" : "";
    std::string params, names, count;
    auto coords = graph.coordList(k), extents = graph.extentList(k);
    for (unsigned i = 0; i < coords.size(); ++i) {
      bool isShared = i + sharedTail[k] >= coords.size();
      params += isShared ? "" : ", int64_t " + coords[i];
      names += ", " + (isShared ? "0" : coords[i]);
      if (isShared)
        count += (count.empty() ? ", " : " * ") + ("evt::most(" + extents[i] + ", 0)");
    }
    out.line("// An element that ", s.callName(k), " waits for is complete.");
    out.line("EVT_FN inline void ready_", k, "(evt::DynamicWorker &w, const Program &P", ragged, params, ") {");
    out.line("const int64_t task = linear_", k, "(P", call.isRagged() ? ", groups" : "", names, ");");
    std::string push = "w.push(" + num(k) + ", task" + count + ");";
    if (single) {
      out.line(push);
    } else {
      out.line("evt::Counting need{w};");
      out.line("waits_", k, "(need, P", names, ");");
      out.line("if (evt::Worker::arrive(P.j", k, " + task) == need.elements) ", push);
    }
    out.line("}");
  }
  out.line();
  std::vector<std::string> symbolNames;
  for (const auto &symbol : s.symbols)
    symbolNames.push_back(symbol.name);
  const std::string elementName = elementPrefix(symbolNames);
  for (auto [e, event] : llvm::enumerate(s.events)) {
    ir::EventOp op = event;
    std::string params;
    for (unsigned d = 0; d < rankOf(op); ++d)
      params += ", [[maybe_unused]] int64_t " + elementName + num(d);
    out.line("// ", op.getName().str());
    out.line("EVT_FN void complete_", e, "([[maybe_unused]] evt::DynamicWorker &w, [[maybe_unused]] const Program &P",
             params, ") {");
    // Counts in memory that this event orders become known: elements that need nothing more are complete.
    for (auto [f, other] : llvm::enumerate(s.events)) {
      ir::EventOp counted = other;
      if (!counted.getTable() || counted.getGuard() != op.getEvent())
        continue;
      std::string args;
      for (unsigned d = 0; d < rankOf(counted); ++d) {
        out.line("for (int64_t a", d, " = 0; a", d, " < P.e", f, "_", d, "; ++a", d, ") {");
        args += ", a" + num(d);
      }
      out.line("const uint32_t known = evt::table_bias - (uint32_t)evt::most(P.m", s.memoryOf(counted.getTable()),
               ".data[", elementIndex(f, counted), "] * INT64_C(", (int64_t)counted.getFactor(), "), 0);");
      out.line("if (evt::Worker::arrive(P.e", f, " + ", elementIndex(f, counted),
               ", known) == evt::table_bias) complete_", f, "(w, P", args, ");");
      for (unsigned d = 0; d < rankOf(counted); ++d)
        out.line("}");
    }
    for (unsigned k = 0; k < s.calls.size(); ++k) {
      ir::CallOp call = s.calls[k];
      bool guards = call.isRagged() && call.getRaggedGuard() == op.getEvent();
      SmallVector<const Trigger *> mine;
      for (auto [i, wait] : llvm::enumerate(call.getProtocol().front().getOps<ir::WaitOp>()))
        if (wait.getEvent() == op.getEvent())
          mine.push_back(&triggers[k][i]);
      if (mine.empty() && !guards)
        continue;
      out.line("{ // waited for by ", s.callName(k));
      if (call.isRagged())
        out.line("const Groups", k, " groups(w, P.m", s.memoryOf(call.getRaggedTable()), ", ",
                 (int64_t)call.getRaggedBy(), ");");
      // Coordinates that tell apart what tasks wait for: all of a ragged call's.
      std::string params, names;
      auto coords = graph.coordList(k);
      coords.resize(coords.size() - sharedTail[k]);
      for (const std::string &c : coords) {
        params += (params.empty() ? "int64_t " : ", int64_t ") + c;
        names += ", " + c;
      }
      out.line("[[maybe_unused]] const auto ready = [&](", params, ") {");
      if (call.isRagged())
        out.line("if (c1 < groups.offsets[c0 + 1] - groups.offsets[c0]) ready_", k, "(w, P, groups",
                 graph.coordNames(k), ");");
      else
        out.line("ready_", k, "(w, P", names, ");");
      out.line("};");
      if (guards)
        out.line("born_", k, "(w, P, groups, ready);");
      if (!mine.empty()) {
        std::string params, values;
        for (auto [i, symbol] : llvm::enumerate(s.symbols)) {
          params += std::string(i ? ", " : "") + "[[maybe_unused]] int64_t " + symbol.name;
          values += std::string(i ? ", " : "") + "P.s" + num(i);
        }
        out.line("[&](", params, ") {");
        for (const Trigger *t : mine)
          out.block(t->code);
        out.line("}(", values, ");");
      }
      out.line("}");
    }
    out.line("}");
  }
  out.line();
}

} // namespace evt::emit
