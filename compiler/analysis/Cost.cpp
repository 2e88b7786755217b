#include "compiler/analysis/Cost.h"

#include "compiler/analysis/IndexRanges.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <algorithm>
#include <stdexcept>

using namespace mlir;

namespace evt {

namespace {

int64_t elements(Value v) { return cast<ShapedType>(v.getType()).getNumElements(); }

/// Operations of one tile operation, without regions that are loops.
int64_t opsOf(Operation *op) {
  if (isa<linalg::MatmulOp, linalg::MatmulTransposeBOp>(op)) {
    int64_t depth = cast<ShapedType>(op->getOperand(0).getType()).getDimSize(1);
    return 2 * elements(op->getOperand(2)) * depth;
  }
  if (isa<linalg::ReduceOp, ir::PrefixSumOp>(op))
    return elements(op->getOperand(0));
  if (isa<ir::TopKOp>(op)) // each of a row's inputs with each of its results
    return elements(op->getOperand(0)) * cast<ShapedType>(op->getResult(0).getType()).getShape().back();
  bool arithmetic = isa<arith::ArithDialect, math::MathDialect>(op->getDialect());
  if (!arithmetic || op->getNumResults() != 1 || !isa<RankedTensorType>(op->getResult(0).getType()) ||
      isa<CastOpInterface, arith::ConstantOp>(op))
    return 0;
  return elements(op->getResult(0)) * (isa<math::FmaOp>(op) ? 2 : 1);
}

bool hasRemainder(Operation *op) {
  if (isa<arith::RemSIOp, arith::RemUIOp>(op))
    return op->getResult(0).getType().isIndex();
  auto apply = dyn_cast<affine::AffineApplyOp>(op);
  bool found = false;
  if (apply)
    apply.getAffineMap().walkExprs([&](AffineExpr e) { found |= e.getKind() == AffineExprKind::Mod; });
  return found;
}

/// What a call touches of one memory, in one direction.
struct Touched {
  unsigned memory;
  bool write;
  std::vector<IndexRange> box; // inclusive, not clipped
  Amount most = 0;             // bytes of all tiles of all tasks
  bool exact = true;           // false: data decides where a tile lies
};

class CallCounter {
public:
  CallCounter(const ir::Signature &signature, unsigned call)
      : signature(signature), op(signature.calls[call]), device(ir::calleeOf(op)), ranges(signature, op) {
    cost.tasks = 1;
    for (const Amount &extent : ranges.extents())
      cost.tasks = cost.tasks * extent;
  }

  void count() {
    if (op.isRagged()) {
      assume("every task of the ragged bound is counted");
      touch(op.getRaggedTable(), false, {{Amount(0), ranges.groups()}}, {1}, 1);
    }
    device.getBody().walk([&](Operation *step) {
      if (!hasRemainder(step))
        return;
      IndexRange range = ranges.of(step->getResult(0));
      if (!range.lo || !range.hi || !(*range.lo == *range.hi))
        assume("an index that is a remainder takes all its values");
    });
    op.getProtocol().walk([&](ir::ReadOp read) { touchPoint(read, 1); });
    op.getProtocol().walk([&](ir::WaitOp wait) {
      ir::EventOp event = signature.events[signature.eventOf(wait.getEvent())];
      if (event.getTable())
        touchWhole(event.getTable());
    });
    cost.ops = cost.tasks * opsOf(device.getBody().front(), 1);
    if (device.isForeign())
      assume("what " + device.getSymName().str() + " computes is written by hand: its operations are not counted");
    for (const Touched &t : touched)
      cost.bytes = cost.bytes + bytesOf(t);
  }

  /// Bytes between the corners of a box, inside the memory.
  Amount bytesIn(unsigned memory, ArrayRef<IndexRange> box) const {
    auto type = cast<MemRefType>(signature.memories[memory].getType());
    Amount bytes = std::max<int64_t>(1, type.getElementTypeBitWidth() / 8);
    for (unsigned d = 0; d < type.getRank(); ++d) {
      Amount extent = ranges.extentOf(memory, d);
      Amount lo = box[d].lo ? greatest(*box[d].lo, 0) : Amount(0);
      Amount end = box[d].hi ? least(*box[d].hi + 1, extent) : extent;
      bytes = bytes * greatest(end - lo, 0);
    }
    return bytes;
  }
  Amount bytesOf(const Touched &t) const {
    Amount between = bytesIn(t.memory, t.box);
    return t.exact ? between : least(between, t.most);
  }

