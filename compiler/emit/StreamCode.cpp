#include "StreamCode.h"

#include "IndexCode.h"
#include "ScalarCode.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;

namespace evt::emit {

namespace {

std::string num(int64_t n) { return std::to_string(n); }

std::string offsets(IndexCode &index, ValueRange values, const std::string &row, const std::string &column) {
  std::string text;
  for (auto [d, v] : llvm::enumerate(values)) {
    text += (d ? ", " : "") + index.name(v);
    if (d + 2 == values.size() && !row.empty())
      text += " + " + row;
    if (d + 1 == values.size() && !column.empty())
      text += " + " + column;
  }
  return text;
}

void emitFeed(ir::DeviceOp device, const roles::StreamedProduct &product, CodeWriter &out) {
  Parameters parameters(device);
  std::string name = device.getSymName().str();
  out.line("// ", name, ", loader: its weights, stage by stage");
  out.line("EVT_FORCED void feed_", name, "(const char *(&from)[", product.fragments(), "]", parameters.list, ") {");
  IndexCode index(device, parameters, out);
  out.line("{");
  out.line("const int64_t k = ", product.lower, ";");
  index.open(product.weights, "k");
  // Stages of a fragment follow each other.
  int64_t next = 0;
  for (const auto &w : product.weights) {
    ir::LoadOp load = w.load;
    for (int64_t f = 0; f < product.fragments(w); ++f)
      out.line("from[", next++, "] = reinterpret_cast<const char *>(evt::packed(", index.name(load.getMemory()), ", {",
               offsets(index, load.getOffsets(), f ? num(layout::packedRows * f) : "", ""), "}));");
  }
  out.line("}");
  out.line("}");
}

void emitRows(ir::DeviceOp device, const roles::StreamedProduct &product, bool isEarly, bool dropsRowsOutside,
              CodeWriter &out) {
  Parameters parameters(device);
  std::string name = device.getSymName().str(), pieces = isEarly ? "reading.pieces(row, rows, " : "row.pieces(rows + ";
  std::string blocks = num(product.blocks());
  out.line("// ", name, ", compute: the rows it multiplies, in registers");
  out.line("EVT_FORCED void rows_", name, "(", isEarly ? "evt::Reading &reading, " : "", "uint4 *rows", parameters.list,
           ") {");
  out.line("const int thread = evt::ptx::kept_thread(), warp = thread / 32;");
  out.line("const int g = evt::fragment_row(thread), c = evt::fragment_quarter(thread);");
  IndexCode index(device, parameters, out);
  ir::LoadOp load = product.rows.load;
  auto k = cast<BlockArgument>(scf::ForOp(product.rows.loop).getInductionVar());
  index.openRole(product.rows.loop);
  // One for all of K, unless it is found in the loop.
  bool isOneRow =
      llvm::all_of(load.getOffsets().drop_back(), [&](Value v) { return !roles::dependsOn(v, k) && index.isKnown(v); });
  std::string memory = index.name(load.getMemory());
  auto row = [&] {
    std::string at;
    for (Value v : load.getOffsets().drop_back())
      at += index.name(v) + (at.empty() && load.getOffsets().size() == 2 ? " + g, " : ", ");
    if (load.getOffsets().size() > 2)
      at.insert(at.size() - 2, " + g");
    out.line("const evt::Row row(", memory, ", {", at, "0}, ", dropsRowsOutside ? "true" : "false", ");");
  };
  std::string count = num(product.pieces());
  bool isEven = !product.endsShort();
  if (isOneRow) {
    row();
    out.line("int column[", count, "];");
  }
  out.line("#pragma unroll");
  out.line("for (int s = 0; s < ", product.stages(), "; ++s) {");
  out.line("const int64_t k = ", product.lower, " + s * ", product.together * product.step, ";");
  std::string here = isEven ? blocks : "blocks"; // of this stage
  if (!isEven)
    out.line("const int blocks = s < ", product.stages() - 1, " ? ", blocks, " : ", product.lastBlocks(), ";");
  index.open(product.rows, "k");
  if (!isOneRow) {
    row();
    out.line("int column[", blocks, "];");
  }
  out.line("#pragma unroll");
  out.line("for (int b = 0; b < ", here, "; ++b)");
  out.line("  column[", isOneRow ? "s * " + blocks + " + " : "", "b] = (int)(", index.name(load.getOffsets().back()),
           ") + (warp * ", here, " + b) * ", layout::packedColumns, " + c * ", layout::laneElements, ";");
  if (!isOneRow)
    out.line(pieces, "s * ", blocks, ", column);");
  out.line("}");
  if (isOneRow)
    out.line(pieces, "0, column);");
  out.line("}");
}

/// Arguments for the places that a device function writes: `, evt::EarlyWrite e3`.
std::string placeParams(const GraphCode &graph, const EarlyRows &early, ir::DeviceOp device, FragmentCode &code) {
  std::string text;
  for (BlockArgument a : device.getBody().getArguments())
    if (isa<MemRefType>(a.getType()) && early.writesEarly(graph, device, a.getArgNumber())) {
      std::string name = "e" + num(a.getArgNumber());
      code.setPlace(a, name);
      text += ", const evt::EarlyWrite &" + name;
    }
  return text;
}

/// What a call passes for them.
std::string placeList(const GraphCode &graph, const EarlyRows &early, unsigned k) {
  ir::CallOp call = graph.signature.calls[k];
  std::string text;
  for (auto [i, a] : llvm::enumerate(call.getArgs()))
    if (isa<MemRefType>(a.getType()) && early.writesEarly(graph, ir::calleeOf(call), i))
      text += ", " + early.written(graph, k, graph.signature.memoryOf(a));
  return text;
}

void emitFinish(const GraphCode &graph, const EarlyRows &early, ir::DeviceOp device,
                const roles::StreamedProduct &product, CodeWriter &out) {
  Parameters parameters(device, "int");
  std::string name = device.getSymName().str(), why;
  const EarlyRows::Reader *reader = early.readsEarly(graph, device);
  out.line("// ", name, ", compute: row values for its end");
  out.line("EVT_FORCED void keep_", name, "(", reader ? "[[maybe_unused]] evt::Reading &reading, " : "",
           "[[maybe_unused]] float *kept", parameters.list, ") {");
  FragmentCode keep(device, parameters.names, out);
  setProduct(keep, device, product);
  for (unsigned a : reader ? llvm::ArrayRef(reader->arguments) : llvm::ArrayRef<unsigned>())
    keep.setReading(device.getBody().getArgument(a));
  if (!keep.emitKeep(why))
    llvm::report_fatal_error(llvm::Twine(name) + ": " + why); // it was asked before
  out.line("}");
  out.line("// ", name, ", epilogue: what follows the product");
  FragmentCode code(device, parameters.names, out);
  out.line("EVT_FORCED void finish_", name, "(evt::Results &results, [[maybe_unused]] const float *kept",
           parameters.list, placeParams(graph, early, device, code), ") {");
  setProduct(code, device, product);
  std::string count = num(product.fragments());
  code.setSums("float s[" + num(2 * product.fragments()) + "]; results.take<" + count + ">(s);");
  if (!code.emit(why))
    llvm::report_fatal_error(llvm::Twine(name) + ": " + why); // it was asked before
  out.line("}");
}

/// Names of the coordinates that decide which rows a task has, and what it waits for.
std::string keyList(const GraphCode &graph, unsigned k, const roles::StreamedProduct &product) {
  std::string text;
  unsigned skip = graph.iterations(k);
  for (auto [i, c] : llvm::enumerate(graph.coordList(k)))
    if (i < skip || !llvm::is_contained(product.streaming, (unsigned)i - skip))
      text += (text.empty() ? "" : ", ") + c;
  return text.empty() ? "0" : text;
}

/// Whether what a task waits for depends on the streaming coordinates, so that every task has to wait.
bool waitsEveryTime(const GraphCode &graph, unsigned k, const roles::StreamedProduct &product) {
  return llvm::any_of(product.streaming, [&](unsigned c) { return waitsDependOn(graph, k, c); });
}

/// Notifies of an epilogue. They can be owed where control hands the next task over whatever happens: it does not wait
/// for the guard of a ragged call, nor, as the loader of tiles, for a task's events.
std::string notifyLambda(const GraphCode &graph, const StreamPlan &plan, unsigned k) {
  std::string list = graph.coordNames(k), call = "notifies_" + num(k) + "(use, P" + list + ");";
  bool isGuarded =
      llvm::any_of(graph.signature.calls, [](ir::CallOp op) { return op.isRagged() && op.getRaggedGuard(); });
  std::string use = isGuarded ? "evt::Polling" : plan.tiles() ? "evt::OwingUnless<Tiles>" : "evt::Owing";
  return "[&] { if constexpr (dynamic) { evt::Triggering use{w}; " + call + " } else { " + use + " use{w}; " + call +
         " } }";
}

/// What compute does before a task's products, the same for all calls with these rows: its waits, then the rows.
void emitOpening(const GraphCode &graph, const StreamPlan &plan, unsigned k, CodeWriter &out) {
  const roles::StreamedProduct &product = *plan.calls[k].product;
  ir::CallOp call = graph.signature.calls[k];
  std::string device = call.getCallee().str(), args = argumentList(graph, k), list = graph.coordNames(k);
  const EarlyRows &early = plan.early;
  const EarlyRows::Reader &reader = early.readers[k];
  bool isEarly = early.isEarly(k);
  out.line("EVT_FN bool stream_waits_", k,
           "(evt::DynamicWorker &w, const Program &P, const evt::Task &task, int part) {");
  declareCoords(graph, k, out);
  if (isEarly) {
    out.line("const int64_t generation = ", early.code(graph, early.tensors.at(reader.memories[0]), reader.generation),
             ";");
    out.line("if (generation >= 0) {");
    out.line("evt::Looking use{w};");
    out.line("const int64_t lane = evt::ptx::thread() % 32;");
    for (auto [i, borrowed] : llvm::enumerate(reader.borrowed)) {
      out.line("if (part == ", i + 1, ") {");
      early.emitWaits(graph, borrowed, out);
      out.line("}");
    }
    out.line("return part || hints_", k, "(use, P", list, ");");
    out.line("}");
  }
  out.line("if (part) return true;");
  out.line("evt::Polling use{w};");
  out.line("return waits_", k, "(use, P", list, ");");
  out.line("}");
  out.line("EVT_FORCED uint32_t stream_open_", k,
           "([[maybe_unused]] evt::DynamicWorker &w, const Program &P, const evt::Task &task, "
           "uint4 (&rows)[row_pieces], float *kept) {");
  declareCoords(graph, k, out);
  if (early.readsEarly(graph, ir::calleeOf(call))) {
    std::string generation = "-1";
    if (isEarly)
      generation = "dynamic ? -1 : " + early.code(graph, early.tensors.at(reader.memories[0]), reader.generation);
    out.line("const int64_t generation = ", generation, ";");
    for (unsigned m : reader.memories)
      out.line("const auto m", m, " = evt::early_memory(P.m", m, ", P.y", m, ", generation);");
    out.line("return evt::read_rows<", product.pieces(), ">(");
    out.line("    generation >= 0, rows,");
    std::string seen = argumentList(graph, k, reader.memories);
    out.line("    [&](evt::Reading &reading) { rows_", device, "(reading, rows", seen, "); },");
    out.line("    [&](evt::Reading &reading) { keep_", device, "(reading, kept", seen, "); },");
    out.line("    [&] { evt::Asking use{w}; waits_", k, "(use, P", list, "); });");
  } else {
    out.line("rows_", device, "(rows", args, "); // on their way while the row values are found");
    out.line("keep_", device, "(kept", args, ");");
    out.line("return 0;");
  }
  out.line("}");
}

void emitStreamTask(const GraphCode &graph, const StreamPlan &plan, unsigned k, CodeWriter &out) {
  const roles::StreamedProduct &product = *plan.calls[k].product;
  ir::CallOp call = graph.signature.calls[k];
  std::string device = call.getCallee().str(), args = argumentList(graph, k), list = graph.coordNames(k);
  out.line("// ", graph.signature.callName(k));
  out.line("template <class Use> EVT_FORCED bool task_", k, "(Use &use, const Program &P", graph.coordParams(k), ") {");
  if (plan.tiles())
    out.line("if constexpr (!Streams) return true; // it has no tasks");
  out.line("const char *from[", product.fragments(), "];");
  out.line("feed_", device, "(from", args, ");");
  out.line("const int64_t rows_of[] = {", keyList(graph, k, product), "};");
  std::string bytes = num(product.stageBytes());
  if (product.endsShort())
    bytes = "evt::stage_word(" + bytes + ", " + num(product.stageBytes() - product.lastStageBytes()) + ")";
  out.line("return use.w.template hand_over_stream<", product.stages(), ">(", k, ", linear_", k, "(P", list, "), ",
           plan.shapeOf(k) + 1, ", from, ", bytes, ", ", plan.calls[k].rowsOf, ", ",
           waitsEveryTime(graph, k, product) ? "true" : "false", ", rows_of", list, ");");
  out.line("}");
  const EarlyRows &early = plan.early;
  if (plan.calls[k].rowsOf == k)
    emitOpening(graph, plan, k, out);
  out.line("EVT_FN void finish_", k,
           "(evt::DynamicWorker &w, const Program &P, const evt::Task &task, evt::Results &results, const float "
           "*kept) {");
  declareCoords(graph, k, out);
  out.line("finish_", device, "(results, kept", args, placeList(graph, early, k), ");");
  std::string end = "evt::end_task<dynamic>(w, " + num(k) + ", task.index, P.c" + num(k) +
                    "_first + task.index, task.taken, task.started, ";
  ir::NotifyOp notify;
  call.getProtocol().walk([&](ir::NotifyOp n) { notify = n; });
  auto inlined = notify ? plan.onCompletion.find(graph.signature.eventOf(notify.getEvent())) : plan.onCompletion.end();
  if (inlined == plan.onCompletion.end()) {
    out.line(end, notifyLambda(graph, plan, k), ");");
  } else {
    auto [e, m] = *inlined;
    auto locals = graph.locals(k);
    std::string element, indices;
    for (auto [d, v] : llvm::enumerate(notify.getLower())) {
      std::string i = graph.expression(v, locals);
      indices += ", " + i;
      element = element.empty() ? i : "(" + element + ") * P.e" + num(e) + "_" + num(d) + " + " + i;
    }
    std::string counter = "P.e" + num(e) + " + " + (element.empty() ? "0" : element);
    out.line("bool last = false;");
    out.line("if (!w.injected(", k, ", task.index)) {");
    if (const std::optional<ElementDeal> &deal = plan.calls[k].deal) {
      // The static schedule gives all tasks of an element to one warp, in order. Where one of their notifies is lost on
      // purpose, the counter tells.
      std::string isWhole = "Schedule == EVT_STATIC", isLast;
      for (unsigned other = deal->first; other <= deal->last; ++other)
        isWhole += " && w.launch->inject_call != " + num(other);
      auto extents = graph.extentList(k);
      for (unsigned d : deal->passes)
        isLast += (isLast.empty() ? "" : " && ") + ("c" + num(d)) + " == " + extents[graph.iterations(k) + d] + " - 1";
      if (deal->last != k)
        isLast = "false";
      out.line("if (", isWhole, ") { evt::count_own(", counter, "); last = ", isLast.empty() ? "true" : isLast, "; }");
      out.line("else");
    }
    out.line("last = evt::arrive_last(", counter, ", count_", e, "(P", indices, "));");
    out.line("}");
    out.line(end, "[] {});");
    out.line("if (last) inline_", m, "(w, P", indices, ");");
  }
  out.line("}");
}

} // namespace

/// Calls `name(text)` for every word of the text, and puts what it returns in its place.
static std::string replaceWords(StringRef text, llvm::function_ref<std::string(StringRef)> name) {
  std::string result;
  for (size_t i = 0; i < text.size();) {
    size_t end = i;
    while (end < text.size() && (isalnum(text[end]) || text[end] == '_'))
      ++end;
    if (end > i)
      result += name(text.slice(i, end));
    else
      result += text[end++];
    i = end;
  }
  return result;
}

/// The number of a name such as `v12`.
static std::optional<unsigned> numbered(char letter, StringRef word) {
  unsigned number;
  if (word.size() < 2 || word[0] != letter || word.drop_front().getAsInteger(10, number))
    return std::nullopt;
  return number;
}

/// What emitted code does, the same for two calls that do the same: what a call passes is in the place of parameters
/// `a0`, `a1`, …, values `v0`, … that nobody uses are left out, and others, with loaded rows `r0`, …, are numbered
/// anew.
static std::string canonical(StringRef text, const GraphCode &graph, unsigned k) {
  SmallVector<StringRef> lines, arguments;
  text.split(lines, '\n', -1, false);
  for (bool changed = true; changed;) {
    std::map<unsigned, unsigned> uses;
    for (StringRef line : lines)
      replaceWords(line, [&](StringRef word) {
        if (auto v = numbered('v', word))
          ++uses[*v];
        return std::string();
      });
    size_t before = lines.size();
    llvm::erase_if(lines, [&](StringRef line) {
      StringRef rest = line.trim();
      if (rest.starts_with("//"))
        return true;
      if (!rest.consume_front("const ") && !rest.consume_front("[[maybe_unused]] const "))
        return false;
      auto v = numbered('v', rest.split('=').first.rtrim().rsplit(' ').second);
      return v && uses[*v] == 1;
    });
    changed = lines.size() != before;
  }
  std::string list = argumentList(graph, k), result;
  StringRef(list).split(arguments, ", ", -1, false);
  std::map<std::string, size_t> renamed;
  for (StringRef line : lines)
    result += replaceWords(line.trim(),
                           [&](StringRef word) {
                             if (numbered('v', word) || numbered('r', word))
                               return "v" + num(renamed.emplace(word, renamed.size()).first->second);
                             if (auto a = numbered('a', word); a && *a < arguments.size())
                               return arguments[*a].str();
                             return word.str();
                           }) +
              "\n";
  return result;
}

void StreamPlan::shareRows(const GraphCode &graph) {
  std::map<std::string, unsigned> first;
  for (unsigned k = 0; k < calls.size(); ++k) {
    calls[k].rowsOf = k;
    if (calls[k].form != TaskForm::streamed || waitsEveryTime(graph, k, *calls[k].product))
      continue;
    ir::CallOp call = graph.signature.calls[k];
    ir::DeviceOp device = ir::calleeOf(call);
    const roles::StreamedProduct &product = *calls[k].product;
    // What opening a task's rows would do, as text.
    CodeWriter rows, kept;
    emitRows(device, product, false, dropsRowsOutside(graph, device), rows);
    FragmentCode keep(device, Parameters(device, "int").names, kept);
    setProduct(keep, device, product);
    std::string why;
    if (!keep.emitKeep(why))
      continue;
    std::string text = rows.take();
    text = canonical(StringRef(text).split("{").second, graph, k) + canonical(kept.take(), graph, k) +
           keyList(graph, k, product) + "\niterations " + num(graph.iterations(k));
    auto locals = graph.locals(k);
    call.getProtocol().walk([&](ir::WaitOp wait) {
      text += "\nwait " + num(graph.signature.eventOf(wait.getEvent()));
      for (unsigned d = 0; d < wait.getLower().size(); ++d) {
        text += ", " + graph.expression(wait.getLower()[d], locals);
        if (Value upper = wait.getUpperOf(d))
          text += " to " + graph.expression(upper, locals);
      }
    });
    for (unsigned m : early.readers[k].memories)
      text += " early " + num(m);
    calls[k].rowsOf = first.emplace(text, k).first->second;
  }
}

bool waitsDependOn(const GraphCode &graph, unsigned k, unsigned coordinate) {
  ir::CallOp call = graph.signature.calls[k];
  bool depends = false;
  for (auto &[value, name] : graph.locals(k))
    if (auto argument = dyn_cast<BlockArgument>(value); argument && name == "c" + num(coordinate))
      call.getProtocol().walk([&](ir::WaitOp w) {
        for (Value v : w->getOperands())
          depends |= roles::dependsOn(v, argument);
      });
  return depends;
}

void setProduct(FragmentCode &code, ir::DeviceOp device, const roles::StreamedProduct &product) {
  unsigned first = 0;
  for (auto [sum, weight] : llvm::zip(product.sums, product.weights)) {
    code.setFragments(sum, first);
    first += 2 * product.fragments(weight);
  }
  SmallVector<BlockArgument> streaming;
  for (unsigned c : product.streaming)
    streaming.push_back(device.getCoord(c));
  code.setStreaming(streaming);
}

void declareCoords(const GraphCode &graph, unsigned k, CodeWriter &out) {
  for (auto [d, c] : llvm::enumerate(graph.coordList(k)))
    out.line("[[maybe_unused]] const int64_t ", c, " = task.coord[", d, "];");
}

std::string argumentList(const GraphCode &graph, unsigned k, ArrayRef<unsigned> local) {
  ir::CallOp op = graph.signature.calls[k];
  std::string args;
  auto locals = graph.locals(k);
  for (Value a : op.getArgs()) {
    if (a.getType().isIndex()) {
      args += ", " + graph.expression(a, locals);
      continue;
    }
    unsigned m = graph.signature.memoryOf(a);
    args += (llvm::is_contained(local, m) ? ", m" : ", P.m") + num(m);
  }
  for (unsigned c = 0; c < op.getNumCoords(); ++c)
    args += ", c" + num(c);
  return args;
}

void emitStreamBodies(const GraphCode &graph, const StreamPlan &plan, CodeWriter &out) {
  llvm::SmallPtrSet<Operation *, 8> streamed, inlined;
  for (unsigned k = 0; k < plan.calls.size(); ++k) {
    ir::DeviceOp device = ir::calleeOf(graph.signature.calls[k]);
    if (plan.calls[k].form == TaskForm::streamed && streamed.insert(device).second) {
      emitFeed(device, *plan.calls[k].product, out);
      emitRows(device, *plan.calls[k].product, plan.early.readsEarly(graph, device) != nullptr,
               plan.dropsRowsOutside(graph, device), out);
      emitFinish(graph, plan.early, device, *plan.calls[k].product, out);
      out.line();
    } else if (plan.calls[k].form == TaskForm::onCompletion && inlined.insert(device).second) {
      Parameters parameters(device, "int");
      std::string why;
      out.line("// ", device.getSymName().str(), ", run by the warp that completes its event");
      std::string list = parameters.list.empty() ? "" : parameters.list.substr(2);
      FragmentCode code(device, parameters.names, out);
      std::string places = placeParams(graph, plan.early, device, code);
      out.line("EVT_FN void fragment_", device.getSymName().str(), "(", list, places, ") {");
      code.emit(why);
      out.line("}");
      out.line();
    }
  }
}

void emitStreamTasks(const GraphCode &graph, const StreamPlan &plan, CodeWriter &out) {
  for (unsigned k = 0; k < plan.calls.size(); ++k) {
    if (plan.calls[k].form != TaskForm::onCompletion)
      continue;
    std::string args = argumentList(graph, k), task = "linear_" + num(k) + "(P" + graph.coordNames(k) + ")";
    out.line("// ", graph.signature.callName(k), ": its event is complete");
    out.line("EVT_FN void inline_", k, "(evt::DynamicWorker &w, const Program &P", graph.coordParams(k), ") {");
    out.line("const uint64_t now = w.traced() ? evt::ptx::nanoseconds() : 0;");
    ir::CallOp op = graph.signature.calls[k];
    out.line("fragment_", op.getCallee().str(), "(", args.substr(2), placeList(graph, plan.early, k), ");");
    out.line("const int64_t task = ", task, ";");
    out.line("evt::end_task<dynamic>(w, ", k, ", task, P.c", k, "_first + task, now, now, ",
             notifyLambda(graph, plan, k), ");");
    out.line("}");
  }
  for (unsigned k = 0; k < plan.calls.size(); ++k)
    if (plan.calls[k].form == TaskForm::streamed)
      emitStreamTask(graph, plan, k, out);
}

} // namespace evt::emit
