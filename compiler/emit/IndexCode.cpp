#include "IndexCode.h"

#include "ScalarCode.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace evt::emit {

Parameters::Parameters(ir::DeviceOp device, const char *indexType) {
  for (auto [i, arg] : llvm::enumerate(device.getBody().getArguments())) {
    names.push_back("a" + std::to_string(i));
    if (auto m = dyn_cast<MemRefType>(arg.getType()))
      list += ", [[maybe_unused]] const evt::Memory<" + cppType(m.getElementType()) + ", " +
              std::to_string(m.getRank()) + "> &" + names.back();
    else
      list += std::string(", [[maybe_unused]] ") + indexType + " " + names.back();
  }
}

IndexCode::IndexCode(ir::DeviceOp device, const Parameters &parameters, CodeWriter &out) : out(out) {
  for (auto [a, n] : llvm::zip(device.getBody().getArguments(), parameters.names))
    names[a] = n;
  emit(device.getBody().front());
}

void IndexCode::openRole(scf::ForOp loop) { emit(*loop->getBlock()); }

void IndexCode::open(ArrayRef<roles::RoleProduct::Operand> tiles, const std::string &k) {
  for (const roles::RoleProduct::Operand &tile : tiles) {
    scf::ForOp loop = tile.loop;
    openRole(loop);
    names[loop.getInductionVar()] = k;
    emit(*loop.getBody());
  }
}

bool IndexCode::isKnown(Value v) const { return names.contains(v) || v.getDefiningOp<arith::ConstantOp>(); }

void IndexCode::emit(Block &block) {
  if (!emitted.insert(&block).second)
    return;
  for (Operation &op : block) {
    if (op.getNumResults() != 1 || !op.getResult(0).getType().isIndex() || isa<arith::ConstantOp>(op))
      continue;
    // Others are what a tile needs, not what the products' operands need.
    auto isIndex = [](Value v) { return v.getType().isIndex(); };
    if (!llvm::all_of(llvm::make_filter_range(op.getOperands(), isIndex), [&](Value v) { return isKnown(v); }))
      continue;
    SmallVector<std::string> operands;
    for (Value o : op.getOperands())
      operands.push_back(isIndex(o) ? name(o) : "");
    auto e = indexExpression(&op, operands);
    if (!e)
      continue;
    std::string n = "v" + std::to_string(next++);
    out.line("[[maybe_unused]] const int64_t ", n, " = ", *e, ";");
    names[op.getResult(0)] = n;
  }
}

std::string IndexCode::name(Value v) const {
  if (auto c = v.getDefiningOp<arith::ConstantOp>())
    return cppLiteral(c.getValue());
  auto it = names.find(v);
  if (it == names.end())
    llvm::report_fatal_error("an index of a product's operand has no code");
  return it->second;
}

} // namespace evt::emit
