#include "KernelCode.h"

#include "ScalarCode.h"
#include "TileCode.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;

namespace evt::emit {

namespace {

std::string num(int64_t n) { return std::to_string(n); }

/// Regions of the workspace, in the order of the manifest and of `launch->regions`.
struct Regions {
  explicit Regions(const ir::Signature &s) : events(s.events.size()), calls(s.calls.size()) {}
  unsigned control() const { return 0; }
  unsigned queue() const { return 1; }
  unsigned event(unsigned e) const { return 2 + e; }
  unsigned join(unsigned k) const { return 2 + events + k; }
  unsigned events, calls;
};

void emitProgram(const GraphCode &graph, CodeWriter &out) {
  const ir::Signature &s = graph.signature;
  Regions regions(s);
  out.line("/// A launch, unpacked.");
  out.line("struct Program {");
  for (auto [i, symbol] : llvm::enumerate(s.symbols))
    out.line("int64_t s", i, "; // ", symbol.name);
  for (auto &[op, name] : graph.sizes())
    out.line("int64_t ", name, ";");
  for (unsigned m = 0; m < s.memories.size(); ++m) {
    auto t = cast<MemRefType>(s.memories[m].getType());
    out.line("evt::Memory<", cppType(t.getElementType()), ", ", t.getRank(), "> m", m, "; // ", s.memoryName(m));
  }
  for (auto [e, event] : llvm::enumerate(s.events)) {
    ir::EventOp op = event;
    out.line("evt::Counter *e", e, "; // ", op.getName().str());
    for (unsigned d = 0; d < op.getExtents().size(); ++d)
      out.line("int64_t e", e, "_", d, ";");
  }
  for (unsigned k = 0; k < s.calls.size(); ++k) {
    out.line("int64_t c", k, "_n, c", k, "_first; // ", s.callName(k), ": tasks, place among the done bytes");
    out.line("evt::Counter *j", k, "; // arrivals of each task's events");
  }
  out.line("int64_t tasks;");
  out.line("evt::Control *control;");
  out.line("evt::Slot *slots;");
  out.line();
  out.line("explicit Program(const evt_launch *launch) {");
  out.line("[[maybe_unused]] const Program &P = *this;");
  for (unsigned i = 0; i < s.symbols.size(); ++i)
    out.line("s", i, " = launch->symbols[", i, "];");
  DenseMap<Value, std::string> none;
  for (auto &[op, name] : graph.sizes()) {
    SmallVector<std::string> operands;
    for (Value o : op->getOperands())
      operands.push_back(o.getType().isIndex() ? graph.expression(o) : "");
    auto e = indexExpression(op, operands);
    out.line(name, " = ", e ? *e : "0", ";");
  }
  for (unsigned m = 0; m < s.memories.size(); ++m) {
    auto t = cast<MemRefType>(s.memories[m].getType());
    std::string dims;
    for (unsigned d = 0; d < t.getRank(); ++d)
      dims += (d ? ", " : "") + graph.memoryDimCode(m, d);
    out.line("m", m, " = {static_cast<", cppType(t.getElementType()), " *>(launch->memories[", m, "]), {",
             dims.empty() ? "1" : dims, "}, ", m, "};");
  }
  for (auto [e, event] : llvm::enumerate(s.events)) {
    ir::EventOp op = event;
    out.line("e", e, " = static_cast<evt::Counter *>(launch->regions[", regions.event(e), "]);");
    for (auto [d, v] : llvm::enumerate(op.getExtents()))
      out.line("e", e, "_", d, " = ", graph.expression(v), ";");
  }
  out.line("tasks = 0;");
  for (unsigned k = 0; k < s.calls.size(); ++k) {
    std::string n;
    for (auto &x : graph.extentList(k))
      n += (n.empty() ? "" : " * ") + ("evt::most(" + x + ", 0)");
    out.line("c", k, "_n = ", n.empty() ? "1" : n, ";");
    out.line("c", k, "_first = tasks;");
    out.line("tasks += c", k, "_n;");
    out.line("j", k, " = static_cast<evt::Counter *>(launch->regions[", regions.join(k), "]);");
  }
  out.line("control = static_cast<evt::Control *>(launch->regions[", regions.control(), "]);");
  out.line("slots = static_cast<evt::Slot *>(launch->regions[", regions.queue(), "]);");
  out.line("}");
  out.line();
  out.line("/// By the last worker to leave: all counters are zero again for the next launch.");
  out.line("void reset(bool dynamic) const {");
  for (auto [e, event] : llvm::enumerate(s.events)) {
    ir::EventOp op = event;
    std::string n = "4";
    for (unsigned d = 0; d < op.getExtents().size(); ++d)
      n += " * e" + num(e) + "_" + num(d);
    out.line("std::memset(static_cast<void *>(e", e, "), 0, ", n, ");");
  }
  out.line("if (dynamic) {");
  for (unsigned k = 0; k < s.calls.size(); ++k)
    out.line("std::memset(static_cast<void *>(j", k, "), 0, 4 * c", k, "_n);");
  out.line("}");
  out.line("std::memset(static_cast<void *>(control), 0, sizeof *control);");
  out.line("}");
  out.line("};");
  out.line();
}

void emitEntry(const std::string &refusal, const std::string &entry, CodeWriter &out) {
  out.line("EVT_ENTRY uint32_t ", entry, "_abi(void) { return EVT_ABI_VERSION; }");
  out.line();
  out.line("EVT_ENTRY void ", entry, "_worker(const evt_launch *launch, uint32_t id) {");
  out.line("const Program P(launch);");
  out.line("const bool dynamic = launch->schedule == EVT_DYNAMIC;");
  out.line("evt::DynamicWorker w(launch, id, P.control, P.slots, P.tasks, P.tasks);");
  out.line("if (launch->schedule == EVT_STATIC) run_static(w, P);");
  out.line("else if (launch->schedule == EVT_TICKET) run_ticket(w, P);");
  if (refusal.empty())
    out.line("else run_dynamic(w, P);");
  out.line("__atomic_store_n(&w.status->state, (uint32_t)EVT_LEFT, __ATOMIC_RELEASE);");
  out.line("if (P.control->left.fetch_add(1, std::memory_order_acq_rel) + 1 == w.workers && !w.aborted()) {");
  out.line("if (dynamic) w.reset_queue();");
  out.line("P.reset(dynamic);");
  out.line("}");
  out.line("}");
  out.line();
  out.line("EVT_ENTRY void ", entry, "_explain(const evt_launch *launch, const evt_hooks *hooks) {");
  out.line("const Program P(launch);");
  out.line("evt_status status = {};");
  out.line("uint32_t abort = 0;");
  out.line("evt_launch quiet = *launch;");
  out.line("quiet.hooks = hooks;");
  out.line("quiet.status = &status;");
  out.line("quiet.abort = &abort;");
  out.line("quiet.done = nullptr;");
  out.line("quiet.perturb = 0;");
  out.line("quiet.inject_call = -1;");
  out.line("evt::Worker w(&quiet, 0, P.control);");
  out.line("explain(w, P);");
  out.line("}");
}

} // namespace

std::string ScheduleFacts::dynamicRefusal() const {
  for (auto &call : triggers)
    for (auto &t : call)
      if (!t.refusal.empty())
        return t.refusal;
  return "";
}

std::string emitKernel(const GraphCode &graph, const ScheduleFacts &facts, const std::string &entry) {
  const ir::Signature &s = graph.signature;
  CodeWriter out;
  ir::GraphOp op = s.graph;
  out.line("// Graph @", op.getSymName().str(), " as one persistent kernel for the CPU. Emitted by evt ", toolVersion,
           "; see program.mlir.");
  out.line("#include \"device/cpu/kernel.h\"");
  out.line();
  bool isOneOfSeveral = entry != defaultEntry;
  if (isOneOfSeveral)
    out.line("namespace ", entry, " {");
  out.line("namespace {");
  out.line();
  emitProgram(graph, out);
  llvm::SmallPtrSet<Operation *, 8> seen;
  for (ir::CallOp call : s.calls) {
    ir::DeviceOp device = ir::calleeOf(call);
    if (!seen.insert(device).second)
      continue;
    std::string body = emitDevice(device);
    if (body.empty())
      return "";
    out.block(body);
    out.line();
  }
  emitCounts(graph, out);
  emitNotifies(graph, out);
  emitProtocols(graph, out);
  emitTasks(graph, out);
  std::string refusal = facts.dynamicRefusal();
  if (refusal.empty()) {
    emitTriggers(graph, facts.triggers, out);
  } else {
    for (auto [e, event] : llvm::enumerate(s.events)) {
      ir::EventOp counters = event;
      std::string params;
      for (unsigned d = 0; d < counters.getExtents().size(); ++d)
        params += ", int64_t";
      out.line("[[maybe_unused]] static void complete_", e, "(evt::DynamicWorker &, const Program &", params, ") {}");
    }
  }
  emitStaticSchedule(graph, facts.carried, out);
  emitTicketSchedule(graph, facts.carried, out);
  if (refusal.empty())
    emitDynamicSchedule(graph, out);
  emitExplain(graph, out);
  out.line("} // namespace");
  out.line();
  emitEntry(refusal, entry, out);
  if (isOneOfSeveral)
    out.line("} // namespace ", entry);
  return out.take();
}

} // namespace evt::emit
