#include "RoleCode.h"

#include "FeedCode.h"
#include "TiledCode.h"

namespace evt::emit {

namespace {

std::string num(int64_t n) { return std::to_string(n); }

} // namespace

void emitCudaRoles(const GraphCode &graph, const StreamPlan &streams, const std::string &layout, bool hasDynamic,
                   int64_t collected, CodeWriter &out) {
  const ir::Signature &s = graph.signature;
  bool isMixed = streams.streams() && streams.tiles();
  out.line("/// What the roles of a block do: see device/cuda/kernel.h.");
  out.line("struct Kernel {");
  out.line("static constexpr bool dynamic = Code::dynamic;");
  out.line("static constexpr int collected = ", collected, ", row_pieces = ", streams.rowPieces(),
           ", least_row_pieces = ", streams.leastRowPieces(), ", wait_parts = ", streams.early.waitParts(), ";");
  out.line("static constexpr evt::SharedLayout layout", layout, ";");
  std::vector<bool> told = toldCalls(graph, streams);
  out.line("static constexpr bool tells = ",
           llvm::is_contained(told, true) ? "!dynamic && layout.tile_stages().slots > 0" : "false", ";");
  auto isStaged = [&](unsigned k) { return isFedByStream(graph, streams, ir::calleeOf(s.calls[k])); };
  bool feedsStages = llvm::any_of(llvm::seq<unsigned>(0, s.calls.size()), isStaged);
  out.line("static constexpr bool feeds_stages = ", feedsStages ? "layout.slots > 0" : "false", ";");
  bool endsShort =
      llvm::any_of(streams.calls, [](const StreamPlan::Call &c) { return c.product && c.product->endsShort(); });
  out.line("static constexpr bool ends_short = ", endsShort ? "true" : "false", ";");
  emitTileStageBytes(graph, streams, out);
  out.line("static __device__ __forceinline__ void schedule(evt::DynamicWorker &w, const Program &P) {");
  out.line("if constexpr (Schedule == EVT_STATIC) run_static(w, P);");
  out.line("else if constexpr (Schedule == EVT_TICKET) run_ticket(w, P);");
  if (hasDynamic)
    out.line("else run_dynamic(w, P);");
  out.line("}");
  auto has = [&](TaskForm form) { return [&streams, form](unsigned k) { return streams.calls[k].form == form; }; };
  auto cases = [&](auto isOne, auto text) {
    std::vector<std::pair<std::string, std::string>> labels; // of what is done: two calls may do the same
    for (unsigned k = 0; k < s.calls.size(); ++k) {
      if (!isOne(k))
        continue;
      std::optional<TaskForm> side = isMixed ? streams.calls[k].side : std::nullopt;
      std::string guard = side == TaskForm::streamed ? "if constexpr (Streams) "
                          : side == TaskForm::tiled  ? "if constexpr (Tiles) "
                                                     : "";
      std::string statement = guard + text(k) + (guard.empty() ? "" : " else break;");
      auto same = llvm::find_if(labels, [&](const auto &one) { return one.first == statement; });
      (same == labels.end() ? labels.emplace_back(statement, "") : *same).second += "case " + num(k) + ": ";
    }
    for (auto &[statement, label] : labels)
      out.line(label, statement);
  };
  // A function that goes by the task's call.
  auto dispatch = [&](const std::string &head, auto isOne, auto text, const char *otherwise = "") {
    out.line(head);
    out.line("switch (task.call) {");
    cases(isOne, text);
    out.line("}");
    if (*otherwise)
      out.line(otherwise);
    out.line("}");
  };
  out.line("static __device__ __forceinline__ bool execute(evt::DynamicWorker &w, const Program &P, const evt::Task "
           "&task) {");
  out.line("switch (task.call) {");
  cases(has(TaskForm::handedOver), [](unsigned k) { return "return execute_" + num(k) + "(w, P, task);"; });
  cases(has(TaskForm::tiled), [](unsigned k) { return "return execute_" + num(k) + "(w, P, task);"; });
  out.line("}");
  out.line("return false;");
  out.line("}");
  if (streams.tiles()) {
    dispatch(
        "static __device__ __forceinline__ void feed(evt::DynamicWorker &w, const Program &P, evt::Task &task, "
        "evt::TileRing &ring, evt::TileLoader part) {",
        [&](unsigned k) { return isFed(graph, streams, k); },
        [](unsigned k) { return "return feed_" + num(k) + "(w, P, task, ring, part);"; });
    dispatch(
        "static __device__ __forceinline__ void tell(evt::DynamicWorker &w, const Program &P, const evt::Task "
        "&task) {",
        [&](unsigned k) { return told[k]; }, [](unsigned k) { return "return tell_" + num(k) + "(w, P, task);"; });
  }
  if (feedsStages)
    dispatch("static __device__ __forceinline__ void feed_stages(const Program &P, const evt::Task &task, "
             "evt::tile::StageFeeder &feeder) {",
             isStaged, [](unsigned k) { return "return feed_stages_" + num(k) + "(P, task, feeder);"; });
  if (streams.tiles())
    for (std::string what : {"load_weights", "load_rows"})
      dispatch("static __device__ __forceinline__ void " + what +
                   "(evt::DynamicWorker &w, const Program &P, evt::Task &task, evt::TileRing &ring) {",
               has(TaskForm::tiled),
               [&](unsigned k) { return "return " + what + "_" + num(k) + "(w, P, task, ring);"; });
  if (streams.streams()) {
    dispatch(
        "static EVT_DEVICE bool waits(evt::DynamicWorker &w, const Program &P, const evt::Task &task, int part) {",
        has(TaskForm::streamed),
        [&](unsigned k) { return "return stream_waits_" + num(streams.calls[k].rowsOf) + "(w, P, task, part);"; },
        "return false;");
    dispatch(
        "static __device__ __forceinline__ uint32_t open(evt::DynamicWorker &w, const Program &P, const "
        "evt::Task &task, uint4 (&rows)[row_pieces], float *kept) {",
        has(TaskForm::streamed),
        [&](unsigned k) { return "return stream_open_" + num(streams.calls[k].rowsOf) + "(w, P, task, rows, kept);"; },
        "return 0;");
    out.line("static __device__ __forceinline__ void multiply(uint32_t shape, evt::Ring &ring, evt::Results &results, "
             "const uint4 (&rows)[row_pieces]) {");
    out.line("switch (shape) {");
    for (auto [i, p] : llvm::enumerate(streams.shapes()))
      out.line("case ", i + 1, ": return evt::multiply_stream<", p->pieces(), ", ", p->blocks(), ", ", p->fragments(),
               ", ", p->isBfloat16 ? "true" : "false", ">(ring, results, rows);");
    out.line("}");
    out.line("}");
    dispatch("static EVT_DEVICE void finish(evt::DynamicWorker &w, const Program &P, const evt::Task &task, "
             "evt::Results &results, const float *kept) {",
             has(TaskForm::streamed),
             [](unsigned k) { return "return finish_" + num(k) + "(w, P, task, results, kept);"; });
  }
  out.line("};");
}

} // namespace evt::emit
