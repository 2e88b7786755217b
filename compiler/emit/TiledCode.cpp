#include "TiledCode.h"

#include "FragmentCode.h"
#include "IndexCode.h"

#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;

namespace evt::emit {

namespace {

std::string num(int64_t n) { return std::to_string(n); }

/// The epilogue of a task, on the sums of one fragment.
bool emitStack(ir::DeviceOp device, const roles::TiledProduct &product, ArrayRef<std::string> names, CodeWriter &out,
               std::vector<unsigned> &aligned, std::string &why) {
  FragmentCode code(device, names, out, product.tileRows);
  unsigned first = 0;
  scf::ForOp loop = product.loop;
  for (auto [result, columns] : llvm::zip(loop.getResults(), product.columns)) {
    code.setFragments(result, first);
    first += columns / 4;
  }
  bool ok = code.emit(why);
  aligned.assign(code.aligned().begin(), code.aligned().end());
  return ok;
}

/// A tile's place for the copy engine, columns first; `k` is the place along K within the loop.
std::string coordinates(const IndexCode &index, ir::LoadOp load) {
  std::string text;
  for (Value offset : llvm::reverse(load.getOffsets()))
    text += text.empty() ? ", (int)" + index.name(offset) + " + k" : ", (int)" + index.name(offset);
  return text;
}

void emitFeed(ir::DeviceOp device, const roles::TiledProduct &product, CodeWriter &out) {
  Parameters parameters(device);
  std::string name = device.getSymName().str(), maps;
  scf::ForOp loop = product.loop;
  out.line("// ", name, ", both roles: stages along K, of ", product.chunks * roles::chunkColumns, " columns");
  out.line("EVT_FORCED int64_t stages_", name, "(", parameters.list.substr(2), ") {");
  {
    IndexCode index(device, parameters, out);
    out.line("return evt::tile_stages(", index.name(loop.getLowerBound()), ", ", index.name(loop.getUpperBound()), ", ",
             product.step, ")", product.chunks > 1 ? " / " + num(product.chunks) : "", ";");
  }
  out.line("}");
  for (unsigned w = 0; w < product.weights.size(); ++w)
    maps += ", const evt::TensorMap *w" + num(w);
  out.line("// ", name, ", loader: a tile of rows and the tiles of weights, 64 columns of K at a time");
  out.line("EVT_FORCED void feed_", name, "(evt::TileRing &ring, int64_t stages, const evt::TensorMap *rows", maps,
           parameters.list, ") {");
  IndexCode index(device, parameters, out);
  index.set(loop.getInductionVar(), index.name(loop.getLowerBound()));
  index.emit(*loop.getBody());
  out.line("ring.send(stages, ", product.stageBytes(), ", [&](uint32_t to, evt::ptx::Barrier arrived, int stage) {");
  out.line("#pragma unroll");
  out.line("for (int chunk = 0; chunk < ", product.chunks, "; ++chunk, to += ", product.chunkBytes(), ") {");
  out.line("const int k = (stage * ", product.chunks, " + chunk) * ", roles::chunkColumns, ";");
  out.line("evt::ptx::tensor_load(to, rows, arrived", coordinates(index, product.rows), ");");
  int64_t at = product.tileRows;
  for (auto [w, load] : llvm::enumerate(product.weights)) {
    out.line("evt::ptx::", product.isPacked ? "packed_load" : "tensor_load", "(to + ", at * roles::chunkColumns * 2,
             ", w", w, ", arrived", coordinates(index, load), ");");
    at += product.columns[w];
  }
  out.line("}");
  out.line("});");
  out.line("}");
}

void emitFinish(ir::DeviceOp device, const roles::TiledProduct &product, CodeWriter &out) {
  Parameters parameters(device);
  std::string name = device.getSymName().str(), why;
  std::vector<unsigned> aligned;
  out.line("// ", name, ", compute: what follows the product");
  out.line("EVT_FORCED void finish_", name, "(const float (&sums)[", product.pieces(), "][", product.allColumns() / 2,
           "]", parameters.list, ") {");
  out.line("const int c = evt::fragment_quarter(), col = 2 * c;");
  out.line("#pragma unroll");
  out.line("for (int h = 0; h < ", 2 * product.pieces(), "; ++h) {");
  out.line("const int g = evt::tile_row<", product.tileRows, ">(h);");
  out.line("const auto s = [&](int n) { return sums[h / 2][n / 2 * 4 + h % 2 * 2 + n % 2]; };");
  emitStack(device, product, parameters.names, out, aligned, why);
  out.line("}");
  out.line("}");
}

void emitLoad(const GraphCode &graph, const StreamPlan &plan, unsigned k, CodeWriter &out) {
  const roles::TiledProduct &product = *plan.calls[k].tiled;
  ir::CallOp call = graph.signature.calls[k];
  std::string device = call.getCallee().str(), args = argumentList(graph, k), maps;
  auto mapOf = [&](ir::LoadOp load) { return num(plan.mapOf(graph, k, load)); };
  maps = "maps + " + mapOf(product.rows);
  for (ir::LoadOp load : product.weights)
    maps += ", maps + " + mapOf(load);
  out.line("// ", graph.signature.callName(k), ": the copies of a task, by one lane");
  out.line("EVT_FORCED void load_", k, "(evt::Worker &w, const Program &P", graph.coordParams(k), ") {");
  out.line("const evt::TensorMap *const maps = evt::tensor_maps(w.launch, launch_words);");
  out.line("evt::ptx::copy_fence();");
  out.line("feed_", device, "(*w.tile_ring, stages_", device, "(", args.substr(2), "), ", maps, args, ");");
  out.line("}");
}

} // namespace

bool hasStackForm(ir::DeviceOp device, const roles::TiledProduct &product, std::vector<unsigned> &aligned,
                  std::string &why) {
  CodeWriter scratch;
  std::vector<std::string> names(device.getBody().getNumArguments(), "x");
  return emitStack(device, product, names, scratch, aligned, why);
}

void emitTiledBodies(const GraphCode &graph, const StreamPlan &plan, CodeWriter &out) {
  llvm::SmallPtrSet<Operation *, 8> seen;
  for (unsigned k = 0; k < plan.calls.size(); ++k) {
    if (plan.calls[k].form != TaskForm::tiled)
      continue;
    ir::DeviceOp device = ir::calleeOf(graph.signature.calls[k]);
    if (seen.insert(device).second) {
      emitFeed(device, *plan.calls[k].tiled, out);
      emitFinish(device, *plan.calls[k].tiled, out);
    }
    emitLoad(graph, plan, k, out);
    out.line();
  }
}

void emitTiledHandOver(const GraphCode &graph, unsigned k, bool mayBeAbsent, CodeWriter &out) {
  std::string list = graph.coordNames(k);
  out.line("template <class Use> EVT_FORCED bool task_", k, "(Use &use, const Program &P", graph.coordParams(k), ") {");
  if (mayBeAbsent)
    out.line("if constexpr (!Tiles) return true; // it has no tasks");
  out.line("const int64_t task = linear_", k, "(P", list, ");");
  out.line("if (!evt::pass_ahead<dynamic>(use.w, ", k, ", task, [&](auto &ahead) { return waits_", k, "(ahead, P", list,
           "); })) return false;");
  out.line("if (!use.w.hand_over(", k, ", task", list, ")) return false;");
  out.line("if (threadIdx.x % 32 == 0) load_", k, "(use.w, P", list, ");");
  out.line("__syncwarp();");
  out.line("return true;");
  out.line("}");
}

void emitTiledTasks(const GraphCode &graph, const StreamPlan &plan, CodeWriter &out) {
  for (unsigned k = 0; k < plan.calls.size(); ++k) {
    if (plan.calls[k].form != TaskForm::tiled)
      continue;
    const roles::TiledProduct &product = *plan.calls[k].tiled;
    ir::CallOp call = graph.signature.calls[k];
    std::string device = call.getCallee().str(), args = argumentList(graph, k), list = graph.coordNames(k);
    out.line("// ", graph.signature.callName(k));
    out.line("EVT_FORCED bool execute_", k, "(evt::DynamicWorker &w, const Program &P, const evt::Task &task) {");
    for (auto [d, c] : llvm::enumerate(graph.coordList(k)))
      out.line("[[maybe_unused]] const int64_t ", c, " = task.coord[", d, "];");
    out.line("return evt::run_tiled<dynamic, ", product.tileRows, ", ", product.allColumns(), ", ",
             product.isBfloat16 ? "true" : "false", ", ", product.isPacked ? "true" : "false", ", ", product.chunks,
             ">(");
    out.line("    w, task, P.c", k, "_first + task.index, stages_", device, "(", args.substr(2), "),");
    out.line("    [&](const auto &sums) { finish_", device, "(sums", args, "); },");
    out.line("    [&] {");
    out.line("if constexpr (dynamic) { evt::Triggering use{w}; notifies_", k, "(use, P", list, "); }");
    out.line("else { evt::Polling use{w}; notifies_", k, "(use, P", list, "); }");
    out.line("});");
    out.line("}");
  }
}

} // namespace evt::emit
