#include "RoleProduct.h"

#include "compiler/ir/Signature.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;

namespace evt::roles {

namespace {

class Reader {
public:
  Reader(ir::DeviceOp device, scf::ForOp loop, std::string &why) : device(device), why(why) { product.loop = loop; }

  std::optional<RoleProduct> read() {
    for (auto [i, yielded] : llvm::enumerate(product.loop.getYieldedValues()))
      if (!readTerm(i, yielded) || !readSum(product.loop.getResult(i)))
        return std::nullopt;
    if (product.weights.empty())
      return no("its loop has no product"), std::nullopt;
    llvm::SmallPtrSet<Operation *, 4> loops{product.loop, product.rows.loop};
    for (const RoleProduct::Operand &weight : product.weights)
      loops.insert(weight.loop);
    for (Operation *loop : loops)
      for (Operation &op : *cast<scf::ForOp>(loop).getBody())
        if (!used.contains(&op) && !isa<scf::YieldOp>(op) &&
            !llvm::all_of(op.getResultTypes(), [](Type t) { return t.isIndex(); }))
          return no("its loop holds more than products"), std::nullopt;
    for (auto ring : device.getBody().front().getOps<ir::RingOp>())
      if (!used.contains(ring))
        return no("its ring '" + ring.getName().str() + "' holds neither what is multiplied nor sums"), std::nullopt;
    return product;
  }

private:
  bool no(const std::string &reason) {
    why = reason;
    return false;
  }

  bool readTerm(unsigned i, Value yielded) {
    auto multiply = yielded.getDefiningOp<linalg::MatmulTransposeBOp>();
    if (!multiply || multiply.getOutputs()[0] != product.loop.getRegionIterArgs()[i] ||
        !isZero(product.loop.getInitArgs()[i]))
      return no("an accumulator of its loop is not a sum of products that starts at zero");
    auto rows = readOperand(multiply.getInputs()[0]), weights = readOperand(multiply.getInputs()[1]);
    if (!rows || !weights || (product.rows.load && rows->load != product.rows.load))
      return no("its products are not of one 16-bit tile of rows and a 16-bit tile of weights each");
    if (rows->load == weights->load)
      return no("its rows and its weights are one tile");
    product.rows = *rows;
    product.weights.push_back(*weights);
    if (rows->tile().getElementType() != weights->tile().getElementType())
      return no("rows and weights have different types");
    product.isBfloat16 = rows->tile().getElementType().isBF16();
    used.insert(multiply);
    return true;
  }

  /// A 16-bit tile, converted; from a ring of its own, or loaded where it is used.
  std::optional<RoleProduct::Operand> readOperand(Value operand) {
    auto extend = operand.getDefiningOp<arith::ExtFOp>();
    if (!extend)
      return std::nullopt;
    used.insert(extend);
    RoleProduct::Operand found;
    found.load = extend.getIn().getDefiningOp<ir::LoadOp>();
    found.loop = product.loop;
    if (auto get = extend.getIn().getDefiningOp<ir::GetOp>()) {
      auto ring = get.getRing().getDefiningOp<ir::RingOp>();
      ir::PutOp put = onlyPut(ring);
      if (!put || get->getBlock() != product.loop.getBody())
        return std::nullopt;
      found.load = put.getTile().getDefiningOp<ir::LoadOp>();
      found.loop = dyn_cast<scf::ForOp>(put->getParentOp());
      found.isAhead = ring.getAhead();
      if (!found.loop || !isa<ir::RoleOp>(found.loop->getParentOp()) || !hasSameRounds(found.loop))
        return std::nullopt;
      used.insert({ring, get, put});
    }
    if (!found.load || found.load->getBlock() != found.loop.getBody() || found.load.getTable() ||
        !found.load.getFill().isZero())
      return std::nullopt;
    used.insert(found.load);
    return found;
  }

  bool hasSameRounds(scf::ForOp other) {
    return ir::isSameIndex(other.getLowerBound(), product.loop.getLowerBound()) &&
           ir::isSameIndex(other.getUpperBound(), product.loop.getUpperBound()) &&
           ir::isSameIndex(other.getStep(), product.loop.getStep());
  }

  /// Where an accumulator ends: in the last role, through a ring or because that is the one that multiplies.
  bool readSum(Value result) {
    Block &last = ir::lastBlock(device);
    if (product.loop->getBlock() == &last) {
      product.sums.push_back(result);
      return true;
    }
    auto put = result.hasOneUse() ? dyn_cast<ir::PutOp>(*result.user_begin()) : ir::PutOp();
    auto ring = put ? put.getRing().getDefiningOp<ir::RingOp>() : ir::RingOp();
    ir::GetOp get;
    if (ring && onlyPut(ring) == put)
      for (Operation *user : ring->getUsers())
        get = get ? get : dyn_cast<ir::GetOp>(user);
    if (!get || put->getBlock() != product.loop->getBlock() || get->getBlock() != &last)
      return no("its sums do not go to its last role as they are");
    used.insert({ring, put, get});
    product.sums.push_back(get.getTile());
    return true;
  }

  /// What fills a ring, if it is one operation; then, one takes out of it.
  static ir::PutOp onlyPut(ir::RingOp ring) {
    ir::PutOp put;
    for (Operation *user : ring->getUsers())
      if (auto in = dyn_cast<ir::PutOp>(user))
        put = in;
    return std::distance(ring->user_begin(), ring->user_end()) == 2 ? put : ir::PutOp();
  }

  ir::DeviceOp device;
  std::string &why;
  RoleProduct product;
  llvm::SmallPtrSet<Operation *, 16> used;
};

} // namespace

std::optional<unsigned> RoleProduct::Operand::argument() const {
  auto memory = dyn_cast<BlockArgument>(ir::LoadOp(load).getMemory());
  if (!memory || !isa<ir::DeviceOp>(memory.getOwner()->getParentOp()))
    return std::nullopt;
  return memory.getArgNumber();
}

RankedTensorType RoleProduct::Operand::tile() const {
  return cast<RankedTensorType>(ir::LoadOp(load).getTile().getType());
}

MemRefType RoleProduct::Operand::memory() const { return cast<MemRefType>(ir::LoadOp(load).getMemory().getType()); }

scf::ForOp productLoop(ir::DeviceOp device, std::string &why) {
  for (ir::RoleOp role : device.getBody().front().getOps<ir::RoleOp>()) {
    if (!multiplies(role))
      continue;
    auto loops = role.getBody().front().getOps<scf::ForOp>();
    if (llvm::hasSingleElement(loops) && multiplies(*loops.begin()))
      return *loops.begin();
    break;
  }
  why = "it has no single loop along K";
  return {};
}

std::optional<RoleProduct> readProduct(ir::DeviceOp device, scf::ForOp loop, std::string &why) {
  return Reader(device, loop, why).read();
}

} // namespace evt::roles
