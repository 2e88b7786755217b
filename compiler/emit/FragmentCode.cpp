#include "FragmentCode.h"

#include "ScalarCode.h"
#include "TileValues.h"

#include "compiler/roles/StreamedProduct.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace evt::emit {

namespace {

std::string num(int64_t n) { return std::to_string(n); }

/// Tells values apart.
std::string addressOf(Value v) { return num(reinterpret_cast<intptr_t>(v.getAsOpaquePointer())); }

} // namespace

FragmentCode::FragmentCode(ir::DeviceOp device, ArrayRef<std::string> arguments, CodeWriter &out, int64_t stackRows)
    : device(device), out(out), isStack(stackRows != 0), rows(isStack ? stackRows : roles::tokenRows),
      mostColumns(isStack ? 256 : 64) {
  for (auto [a, n] : llvm::zip(device.getBody().getArguments(), arguments))
    names[a] = n;
}

bool FragmentCode::isRowTile(RankedTensorType t) const { return t.getRank() == 1 && t.getDimSize(0) == rows; }
bool FragmentCode::isFragmentTile(RankedTensorType t) const {
  return t.getRank() == 2 && t.getDimSize(0) == rows && t.getDimSize(1) % 8 == 0 && t.getDimSize(1) <= mostColumns;
}

bool FragmentCode::fail(Operation *op, const std::string &why) {
  if (reason.empty())
    reason = "'" + op->getName().getStringRef().str() + "' " + why;
  return false;
}

std::string FragmentCode::columnOf(int64_t n) { return "col + " + num(n / 2 * 8 + n % 2); }

std::string FragmentCode::fresh(const char *prefix) { return prefix + num(next++); }

std::string FragmentCode::variable(Type type, const std::string &expression) {
  std::string n = fresh("v");
  out.line("const ", type.isIndex() ? "int" : cppType(type), " ", n, " = ", expression, ";");
  return n;
}

std::string FragmentCode::scalar(Value v) {
  auto it = names.find(v);
  if (it != names.end())
    return it->second;
  if (auto c = v.getDefiningOp<arith::ConstantOp>())
    return cppLiteral(c.getValue());
  if (v.getDefiningOp())
    fail(v.getDefiningOp(), "has no form on fragments");
  return "0";
}

std::string FragmentCode::keyOf(Value v, Index index) const {
  std::string key = addressOf(v);
  for (const std::string &i : index)
    key += "," + i;
  return key;
}

bool FragmentCode::isStreaming(Value v) const {
  return llvm::any_of(streaming, [&](BlockArgument a) { return roles::dependsOn(v, a); }) ||
         roles::comesFrom(v, [&](Value from) { return given.contains(from); });
}

/// The element of `v` at `index`: a literal, or a variable that is declared now unless it is known.
std::string FragmentCode::element(Value v, Index index) {
  if (!reason.empty())
    return "0";
  auto it = known.find(keyOf(v, index));
  if (it != known.end())
    return it->second;
  std::string text = compute(v, index);
  known[keyOf(v, index)] = text;
  return text;
}