  CallCost cost;
  std::vector<Touched> touched;

private:
  void assume(const std::string &text) {
    if (!llvm::is_contained(cost.assumptions, text))
      cost.assumptions.push_back(text);
  }

  Amount opsOf(Block &block, const Amount &times) {
    Amount sum = 0;
    for (Operation &step : block) {
      if (auto loop = dyn_cast<scf::ForOp>(step)) {
        Trips trips = ranges.tripsOf(loop);
        if (!trips.assumption.empty())
          assume(trips.assumption);
        sum = sum + trips.count * opsOf(*loop.getBody(), times * trips.count);
        continue;
      }
      if (auto role = dyn_cast<ir::RoleOp>(step)) {
        sum = sum + opsOf(role.getBody().front(), times);
        continue;
      }
      if (auto load = dyn_cast<ir::LoadOp>(step))
        touchTile(load, false, times);
      else if (auto store = dyn_cast<ir::StoreOp>(step))
        touchTile(store, true, times);
      else if (auto reads = dyn_cast<ir::ReadsOp>(step))
        touchTile(reads, false, times);
      else if (auto writes = dyn_cast<ir::WritesOp>(step))
        touchTile(writes, true, times);
      else if (auto read = dyn_cast<ir::ReadOp>(step))
        touchPoint(read, times);
      else if (auto attend = dyn_cast<ir::AttendOp>(step))
        sum = sum + touchPositions(attend, times);
      else if (auto merge = dyn_cast<ir::MergeOp>(step))
        sum = sum + touchParts(merge, times);
      else if (auto attend = dyn_cast<ir::AttendPartsOp>(step))
        sum = sum + touchPartsAttention(attend, times);
      else if (auto merge = dyn_cast<ir::MergePartsOp>(step))
        sum = sum + touchPartsMerge(merge, times);
      else if (auto draw = dyn_cast<ir::DrawOp>(step))
        sum = sum + touchDraw(draw, times);
      else if (auto sample = dyn_cast<ir::SampleOp>(step))
        sum = sum + touchSample(sample, times);
      else if (auto tokens = dyn_cast<ir::AttendTokensOp>(step))
        sum = sum + touchTokens(tokens, times);
      else if (auto tokens = dyn_cast<ir::ShortTokensOp>(step))
        touchRuns(tokens, times);
      else if (auto rotate = dyn_cast<ir::RotateHeadOp>(step))
        sum = sum + touchHead(rotate, times);
      sum = sum + evt::opsOf(&step);
    }
    return sum;
  }

  template <typename AccessOp> void touchTile(AccessOp access, bool write, const Amount &times) {
    std::vector<IndexRange> box;
    for (auto [offset, size] : llvm::zip(access.getOffsets(), access.getSizes())) {
      IndexRange range = ranges.of(offset);
      if (range.hi)
        range.hi = *range.hi + (size - 1);
      box.push_back(range);
    }
    if (Value table = access.getTable()) {
      uint64_t dim = access.getTableDim();
      touch(table, false, {box[dim]}, {access.getSizes()[dim]}, times);
      box[dim] = {};
    }
    touch(access.getMemory(), write, box, access.getSizes(), times);
  }

  /// Every position that the page table has room for; returns the operations on them.
  Amount touchPositions(ir::AttendOp attend, const Amount &times) {
    return touchCache(attend, times, attend.getHeads()) * 4 * elements(attend.getQuery());
  }
  void touchSlots(Value memory, IndexRange layer, IndexRange head, int64_t heads, const Amount &times) {
    const int64_t columns = cast<MemRefType>(memory.getType()).getDimSize(3);
    IndexRange row;
    row.lo = 0;
    row.hi = columns - 1;
    touch(memory, false, {layer, head, {}, row}, {1, heads, 1, columns}, times);
  }
  /// How many positions there are, each of so many heads.
  template <typename Attend> Amount touchCache(Attend attend, const Amount &times, int64_t heads = 1) {
    IndexRange layer = ranges.of(attend.getLayer()), head = ranges.of(attend.getHead());
    if (head.hi)
      head.hi = *head.hi + (heads - 1);
    touch(attend.getPages(), false, {ranges.of(attend.getRequest()), {}}, {1, 1}, times);
    unsigned table = signature.memoryOf(ranges.memoryOf(attend.getPages()));
    Amount positions = ranges.extentOf(table, 1) * (int64_t)attend.getPageSlots();
    for (Value memory : {attend.getKeys(), attend.getValues()})
      touchSlots(memory, layer, head, heads, times * positions);
    assume("a request attends to as many positions as its row of the page table has room for");
    return positions;
  }

