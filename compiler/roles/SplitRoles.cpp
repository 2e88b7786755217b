#include "SplitRoles.h"

#include "compiler/ir/Signature.h"
#include "compiler/roles/Operands.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallPtrSet.h"

#include <map>

using namespace mlir;

namespace evt::roles {

namespace {

/// What every role can compute for itself, and stays outside of them: constants, and indices that hang on nothing but
/// arguments, coordinates and loops.
llvm::SmallPtrSet<Operation *, 32> sharedOps(ir::DeviceOp device) {
  llvm::SmallPtrSet<Operation *, 32> shared;
  device.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
    bool isIndex =
        isMemoryEffectFree(op) && op->getNumRegions() == 0 && op->getNumResults() > 0 &&
        llvm::all_of(op->getResultTypes(), [](Type t) { return t.isIndex(); }) &&
        llvm::all_of(op->getOperands(), [&](Value v) {
          return !isa<RankedTensorType>(v.getType()) && (!v.getDefiningOp() || shared.contains(v.getDefiningOp()));
        });
    if (isIndex || op->hasTrait<OpTrait::ConstantLike>())
      shared.insert(op);
  });
  return shared;
}

/// A loop that carries more than tiles from round to round.
bool carriesNumbers(Operation *op) {
  return isa<scf::ForOp>(op) && !llvm::all_of(op->getResultTypes(), [](Type t) { return isa<RankedTensorType>(t); });
}

class Splitter {
public:
  Splitter(ir::DeviceOp device, llvm::function_ref<bool(unsigned)> isImmutable, std::string &why)
      : device(device), isImmutable(isImmutable), why(why), builder(device.getContext()) {}

  bool split() {
    if (!match())
      return false;
    Block &body = device.getBody().front();
    Operation *end = body.getTerminator();
    builder.setInsertionPoint(end);
    for (ir::LoadOp load : ahead)
      ringFor(load, true);
    for (ir::LoadOp load : rows)
      ringFor(load, false);
    for (auto [i, result] : llvm::enumerate(loop.getResults()))
      results.push_back(ring("sum" + std::to_string(i), result.getType(), resultStages, false));
    makeLoader("loader", ahead);
    makeLoader("rows", rows);
    makeCompute();
    makeEpilogue();
    return true;
  }

private:
  bool no(const std::string &reason) {
    why = reason;
    return false;
  }

  bool match() {
    if (device.isForeign())
      return no("it is written by hand");
    if (ir::hasRoles(device))
      return no("it has roles already");
    shared = sharedOps(device);
    Block &body = device.getBody().front();
    auto loops = body.getOps<scf::ForOp>();
    if (!llvm::hasSingleElement(loops))
      return no("it has no single loop along K");
    loop = *loops.begin();
    auto isPlace = [&](Value v) { return !v.getDefiningOp() || shared.contains(v.getDefiningOp()); };
    if (!isPlace(loop.getLowerBound()) || !isPlace(loop.getUpperBound()))
      return no("how often its loop runs hangs on data");
    if (ir::constantOf(loop.getStep()).value_or(0) < 1)
      return no("its loop's step is no constant");
    auto lower = ir::constantOf(loop.getLowerBound()), upper = ir::constantOf(loop.getUpperBound());
    if (lower && upper && (*upper - *lower) / *ir::constantOf(loop.getStep()) > mostRounds)
      return no("its loop has more than " + std::to_string(mostRounds) + " rounds");
    if (!multiplies(loop))
      return no("its loop multiplies nothing");
    if (!llvm::all_of(loop.getResultTypes(), [](Type t) { return isa<RankedTensorType>(t); }) ||
        loop.getNumResults() == 0)
      return no("its loop has a result that is no tile");
    // What the loop starts from and uses besides is made again in compute; it must hang on nothing that was loaded.
    for (Value v : loop.getInitArgs())
      if (!gather(v))
        return no("its loop starts from a tile that is computed before it");
    bool known = true;
    loop.getBody()->walk([&](Operation *op) {
      for (Value operand : op->getOperands())
        if (operand.getParentBlock() == &body && !gather(operand))
          known = false;
    });
    if (!known)
      return no("its loop uses a tile that is computed before it");
    for (Operation &op : body) {
      if (&op == loop)
        break;
      if (op.walk([](Operation *inner) {
              return ir::memoriesWritten(inner).empty() ? WalkResult::advance() : WalkResult::interrupt();
            }).wasInterrupted())
        return no("it writes memory before its loop");
    }
    for (auto load : loop.getBody()->getOps<ir::LoadOp>()) {
      auto memory = dyn_cast<BlockArgument>(load.getMemory());
      if (load.getTable() || !memory || !llvm::all_of(load.getOffsets(), isPlace))
        continue;
      (isImmutable(memory.getArgNumber()) ? ahead : rows).push_back(load);
    }
    bool looksIntoTiles =
        loop.walk([](Operation *op) {
              bool reads = isa<tensor::ExtractOp>(op) || carriesNumbers(op) ||
                           (!isMemoryEffectFree(op) && op->getNumRegions() == 0 && !isa<ir::LoadOp, ir::ReadOp>(op));
              return reads ? WalkResult::interrupt() : WalkResult::advance();
            })
            .wasInterrupted();
    if (looksIntoTiles)
      return no("its loop reads memory otherwise than by loads whose places are indices");
    if (ahead.empty() && rows.empty())
      return no("its loop loads nothing whose place is known beforehand");
    return true;
  }