std::string FragmentCode::compute(Value v, Index index) {
  if (auto it = given.find(v); it != given.end()) {
    // `col + K` is element K/8*2 + K%2 of the row.
    int64_t k = std::stoll(StringRef(index[1]).substr(StringRef("col + ").size()).str());
    std::string n = num(it->second + k / 8 * 2 + k % 8);
    return isStack ? "s(" + n + ")" : "s[" + n + "]";
  }
  Operation *op = v.getDefiningOp();
  if (!op)
    return "0";
  Type type = tileType(v).getElementType();
  if (auto c = dyn_cast<arith::ConstantOp>(op)) {
    auto splat = dyn_cast<SplatElementsAttr>(c.getValue());
    if (!splat)
      return fail(op, "is a table of constants"), "0";
    return cppLiteral(splat.getSplatValue<Attribute>());
  }
  if (auto s = dyn_cast<tensor::SplatOp>(op))
    return scalar(s.getInput());
  if (auto f = dyn_cast<linalg::FillOp>(op))
    return scalar(f.getInputs()[0]);
  if (auto i = dyn_cast<ir::IotaOp>(op))
    return "(" + cppType(type) + ")(" + index[i.getDim()] + ")";
  if (auto b = dyn_cast<linalg::BroadcastOp>(op)) {
    SmallVector<std::string> source;
    for (auto [d, i] : llvm::enumerate(index))
      if (!llvm::is_contained(b.getDimensions(), (int64_t)d))
        source.push_back(i);
    return element(b.getInput(), source);
  }
  if (isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(op)) {
    // Dimensions of 1 come and go; the others keep their order.
    SmallVector<std::string> live, source;
    RankedTensorType from = tileType(op->getOperand(0)), to = tileType(v);
    SmallVector<int64_t> liveFrom, liveTo;
    for (auto [d, i] : llvm::enumerate(index))
      if (to.getDimSize(d) != 1)
        live.push_back(i), liveTo.push_back(to.getDimSize(d));
    for (int64_t n : from.getShape()) {
      if (n != 1)
        liveFrom.push_back(n);
      source.push_back(n == 1 || liveFrom.size() > live.size() ? "0" : live[liveFrom.size() - 1]);
    }
    if (liveFrom != liveTo)
      return fail(op, "changes more than dimensions of 1"), "0";
    return element(op->getOperand(0), source);
  }
  if (auto l = dyn_cast<ir::LoadOp>(op))
    return loaded(l, index);
  if (isa<linalg::ReduceOp>(op))
    return reduced(op, index);
  if (isElementwise(op)) {
    SmallVector<std::string> operands;
    for (Value o : op->getOperands())
      operands.push_back(isa<RankedTensorType>(o.getType()) ? element(o, index) : scalar(o));
    if (auto e = elementExpression(op, operands))
      return variable(type, *e);
  }
  fail(op, "has no form on fragments");
  return "0";
}

/// What a table says at a position, -1 outside it. Its rows are looked at when they are needed, so that the entry may
/// be on its way until then.
std::string FragmentCode::entry(Value table, Value offset, const std::string &i) {
  SmallVector<std::string> at{"entry", addressOf(offset), i};
  std::string &name = known[keyOf(table, at)];
  if (name.empty()) {
    Type type = cast<MemRefType>(table.getType()).getElementType();
    name =
        variable(type, "evt::load_element(" + scalar(table) + ", {" + sum(offset, i) + "}, (" + cppType(type) + ")-1)");
  }
  return name;
}

/// The row that a table names for the lane's row, -1 if there is none: for a store, also where a later row of the tile
/// goes to the same one.
template <typename AccessOp> std::string FragmentCode::namedRow(AccessOp op, const std::string &i) {
  bool isLast = std::is_same_v<AccessOp, ir::StoreOp> && i == "g";
  Value table = op.getTable(), offset = op.getOffsets()[op.getTableDim()];
  std::string extent = "(int)" + scalar(op.getMemory()) + ".dims[" + num(op.getTableDim()) + "]";
  SmallVector<std::string> at{isLast ? "last" : "any", extent, addressOf(offset), i};
  std::string &name = known[keyOf(table, at)];
  if (name.empty()) {
    std::string row = isLast && isStack
                          ? "evt::last_named_row<" + num(rows) + ">(" + scalar(table) + ", " + sum(offset, i) + ", g"
                      : isLast ? "evt::last_named_row(" + entry(table, offset, i)
                               : "evt::named_row(" + entry(table, offset, i);
    name = variable(IndexType::get(op.getContext()), row + ", " + extent + ")");
  }
  return name;
}

std::string FragmentCode::sum(Value offset, const std::string &i) {
  return "(int)(" + scalar(offset) + (i == "0" ? "" : " + " + i) + ")";
}

/// The memory's indices of an element of a tile: dimensions of the box that the tile dropped have size 1.
template <typename AccessOp> std::string FragmentCode::place(AccessOp op, Index index) {
  RankedTensorType tile = tileType(op.getTile());
  ArrayRef<int64_t> sizes = op.getSizes();
  std::string text;
  unsigned at = 0;
  for (auto [d, offset] : llvm::enumerate(op.getOffsets())) {
    // A tile's dimension belongs to the first of the remaining ones of its size that leaves enough for the rest.
    bool mine = at < index.size() && sizes[d] == tile.getDimSize(at) &&
                (sizes[d] != 1 || sizes.size() - d <= index.size() - at);
    std::string i = mine ? index[at++] : "0";
    text += (d ? ", " : "") + (op.getTable() && d == op.getTableDim() ? namedRow(op, i) : sum(offset, i));
  }
  return text.empty() ? "0" : text;
}