  /// `elements` of a row, from `column` on.
  void touchRow(Value memory, bool write, Value row, Value column, int64_t elements, const Amount &times) {
    IndexRange columns = ranges.of(column);
    if (columns.hi)
      columns.hi = *columns.hi + (elements - 1);
    touch(memory, write, {ranges.of(row), columns}, {1, elements}, times);
  }
  /// All parts of one (i, j), or of one (i, j, s); returns how many.
  template <typename PartsOp> Amount touchAllParts(PartsOp op, bool write, std::vector<Value> at, const Amount &times) {
    unsigned m = signature.memoryOf(ranges.memoryOf(op.getM()));
    Amount parts = 1;
    for (unsigned d = at.size(); d < 4; ++d)
      parts = parts * ranges.extentOf(m, d);
    for (Value memory : {op.getM(), op.getSum(), op.getAcc()}) {
      auto type = cast<MemRefType>(memory.getType());
      std::vector<IndexRange> box;
      std::vector<int64_t> sizes;
      for (int64_t d = 0; d < type.getRank(); ++d) {
        IndexRange range;
        if (d < (int64_t)at.size()) {
          range = ranges.of(at[d]);
        } else {
          range.lo = 0;
          range.hi = d < 4 ? ranges.extentOf(m, d) - 1 : Amount(type.getDimSize(d)) - 1;
        }
        box.push_back(range);
        sizes.push_back(d < 4 ? 1 : type.getDimSize(d));
      }
      touch(memory, write, box, sizes, times * parts);
    }
    return parts;
  }
  static int64_t rowElements(Value acc) {
    auto type = cast<MemRefType>(acc.getType());
    return type.getDimSize(4) * type.getDimSize(5);
  }
  Amount touchPartsAttention(ir::AttendPartsOp op, const Amount &times) {
    const int64_t row = rowElements(op.getAcc());
    touchRow(op.getQ(), false, op.getToken(), op.getColumn(), row, times);
    if (op.getSquares()) {
      touchRow(op.getQSquares(), false, op.getToken(), op.getSquaresColumn(),
               (int64_t)op.getRows() * cast<MemRefType>(op.getSquares().getType()).getDimSize(3), times);
      // Of keys that are not settled: few.
      touchSlots(op.getSquares(), ranges.of(op.getLayer()), ranges.of(op.getHead()), 1, times);
    }
    touchAllParts(op, true, {op.getI(), op.getJ(), op.getS()}, times);
    return touchCache(op, times) * 4 * row;
  }
  Amount touchPartsMerge(ir::MergePartsOp op, const Amount &times) {
    const int64_t row = rowElements(op.getAcc());
    touchRow(op.getTo(), true, op.getRow(), op.getColumn(), row, times);
    return touchAllParts(op, false, {op.getI(), op.getJ()}, times) * 3 * row;
  }

  template <typename RunsOp> void touchRuns(RunsOp op, const Amount &times) {
    for (Value table : {op.getRequests(), op.getPositions()})
      touch(table, false, {IndexRange()}, {1}, times);
  }

  /// Returns the operations: six for a rotated pair of columns, as many for its norm.
  Amount touchHead(ir::RotateHeadOp op, const Amount &times) {
    const int64_t columns = op.getColumns(), tokens = op.getTokens();
    IndexRange token = ranges.of(op.getToken()), column = ranges.of(op.getColumn()), head = ranges.of(op.getHead());
    IndexRange layer = ranges.of(op.getLayer());
    auto longer = [](IndexRange range, int64_t size) {
      if (range.hi)
        range.hi = *range.hi + (size - 1);
      return range;
    };
    auto first = [](int64_t count) {
      IndexRange row;
      row.lo = 0;
      row.hi = count - 1;
      return row;
    };
    IndexRange rows = longer(token, tokens);
    touch(op.getX(), false, {rows, longer(column, columns)}, {tokens, columns}, times);
    if (op.getSlots())
      touch(op.getSlots(), false, {rows}, {tokens}, times);
    for (Value table : {op.getCosines(), op.getSines()})
      if (table)
        touch(table, false, {rows, first(columns / 2)}, {tokens, columns / 2}, times);
    if (op.getWeights())
      touch(op.getWeights(), false, {layer, first(columns)}, {1, columns}, times);
    for (auto [memory, each] : {std::pair(op.getOut(), columns), std::pair(op.getSquares(), columns / 16)}) {
      if (!memory)
        continue;
      if (op.getSlots()) {
        touch(memory, true, {layer, head, {}, first(each)}, {1, 1, tokens, each}, times);
        continue;
      }
      IndexRange ofHead;
      if (head.lo && head.hi) {
        ofHead.lo = *head.lo * each;
        ofHead.hi = *head.hi * each + (each - 1);
      }
      touch(memory, true, {rows, ofHead}, {tokens, each}, times);
    }
    return Amount(tokens * columns / 2 * ((op.getCosines() ? 6 : 0) + (op.getWeights() ? 6 : 0)));
  }

