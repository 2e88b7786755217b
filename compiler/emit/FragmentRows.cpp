// Of the code on fragments: values that a row has one of, the loads they come from, and when they are found.
#include "FragmentCode.h"

#include "ScalarCode.h"
#include "TileValues.h"

#include "compiler/roles/Operands.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;

namespace evt::emit {

namespace {

constexpr unsigned mostKept = 4; // device/cuda/stream.h, Kept
/// Of a stack: numbers that a thread may load ahead of the columns that need them.
constexpr int64_t mostEarlyElements = 32;

std::string num(int64_t n) { return std::to_string(n); }

} // namespace

bool FragmentCode::reduces(Value v) {
  return roles::comesFrom(v, [](Value from) { return from.getDefiningOp<linalg::ReduceOp>() != nullptr; });
}

std::string FragmentCode::combinerOf(Operation *reduce) {
  StringRef combiner = cast<linalg::ReduceOp>(reduce).getCombiner().front().front().getName().stripDialect();
  return combiner.starts_with("add")   ? "evt::tile::Add"
         : combiner.starts_with("mul") ? "evt::tile::Mul"
         : combiner.starts_with("max") ? "evt::tile::Max"
                                       : "evt::tile::Min";
}

std::string FragmentCode::reduced(Operation *operation, Index index) {
  auto op = cast<linalg::ReduceOp>(operation);
  RankedTensorType t = tileType(op.getInputs()[0]);
  if (t.getRank() != 2 || t.getDimSize(0) != rows || op.getDimensions().size() != 1 || op.getDimensions()[0] != 1 ||
      index[0] != "g" || t.getDimSize(1) < 1)
    return fail(op, "does not reduce rows of fragments"), "0";
  std::string type = cppType(t.getElementType()), r = fresh("r"), o = combinerOf(op);
  auto at = [&](const std::string &column) {
    SmallVector<std::string> i{"g", column};
    return element(op.getInputs()[0], i);
  };
  if (auto load = isByRow ? rowOf(op) : ir::LoadOp()) {
    std::string fill = cppFloat(load.getFill().convertToDouble(), t.getElementType()), at;
    for (auto [d, offset] : llvm::enumerate(load.getOffsets()))
      at += (d ? ", (int)(" : "(int)(") + scalar(offset) + (d + 2 == load.getOffsets().size() ? " + g)" : ")");
    out.line("const ", type, " ", r, " = evt::reduce_row<", o, ", ", t.getDimSize(1), ">(", scalar(load.getMemory()),
             ", {", at, "}, ", fill, read.contains(load.getMemory()) ? ", reading);" : ");");
    std::string init = element(op.getInits()[0], index);
    return variable(t.getElementType(), o + "::apply(" + init + ", " + r + ")");
  }
  if (t.getDimSize(1) < 4) { // fewer than the lanes of a row: each has all of them
    std::string first = at("0");
    out.line(type, " ", r, " = ", first, ";");
    for (int64_t n = 1; n < t.getDimSize(1); ++n) {
      std::string v = at(num(n));
      out.line(r, " = ", o, "::apply(", r, ", ", v, ");");
    }
    std::string init = element(op.getInits()[0], index);
    return variable(t.getElementType(), o + "::apply(" + init + ", " + r + ")");
  }
  if (t.getDimSize(1) <= mostColumns && t.getDimSize(1) % 8 == 0) {
    std::string first = at(columnOf(0));
    out.line(type, " ", r, " = ", first, ";");
    for (int64_t n = 1; n < t.getDimSize(1) / 4; ++n) {
      std::string v = at(columnOf(n));
      out.line(r, " = ", o, "::apply(", r, ", ", v, ");");
    }
  } else {
    auto outside = known; // variables of the loop are not known after it
    std::string first = at("c"), q = fresh("q");
    out.line(type, " ", r, " = ", first, ";");
    out.line("#pragma unroll 16");
    out.line("for (int ", q, " = c + 4; ", q, " < ", t.getDimSize(1), "; ", q, " += 4) {");
    std::string v = at(q);
    out.line(r, " = ", o, "::apply(", r, ", ", v, ");");
    out.line("}");
    known = outside;
  }
  std::string init = element(op.getInits()[0], index);
  return variable(t.getElementType(), o + "::apply(" + init + ", evt::combine_row<" + o + ">(" + r + "))");
}

/// Row values that broadcasts need and that depend neither on the sums nor on a streaming coordinate.
SmallVector<Value> FragmentCode::rowValues() const {
  SmallVector<Value> values;
  ir::DeviceOp op = device;
  ir::lastBlock(op).walk([&](linalg::BroadcastOp b) {
    Value v = b.getInput();
    if (isRowTile(tileType(v)) && !llvm::is_contained(b.getDimensions(), (int64_t)0) && reduces(v) && !isStreaming(v) &&
        tileType(v).getElementType().isF32() && !llvm::is_contained(values, v))
      values.push_back(v);
  });
  return values;
}

SmallVector<Value> FragmentCode::keptValues() const {
  SmallVector<Value> values = rowValues();
  if (!keeps || values.size() > mostKept)
    values.clear();
  return values;
}

/// The load of whole rows that a warp for each row can reduce as it is, if that is what `reduce` reduces.
ir::LoadOp FragmentCode::rowOf(Operation *reduce) const {
  auto load = cast<linalg::ReduceOp>(reduce).getInputs()[0].getDefiningOp<ir::LoadOp>();
  RankedTensorType t = tileType(reduce->getOperand(0));
  bool is = load && !load.getTable() && t.getRank() == 2 && t.getDimSize(1) % 32 == 0 && load.getSizes().size() >= 2 &&
            load.getSizes().back() == t.getDimSize(1) && load.getSizes()[load.getSizes().size() - 2] == rows;
  return is ? load : ir::LoadOp();
}

SmallVector<std::pair<ir::LoadOp, bool>> FragmentCode::keptLoads() const {
  SmallVector<std::pair<ir::LoadOp, bool>> loads;
  llvm::SmallDenseSet<Value> seen;
  auto visit = [&](auto &visit, Value v) -> void {
    Operation *op = v.getDefiningOp();
    if (!op || !seen.insert(v).second)
      return;
    if (auto load = dyn_cast<ir::LoadOp>(op)) {
      loads.emplace_back(load, false);
      return;
    }
    bool isRow = isa<linalg::ReduceOp>(op) && rowOf(op) && tileType(op->getOperand(0)).getElementType().isF32();
    if (isRow)
      loads.emplace_back(rowOf(op), true);
    for (auto [i, operand] : llvm::enumerate(op->getOperands()))
      if (!isRow || i)
        visit(visit, operand);
  };
  for (Value v : keptValues())
    visit(visit, v);
  return loads;
}

SmallVector<ir::LoadOp> FragmentCode::earlyLoads() const {
  SmallVector<ir::LoadOp> loads;
  int64_t elements = 0;
  ir::DeviceOp op = device;
  for (auto load : ir::lastBlock(op).getOps<ir::LoadOp>()) {
    RankedTensorType t = tileType(load.getTile());
    bool isWhole = isFragmentTile(t) && load.getSizes().back() == t.getShape().back();
    bool isUsed = llvm::any_of(load->getUsers(), [](Operation *user) { return !isa<linalg::ReduceOp>(user); });
    if (!isWhole || !isUsed || load.getTable() || !t.getElementType().isF32())
      continue;
    elements += std::max<int64_t>(rows / 64, 2) / 2 * t.getDimSize(1) / 2; // a thread has two rows of each 128 or fewer
    if (elements <= mostEarlyElements)
      loads.push_back(load);
  }
  return loads;
}

int64_t FragmentCode::earlyEach() const {
  int64_t each = rowValues().size();
  for (ir::LoadOp load : earlyLoads())
    each += tileType(load.getTile()).getDimSize(1) / 4;
  return each;
}

bool FragmentCode::emitEarly(std::string &why) {
  emitIndices();
  emitRows();
  int64_t next = 0;
  SmallVector<Value> values = rowValues();
  for (Value v : values)
    out.line("evt::find_early(early, h, ", next++, ", ", element(v, std::string("g")), ");");
  for (ir::LoadOp load : earlyLoads())
    for (int64_t n = 0; n < tileType(load.getTile()).getDimSize(1) / 4; ++n) {
      SmallVector<std::string> index{"g", columnOf(n)};
      out.line("evt::find_early(early, h, ", next++, ", ", element(load.getTile(), index), ");");
    }
  why = reason;
  return reason.empty();
}

bool FragmentCode::emitKeep(std::string &why) {
  SmallVector<Value> values = keptValues();
  if (values.empty())
    return true;
  isByRow = true;
  out.line("const int thread = evt::ptx::kept_thread();");
  out.line("[[maybe_unused]] const int g = thread / 32, c = evt::fragment_quarter(thread), col = 2 * c;");
  emitIndices();
  for (auto [i, v] : llvm::enumerate(values)) {
    std::string value = element(v, std::string("g"));
    out.line("evt::keep(kept, ", i, ", ", value, ");");
  }
  why = reason;
  return reason.empty();
}

} // namespace evt::emit
