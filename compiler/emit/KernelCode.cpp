#include "KernelCode.h"

#include "FeedCode.h"
#include "HostRoles.h"
#include "ProgramCode.h"
#include "RoleCode.h"
#include "ScalarCode.h"
#include "SharedMemory.h"
#include "StreamCode.h"
#include "TileCode.h"
#include "TiledCode.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;

namespace evt::emit {

namespace {

std::string num(int64_t n) { return std::to_string(n); }

// What device/cuda/block.h and worker.h provide; the emitted source is checked against it by its own static assertions.
constexpr int64_t cudaThreads = 384, cudaStreamingThreads = 512;
constexpr int64_t cudaBytesInFlight = 40 << 10;
constexpr int64_t cudaCollectedLimit = 256;
constexpr unsigned cudaCoordLimit = 8;

void emitExplainEntry(const std::string &entry, CodeWriter &out) {
  out.line("EVT_ENTRY void ", entry, "_explain(const evt_launch *launch, const evt_hooks *hooks) {");
  out.line("const Program P(*launch);");
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

void emitEntry(const std::string &refusal, const std::string &entry, bool roles, CodeWriter &out) {
  out.line("EVT_ENTRY uint32_t ", entry, "_abi(void) { return EVT_ABI_VERSION; }");
  out.line();
  out.line("EVT_ENTRY void ", entry, "_worker(const evt_launch *launch, uint32_t id) {");
  out.line("const Program P(*launch);");
  out.line("const bool dynamic = launch->schedule == EVT_DYNAMIC;");
  out.line("evt::DynamicWorker w(launch, id, P.control, P.slots, P.tasks, P.tasks);");
  if (roles) {
    out.line("auto roles = std::make_unique<Roles>(launch, P);");
    out.line("w.roles = roles.get();");
  }
  out.line("if (launch->schedule == EVT_STATIC) run_static(w, P);");
  out.line("else if (launch->schedule == EVT_TICKET) run_ticket(w, P);");
  if (refusal.empty())
    out.line("else run_dynamic(w, P);");
  if (roles)
    out.line("roles.reset();");
  out.line("__atomic_store_n(&w.status->state, (uint32_t)EVT_LEFT, __ATOMIC_RELEASE);");
  out.line("if (P.control->left.fetch_add(1, std::memory_order_acq_rel) + 1 == w.workers && !w.aborted()) {");
  out.line("if (dynamic) w.reset_queue();");
  out.line("P.reset(dynamic);");
  out.line("}");
  out.line("}");
  out.line();
  emitExplainEntry(entry, out);
}

} // namespace

bool ScheduleFacts::wants(StringRef schedule) const { return wanted.empty() || llvm::is_contained(wanted, schedule); }

std::string ScheduleFacts::dynamicRefusal() const {
  if (!wants("dynamic"))
    return notWanted;
  if (!refusesDynamic.empty())
    return refusesDynamic;
  for (auto &call : triggers)
    for (auto &t : call)
      if (!t.refusal.empty())
        return t.refusal;
  return "";
}

namespace {

/// Bodies of the device functions that are called, once each, and how many bytes of tiles each call needs.
bool emitDevices(const GraphCode &graph, Target target, const StreamPlan *streams, CodeWriter &out,
                 std::vector<int64_t> &tileBytes) {
  llvm::SmallDenseMap<Operation *, int64_t, 8> seen;
  tileBytes.assign(graph.signature.calls.size(), 0);
  for (auto [k, call] : llvm::enumerate(graph.signature.calls)) {
    ir::DeviceOp device = ir::calleeOf(call);
    if (streams && !streams->calls[k].hasBody())
      continue;
    if (auto known = seen.find(device); known != seen.end()) {
      tileBytes[k] = known->second;
      continue;
    }
    DeviceCode body = emitDevice(
        device, target, [&](unsigned argument) { return isImmutable(graph, device, argument); },
        streams && isFedByStream(graph, *streams, device));
    if (body.text.empty())
      return false;
    tileBytes[k] = seen[device] = body.tileBytes;
    out.block(body.text);
    out.line();
  }
  return true;
}

/// The sources of foreign device functions that are called, once each. The pipeline puts them beside the kernel.
void includeForeign(const GraphCode &graph, CodeWriter &out) {
  llvm::SmallDenseSet<StringRef> seen;
  for (ir::CallOp call : graph.signature.calls)
    if (auto source = ir::calleeOf(call).getForeignSource(); source && seen.insert(*source).second)
      out.line("#include \"", source->str(), "\"");
}

/// Events whose counts no obligation doubts. The CPU target looks at every sum all the same: it costs nothing there.
std::vector<bool> provedCounts(const GraphCode &graph, const ScheduleFacts &facts) {
  std::vector<bool> proved;
  for (ir::EventOp event : graph.signature.events) {
    std::string suffix = ":" + event.getName().str();
    proved.push_back(facts.verified && llvm::none_of(facts.obligations, [&](const std::string &o) {
                       return llvm::StringRef(o).ends_with(suffix);
                     }));
  }
  return proved;
}

void emitOrder(const GraphCode &graph, const ScheduleFacts &facts, const TaskForms &forms, const StreamPlan *streams,
               CodeWriter &out) {
  const ir::Signature &s = graph.signature;
  emitCounts(graph, out);
  if (!streams)
    declareCompletions(graph, out);
  emitNotifies(graph, streams ? provedCounts(graph, facts) : std::vector<bool>(),
               streams ? streams->early.hinted : std::vector<bool>(), out);
  emitProtocols(graph, out);
  for (unsigned k = 0; streams && k < s.calls.size(); ++k)
    if (streams->early.isEarly(k))
      emitHints(graph, k, streams->early.hinted, out);
  HandedOver how;
  if (streams) {
    how.joins.resize(s.calls.size());
    for (auto [k, event] : llvm::enumerate(streams->completed(graph)))
      if (event && forms[k] == TaskForm::handedOver)
        how.joins[k] = Join{*event, streams->onCompletion.at(*event)};
    how.told = toldCalls(graph, *streams);
    for (ir::CallOp call : s.calls)
      how.fed.push_back(isFedByStream(graph, *streams, ir::calleeOf(call)));
  }
  emitTasks(graph, forms, how, out);
  if (hasRoles(forms))
    emitEndHandedOver(graph, forms, out);
  std::string refusal = facts.dynamicRefusal();
  if (refusal.empty()) {
    emitTriggers(graph, facts.triggers, facts.sharedTail, out);
  } else {
    for (auto [e, event] : llvm::enumerate(s.events)) {
      ir::EventOp counters = event;
      std::string params;
      for (unsigned d = 0; d < counters.getExtents().size(); ++d)
        params += ", int64_t";
      out.line("[[maybe_unused]] EVT_FN void complete_", e, "(evt::DynamicWorker &, const Program &", params, ") {}");
    }
  }
  if (streams) {
    emitStreamTasks(graph, *streams, out);
    emitTiledTasks(graph, *streams, out);
    emitFeeds(graph, *streams, out);
  }
  // A schedule walks past calls that have no tasks, and that takes time in every iteration of a repeat.
  Guards guards;
  if (streams && streams->streams() && streams->tiles())
    for (const StreamPlan::Call &call : streams->calls)
      guards.push_back(call.side == TaskForm::streamed ? "if constexpr (Streams) "
                       : call.side == TaskForm::tiled  ? "if constexpr (Tiles) "
                                                       : "");
  Guards parts = guards; // a launch may be of a few calls
  if (streams) {
    parts.resize(forms.size());
    for (unsigned k = 0; k < forms.size(); ++k)
      parts[k] += "if (w.runs(" + num(k) + (graph.iterations(k) ? ", l0" : "") + ")) ";
  }
  emitStaticSchedule(graph, facts.carried, forms,
                     streams ? streams->deals() : std::vector<std::optional<ElementDeal>>(forms.size()), parts, out);
  emitTicketSchedule(graph, facts.carried, forms, streams ? "w.take_ticket<tickets_ahead>()" : "w.take_ticket()",
                     guards, out);
  if (refusal.empty())
    emitDynamicSchedule(graph, forms, facts.mayStartReady, out);
}

std::string headline(const GraphCode &graph, const char *what) {
  ir::GraphOp op = graph.signature.graph;
  return "// Graph @" + op.getSymName().str() + " " + what + ". Emitted by evt " + toolVersion + "; see program.mlir.";
}

} // namespace

std::string emitKernel(const GraphCode &graph, const ScheduleFacts &facts, const std::string &entry) {
  for (unsigned k = 0; k < graph.signature.calls.size(); ++k) {
    ir::CallOp call = graph.signature.calls[k];
    if (!ir::hasRoles(ir::calleeOf(call)))
      continue;
    if (call.isRagged()) {
      call.emitOpError("is ragged and calls '") << call.getCallee() << "', which has roles: only whole grids have";
      return "";
    }
    if (size_t coords = graph.coordList(k).size(); coords > hostCoordLimit) {
      call.emitOpError("has ") << coords << " coordinates and iterations, a function with roles has room for "
                               << hostCoordLimit;
      return "";
    }
  }
  CodeWriter out;
  out.line(headline(graph, "as one persistent kernel for the CPU"));
  out.line("#include \"device/cpu/kernel.h\"");
  const TaskForms forms = hostForms(graph);
  const bool roles = hasRoles(forms);
  if (roles)
    out.line("#include \"device/cpu/roles.h\"");
  includeForeign(graph, out);
  out.line();
  bool isOneOfSeveral = entry != defaultEntry;
  if (isOneOfSeveral)
    out.line("namespace ", entry, " {");
  out.line("namespace {");
  out.line();
  emitProgram(graph, {}, out);
  if (roles)
    emitRings(graph, out);
  std::vector<int64_t> tileBytes;
  if (!emitDevices(graph, Target::cpu, nullptr, out, tileBytes))
    return "";
  if (roles)
    emitRoleThreads(graph, forms, out);
  emitOrder(graph, facts, forms, nullptr, out);
  emitExplain(graph, out);
  out.line("} // namespace");
  out.line();
  emitEntry(facts.dynamicRefusal(), entry, roles, out);
  if (isOneOfSeveral)
    out.line("} // namespace ", entry);
  return out.take();
}

namespace {

/// An index as affine expressions over `values`: several for a minimum.
SmallVector<AffineExpr> expressionsOf(Value v, SmallVectorImpl<Value> &values) {
  auto dim = [&](Value x) -> AffineExpr {
    auto it = llvm::find(values, x);
    unsigned at = it - values.begin();
    if (it == values.end())
      values.push_back(x);
    return getAffineDimExpr(at, v.getContext());
  };
  if (auto c = getConstantIntValue(v))
    return {getAffineConstantExpr(*c, v.getContext())};
  AffineMap map;
  if (auto apply = v.getDefiningOp<affine::AffineApplyOp>())
    map = apply.getAffineMap();
  else if (auto min = v.getDefiningOp<affine::AffineMinOp>())
    map = min.getAffineMap();
  if (!map)
    return {dim(v)};
  SmallVector<AffineExpr> dims, symbols, results;
  for (auto [i, operand] : llvm::enumerate(v.getDefiningOp()->getOperands()))
    (i < map.getNumDims() ? dims : symbols).push_back(dim(operand));
  for (AffineExpr e : map.getResults())
    results.push_back(e.replaceDimsAndSymbols(dims, symbols));
  return results;
}

/// A constant that the loop's trips never exceed.
std::optional<int64_t> mostTrips(scf::ForOp loop) {
  auto step = getConstantIntValue(loop.getStep());
  SmallVector<Value> values;
  auto lower = expressionsOf(loop.getLowerBound(), values), upper = expressionsOf(loop.getUpperBound(), values);
  if (!step || *step < 1 || lower.size() != 1)
    return std::nullopt;
  std::optional<int64_t> most;
  for (AffineExpr e : upper)
    if (auto c = dyn_cast<AffineConstantExpr>(simplifyAffineExpr(e - lower[0], values.size(), 0))) {
      int64_t trips = std::max<int64_t>(llvm::divideCeil(std::max<int64_t>(c.getValue(), 0), *step), 0);
      most = std::min(most.value_or(trips), trips);
    }
  return most;
}

/// How many notifies a task of the call keeps until it has read its tables, at most; none if that has no bound.
std::optional<int64_t> collectedBy(ir::CallOp call) {
  bool reads = false;
  call.getProtocol().walk([&](ir::ReadOp) { reads = true; });
  int64_t total = 0;
  bool known = true;
  call.getProtocol().walk([&](ir::NotifyOp n) {
    int64_t times = 1;
    for (unsigned d = 0; d < n.getLower().size(); ++d)
      if (Value hi = n.getUpperOf(d)) {
        auto from = getConstantIntValue(n.getLower()[d]), to = getConstantIntValue(hi);
        known &= from && to;
        times *= from && to ? std::max<int64_t>(*to - *from, 0) : 1;
      }
    for (auto f = n->getParentOfType<scf::ForOp>(); f; f = f->getParentOfType<scf::ForOp>()) {
      auto trips = mostTrips(f);
      known &= trips.has_value();
      times *= trips.value_or(1);
    }
    total += times;
  });
  if (!reads)
    return 0;
  return known ? std::optional(total) : std::nullopt;
}

void emitCudaLaunch(const ir::Signature &s, const StreamPlan &streams, CodeWriter &out) {
  out.line("/// The kernels' parameter: see device/cuda/abi.h.");
  out.line("struct Launch : evt_cuda_launch {");
  if (!s.memories.empty())
    out.line("void *memories[", s.memories.size(), "];");
  if (!s.symbols.empty())
    out.line("int64_t symbols[", s.symbols.size(), "];");
  out.line("void *regions[", Regions(s).count(streams.early), "];");
  if (!streams.maps.empty())
    out.line("evt::TensorMap maps[", streams.maps.size(), "];");
  out.line("};");
  if (!streams.maps.empty())
    out.line("static_assert(sizeof(Launch) == evt::tensor_maps_offset(launch_words) + sizeof(Launch::maps));");
  out.line();
}

} // namespace

CudaKernel emitCudaKernel(const GraphCode &graph, const ScheduleFacts &facts) {
  const ir::Signature &s = graph.signature;
  CudaKernel kernel;
  int64_t collected = 0;
  for (unsigned k = 0; k < s.calls.size(); ++k) {
    ir::CallOp call = s.calls[k];
    auto n = collectedBy(call);
    if (!n || *n > cudaCollectedLimit) {
      call.emitOpError("notifies elements read from tables ")
          << (n ? std::to_string(*n) + " times a task" : "an unbounded number of times a task")
          << ", the CUDA target keeps at most " << cudaCollectedLimit;
      return {};
    }
    if (graph.coordList(k).size() > cudaCoordLimit) {
      call.emitOpError("has ") << graph.coordList(k).size()
                               << " coordinates and iterations, the CUDA target has room for " << cudaCoordLimit;
      return {};
    }
    collected = std::max(collected, *n);
  }
  StreamPlan streams(graph);
  CodeWriter out;
  out.line(headline(graph, "as one persistent kernel for CUDA"));
  out.line("#include \"device/cuda/kernel.h\"");
  includeForeign(graph, out);
  if (streams.streams()) {
    out.line();
    out.line("#ifndef EVT_IN_FLIGHT_BYTES // of weights, at once, for each SM");
    out.line("#define EVT_IN_FLIGHT_BYTES ",
             std::max(std::min(cudaBytesInFlight, streams.taskBytes(graph)), 3 * streams.stageBytes()));
    out.line("#endif");
  }
  out.line();
  out.line("namespace {");
  out.line();
  out.line("constexpr int row_pieces = ", std::max<int64_t>(streams.rowPieces(), 1), ";");
  if (streams.tiles())
    out.line("constexpr int launch_words = ", s.memories.size() + s.symbols.size() + Regions(s).count(streams.early),
             "; // of the parameter, before its maps");
  out.line();
  emitProgram(graph, streams.early, out);
  emitCudaLaunch(s, streams, out);
  out.line("/// Everything that tasks do, once for each schedule: a kernel holds the code of one, since what it does "
           "once a");
  out.line("/// phase must come from the instruction cache.");
  bool isMixed = streams.streams() && streams.tiles();
  if (isMixed)
    out.line("/// A launch has no tasks that stream, or none that multiply tiles, where Streams or Tiles is false.");
  out.line("template <uint32_t Schedule", isMixed ? ", bool Streams, bool Tiles" : "", "> struct Code {");
  out.line("static constexpr bool dynamic = Schedule == EVT_DYNAMIC;");
  if (streams.tiles())
    out.line("static constexpr int tickets_ahead = ", isMixed ? "Tiles ? 0 : 2" : "0",
             "; // tasks on tiles are long: who has one more in hand ends late");
  else
    out.line("static constexpr int tickets_ahead = 2;");
  out.line();
  std::vector<int64_t> tileBytes;
  if (!emitDevices(graph, Target::cuda, &streams, out, tileBytes))
    return {};
  auto variants = streams.variants([&](unsigned a, unsigned b) { return !facts.apart.empty() && facts.apart[a][b]; });
  std::string layout;
  std::vector<int64_t> tilesOf;
  for (const StreamPlan::Variant &variant : variants) {
    std::string why;
    // What calls without tasks in such launches would need is left to the rings.
    int64_t tiles = 0;
    std::vector<unsigned> absent = streams.without(variant);
    for (unsigned k = 0; k < tileBytes.size(); ++k)
      if (!llvm::is_contained(absent, k))
        tiles = std::max({tiles, tileBytes[k], sharedSumsBytes(graph, streams, k)});
    tilesOf.push_back(tiles);
    SharedMemory shared(s, streams, variant, tiles, why);
    if (!why.empty()) {
      ir::GraphOp op = s.graph;
      op.emitOpError("leaves ") << why << ": use smaller tiles";
      return {};
    }
    kernel.variants.push_back({variant.name.empty() ? "" : "_" + variant.name,
                               variant.streams ? cudaStreamingThreads : cudaThreads, shared.bytes(),
                               streams.without(variant)});
    std::string condition =
        std::string(variant.streams ? "Streams" : "!Streams") + (variant.tiles ? " && Tiles" : " && !Tiles");
    if (variant.name.empty())
      layout = shared.text();
    else if (&variant == &variants.back())
      layout += "evt::SharedLayout" + shared.text();
    else
      layout += (layout.empty() ? " = " : "") + condition + " ? evt::SharedLayout" + shared.text() + " : ";
  }
  emitStreamBodies(graph, streams, out);
  emitTiledBodies(graph, streams, out);
  emitOrder(graph, facts, streams.forms(), &streams, out);
  bool hasDynamic = facts.dynamicRefusal().empty();
  emitCudaRoles(graph, streams, layout, hasDynamic, collected, out);
  out.line("};");
  out.line("} // namespace");
  out.line();
  out.line("static_assert(evt::Task::max_coords == ", cudaCoordLimit, ");");
  out.line("static_assert(evt::packed_rows == ", layout::packedRows,
           " && evt::packed_columns == ", layout::packedColumns, ");");
  for (auto [variant, made, tiles] : llvm::zip(variants, kernel.variants, tilesOf)) {
    auto yes = [](bool b) { return b ? "true" : "false"; };
    std::string uses = isMixed ? std::string(", ") + yes(variant.streams) + ", " + yes(variant.tiles) : "";
    std::string threads = std::string("evt::block_threads(") + yes(variant.streams) + ")";
    if (variants.size() > 1)
      out.line("#if !defined(", variantMacro, ") || ", variantMacro, " == ", &variant - variants.data());
    out.line("static_assert(", threads, " == ", made.threads, " && Code<EVT_STATIC", uses, ">::Kernel::layout.bytes(",
             tiles, ") == ", made.sharedBytes, ");");
    for (auto [name, constant] :
         {std::pair("static", "EVT_STATIC"), {"ticket", "EVT_TICKET"}, {"dynamic", "EVT_DYNAMIC"}}) {
      if (!facts.wants(name) || (StringRef(name) == "dynamic" && !hasDynamic))
        continue;
      out.line("EVT_CUDA_KERNEL(", defaultEntry, "_", name, made.suffix, ", Launch, ", threads, ", 1) {");
      out.line("evt::run_block<typename Code<", constant, uses, ">::Kernel, Program>(launch);");
      out.line("}");
    }
    if (&variant == &variants.front())
      out.line("EVT_PACK_KERNEL(", defaultEntry, "_pack)");
    if (variants.size() > 1)
      out.line("#endif");
  }
  kernel.source = out.take();
  kernel.packed = streams.packed;
  kernel.maps = streams.maps;
  kernel.aligned = streams.aligned;
  kernel.early = streams.early;

  CodeWriter host;
  host.line(headline(graph, "for the host: what each task waits for and notifies"));
  host.line("#include \"device/cpu/kernel.h\"");
  host.line();
  host.line("namespace {");
  host.line();
  emitProgram(graph, {}, host);
  emitCounts(graph, host);
  declareCompletions(graph, host);
  emitNotifies(graph, {}, {}, host);
  emitProtocols(graph, host);
  emitTasks(graph, TaskForms(s.calls.size(), TaskForm::reported), {}, host);
  emitExplain(graph, host);
  host.line("} // namespace");
  host.line();
  host.line("EVT_ENTRY uint32_t ", defaultEntry, "_abi(void) { return EVT_ABI_VERSION; }");
  host.line();
  emitExplainEntry(defaultEntry, host);
  kernel.explain = host.take();
  return kernel;
}

} // namespace evt::emit