  /// Every position that a row of the page table has room for; returns the operations on them.
  Amount touchTokens(ir::AttendTokensOp op, const Amount &times) {
    IndexRange layer = ranges.of(op.getLayer()), head = ranges.of(op.getHead()), token = ranges.of(op.getToken());
    if (token.hi)
      token.hi = *token.hi + ((int64_t)op.getTokens() - 1);
    touchRuns(op, times);
    touch(op.getPages(), false, {IndexRange(), IndexRange()}, {1, 1}, times);
    unsigned table = signature.memoryOf(ranges.memoryOf(op.getPages()));
    Amount positions = ranges.extentOf(table, 1) * (int64_t)op.getPageSlots();
    for (Value memory : {op.getKeys(), op.getValues()})
      touchSlots(memory, layer, head, 1, times * positions);
    const int64_t rows = (int64_t)op.getTokens();
    const int64_t share = cast<MemRefType>(op.getQuery().getType()).getDimSize(1) /
                          cast<MemRefType>(op.getKeys().getType()).getDimSize(1);
    IndexRange columnsOfHead;
    if (head.lo && head.hi) {
      columnsOfHead.lo = *head.lo * share;
      columnsOfHead.hi = *head.hi * share + (share - 1);
    }
    for (Value memory : {op.getQuery(), op.getOut()})
      touch(memory, memory == op.getOut(), {token, columnsOfHead}, {rows, share}, times);
    assume("a request attends to as many positions as its row of the page table has room for");
    return positions * (4 * rows * share);
  }

  /// All parts; returns the operations on them.
  Amount touchParts(ir::MergeOp merge, const Amount &times) {
    Amount parts = ranges.extentOf(signature.memoryOf(ranges.memoryOf(merge.getM())), 2);
    for (Value memory : {merge.getM(), merge.getSum(), merge.getAcc()}) {
      auto type = cast<MemRefType>(memory.getType());
      std::vector<IndexRange> box = {ranges.of(merge.getI()), ranges.of(merge.getJ()), {}};
      std::vector<int64_t> sizes = {1, 1, 1};
      box[2].lo = 0;
      box[2].hi = parts - 1;
      for (int64_t d = 3; d < type.getRank(); ++d) {
        box.emplace_back();
        box.back().lo = 0;
        box.back().hi = type.getDimSize(d) - 1;
        sizes.push_back(type.getDimSize(d));
      }
      touch(memory, false, box, sizes, times * parts);
    }
    return parts * 3 * elements(merge.getMerged());
  }

  IndexRange constantRange(int64_t size) const {
    IndexRange range;
    range.lo = 0;
    range.hi = size - 1;
    return range;
  }

  /// A row of how requests choose.
  template <typename SamplingOp> void touchTables(SamplingOp op, const Amount &times) {
    for (Value table : {op.getRates(), op.getChoices()})
      touch(table, false, {ranges.of(op.getRow()), constantRange(8)}, {1, 8}, times);
    assume("every request has penalties, filters and a history as long as its row of the page table");
  }

  /// A chunk of the logits, its copy, and the history; returns the operations on them.
  Amount touchDraw(ir::DrawOp draw, const Amount &times) {
    touchTables(draw, times);
    int64_t chunk = draw.getChunk();
    IndexRange columns = ranges.of(draw.getColumn());
    if (columns.hi)
      columns.hi = *columns.hi + (chunk - 1);
    for (Value memory : {draw.getLogits(), draw.getScaled()})
      touch(memory, memory == draw.getScaled(), {ranges.of(draw.getRow()), columns}, {1, chunk}, times);
    Amount pages = ranges.extentOf(signature.memoryOf(ranges.memoryOf(draw.getPages())), 1);
    Amount positions = pages * (int64_t)draw.getPageSlots();
    touch(draw.getPages(), false, {{}, {}}, {1, 1}, times * pages);
    touch(draw.getHistory(), false, {{}}, {1}, times * positions);
    return positions + 4 * chunk;
  }