std::string FragmentCode::loaded(ir::LoadOp op, Index index) {
  RankedTensorType t = tileType(op.getTile());
  std::string type = cppType(t.getElementType()), fill = cppFloat(op.getFill().convertToDouble(), t.getElementType());
  if (!isa<FloatType>(t.getElementType()))
    fill = "(" + type + ")" + num((int64_t)op.getFill().convertToDouble());
  StringRef column = index.empty() ? StringRef() : StringRef(index.back());
  int64_t k;
  if (column.consume_front("col + ") && !column.getAsInteger(10, k) && op.getSizes().back() == t.getShape().back()) {
    SmallVector<std::string> even(index), odd(index);
    even.back() = "col + " + num(k / 2 * 2);
    odd.back() = "col + " + num(k / 2 * 2 + 1);
    std::string n = fresh("v");
    if (auto row = openRows.find(op); row != openRows.end())
      out.line("const evt::Pair<", type, "> ", n, " = ", row->second, ".load(", k / 2 * 2, ", ", fill, ");");
    else
      out.line("const evt::Pair<", type, "> ", n, " = evt::load_pair(", scalar(op.getMemory()), ", {", place(op, even),
               "}, ", fill, ");");
    known[keyOf(op.getTile(), even)] = n + ".first";
    known[keyOf(op.getTile(), odd)] = n + ".second";
    return n + (k % 2 ? ".second" : ".first");
  }
  return variable(t.getElementType(),
                  "evt::load_element(" + scalar(op.getMemory()) + ", {" + place(op, index) + "}, " + fill + ")");
}

/// Whether it is of one value a column, the same for all rows.
bool FragmentCode::isOfColumns(ir::LoadOp load) const {
  RankedTensorType t = tileType(load.getTile());
  auto isRepeated = [](Operation *user) {
    auto broadcast = dyn_cast<linalg::BroadcastOp>(user);
    return broadcast && broadcast.getDimensions() == ArrayRef<int64_t>{0};
  };
  return t.getRank() == 1 && t.getDimSize(0) % 8 == 0 && t.getDimSize(0) <= mostColumns && !load.getTable() &&
         !load->use_empty() && llvm::all_of(load->getUsers(), isRepeated);
}

/// Loads of fragments are on their way before the sums are waited for. A memory that is stored to as well is loaded
/// before the first store anyway.
void FragmentCode::emitEarlyLoads() {
  // Tables come first: what goes through them waits for the entry.
  auto early = [&](auto op) {
    RankedTensorType t = tileType(op.getTile());
    if (Value table = op.getTable(); table && t.getRank() > 0 && t.getDimSize(0) == rows)
      entry(table, op.getOffsets()[op.getTableDim()], op.getSizes()[op.getTableDim()] == rows ? "g" : "0");
  };
  for (Operation &op : ir::lastBlock(device)) {
    if (auto load = dyn_cast<ir::LoadOp>(op); load && !load->use_empty())
      early(load);
    else if (auto store = dyn_cast<ir::StoreOp>(op))
      early(store);
  }
  // What kept values come from is not loaded again.
  llvm::SmallDenseSet<Value> needed;
  SmallVector<Value> kept = keptValues();
  auto need = [&](auto &need, Value v) -> void {
    if (llvm::is_contained(kept, v) || given.count(v) || !needed.insert(v).second || !v.getDefiningOp())
      return;
    for (Value operand : v.getDefiningOp()->getOperands())
      need(need, operand);
  };
  for (auto store : ir::lastBlock(device).getOps<ir::StoreOp>())
    need(need, store.getTile());
  for (auto load : ir::lastBlock(device).getOps<ir::LoadOp>()) {
    RankedTensorType t = tileType(load.getTile());
    if (!needed.contains(load.getTile()))
      continue;
    if (isOfColumns(load))
      for (int64_t n = 0; n < t.getDimSize(0) / 4; ++n)
        element(load.getTile(), columnOf(n));
    if (!isFragmentTile(t))
      continue;
    for (int64_t n = 0; n < t.getDimSize(1) / 4; ++n) {
      SmallVector<std::string> index{"g", columnOf(n)};
      element(load.getTile(), index);
    }
  }
}

