#include "ProgramSymbols.h"

using namespace mlir;

namespace evt {

namespace {

/// What an index argument or an unnamed dimension may be where the program says nothing.
constexpr int64_t defaultMax = int64_t(1) << 30;

int64_t boundOr(ir::GraphOp graph, unsigned argument, StringRef name, int64_t otherwise) {
  auto bound = dyn_cast_or_null<IntegerAttr>(graph.getArgAttr(argument, name));
  return bound ? bound.getValue().getSExtValue() : otherwise;
}

} // namespace

ProgramSymbols::ProgramSymbols(ir::GraphOp graph) {
  auto arguments = graph.getBody().getArguments();
  for (BlockArgument argument : arguments)
    if (unsigned i = argument.getArgNumber(); argument.getType().isIndex())
      symbols.push_back({graph.getArgName(i).str(), boundOr(graph, i, "evt.min", 0),
                         boundOr(graph, i, "evt.max", defaultMax), {{i, -1}}});
  for (auto op : graph.getBody().getOps<ir::SymbolOp>()) {
    ProgramSymbol symbol{op.getName().str(), static_cast<int64_t>(op.getMin()), static_cast<int64_t>(op.getMax()), {}};
    for (auto [tensor, dim] : llvm::zip(op.getTensors(), op.getDims()))
      symbol.sources.push_back({cast<BlockArgument>(tensor).getArgNumber(), static_cast<int>(dim)});
    symbols.push_back(std::move(symbol));
  }
  for (BlockArgument argument : arguments)
    if (auto type = dyn_cast<MemRefType>(argument.getType()))
      for (unsigned dim = 0; dim < type.getRank(); ++dim)
        if (type.isDynamicDim(dim) && ofDimension(argument, dim) < 0)
          symbols.push_back({(graph.getArgName(argument.getArgNumber()) + "_" + Twine(dim)).str(),
                             0, defaultMax, {{argument.getArgNumber(), static_cast<int>(dim)}}});
}

int ProgramSymbols::of(Value value) const {
  SymbolSource source;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (!argument.getType().isIndex() || !isa_and_nonnull<ir::GraphOp>(argument.getOwner()->getParentOp()))
      return -1;
    source = {argument.getArgNumber(), -1};
  } else if (auto op = value.getDefiningOp<ir::SymbolOp>()) {
    source = {cast<BlockArgument>(op.getTensors()[0]).getArgNumber(), static_cast<int>(op.getDims()[0])};
  } else {
    return -1;
  }
  for (auto [i, symbol] : llvm::enumerate(symbols))
    for (const SymbolSource &s : symbol.sources)
      if (s.argument == source.argument && s.dim == source.dim)
        return static_cast<int>(i);
  return -1;
}

int ProgramSymbols::ofDimension(BlockArgument argument, unsigned dim) const {
  for (auto [i, symbol] : llvm::enumerate(symbols))
    for (const SymbolSource &s : symbol.sources)
      if (s.argument == argument.getArgNumber() && s.dim == static_cast<int>(dim))
        return static_cast<int>(i);
  return -1;
}

} // namespace evt