  /// The parts, and passes over the logits; returns the operations on them.
  Amount touchSample(ir::SampleOp sample, const Amount &times) {
    touchTables(sample, times);
    int64_t parts = cast<MemRefType>(sample.getParts().getType()).getDimSize(1);
    IndexRange row = ranges.of(sample.getRow());
    touch(sample.getParts(), false, {row, constantRange(parts), constantRange(4)}, {1, parts, 4}, times);
    Amount tokens = ranges.extentOf(signature.memoryOf(ranges.memoryOf(sample.getScaled())), 1);
    touch(sample.getScaled(), false, {row, {}}, {1, 1}, times * tokens);
    touch(sample.getLogits(), false, {row, {}}, {1, 1}, times);
    return tokens * 4;
  }

  void touchPoint(ir::ReadOp read, const Amount &times) {
    std::vector<IndexRange> box;
    for (Value index : read.getIndices())
      box.push_back(ranges.of(index));
    touch(read.getTable(), false, box, std::vector<int64_t>(box.size(), 1), times);
  }

  void touchWhole(Value memory) {
    unsigned rank = cast<MemRefType>(memory.getType()).getRank();
    touch(memory, false, std::vector<IndexRange>(rank), std::vector<int64_t>(rank, 1), 1, /*whole=*/true);
  }

  /// `times` in a task.
  void touch(Value memory, bool write, std::vector<IndexRange> box, ArrayRef<int64_t> sizes, const Amount &times,
             bool whole = false) {
    unsigned number = signature.memoryOf(ranges.memoryOf(memory));
    auto type = cast<MemRefType>(memory.getType());
    Amount tile = std::max<int64_t>(1, type.getElementTypeBitWidth() / 8);
    bool exact = !op.isRagged(); // its tasks may leave groups out
    for (auto [d, range] : llvm::enumerate(box)) {
      tile = tile * sizes[d];
      if (whole || (range.lo && range.hi))
        continue;
      exact = false;
      assume("where " + signature.memoryName(number) + " is " + (write ? "written" : "read") + " along dimension " +
             std::to_string(d) + " is decided by data: all of it, or all different tiles");
    }
    auto same = llvm::find_if(touched, [&](const Touched &t) { return t.memory == number && t.write == write; });
    if (same == touched.end()) {
      touched.push_back({number, write, box, cost.tasks * times * tile, exact});
      return;
    }
    for (auto [mine, other] : llvm::zip(same->box, box))
      mine = hull(mine, other);
    same->most = same->most + cost.tasks * times * tile;
    same->exact &= exact;
  }

  const ir::Signature &signature;
  ir::CallOp op;
  ir::DeviceOp device;
  mutable IndexRanges ranges;
};

/// Bytes of the arguments, each once a direction, whoever touches them.
Amount bytesOfArguments(const ir::Signature &signature, const std::vector<CallCounter> &calls) {
  Amount sum = 0;
  for (unsigned m = 0; m < signature.memories.size(); ++m) {
    if (!isa<BlockArgument>(signature.memories[m]))
      continue;
    for (bool write : {false, true}) {
      std::optional<Touched> all;
      Amount ofCalls = 0;
      for (const CallCounter &call : calls)
        for (const Touched &t : call.touched) {
          if (t.memory != m || t.write != write)
            continue;
          ofCalls = ofCalls + call.bytesOf(t);
          if (!all) {
            all = t;
            continue;
          }
          for (auto [mine, other] : llvm::zip(all->box, t.box))
            mine = hull(mine, other);
          all->exact &= t.exact;
        }
      if (all) {
        Amount between = calls.front().bytesIn(m, all->box);
        sum = sum + (all->exact ? between : least(between, ofCalls));
      }
    }
  }
  return sum;
}

} // namespace

std::optional<GraphCost> costOf(const ir::Signature &signature) {
  try {
    std::vector<CallCounter> counters;
    GraphCost cost;
    for (unsigned k = 0; k < signature.calls.size(); ++k) {
      counters.emplace_back(signature, k);
      counters.back().count();
      cost.calls.push_back(counters.back().cost);
      cost.ops = cost.ops + cost.calls.back().ops;
    }
    cost.bytes = bytesOfArguments(signature, counters);
    return cost;
  } catch (const std::overflow_error &) {
    return std::nullopt;
  } catch (const UnknownSize &) {
    return std::nullopt;
  }
}

} // namespace evt