/// The lane's elements `n` and `n + 1` of a row.
void FragmentCode::emitPair(ir::StoreOp op, int64_t n) {
  RankedTensorType t = tileType(op.getTile());
  std::string memory = scalar(op.getMemory());
  SmallVector<std::string> even{"g", columnOf(n)}, odd{"g", columnOf(n + 1)};
  std::string first = element(op.getTile(), even), second = element(op.getTile(), odd);
  std::string at = place(op, even);
  if (auto row = openRows.find(op); row != openRows.end()) {
    out.line(row->second, ".store(", n / 2 * 8, ", ", first, ", ", second, ");");
  } else if (op.getSizes().back() == t.getShape().back()) {
    auto to = places.find(op.getMemory());
    out.line("evt::store_pair(", memory, ", {", at, "}, ", first, ", ", second,
             to == places.end() ? "" : ", " + to->second, ");");
  } else {
    out.line("evt::store_element(", memory, ", {", at, "}, ", first, ");");
    out.line("evt::store_element(", memory, ", {", place(op, odd), "}, ", second, ");");
  }
}

/// Four pairs at once: the lane's elements `n` … `n + 7` of a row of 16-bit elements.
void FragmentCode::emitFour(ir::StoreOp op, int64_t n) {
  std::string pairs;
  for (int64_t i = n; i < n + 8; i += 2) {
    SmallVector<std::string> even{"g", columnOf(i)}, odd{"g", columnOf(i + 1)};
    std::string first = element(op.getTile(), even), second = element(op.getTile(), odd);
    pairs += (i == n ? "{" : ", {") + first + ", " + second + "}";
  }
  out.line(openRows[op], ".store_four(", n / 2 * 8, ", {", pairs, "});");
}

/// Rows of whole fragments, by loads and stores whose columns are the memory's last dimension.
void FragmentCode::emitRows() {
  for (Operation &op : ir::lastBlock(device)) {
    auto open = [&](auto access) {
      Value memory = access.getMemory();
      RankedTensorType t = tileType(access.getTile());
      if (!isFragmentTile(t) || access.getSizes().back() != t.getShape().back())
        return;
      SmallVector<std::string> index{"g", "col"};
      std::string n = fresh("row");
      auto type = cast<MemRefType>(memory.getType());
      int64_t width = type.getDimSize(type.getRank() - 1);
      bool isWhole =
          !ShapedType::isDynamic(width) && width % 8 == 0 && roles::isDivisible(access.getOffsets().back(), 8);
      if (isWhole)
        wholeRows.push_back(cast<BlockArgument>(memory).getArgNumber());
      out.line("const evt::", isWhole ? "WholeRow<" : "FragmentRow<", cppType(t.getElementType()), ", ", columnsOf(t),
               "> ", n, "(", scalar(memory), ", {", place(access, index), "});");
      openRows[&op] = n;
    };
    if (auto load = dyn_cast<ir::LoadOp>(op); load && !load->use_empty())
      open(load);
    if (auto store = dyn_cast<ir::StoreOp>(op))
      open(store);
  }
}

void FragmentCode::emitStore(ir::StoreOp op) {
  RankedTensorType t = tileType(op.getTile());
  if (isFragmentTile(t)) {
    for (int64_t n = 0; n < t.getDimSize(1) / 4; n += 2)
      emitPair(op, n);
    return;
  }
  SmallVector<std::string> index{"g"};
  if (t.getRank() == 2 && t.getDimSize(0) == rows && t.getDimSize(1) == 1)
    index.push_back("0");
  else if (!isRowTile(t)) {
    fail(op, "stores a tile that is no fragment");
    return;
  }
  std::string value = element(op.getTile(), index);
  auto to = places.find(op.getMemory());
  out.line("if (c == 0) evt::store_element(", scalar(op.getMemory()), ", {", place(op, index), "}, ", value,
           to == places.end() ? "" : ", " + to->second, ");");
}

/// Of a stack: what the task stores to the load's memory is stored after it, element by element in its place.
bool FragmentCode::mayBeReplaced(ir::LoadOp load) {
  auto stores = ir::lastBlock(device).getOps<ir::StoreOp>();
  if (llvm::none_of(stores, [&](ir::StoreOp store) { return store.getMemory() == load.getMemory(); }))
    return true;
  return !storesTwice() && llvm::all_of(stores, [&](ir::StoreOp store) {
    return store.getMemory() != load.getMemory() ||
           (load->isBeforeInBlock(store) && !load.getTable() && !store.getTable() &&
            store.getTile().getType() == load.getTile().getType() && isFragmentTile(tileType(store.getTile())) &&
            store.getOffsets() == load.getOffsets() && store.getSizes() == load.getSizes());
  });
}

