#include "TiledCode.h"

#include "FragmentCode.h"
#include "IndexCode.h"
#include "ProtocolCode.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallSet.h"

using namespace mlir;

namespace evt::emit {

namespace {

std::string num(int64_t n) { return std::to_string(n); }

/// What follows the products, on one fragment of each.
FragmentCode stackOf(ir::DeviceOp device, const roles::TiledProduct &product, ArrayRef<std::string> names,
                     CodeWriter &out) {
  FragmentCode code(device, names, out, product.tileRows);
  unsigned first = 0;
  for (auto [sum, columns] : llvm::zip(product.sums, product.columns)) {
    code.setFragments(sum, first);
    first += columns / 4;
  }
  return code;
}

/// What of it is found early, of each fragment.
int64_t earlyEach(ir::DeviceOp device, const roles::TiledProduct &product) {
  CodeWriter scratch;
  Parameters parameters(device);
  return stackOf(device, product, parameters.names, scratch).earlyEach();
}

/// A tile's place for the copy engine, columns first; `k` is the place along K within the loop.
std::string coordinates(const IndexCode &index, const roles::RoleProduct::Operand &operand) {
  std::string text;
  for (Value offset : llvm::reverse(operand.offsets()))
    text += text.empty() ? ", (int)" + index.name(offset) + " + k" : ", (int)" + index.name(offset);
  return text;
}

/// `rowsAlong` and `weightsAlong`: there are calls whose loader passes a wait column by column.
void emitFeed(ir::DeviceOp device, const roles::TiledProduct &product, bool rowsAlong, bool weightsAlong,
              CodeWriter &out) {
  Parameters parameters(device);
  std::string name = device.getSymName().str(), maps;
  scf::ForOp loop = product.loop;
  out.line("// ", name, ", all roles: steps of 64 columns along K");
  out.line("EVT_FORCED int64_t steps_", name, "(", parameters.list.substr(2), ") {");
  {
    IndexCode index(device, parameters, out);
    index.openRole(loop);
    out.line("return evt::tile_stages(", index.name(loop.getLowerBound()), ", ", index.name(loop.getUpperBound()), ", ",
             product.step, ");");
  }
  out.line("}");
  auto open = [&](IndexCode &index, ArrayRef<roles::RoleProduct::Operand> tiles) {
    index.openRole(loop);
    index.open(tiles, index.name(loop.getLowerBound()));
  };
  out.line("// ", name, ", compute: rows that are there from the tile's first on");
  out.line("EVT_FORCED int64_t rows_", name, "(", parameters.list.substr(2), ") {");
  {
    IndexCode index(device, parameters, out);
    open(index, product.rows);
    out.line("return ", parameters.names[*product.rows.argument()], ".dims[0] - ",
             index.name(product.rows.offsets().front()), ";");
  }
  out.line("}");
  // Behind the copies of a stage: what they wait for, up to where they end.
  auto alongType = [](bool isAlong) { return isAlong ? "template <class Along> " : ""; };
  auto alongParam = [](bool isAlong) { return isAlong ? "Along &&along, " : ""; };
  auto close = [&](bool isAlong, const IndexCode &index, ArrayRef<roles::RoleProduct::Operand> operands) {
    if (!isAlong)
      return out.line("});");
    out.line("}, [&](int stage) {");
    llvm::SmallSet<std::string, 2> columns;
    for (const roles::RoleProduct::Operand &operand : operands)
      if (std::string column = index.name(operand.offsets().back()); columns.insert(column).second)
        out.line("along.pass(", column, " + (stage + 1) * chunks * ", roles::chunkColumns, ", stage + 1 == stages);");
    out.line("});");
  };
  auto openAlong = [&](bool isAlong) {
    if (isAlong)
      out.line("if (stages == 0) along.pass(0, true);");
  };
  auto eachChunk = [&](auto copies) {
    out.line("for (int chunk = 0; chunk < chunks; ++chunk) {");
    out.line("const int k = (stage * chunks + chunk) * ", roles::chunkColumns, ";");
    copies();
    out.line("}");
  };
  const char *fill = "[&](uint32_t to, evt::ptx::Barrier arrived, int stage) {";
  int64_t row = product.bytesOf(1);
  out.line("// ", name, ", a loader: the rows of its stages");
  out.line(alongType(rowsAlong), "EVT_FORCED void fetch_rows_", name, "(", alongParam(rowsAlong),
           "evt::TileRing &ring, int stages, int chunks, int fetched, bool together, "
           "const evt::TensorMap *rows",
           parameters.list, ") {");
  {
    IndexCode index(device, parameters, out);
    open(index, product.rows);
    openAlong(rowsAlong);
    out.line("ring.send(stages, (uint32_t)(chunks * fetched * ", row, "), ", fill);
    if (product.stage.rowsTogether || product.few.rowsTogether) {
      out.line("if (together) {");
      out.line("const int k = stage * chunks * ", roles::chunkColumns, ";");
      out.line("return evt::ptx::chunks_load(to, rows, arrived", coordinates(index, product.rows), ");");
      out.line("}");
    }
    eachChunk([&] {
      out.line("evt::ptx::tensor_load(to + (uint32_t)(chunk * fetched * ", row, "), rows, arrived",
               coordinates(index, product.rows), ");");
    });
    close(rowsAlong, index, product.rows);
  }
  out.line("}");
  for (unsigned w = 0; w < product.weights.size(); ++w)
    maps += ", const evt::TensorMap *w" + num(w);
  out.line("// ", name, ", the other loader: the weights of its stages, where rows have `room`");
  out.line(alongType(weightsAlong), "EVT_FORCED void fetch_weights_", name, "(", alongParam(weightsAlong),
           "evt::TileRing &ring, int stages, int chunks, int room", maps, parameters.list, ") {");
  IndexCode index(device, parameters, out);
  open(index, product.weights);
  openAlong(weightsAlong);
  out.line("ring.send(stages, (uint32_t)(chunks * ", product.bytesOf(product.allColumns()), "), ", fill);
  out.line("to += (uint32_t)(chunks * room * ", row, ");");
  auto copies = [&](const char *how, const char *times) {
    int64_t at = 0;
    for (auto [w, weight] : llvm::enumerate(product.weights)) {
      out.line("evt::ptx::", how, "(to + (uint32_t)(", times, product.bytesOf(at), "), w", w, ", arrived",
               coordinates(index, weight), ");");
      at += product.columns[w];
    }
  };
  if (product.isPacked) {
    out.line("const int k = stage * chunks * ", roles::chunkColumns, ";");
    copies("packed_load", "chunks * ");
  } else {
    eachChunk([&] {
      copies("tensor_load", "");
      out.line("to += ", product.bytesOf(product.allColumns()), ";");
    });
  }
  close(weightsAlong, index, product.weights);
  out.line("}");
}

void emitFinish(ir::DeviceOp device, const roles::TiledProduct &product, CodeWriter &out) {
  Parameters parameters(device);
  std::string name = device.getSymName().str(), why;
  std::string early = "float (&early)[" + num(2 * product.pieces()) + "][" +
                      num(std::max<int64_t>(earlyEach(device, product), 1)) + "]";
  std::string share = ", const evt::FragmentShare &share";
  auto openFragment = [&](const std::string &column) {
    out.line("#pragma unroll 1");
    out.line("for (int h = share.from; h < share.to; ++h) {");
    out.line("const int thread = share.thread();");
    out.line("[[maybe_unused]] const int g = share.row<", product.tileRows,
             ">(thread, h), c = evt::fragment_quarter(thread), col = ", column, ";");
  };
  out.line("// ", name, ", compute: what is found once for all columns");
  out.line("EVT_FORCED void begin_", name, "([[maybe_unused]] ", early, share, parameters.list, ") {");
  openFragment("2 * c");
  if (!stackOf(device, product, parameters.names, out).emitEarly(why))
    llvm::report_fatal_error(llvm::Twine(name) + ": " + why); // it was asked before
  out.line("}");
  out.line("}");
  out.line("// ", name, ", compute: what follows the product");
  out.line("EVT_FORCED void finish_", name, "(float (&sums)[", product.pieces(), "][", product.allColumns() / 2,
           "], [[maybe_unused]] const ", early, share, parameters.list, ") {");
  auto open = [&](const std::string &column) {
    openFragment(column);
    out.line("[[maybe_unused]] const auto e = [&](int n) { return evt::early_of(early, h, n); };");
  };
  auto emitColumns = [&](const std::string &first, int64_t columns, const std::string &isFirst) {
    open(first + "2 * c");
    out.line("const auto s = [&](int n) { return evt::sum_of(sums, h, n); };");
    FragmentCode code = stackOf(device, product, parameters.names, out);
    code.setColumns(columns, isFirst);
    code.emit(why);
    out.line("}");
  };
  FragmentCode::Blocks blocks = stackOf(device, product, parameters.names, out).blocks();
  bool isEven = llvm::all_of(product.columns, [&](int64_t n) { return n == 32 * blocks.count + blocks.rest; });
  if (blocks.count < 2 || !isEven) {
    emitColumns("", 0, "");
  } else { // 32 columns after 32 columns
    if (blocks.running)
      out.line("float running[", 2 * product.pieces(), "][", blocks.running, "] = {};");
    out.line("#pragma unroll 1");
    out.line("for (int first = 0; first < ", 32 * blocks.count, "; first += 32) {");
    emitColumns("first + ", 32, "first == 0");
    int64_t at = 0;
    for (int64_t columns : product.columns) {
      out.line("evt::move_up<", at, ", ", columns, ">(sums);");
      at += columns / 2;
    }
    out.line("}");
    if (blocks.rest)
      emitColumns(num(32 * blocks.count) + " + ", blocks.rest, "false");
    if (blocks.storesRows) {
      open("2 * c");
      stackOf(device, product, parameters.names, out).emitRowStores();
      out.line("}");
    }
  }
  out.line("}");
}

/// `maps + 3, maps + 5`: through which a call fetches operands for such a stage.
std::string mapList(const GraphCode &graph, const StreamPlan &plan, unsigned k,
                    ArrayRef<roles::RoleProduct::Operand> operands, const roles::TiledProduct::Stage &stage) {
  std::string list;
  for (const roles::RoleProduct::Operand &operand : operands)
    list += ", maps + " + num(plan.mapOf(graph, k, operand, stage));
  return list;
}

/// How many rows of a tile are fetched by the call's tasks.
std::string fetchedRows(const GraphCode &graph, const StreamPlan &plan, unsigned k) {
  const roles::TiledProduct &product = *plan.calls[k].tiled;
  if (!plan.mayHaveFewRows(graph, k))
    return num(product.tileRows);
  ir::CallOp call = graph.signature.calls[k];
  int m = graph.signature.memoryOf(call.getArgs()[*product.rows.argument()]);
  return "evt::fetched_rows<" + num(product.tileRows) + ">(P.m" + num(m) + ".dims[0])";
}

/// Whether some calls of a function pass a wait column by column: as they fetch rows, and weights.
std::pair<bool, bool> takesAlong(const GraphCode &graph, const StreamPlan &plan, ir::DeviceOp device) {
  bool rows = false, weights = false;
  for (auto [call, op] : llvm::zip_equal(plan.calls, graph.signature.calls))
    if (call.sunk && ir::calleeOf(op) == device)
      rows |= call.sunk->rows == SunkWait::along, weights |= call.sunk->weights == SunkWait::along;
  return {rows, weights};
}

void emitLoads(const GraphCode &graph, const StreamPlan &plan, unsigned k, CodeWriter &out) {
  const roles::TiledProduct &product = *plan.calls[k].tiled;
  ir::CallOp call = graph.signature.calls[k];
  std::string device = call.getCallee().str(), args = argumentList(graph, k), list = graph.coordNames(k);
  std::string steps = "(int)steps_" + device + "(" + args.substr(2) + ")";
  // Where there are few rows, stages hold more columns.
  bool isTwofold = !(product.few == product.stage);
  auto eachStage = [&](auto fetch) {
    if (isTwofold) {
      out.line("if (fetched <= ", product.few.rows, ") return ", fetch(product.few), ";");
    }
    out.line(fetch(product.stage), ";");
    out.line("}");
  };
  auto stages = [&](const roles::TiledProduct::Stage &stage) {
    return "(" + steps + " + " + num(stage.chunks - 1) + ") / " + num(stage.chunks) + ", " + num(stage.chunks) + ", ";
  };
  out.line("// ", graph.signature.callName(k), ": the copies of a task, by a lane of each loader");
  out.line("EVT_FORCED void load_weights_", k,
           "(evt::DynamicWorker &w, const Program &P, evt::Task &task, evt::TileRing &ring) {");
  declareCoords(graph, k, out);
  out.line("const evt::TensorMap *const maps = evt::tensor_maps(w.launch, launch_words);");
  out.line("[[maybe_unused]] const int fetched = ", fetchedRows(graph, plan, k), ";");
  // What a loader waits for at once, and what column by column.
  const std::optional<SunkWait> &sunk = plan.calls[k].sunk;
  const SunkWait::Passing rows = sunk ? sunk->rows : SunkWait::all, weights = sunk ? sunk->weights : SunkWait::all;
  auto pass = [&](SunkWait::Passing passing) {
    out.line("evt::pass_ahead<dynamic>(w, task, [&](auto &ahead) { return waits_",
             passing == SunkWait::all ? "" : "beside_", k, "(ahead, P", list, "); });");
    if (passing == SunkWait::along)
      out.line("auto along = evt::waits_along<dynamic>(w, task, ", sunk->columns, ", [&](auto &ahead, int64_t from, ",
               "int64_t to) { return waits_along_", k, "(ahead, P, from, to", list, "); });");
  };
  // Functions are shared by calls, so that others pass nothing along the way.
  auto along = [&](bool takes, SunkWait::Passing passing) -> std::string {
    return !takes ? "(ring, " : passing == SunkWait::along ? "(along, ring, " : "(evt::NothingAlong{}, ring, ";
  };
  auto [rowsAlong, weightsAlong] = takesAlong(graph, plan, ir::calleeOf(call));
  if (product.hasWeightsAhead()) {
    out.line("#ifdef EVT_NO_RUN_AHEAD");
    pass(SunkWait::all);
    out.line("#endif");
  } else {
    pass(weights);
  }
  eachStage([&](const roles::TiledProduct::Stage &stage) {
    // As compute does: run_tiled in device/cuda/tiled.h.
    bool isFew = !isTwofold || stage == product.few;
    return "fetch_weights_" + device + along(weightsAlong, weights) + stages(stage) +
           (isFew ? "fetched" : num(stage.rows)) + mapList(graph, plan, k, product.weights, stage) + args + ")";
  });
  out.line("EVT_FORCED void load_rows_", k,
           "(evt::DynamicWorker &w, const Program &P, evt::Task &task, evt::TileRing &ring) {");
  declareCoords(graph, k, out);
  out.line("const evt::TensorMap *const maps = evt::tensor_maps(w.launch, launch_words);");
  out.line("const int fetched = ", fetchedRows(graph, plan, k), ";");
  pass(rows);
  eachStage([&](const roles::TiledProduct::Stage &stage) {
    return "fetch_rows_" + device + along(rowsAlong, rows) + stages(stage) + "fetched, " +
           (stage.rowsTogether ? "true" : "false") + mapList(graph, plan, k, product.rows, stage) + args + ")";
  });
}

} // namespace

bool hasStackForm(ir::DeviceOp device, const roles::TiledProduct &product, std::vector<unsigned> &aligned,
                  std::string &why) {
  CodeWriter scratch;
  std::vector<std::string> names(device.getBody().getNumArguments(), "x");
  FragmentCode code = stackOf(device, product, names, scratch);
  bool ok = code.emit(why) && stackOf(device, product, names, scratch).emitEarly(why);
  aligned.assign(code.aligned().begin(), code.aligned().end());
  return ok;
}

void emitTiledBodies(const GraphCode &graph, const StreamPlan &plan, CodeWriter &out) {
  llvm::SmallPtrSet<Operation *, 8> seen;
  for (unsigned k = 0; k < plan.calls.size(); ++k) {
    if (plan.calls[k].form != TaskForm::tiled)
      continue;
    ir::DeviceOp device = ir::calleeOf(graph.signature.calls[k]);
    if (!seen.insert(device).second)
      continue;
    auto [rowsAlong, weightsAlong] = takesAlong(graph, plan, device);
    emitFeed(device, *plan.calls[k].tiled, rowsAlong, weightsAlong, out);
    emitFinish(device, *plan.calls[k].tiled, out);
    out.line();
  }
}

int64_t sharedSumsBytes(const GraphCode &graph, const StreamPlan &plan, unsigned k) {
  if (plan.calls[k].form != TaskForm::tiled)
    return 0;
  const roles::TiledProduct &product = *plan.calls[k].tiled;
  if (!plan.mayHaveFewRows(graph, k) || product.pieces() != 1 || product.tileRows <= roles::groupRows)
    return 0;
  // share_sums in device/cuda/tiled.h: half of 128 threads' sums, and what is found early for a fragment of theirs.
  int64_t early = std::max<int64_t>(earlyEach(ir::calleeOf(graph.signature.calls[k]), product), 1);
  return 128 * product.allColumns() + 128 * 4 * early;
}

void emitTileStageBytes(const GraphCode &graph, const StreamPlan &plan, CodeWriter &out) {
  out.line("static __device__ __forceinline__ int64_t tile_stage_bytes([[maybe_unused]] const Program &P) {");
  out.line("int64_t bytes = 0;");
  for (unsigned k = 0; k < plan.calls.size(); ++k) {
    if (plan.calls[k].form != TaskForm::tiled)
      continue;
    const roles::TiledProduct &product = *plan.calls[k].tiled;
    auto bytesOf = [&](const roles::TiledProduct::Stage &stage, const std::string &rows) {
      return "evt::tile_stage_bytes(" + num(stage.chunks) + ", " + rows + ", " + num(product.allColumns()) + ")";
    };
    out.line("if (const int fetched = ", fetchedRows(graph, plan, k), "; fetched <= ", product.few.rows, ")");
    out.line("  bytes = evt::most(bytes, ", bytesOf(product.few, "fetched"), ");");
    out.line("else");
    out.line("  bytes = evt::most(bytes, ", bytesOf(product.stage, num(product.stage.rows)), ");");
  }
  out.line("return bytes;");
  out.line("}");
}

void emitTiledHandOver(const GraphCode &graph, unsigned k, bool mayBeAbsent, CodeWriter &out) {
  std::string list = graph.coordNames(k);
  out.line("template <class Use> EVT_FORCED bool task_", k, "(Use &use, const Program &P", graph.coordParams(k), ") {");
  if (mayBeAbsent)
    out.line("if constexpr (!Tiles) return true; // it has no tasks");
  out.line("return use.w.hand_over_tiles(Schedule == EVT_STATIC, ", k, ", linear_", k, "(P", list, ")", list, ");");
  out.line("}");
}

void emitTiledTasks(const GraphCode &graph, const StreamPlan &plan, CodeWriter &out) {
  for (unsigned k = 0; k < plan.calls.size(); ++k) {
    if (plan.calls[k].form != TaskForm::tiled)
      continue;
    const roles::TiledProduct &product = *plan.calls[k].tiled;
    ir::CallOp call = graph.signature.calls[k];
    std::string device = call.getCallee().str(), args = argumentList(graph, k), list = graph.coordNames(k);
    if (plan.calls[k].sunk)
      emitSunkWaits(graph, k, *plan.calls[k].sunk, out);
    emitLoads(graph, plan, k, out);
    out.line("// ", graph.signature.callName(k), ": a task, by the compute warps");
    out.line("EVT_FORCED bool execute_", k, "(evt::DynamicWorker &w, const Program &P, const evt::Task &task) {");
    declareCoords(graph, k, out);
    int64_t early = earlyEach(ir::calleeOf(call), product);
    out.line("return evt::run_tiled<dynamic, ", product.tileRows, ", ", product.allColumns(), ", ",
             product.isBfloat16 ? "true" : "false", ", ", product.isPacked ? "true" : "false", ", ",
             product.stage.chunks, ", ", product.few.chunks, ", ", sharedSumsBytes(graph, plan, k) ? "true" : "false",
             ", ", early, plan.calls[k].sunk ? ", true>(" : ">(");
    out.line("    w, task, P.c", k, "_first + task.index, (int)steps_", device, "(", args.substr(2), "), ",
             fetchedRows(graph, plan, k), ", ",
             plan.mayHaveFewRows(graph, k) ? "rows_" + device + "(" + args.substr(2) + ")" : num(product.tileRows),
             ",");
    out.line("    [&]([[maybe_unused]] auto &early, [[maybe_unused]] const evt::FragmentShare &share) {");
    if (early)
      out.line("begin_", device, "(early, share", args, ");");
    out.line("},");
    out.line("    [&](auto &sums, const auto &early, const evt::FragmentShare &share) {");
    out.line("finish_", device, "(sums, early, share", args, ");");
    out.line("},");
    out.line("    [&] {");
    out.line("if constexpr (dynamic) { evt::Triggering use{w}; notifies_", k, "(use, P", list, "); }");
    out.line("else { evt::Polling use{w}; notifies_", k, "(use, P", list, "); }");
    out.line("});");
    out.line("}");
  }
}

} // namespace evt::emit
