#include "Signature.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace evt::ir {

Signature::Signature(GraphOp g) : graph(g) {
  Block &body = graph.getBody().front();
  for (auto [i, arg] : llvm::enumerate(body.getArguments())) {
    if (!arg.getType().isIndex()) {
      memories.push_back(arg);
      continue;
    }
    GraphSymbol s{graph.getArgName(i).str(), 0, int64_t(1) << 30, {}, (int)i};
    if (auto a = dyn_cast_or_null<IntegerAttr>(graph.getArgAttr(i, "evt.min")))
      s.min = a.getInt();
    if (auto a = dyn_cast_or_null<IntegerAttr>(graph.getArgAttr(i, "evt.max")))
      s.max = a.getInt();
    symbols.push_back(s);
  }
  graph.walk([&](SymbolOp op) {
    GraphSymbol s{op.getName().str(), (int64_t)op.getMin(), (int64_t)op.getMax(), {}, -1};
    for (auto [t, d] : llvm::zip(op.getTensors(), op.getDims()))
      s.sources.emplace_back(cast<BlockArgument>(t).getArgNumber(), d);
    symbols.push_back(s);
  });
  for (auto [i, arg] : llvm::enumerate(body.getArguments()))
    if (auto type = dyn_cast<MemRefType>(arg.getType()))
      for (unsigned d = 0; d < type.getRank(); ++d)
        if (type.isDynamicDim(d) && symbolOfDim(i, d) < 0)
          symbols.push_back(
              {graph.getArgName(i).str() + "_" + std::to_string(d), 0, int64_t(1) << 30, {{(unsigned)i, d}}, -1});
  graph.walk([&](AllocOp op) { memories.push_back(op.getMemory()); });
  graph.walk([&](EventOp op) { events.push_back(op); });
  graph.walk([&](CallOp op) { calls.push_back(op); });
}

int Signature::symbolOfDim(unsigned argument, unsigned dim) const {
  for (auto [i, s] : llvm::enumerate(symbols))
    for (auto [a, d] : s.sources)
      if (a == argument && d == dim)
        return i;
  return -1;
}

int Signature::symbolOf(Value value) const {
  if (auto arg = dyn_cast<BlockArgument>(value)) {
    if (arg.getOwner() != &graph->getRegion(0).front())
      return -1;
    for (auto [i, s] : llvm::enumerate(symbols))
      if (s.argument == (int)arg.getArgNumber())
        return i;
    return -1;
  }
  if (auto op = value.getDefiningOp<SymbolOp>())
    return symbolOfDim(cast<BlockArgument>(op.getTensors()[0]).getArgNumber(), op.getDims()[0]);
  if (auto op = value.getDefiningOp<memref::DimOp>()) {
    auto arg = dyn_cast<BlockArgument>(op.getSource());
    std::optional<int64_t> dim = op.getConstantIndex();
    if (arg && dim && arg.getOwner() == &graph->getRegion(0).front())
      return symbolOfDim(arg.getArgNumber(), *dim);
  }
  return -1;
}

int Signature::memoryOf(Value value) const {
  auto it = llvm::find(memories, value);
  return it == memories.end() ? -1 : it - memories.begin();
}

bool Signature::isImmutable(Value memory) const {
  GraphOp op = graph;
  auto argument = dyn_cast<BlockArgument>(memory);
  return argument && argument.getOwner() == &op.getBody().front() && op.isImmutable(argument.getArgNumber());
}

int Signature::eventOf(Value value) const {
  for (auto [i, e] : llvm::enumerate(events))
    if (const_cast<EventOp &>(e).getEvent() == value)
      return i;
  return -1;
}

std::string Signature::memoryName(unsigned memory) const {
  Value v = memories[memory];
  if (auto arg = dyn_cast<BlockArgument>(v))
    return const_cast<GraphOp &>(graph).getArgName(arg.getArgNumber()).str();
  return v.getDefiningOp<AllocOp>().getName().str();
}

std::string Signature::callName(unsigned call) const {
  StringRef name = const_cast<CallOp &>(calls[call]).getCallee();
  unsigned nth = 1;
  for (unsigned i = 0; i < call; ++i)
    nth += const_cast<CallOp &>(calls[i]).getCallee() == name;
  return nth == 1 ? name.str() : name.str() + "#" + std::to_string(nth);
}

std::vector<std::string> Signature::coordNames(unsigned call) const {
  CallOp op = calls[call];
  std::vector<std::string> names;
  for (RepeatOp r : enclosingRepeats(op))
    names.push_back(r.getIterationName().str());
  DeviceOp device = calleeOf(op);
  for (Attribute n : device.getCoordNames())
    names.push_back(cast<StringAttr>(n).getValue().str());
  return names;
}

DeviceOp calleeOf(CallOp call) { return SymbolTable::lookupNearestSymbolFrom<DeviceOp>(call, call.getCalleeAttr()); }

std::optional<int64_t> constantOf(Value value) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return constant.getSExtValue();
  return std::nullopt;
}

bool isSameIndex(Value a, Value b) {
  auto first = constantOf(a), second = constantOf(b);
  return a == b || (first && second && *first == *second);
}

} // namespace evt::ir