/// Loads are moved: those of fragments before every store, others to where they are used. That is right only where no
/// load can see what the task itself stores.
void FragmentCode::checkMemories() {
  llvm::SmallDenseSet<Value> stored, storedSoFar;
  llvm::SmallDenseMap<Value, ir::StoreOp> first;
  for (auto store : ir::lastBlock(device).getOps<ir::StoreOp>()) {
    stored.insert(store.getMemory());
    // Stores by one lane keep their order; rows that are found in another way may be another lane's.
    auto rowsOf = [](ir::StoreOp s) {
      uint64_t d = s.getTableDim();
      return s.getTable() ? std::tuple(Value(s.getTable()), d, Value(s.getOffsets()[d]), s.getSizes()[d])
                          : std::tuple(Value(), d, Value(), int64_t(0));
    };
    if (rowsOf(store) != rowsOf(first.try_emplace(store.getMemory(), store).first->second))
      fail(store, "stores to a memory whose rows another store finds in another way");
  }
  for (Operation &op : ir::lastBlock(device)) {
    auto store = dyn_cast<ir::StoreOp>(op);
    auto load = dyn_cast<ir::LoadOp>(op);
    if (store)
      storedSoFar.insert(store.getMemory());
    if (Value table = store ? store.getTable() : load ? load.getTable() : Value(); table && stored.contains(table))
      fail(&op, "goes through a table that the task stores to");
    if (load &&
        (isStack ? !mayBeReplaced(load)
                 : (isFragmentTile(tileType(load.getTile())) ? storedSoFar : stored).contains(load.getMemory())))
      fail(load, "reads a memory that the task stores to");
  }
}

/// Index arithmetic comes first: it is cheap, and used at any depth.
void FragmentCode::emitIndices() {
  emitIndices(device.getBody().front());
  if (ir::hasRoles(device))
    emitIndices(ir::lastBlock(device));
}

void FragmentCode::emitIndices(Block &block) {
  for (Operation &op : block) {
    if (op.getNumResults() != 1 || !op.getResult(0).getType().isIndex() || isa<arith::ConstantOp>(op))
      continue;
    SmallVector<std::string> operands;
    std::optional<std::string> e;
    if (auto v = dyn_cast<ir::ValidOp>(op))
      e = "evt::valid(" + scalar(v.getOffset()) + ", " + num(v.getSize()) + ", " + scalar(v.getMemory()) + ".dims[" +
          num(v.getDim()) + "])";
    else if (auto d = dyn_cast<memref::DimOp>(op))
      e = scalar(d.getSource()) + ".dims[" + scalar(d.getIndex()) + "]";
    else if (!isa<ir::ReadOp>(op)) {
      for (Value o : op.getOperands())
        operands.push_back(scalar(o));
      e = indexExpression(&op, operands);
    }
    if (!e)
      fail(&op, "has no form on fragments");
    else
      names[op.getResult(0)] = variable(op.getResult(0).getType(), *e);
  }
}

bool FragmentCode::emit(std::string &why) {
  checkMemories();
  if (!isStack) {
    out.line("const int thread = evt::ptx::kept_thread();");
    out.line(
        "[[maybe_unused]] const int g = evt::fragment_row(thread), c = evt::fragment_quarter(thread), col = 2 * c;");
  }
  emitIndices();
  if (isStack) {
    int64_t next = 0;
    auto early = [&] { return "e(" + num(next++) + ")"; };
    for (Value v : rowValues())
      known[keyOf(v, std::string("g"))] = early();
    for (ir::LoadOp load : earlyLoads())
      for (int64_t n = 0; n < tileType(load.getTile()).getDimSize(1) / 4; ++n) {
        SmallVector<std::string> index{"g", columnOf(n)};
        known[keyOf(load.getTile(), index)] = early();
      }
    emitRows();
    emitStackStores();
  } else {
    for (auto [i, v] : llvm::enumerate(keptValues()))
      known[keyOf(v, std::string("g"))] = "kept[" + num(8 * i) + " + g]";
    emitEarlyLoads();
  }
  if (!sums.empty())
    out.line(sums);
  for (Operation &op : ir::lastBlock(device)) {
    if (auto s = dyn_cast<ir::StoreOp>(op); s && !isStack)
      emitStore(s);
    else if (isa<scf::ForOp>(op) && llvm::none_of(op.getResults(), [&](Value r) { return given.count(r); }))
      fail(&op, "has no form on fragments");
  }
  why = reason;
  return reason.empty();
}

} // namespace evt::emit
