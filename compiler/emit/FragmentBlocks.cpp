// Of the code on stacks of fragments: what a task stores, block after block of 32 columns, and sums of rows that go on
// from one to the next.
#include "FragmentCode.h"

#include "TileValues.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;

namespace evt::emit {

namespace {

std::string num(int64_t n) { return std::to_string(n); }

/// What `v` is computed from that is no element of the same row and column.
SmallVector<Value> reducedValues(Value v) {
  SmallVector<Value> all;
  llvm::SmallDenseSet<Value> seen;
  auto visit = [&](auto &visit, Value v) -> void {
    Operation *op = v.getDefiningOp();
    if (!op || !seen.insert(v).second)
      return;
    if (auto b = dyn_cast<linalg::BroadcastOp>(op))
      all.push_back(b.getInput());
    else if (isa<linalg::ReduceOp>(op))
      all.push_back(v);
    else
      for (Value o : op->getOperands())
        visit(visit, o);
  };
  visit(visit, v);
  return all;
}

} // namespace

bool FragmentCode::storesTwice() {
  llvm::SmallDenseSet<Value> stored;
  return !llvm::all_of(ir::lastBlock(device).getOps<ir::StoreOp>(),
                       [&](ir::StoreOp store) { return stored.insert(store.getMemory()).second; });
}

/// Adds the reductions of whole rows that a row's value is computed from; false if one of them needs another first.
bool FragmentCode::findRunning(Value v, SmallVectorImpl<Operation *> &found) const {
  Operation *op = v.getDefiningOp();
  if (!op || llvm::is_contained(rowValues(), v) || llvm::is_contained(found, op))
    return true;
  auto reduce = dyn_cast<linalg::ReduceOp>(op);
  if (!reduce)
    return llvm::all_of(op->getOperands(), [&](Value o) { return findRunning(o, found); });
  RankedTensorType t = tileType(reduce.getInputs()[0]);
  if (!isFragmentTile(t) || !t.getElementType().isF32() || reduce.getDimensions() != ArrayRef<int64_t>{1} ||
      llvm::any_of(reducedValues(reduce.getInputs()[0]),
                   [&](Value row) { return !llvm::is_contained(rowValues(), row); }) ||
      !findRunning(reduce.getInits()[0], found)) // what it starts from is found first
    return false;
  found.push_back(op);
  return true;
}

SmallVector<Operation *> FragmentCode::runningReductions() {
  SmallVector<Operation *> found;
  for (auto store : ir::lastBlock(device).getOps<ir::StoreOp>())
    if (!isFragmentTile(tileType(store.getTile())))
      findRunning(store.getTile(), found);
  return found;
}

FragmentCode::Blocks FragmentCode::blocks() {
  int64_t columns = 0;
  bool storesRows = false;
  if (storesTwice() || !earlyLoads().empty())
    return {};
  SmallVector<Operation *> running;
  for (auto store : ir::lastBlock(device).getOps<ir::StoreOp>()) {
    RankedTensorType t = tileType(store.getTile());
    if (!isFragmentTile(t)) {
      if (!findRunning(store.getTile(), running))
        return {};
      storesRows = true;
      continue;
    }
    if (store.getTable() || (columns && t.getDimSize(1) != columns) ||
        (reduces(store.getTile()) &&
         !llvm::all_of(reducedValues(store.getTile()), [&](Value v) { return llvm::is_contained(rowValues(), v); })))
      return {};
    columns = t.getDimSize(1);
  }
  for (Operation *reduce : running)
    if (tileType(reduce->getOperand(0)).getDimSize(1) != columns)
      return {};
  return {columns / 32, columns % 32, storesRows, (int64_t)running.size()};
}

/// A block's part of each, element after element, as a row that is whole is reduced.
void FragmentCode::emitRunning() {
  for (auto [i, op] : llvm::enumerate(runningReductions())) {
    std::string r = fresh("r"), o = combinerOf(op);
    out.line("float ", r, " = evt::early_of(running, h, ", i, ");");
    for (int64_t n = 0; n < blockColumns / 4; ++n) {
      SmallVector<std::string> index{"g", columnOf(n)};
      std::string v = element(op->getOperand(0), index), next = o + "::apply(" + r + ", " + v + ")";
      out.line(r, " = ", n ? next : isFirstBlock + " ? " + v + " : " + next, ";");
    }
    out.line("evt::find_early(running, h, ", i, ", ", r, ");");
  }
}

void FragmentCode::emitRowStores() {
  emitIndices();
  int64_t next = 0;
  SmallVector<std::string> index{"g"};
  for (Value v : rowValues())
    known[keyOf(v, index)] = "e(" + num(next++) + ")";
  for (auto [i, op] : llvm::enumerate(runningReductions())) {
    std::string o = combinerOf(op), init = element(cast<linalg::ReduceOp>(op).getInits()[0], index);
    known[keyOf(op->getResult(0), index)] =
        variable(Float32Type::get(op->getContext()),
                 o + "::apply(" + init + ", evt::combine_row<" + o + ">(evt::early_of(running, h, " + num(i) + ")))");
  }
  for (auto store : ir::lastBlock(device).getOps<ir::StoreOp>())
    if (!isFragmentTile(tileType(store.getTile())))
      emitStore(store);
}

/// A few columns at a time: what is stored to is loaded, then everything that is stored of it. Two stores to one memory
/// keep their order instead.
void FragmentCode::emitStackStores() {
  Block &body = ir::lastBlock(device);
  SmallVector<ir::StoreOp> fragments, others;
  SmallVector<ir::LoadOp> replaced, ofColumns;
  int64_t widest = 0;
  for (auto store : body.getOps<ir::StoreOp>()) {
    RankedTensorType t = tileType(store.getTile());
    bool byColumn = isFragmentTile(t) && !storesTwice();
    (byColumn ? fragments : others).push_back(store);
    if (byColumn)
      widest = std::max(widest, columnsOf(t));
    for (auto load : body.getOps<ir::LoadOp>())
      if (load.getMemory() == store.getMemory() && !load->use_empty())
        replaced.push_back(load);
  }
  for (auto load : body.getOps<ir::LoadOp>())
    if (isOfColumns(load))
      ofColumns.push_back(load);
  // In steps of 32 columns: four pairs of a lane. What they load is on its way together, before anything is stored.
  for (int64_t n = 0; n < widest / 4; n += 8) {
    for (ir::LoadOp load : ofColumns)
      for (int64_t i = n; i < std::min(n + 8, columnsOf(tileType(load.getTile())) / 4); i += 2) {
        SmallVector<std::string> index{columnOf(i)};
        element(load.getTile(), index);
      }
    for (ir::LoadOp load : replaced)
      for (int64_t i = n; i < std::min(n + 8, columnsOf(tileType(load.getTile())) / 4); i += 2) {
        SmallVector<std::string> index{"g", columnOf(i)};
        element(load.getTile(), index);
      }
    for (ir::StoreOp store : fragments) {
      RankedTensorType t = tileType(store.getTile());
      int64_t end = std::min(n + 8, columnsOf(t) / 4);
      if (end == n + 8 && t.getElementTypeBitWidth() == 16 && openRows.count(store)) {
        emitFour(store, n);
        continue;
      }
      for (int64_t i = n; i < end; i += 2)
        emitPair(store, i);
    }
  }
  if (blockColumns)
    return emitRunning();
  for (ir::StoreOp store : others)
    emitStore(store);
}

} // namespace evt::emit