  /// Notes the operations that make a value of the function's body, if they hang on no memory.
  bool gather(Value v) {
    Operation *op = v.getDefiningOp();
    if (!op || shared.contains(op) || made.contains(op))
      return true;
    if (!isMemoryEffectFree(op) || isa<scf::ForOp, tensor::ExtractOp>(op) ||
        !llvm::all_of(op->getOperands(), [&](Value o) { return gather(o); }))
      return false;
    made.insert(op);
    return true;
  }

  Value ring(const std::string &name, Type tile, int64_t stages, bool isAhead) {
    auto type = ir::RingType::get(device.getContext(), cast<RankedTensorType>(tile));
    return builder.create<ir::RingOp>(loop.getLoc(), type, name, stages, isAhead);
  }
  void ringFor(ir::LoadOp load, bool isAhead) {
    // Named after the memory; two loads of one memory are told apart by a number.
    std::string name =
        cast<StringAttr>(device.getArgNames()[cast<BlockArgument>(load.getMemory()).getArgNumber()]).getValue().str();
    if (unsigned n = names[name]++)
      name += std::to_string(n);
    rings[load] = ring(name, load.getTile().getType(), loadStages, isAhead);
  }

  OpBuilder openRole(StringRef name) {
    auto role = builder.create<ir::RoleOp>(loop.getLoc(), name);
    Block &block = role.getBody().emplaceBlock();
    OpBuilder inside = OpBuilder::atBlockEnd(&block);
    inside.create<ir::EndOp>(loop.getLoc());
    inside.setInsertionPointToStart(&block);
    return inside;
  }

  /// The loop with these loads alone, each put into its ring.
  void makeLoader(StringRef name, ArrayRef<ir::LoadOp> loads) {
    if (loads.empty())
      return;
    OpBuilder inside = openRole(name);
    auto own = inside.create<scf::ForOp>(loop.getLoc(), loop.getLowerBound(), loop.getUpperBound(), loop.getStep());
    inside.setInsertionPointToStart(own.getBody());
    IRMapping map;
    map.map(loop.getInductionVar(), own.getInductionVar());
    for (Operation &op : *loop.getBody())
      if (shared.contains(&op)) {
        inside.clone(op, map);
      } else if (auto load = dyn_cast<ir::LoadOp>(op); load && llvm::is_contained(loads, load)) {
        auto tile = cast<ir::LoadOp>(inside.clone(op, map));
        inside.create<ir::PutOp>(op.getLoc(), tile.getTile(), rings[load]);
      }
    removeUnused(own.getBody());
  }

