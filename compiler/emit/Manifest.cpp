// The manifest of an artifact: docs/design/artifact.md.
#include "KernelCode.h"

#include "compiler/analysis/Cost.h"
#include "compiler/layout/PackedWeights.h"

#include "mlir/IR/AffineMap.h"

using namespace mlir;
using json = nlohmann::ordered_json;

namespace evt::emit {

namespace {

// The larger of the targets' Control structures.
constexpr int64_t controlBytes = 768;

std::string typeName(Type t) {
  std::string s;
  llvm::raw_string_ostream os(s);
  t.print(os);
  return s;
}

json product(ArrayRef<json> factors) {
  json e = 1;
  for (const json &f : factors)
    e = e == 1 ? f : json::array({"*", e, f});
  return e;
}

/// read, write or readwrite, from what the device functions do with the argument.
std::string accessOf(const ir::Signature &s, Value memory) {
  bool reads = false, writes = false;
  for (ir::CallOp call : s.calls) {
    for (auto [i, a] : llvm::enumerate(call.getArgs()))
      if (a == memory)
        for (Operation *user : ir::calleeOf(call).getBody().getArgument(i).getUsers()) {
          // What it writes may be what it reads its rows from, too.
          bool isTarget =
              llvm::is_contained(ir::memoriesWritten(user), Value(ir::calleeOf(call).getBody().getArgument(i)));
          (isTarget ? writes : reads) = true;
        }
    call.getProtocol().walk([&](ir::ReadOp r) { reads |= r.getTable() == memory; });
    reads |= call.getRaggedTable() == memory;
  }
  for (ir::EventOp e : s.events)
    reads |= e.getTable() == memory;
  return reads && writes ? "readwrite" : writes ? "write" : "read";
}

std::string countText(ir::EventOp e) {
  std::string s;
  llvm::raw_string_ostream os(s);
  if (e.getTable())
    os << "read from memory";
  else if (e.getCountMap().isSingleConstant())
    os << e.getCountMap().getSingleConstantResult();
  else
    os << e.getCountMap();
  return s;
}

/// How often the call's tasks have to wait for each other: once for each iteration around it, and for each step along a
/// coordinate on which it depends on itself.
json phasesOf(ir::CallOp call, ArrayRef<json> extents, std::vector<bool> carried) {
  unsigned iterations = ir::enclosingRepeats(call).size(), coord = 0;
  carried.resize(extents.size() + 1); // nothing is known about it where schedules were not planned
  std::vector<json> factors;
  for (unsigned e = 0; e < extents.size(); ++e) {
    bool ragged = call.isRagged() && e == iterations; // two coordinates share this extent
    bool inOrder = e < iterations || carried[coord] || (ragged && carried[coord + 1]);
    coord += ragged ? 2 : 1;
    if (inOrder)
      factors.push_back(extents[e]);
  }
  return product(factors);
}

json costJson(const CallCost &cost, ir::CallOp call, const json &phases) {
  unsigned waits = call.getRaggedGuard() ? 1 : 0;
  call.getProtocol().walk([&](ir::WaitOp) { ++waits; });
  return {{"ops", cost.ops.json()},
          {"bytes", cost.bytes.json()},
          {"phases", phases},
          {"waits", waits},
          {"assumptions", cost.assumptions}};
}

} // namespace

nlohmann::ordered_json emitManifest(const GraphCode &graph, const ScheduleFacts &facts) {
  const ir::Signature &s = graph.signature;
  ir::GraphOp op = s.graph;
  json m;
  m["format"] = 1;
  m["abi"] = 3;
  m["tool"] = std::string("evt ") + toolVersion;
  m["target"] = "cpu";
  m["graph"] = op.getSymName().str();
  m["kernel"] = "kernel.so";

  m["symbols"] = json::array();
  for (auto &symbol : s.symbols) {
    json j{{"name", symbol.name}, {"min", symbol.min}, {"max", symbol.max}};
    j["from"] = json::array();
    if (symbol.argument >= 0)
      j["from"].push_back({{"argument", op.getArgName(symbol.argument).str()}});
    for (auto [a, d] : symbol.sources)
      j["from"].push_back({{"argument", op.getArgName(a).str()}, {"dim", d}});
    for (const CallBorders &borders : facts.borders)
      if (borders.symbol == symbol.name)
        j["borders"] = borders.last;
    m["symbols"].push_back(j);
  }

  m["arguments"] = json::array();
  unsigned tensor = 0;
  for (auto [i, arg] : llvm::enumerate(op.getBody().getArguments())) {
    json j{{"name", op.getArgName(i).str()}};
    if (arg.getType().isIndex()) {
      j["kind"] = "index";
      j["symbol"] = op.getArgName(i).str();
    } else {
      auto t = cast<MemRefType>(arg.getType());
      j["kind"] = "tensor";
      j["type"] = typeName(t.getElementType());
      j["dims"] = json::array();
      for (unsigned d = 0; d < t.getRank(); ++d)
        j["dims"].push_back(graph.memoryDimExpression(tensor, d));
      j["access"] = accessOf(s, arg);
      j["immutable"] = op.isImmutable(i);
      j["align"] = std::max<unsigned>(1, t.getElementTypeBitWidth() / 8);
      ++tensor;
    }
    m["arguments"].push_back(j);
  }

  m["memories"] = json::array();
  for (unsigned k = 0; k < s.memories.size(); ++k) {
    json j{{"name", s.memoryName(k)}};
    if (auto arg = dyn_cast<BlockArgument>(s.memories[k])) {
      j["argument"] = arg.getArgNumber();
    } else {
      auto t = cast<MemRefType>(s.memories[k].getType());
      j["type"] = typeName(t.getElementType());
      j["dims"] = json::array();
      for (unsigned d = 0; d < t.getRank(); ++d)
        j["dims"].push_back(graph.memoryDimExpression(k, d));
    }
    m["memories"].push_back(j);
  }

  m["events"] = json::array();
  std::vector<json> elements;
  for (ir::EventOp e : s.events) {
    json j{{"name", e.getName().str()}, {"dims", json::array()}, {"count", countText(e)}};
    std::vector<json> dims;
    for (Value v : e.getExtents()) {
      dims.push_back(graph.manifestExpression(v));
      j["dims"].push_back(dims.back());
    }
    elements.push_back(product(dims));
    m["events"].push_back(j);
  }

  m["repeats"] = json::array();
  std::vector<Operation *> repeats;
  op.walk<WalkOrder::PreOrder>([&](ir::RepeatOp r) {
    repeats.push_back(r);
    m["repeats"].push_back({{"extent", graph.manifestExpression(r.getExtent())}});
  });

  std::optional<GraphCost> cost = costOf(s);
  if (cost)
    m["cost"] = {{"ops", cost->ops.json()}, {"bytes", cost->bytes.json()}};

  m["calls"] = json::array();
  std::vector<json> tasks;
  for (unsigned k = 0; k < s.calls.size(); ++k) {
    ir::CallOp call = s.calls[k];
    json j{{"name", s.callName(k)}, {"device", call.getCallee().str()}, {"coords", s.coordNames(k)}};
    std::vector<json> extents;
    auto around = ir::enclosingRepeats(call);
    for (ir::RepeatOp r : around)
      extents.push_back(graph.manifestExpression(r.getExtent()));
    if (call.isRagged()) {
      json bound = graph.manifestExpression(call.getRaggedBound());
      j["ragged"] = {{"first", around.size()}, {"bound", bound}};
      extents.push_back(bound);
    }
    for (Value v : call.getGrid())
      extents.push_back(graph.manifestExpression(v));
    j["extents"] = extents;
    if (!around.empty())
      j["repeat"] = llvm::find(repeats, around.back().getOperation()) - repeats.begin();
    // A size that turns out negative means no tasks.
    for (json &e : extents)
      if (!e.is_number())
        e = json::array({"max", e, 0});
    tasks.push_back(product(extents));
    if (cost)
      j["cost"] = costJson(cost->calls[k], call,
                           phasesOf(call, extents, facts.carried.empty() ? std::vector<bool>() : facts.carried[k]));
    m["calls"].push_back(j);
  }
  json total = 0;
  for (const json &t : tasks)
    total = total == 0 ? t : json::array({"+", total, t});

  std::string refusal = facts.dynamicRefusal();
  m["regions"] = json::array();
  m["regions"].push_back(json{{"name", "control"}, {"kind", "control"}, {"bytes", controlBytes}, {"zero", true}});
  m["regions"].push_back(json{{"name", "queue"},
                              {"kind", "queue"},
                              {"bytes", refusal.empty() ? json::array({"*", 24, total}) : json(0)},
                              {"zero", true}});
  for (unsigned e = 0; e < s.events.size(); ++e)
    m["regions"].push_back(json{{"name", const_cast<ir::EventOp &>(s.events[e]).getName().str()},
                                {"kind", "event"},
                                {"event", e},
                                {"bytes", json::array({"*", 4, elements[e]})},
                                {"zero", true}});
  for (unsigned k = 0; k < s.calls.size(); ++k)
    m["regions"].push_back(json{{"name", s.callName(k)},
                                {"kind", "join"},
                                {"call", k},
                                {"bytes", json::array({"*", 4, tasks[k]})},
                                {"zero", true}});
  auto support = [](const std::string &why) {
    return why.empty() ? json{{"supported", true}} : json{{"supported", false}, {"why", why}};
  };
  m["schedules"]["static"] = support(facts.wants("static") ? "" : notWanted);
  m["schedules"]["ticket"] = support(facts.wants("ticket") ? "" : notWanted);
  m["schedules"]["dynamic"] = support(refusal);
  m["queue_bound"] = total;
  m["obligations"] = facts.obligations;
  return m;
}

void statePacked(nlohmann::ordered_json &manifest, const GraphCode &graph, llvm::ArrayRef<unsigned> packed) {
  ir::GraphOp op = graph.signature.graph;
  for (unsigned argument : packed) {
    json &j = manifest["arguments"][argument];
    j["packed"] = {layout::packedRows, layout::packedColumns};
    auto known = [&](int64_t d) { return ShapedType::isDynamic(d) ? std::nullopt : std::optional(d); };
    llvm::ArrayRef<int64_t> dims = cast<MemRefType>(op.getBody().getArgument(argument).getType()).getShape();
    // Dimensions that are not whole tiles have no packed layout; a launch refuses them.
    if (auto block = layout::packedBlock(known(dims[dims.size() - 2]), known(dims.back())))
      j["layout"] = layout::print(*block);
  }
}

void stateEarly(nlohmann::ordered_json &manifest, const GraphCode &graph, const EarlyRows &early) {
  const ir::Signature &s = graph.signature;
  auto add = [&](const std::string &name, const char *kind, const json &bytes) {
    manifest["regions"].push_back(json{{"name", name}, {"kind", kind}, {"bytes", bytes}, {"zero", true}});
  };
  for (auto &[m, tensor] : early.tensors) {
    auto type = cast<MemRefType>(s.memories[m].getType());
    std::vector<json> factors{type.getElementTypeBitWidth() / 8, early.rowsExpression(graph, m)};
    for (unsigned d = 1; d < type.getRank(); ++d)
      factors.push_back(graph.memoryDimExpression(m, d));
    for (int place = 0; place < 3; ++place)
      add(s.memoryName(m), "early", product(factors));
  }
  for (unsigned e = 0; e < early.hinted.size(); ++e)
    if (early.hinted[e]) {
      ir::EventOp event = s.events[e];
      std::vector<json> factors{4};
      for (Value v : event.getExtents())
        factors.push_back(graph.manifestExpression(v));
      add(event.getName().str(), "hint", product(factors));
    }
}

} // namespace evt::emit
