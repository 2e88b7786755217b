#include "ProgramCode.h"

#include "ScalarCode.h"

using namespace mlir;

namespace evt::emit {

namespace {

std::string num(int64_t n) { return std::to_string(n); }

/// How a program is found from a launch: `unpack_sizes`, then each part of `unpack`. On a GPU the code runs once, from
/// no cache, so the warps of a block share it: a part may use sizes, but nothing that another part finds.
void emitUnpacking(const GraphCode &graph, const EarlyRows &early, CodeWriter &out) {
  const ir::Signature &s = graph.signature;
  Regions regions(s);
  out.line("template <class Launch> EVT_DEVICE void unpack_sizes(const Launch &launch) {");
  out.line("[[maybe_unused]] const Program &P = *this;");
  for (unsigned i = 0; i < s.symbols.size(); ++i)
    out.line("s", i, " = launch.symbols[", i, "];");
  for (auto &[op, name] : graph.sizes()) {
    SmallVector<std::string> operands;
    for (Value o : op->getOperands())
      operands.push_back(o.getType().isIndex() ? graph.expression(o) : "");
    auto e = indexExpression(op, operands);
    out.line(name, " = ", e ? *e : "0", ";");
  }
  out.line("}");
  std::vector<std::string> lines;
  auto add = [&](const auto &...words) {
    CodeWriter one;
    one.line(words...);
    lines.push_back(one.take());
  };
  for (unsigned m = 0; m < s.memories.size(); ++m) {
    auto t = cast<MemRefType>(s.memories[m].getType());
    std::string dims;
    for (unsigned d = 0; d < t.getRank(); ++d)
      dims += (d ? ", " : "") + graph.memoryDimCode(m, d);
    add("m", m, " = {static_cast<", cppType(t.getElementType()), " *>(launch.memories[", m, "]), {",
        dims.empty() ? "1" : dims, "}, ", m, "};");
  }
  for (auto [e, event] : llvm::enumerate(s.events)) {
    ir::EventOp op = event;
    add("e", e, " = static_cast<evt::Counter *>(launch.regions[", regions.event(e), "]);");
    for (auto [d, v] : llvm::enumerate(op.getExtents()))
      add("e", e, "_", d, " = ", graph.expression(v), ";");
  }
  for (unsigned k = 0; k < s.calls.size(); ++k)
    add("j", k, " = static_cast<evt::Counter *>(launch.regions[", regions.join(k), "]);");
  unsigned next = regions.early();
  for (auto &[m, tensor] : early.tensors)
    for (int place = 0; place < 3; ++place)
      add("y", m, ".place[", place, "] = static_cast<uint32_t *>(launch.regions[", next++, "]);");
  for (unsigned e = 0; e < early.hinted.size(); ++e)
    if (early.hinted[e])
      add("h", e, " = static_cast<evt::Counter *>(launch.regions[", next++, "]);");
  add("control = static_cast<evt::Control *>(launch.regions[", regions.control(), "]);");
  add("slots = static_cast<evt::Slot *>(launch.regions[", regions.queue(), "]);");
  constexpr unsigned parts = 12; // of which the last one has the calls: each begins where the one before ends
  out.line("static constexpr int parts = ", parts, ";");
  out.line("template <class Launch> EVT_DEVICE void unpack(const Launch &launch, int part) {");
  out.line("[[maybe_unused]] const Program &P = *this;");
  out.line("switch (part) {");
  for (unsigned part = 0; part + 1 < parts; ++part) {
    out.line("case ", part, ":");
    for (size_t i = lines.size() * part / (parts - 1); i < lines.size() * (part + 1) / (parts - 1); ++i)
      out.block(lines[i]);
    out.line("break;");
  }
  out.line("case ", parts - 1, ":");
  out.line("tasks = 0;");
  for (unsigned k = 0; k < s.calls.size(); ++k) {
    std::string n;
    for (auto &x : graph.extentList(k))
      n += (n.empty() ? "" : " * ") + ("evt::most(" + x + ", 0)");
    out.line("c", k, "_n = ", n.empty() ? "1" : n, ";");
    out.line("c", k, "_first = tasks;");
    out.line("tasks += c", k, "_n;");
  }
  out.line("break;");
  out.line("}");
  out.line("}");
  out.line("Program() = default;");
  out.line("template <class Launch> EVT_DEVICE explicit Program(const Launch &launch) {");
  out.line("unpack_sizes(launch);");
  out.line("for (int part = 0; part < parts; ++part) unpack(launch, part);");
  out.line("}");
  out.line();
}

void emitReset(const GraphCode &graph, const EarlyRows &early, CodeWriter &out) {
  const ir::Signature &s = graph.signature;
  out.line("/// By the last worker to leave: all counters are zero again for the next launch.");
  out.line("EVT_DEVICE void reset(bool dynamic) const {");
  unsigned cleared = 0; // the warps of a block take turns
  for (auto [e, event] : llvm::enumerate(s.events)) {
    ir::EventOp op = event;
    std::string n = "4";
    for (unsigned d = 0; d < op.getExtents().size(); ++d)
      n += " * e" + num(e) + "_" + num(d);
    out.line("evt::Worker::clear(", cleared++, ", e", e, ", ", n, ");");
    if (e < early.hinted.size() && early.hinted[e])
      out.line("evt::Worker::clear(", cleared++, ", h", e, ", ", n, ");");
  }
  if (!early.tensors.empty()) {
    // Place 0 is clear if the last generation cleared it for the next one.
    out.line("[[maybe_unused]] const Program &P = *this;");
    out.line("if (!dynamic) {");
    for (auto &[m, tensor] : early.tensors) {
      auto type = cast<MemRefType>(s.memories[m].getType());
      std::string bytes = num(type.getElementTypeBitWidth() / 8) + " * " + early.rows(graph, m);
      for (unsigned d = 1; d < type.getRank(); ++d)
        bytes += " * m" + num(m) + ".dims[" + num(d) + "]";
      out.line("if ((", early.code(graph, tensor, tensor.count), ") % 3) evt::Worker::clear(", cleared++, ", y", m,
               ".place[0], ", bytes, ");");
    }
    out.line("}");
  }
  out.line("if (dynamic) {");
  for (unsigned k = 0; k < s.calls.size(); ++k)
    out.line("evt::Worker::clear(", k, ", j", k, ", 4 * c", k, "_n);");
  out.line("}");
  out.line("evt::Worker::clear(", cleared, ", control, sizeof *control);");
  out.line("}");
}

} // namespace

void emitProgram(const GraphCode &graph, const EarlyRows &early, CodeWriter &out) {
  const ir::Signature &s = graph.signature;
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
  for (auto &[m, tensor] : early.tensors)
    out.line("evt::Places y", m, "; // ", s.memoryName(m));
  for (unsigned e = 0; e < early.hinted.size(); ++e)
    if (early.hinted[e])
      out.line("evt::Counter *h", e, "; // hints of ", ir::EventOp(s.events[e]).getName().str());
  out.line("int64_t tasks;");
  out.line("evt::Control *control;");
  out.line("evt::Slot *slots;");
  out.line();
  emitUnpacking(graph, early, out);
  emitReset(graph, early, out);
  out.line("};");
  out.line();
}

} // namespace evt::emit