  static void removeUnused(Block *block) {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*block)))
      if (isMemoryEffectFree(&op) && op.use_empty() && !op.hasTrait<OpTrait::IsTerminator>())
        op.erase();
  }

  void makeCompute() {
    OpBuilder inside = openRole("compute");
    IRMapping map;
    for (Operation &op : device.getBody().front())
      if (made.contains(&op))
        inside.clone(op, map);
    auto own = cast<scf::ForOp>(inside.clone(*loop, map));
    // Of the copy, loads in the same order as in the original.
    SmallVector<ir::LoadOp> originals(loop.getBody()->getOps<ir::LoadOp>()),
        copies(own.getBody()->getOps<ir::LoadOp>());
    for (auto [original, copy] : llvm::zip_equal(originals, copies))
      if (Value from = rings.lookup(original)) {
        auto get = OpBuilder(copy).create<ir::GetOp>(copy.getLoc(), copy.getTile().getType(), from);
        copy.getTile().replaceAllUsesWith(get.getTile());
        copy.erase();
      }
    removeUnused(own.getBody());
    for (auto [result, to] : llvm::zip_equal(own.getResults(), results))
      inside.create<ir::PutOp>(loop.getLoc(), result, to);
  }

  void makeEpilogue() {
    OpBuilder inside = openRole("epilogue");
    IRMapping map;
    SmallVector<Operation *> moved;
    for (Operation &op : device.getBody().front()) {
      if (isa<ir::RoleOp, ir::RingOp, ir::EndOp>(op) || shared.contains(&op))
        continue;
      moved.push_back(&op);
      if (&op != loop) {
        inside.clone(op, map);
        continue;
      }
      for (auto [result, from] : llvm::zip_equal(loop.getResults(), results))
        map.map(result, inside.create<ir::GetOp>(loop.getLoc(), result.getType(), from).getTile());
    }
    for (Operation *op : llvm::reverse(moved))
      op->erase();
  }

  ir::DeviceOp device;
  llvm::function_ref<bool(unsigned)> isImmutable;
  std::string &why;
  OpBuilder builder;
  scf::ForOp loop;
  llvm::SmallPtrSet<Operation *, 32> shared;
  SmallVector<ir::LoadOp> ahead, rows;
  llvm::SmallPtrSet<Operation *, 16> made; // besides the loop, in compute
  llvm::DenseMap<Operation *, Value> rings;
  SmallVector<Value> results;
  std::map<std::string, unsigned> names;
};

class SplitRoles : public PassWrapper<SplitRoles, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SplitRoles)
  StringRef getArgument() const override { return "evt-split-roles"; }
  StringRef getDescription() const override {
    return "split device functions with products into roles joined by rings";
  }
  void runOnOperation() override { splitRoles(getOperation()); }
};

} // namespace

bool splitRoles(ir::DeviceOp device, llvm::function_ref<bool(unsigned)> isImmutable, std::string &why) {
  return Splitter(device, isImmutable, why).split();
}

void splitRoles(ModuleOp module) {
  llvm::MapVector<Operation *, SmallVector<ir::CallOp>> calls; // of each device function
  module.walk([&](ir::CallOp call) { calls[ir::calleeOf(call)].push_back(call); });
  for (auto &[device, all] : calls) {
    auto isImmutable = [&calls = all](unsigned argument) {
      return llvm::all_of(calls, [&](ir::CallOp call) {
        return ir::Signature(call->getParentOfType<ir::GraphOp>()).isImmutable(call.getArgs()[argument]);
      });
    };
    std::string why;
    if (llvm::none_of(all, [](ir::CallOp call) { return call.isRagged(); }))
      splitRoles(cast<ir::DeviceOp>(device), isImmutable, why);
  }
}

std::unique_ptr<Pass> createSplitRolesPass() { return std::make_unique<SplitRoles>(); }

} // namespace evt::roles
