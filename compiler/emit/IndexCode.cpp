#include "IndexCode.h"

#include "ScalarCode.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/SmallPtrSet.h"

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

void IndexCode::open(ArrayRef<roles::RoleProduct::Operand> tiles, const std::string &k) {
  llvm::SmallPtrSet<Operation *, 4> opened;
  for (const roles::RoleProduct::Operand &tile : tiles) {
    scf::ForOp loop = tile.loop;
    if (!opened.insert(loop).second)
      continue;
    names[loop.getInductionVar()] = k;
    emit(*loop.getBody());
  }
}

void IndexCode::emit(Block &block) {
  for (Operation &op : block) {
    if (op.getNumResults() != 1 || !op.getResult(0).getType().isIndex() || isa<arith::ConstantOp>(op))
      continue;
    SmallVector<std::string> operands;
    for (Value o : op.getOperands())
      operands.push_back(o.getType().isIndex() ? name(o) : "");
    auto e = indexExpression(&op, operands);
    if (!e)
      continue; // what a tile needs, not what the products' operands need
    std::string n = "v" + std::to_string(next++);
    out.line("[[maybe_unused]] const int64_t ", n, " = ", *e, ";");
    names[op.getResult(0)] = n;
  }
}

std::string IndexCode::name(Value v) const {
  auto it = names.find(v);
  if (it != names.end())
    return it->second;
  if (auto c = v.getDefiningOp<arith::ConstantOp>())
    return cppLiteral(c.getValue());
  return "0";
}

} // namespace evt::emit
