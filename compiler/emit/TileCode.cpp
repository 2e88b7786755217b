#include "DeviceSlices.h"
#include "FeedCode.h"
#include "ScalarCode.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace evt::emit {

namespace {

std::string num(int64_t n) { return std::to_string(n); }

class TileCode : private DeviceSlices {
public:
  TileCode(ir::DeviceOp device, Target target, llvm::function_ref<bool(unsigned)> isImmutable, bool feedsStages)
      : DeviceSlices(device, target, isImmutable, feedsStages) {}

  DeviceCode emit() {
    std::string name = device.getSymName().str(), params = parameters();
    out.line("// ", name, comment());
    const bool waits = isCuda() && waitsInside(device);
    if (waits)
      out.line("template <class Waits> EVT_FN bool body_", name, "(", params, ", Waits waits) {");
    else
      out.line("EVT_FN void body_", name, "(", params, ") {");
    if (waits)
      emitAhead();
    if (device.isForeign())
      emitForeign();
    else
      emitBlock(device.getBody().front());
    if (waits)
      out.line("return true;");
    out.line("}");
    return finished();
  }

  /// CPU: one role as a function.
  DeviceCode emitRole(unsigned number, ir::RoleOp role) {
    out.line("// ", device.getSymName().str(), ", ", role.getName().str(), comment());
    out.line("EVT_FN void role_", device.getSymName().str(), "_", number, "([[maybe_unused]] RoleRings &rings, ",
             parameters(), ") {");
    emitBlock(device.getBody().front());
    emitBlock(role.getBody().front());
    out.line("}");
    return finished();
  }

  using DeviceSlices::emitFeed;
  using DeviceSlices::emitReports;

private:
  /// What was emitted, if there is room for its tiles.
  DeviceCode finished() {
    int64_t limit = isCuda() ? cudaTileBytesLimit : cpuTileBytesLimit;
    if (!failed && mostBytes > limit) {
      device.emitOpError("needs ") << mostBytes << " bytes of tiles at once but a "
                                   << (isCuda() ? "block's shared memory" : "worker") << " has " << limit
                                   << ": use smaller tiles";
      failed = true;
    }
    return failed ? DeviceCode{} : DeviceCode{out.take(), mostBytes};
  }

  std::string comment() {
    std::string s = "(";
    for (auto [i, a] : llvm::enumerate(device.getArgNames()))
      s += (i ? ", " : "") + ("a" + num(i)) + " = " + cast<StringAttr>(a).getValue().str();
    s += ") at coordinates (";
    for (auto [i, a] : llvm::enumerate(device.getCoordNames()))
      s += (i ? ", " : "") + ("a" + num(i + device.getNumArgs())) + " = " + cast<StringAttr>(a).getValue().str();
    return s + ")";
  }

  /// The function written by hand gets what the body gets. Where there is an observer, it is told of the declared
  /// accesses first; nothing else of the body runs.
  void emitForeign() {
    if (!isCuda()) {
      out.line("if (w.hooks) [[unlikely]] {");
      emitBlock(device.getBody().front());
      out.line("}");
    }
    mostBytes = (int64_t)device.getSharedBytes();
    if (mostBytes && !isCuda()) {
      out.line("alignas(128) char tiles[", mostBytes, "];");
      out.line("w.tiles = tiles;");
    }
    std::string args;
    for (unsigned i = 0; i < device.getBody().getNumArguments(); ++i)
      args += ", a" + num(i);
    out.line("::", device.getForeignFunction()->str(), "(w", args, ");");
  }

  //===-- operations --------------------------------------------------------------------------------------------===//

  /// What needs none of the task's events: indices that hang on coordinates and immutable tables, and what attention
  /// can read with them. Then the waits.
  void emitAhead() {
    Block &body = device.getBody().front();
    current = &body;
    auto isKnown = [&](Value v) {
      Operation *op = v.getDefiningOp();
      return !op || isa<arith::ConstantOp>(op) || ahead.contains(op);
    };
    auto isFixed = [&](Value memory) { return isImmutable(cast<BlockArgument>(memory).getArgNumber()); };
    for (Operation &op : body) {
      auto read = dyn_cast<ir::ReadOp>(op);
      const bool isIndex = isIndexWork(&op) && !isa<arith::ConstantOp>(op);
      if ((isIndex || (read && isFixed(read.getTable()))) && llvm::all_of(op.getOperands(), isKnown)) {
        emitScalar(&op);
        ahead.insert(&op);
      }
    }
    for (auto op : body.getOps<ir::AttendPartsOp>())
      if (isFixed(op.getPages()) && llvm::all_of(op.getOperands(), isKnown)) {
        openParts(op);
        ahead.insert(op);
      }
    out.line("if (!waits()) return false;");
  }

  void emitBlock(Block &block) {
    Block *outer = current;
    current = &block;
    for (Operation &op : block) {
      if (failed)
        break;
      if (!ahead.contains(&op) || isa<ir::AttendPartsOp>(op))
        emitOp(&op);
    }
    current = outer;
  }

  void emitOp(Operation *op) {
    if (isa<ir::EndOp, scf::YieldOp, ir::RingOp, ir::RoleOp>(op))
      return;
    if (auto p = dyn_cast<ir::PutOp>(op)) {
      std::string tile = buffer(p.getTile());
      out.line("rings.", ringName(p.getRing().getDefiningOp<ir::RingOp>()), ".put(", tile, ");");
      return;
    }
    if (auto g = dyn_cast<ir::GetOp>(op)) {
      std::string tile = buffers[g.getTile()] = newBuffer(tileType(g.getTile()));
      out.line("rings.", ringName(g.getRing().getDefiningOp<ir::RingOp>()), ".get(", tile, ");");
      return;
    }
    if (auto c = dyn_cast<arith::ConstantOp>(op))
      return emitConstant(c);
    if (isView(op)) {
      if (auto s = dyn_cast<tensor::ExtractSliceOp>(op); s && !isView(s.getSource().getDefiningOp()))
        buffer(s.getSource());
      if (isa<linalg::BroadcastOp, linalg::TransposeOp>(op))
        ensureReadable(op->getOperand(0));
      return;
    }
    if (isElementwise(op)) {
      for (Value o : op->getOperands())
        if (isa<RankedTensorType>(o.getType()))
          ensureReadable(o);
      if (op->hasOneUse()) {
        Operation *user = *op->user_begin();
        if (isElementwise(user) && user->getBlock() == op->getBlock() &&
            tileType(user->getResult(0)).getShape() == tileType(op->getResult(0)).getShape())
          return; // becomes part of the user's loop
      }
      buffer(op->getResult(0));
      return;
    }
    if (auto l = dyn_cast<ir::LoadOp>(op))
      return emitLoad(l);
    if (auto s = dyn_cast<ir::StoreOp>(op))
      return emitStore(s);
    if (auto r = dyn_cast<ir::ReadsOp>(op))
      return emitDeclared(r, "false");
    if (auto w = dyn_cast<ir::WritesOp>(op))
      return emitDeclared(w, "true");
    if (auto f = dyn_cast<scf::ForOp>(op))
      return emitFor(f);
    if (auto r = dyn_cast<linalg::ReduceOp>(op))
      return emitReduce(r);
    if (isa<linalg::MatmulOp, linalg::MatmulTransposeBOp>(op))
      return emitProduct(cast<linalg::LinalgOp>(op));
    if (isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(op)) {
      buffers[op->getResult(0)] = buffer(op->getOperand(0));
      return;
    }
    if (auto i = dyn_cast<tensor::InsertSliceOp>(op))
      return emitInsert(i);
    if (auto t = dyn_cast<ir::TopKOp>(op))
      return emitTopK(t);
    if (auto a = dyn_cast<ir::AttendOp>(op))
      return emitAttend(a);
    if (auto m = dyn_cast<ir::MergeOp>(op))
      return emitMerge(m);
    if (auto a = dyn_cast<ir::AttendPartsOp>(op))
      return emitAttendParts(a);
    if (auto m = dyn_cast<ir::MergePartsOp>(op))
      return emitMergeParts(m);
    if (auto d = dyn_cast<ir::DrawOp>(op))
      return emitDraw(d);
    if (auto s = dyn_cast<ir::SampleOp>(op))
      return emitSample(s);
    if (auto a = dyn_cast<ir::AttendTokensOp>(op))
      return emitAttendTokens(a);
    if (auto r = dyn_cast<ir::RotateHeadOp>(op))
      return emitRotateHead(r);
    if (auto p = dyn_cast<ir::PrefixSumOp>(op))
      return emitPrefixSum(p);
    emitScalar(op);
  }

  /// Views and deferred element-wise operations read their operands later; those must have an array or be deferred
  /// themselves by then.
  void ensureReadable(Value v) {
    Operation *op = v.getDefiningOp();
    if (!buffers.count(v) && !isView(op) && !isElementwise(op))
      buffer(v);
  }

  /// Scalars and splats are written where they are used; only a table of values needs an array.
  void emitConstant(arith::ConstantOp op) {
    auto dense = dyn_cast<DenseElementsAttr>(op.getValue());
    if (!dense || dense.isSplat())
      return;
    std::string b = newBuffer(tileType(op.getResult()));
    if (isCuda())
      out.line("if (w.lane() == 0) {");
    for (auto [i, v] : llvm::enumerate(dense.getValues<Attribute>()))
      out.line(b, "[", i, "] = ", cppLiteral(v), ";");
    if (isCuda())
      out.line("}");
    endStep();
    buffers[op.getResult()] = b;
  }

  void emitLoad(ir::LoadOp op) {
    RankedTensorType t = tileType(op.getTile());
    std::string b = newBuffer(t), fill = cppFloat(op.getFill().convertToDouble(), t.getElementType());
    if (!isa<FloatType>(t.getElementType()))
      fill = "(" + cppType(t.getElementType()) + ")" + num((int64_t)op.getFill().convertToDouble());
    if (op.getTable())
      out.line("evt::load_tile_through<", sizes(op.getSizes()), ">(w, ", b, ", ", name(op.getMemory()), ", {",
               list(op.getOffsets(), "0"), "}, ", name(op.getTable()), ", ", fill, rowsOf(op), ");");
    else
      out.line("evt::load_tile<", sizes(op.getSizes()), ">(w, ", b, ", ", name(op.getMemory()), ", {",
               list(op.getOffsets(), "0"), "}, ", fill, ");");
    endMove(op);
    buffers[op.getTile()] = b;
  }

  void emitStore(ir::StoreOp op) {
    std::string b = buffer(op.getTile());
    if (op.getTable())
      out.line("evt::store_tile_through<", sizes(op.getSizes()), ">(w, ", b, ", ", name(op.getMemory()), ", {",
               list(op.getOffsets(), "0"), "}, ", name(op.getTable()), rowsOf(op), ");");
    else
      out.line("evt::store_tile<", sizes(op.getSizes()), ">(w, ", b, ", ", name(op.getMemory()), ", {",
               list(op.getOffsets(), "0"), "});");
    endMove(op);
  }

  void emitProduct(linalg::LinalgOp op) {
    Value a = op.getDpsInputOperand(0)->get(), b = op.getDpsInputOperand(1)->get();
    bool transposed = isa<linalg::MatmulTransposeBOp>(op);
    std::string sa = buffer(a), sb = buffer(b), c = destination(op.getDpsInitOperand(0)->get(), op);
    int64_t m = tileType(a).getDimSize(0), k = tileType(a).getDimSize(1);
    int64_t n = tileType(b).getDimSize(transposed ? 0 : 1);
    out.line("evt::tile::", transposed ? "matmul_tb" : "matmul", "<", m, ", ", n, ", ", k, ">(", c, ", ", sa, ", ", sb,
             ");");
    endStep();
    buffers[op->getResult(0)] = c;
  }

  void emitReduce(linalg::ReduceOp op) {
    Value in = op.getInputs()[0];
    RankedTensorType t = tileType(in);
    SmallVector<int64_t> dims(op.getDimensions());
    llvm::sort(dims);
    for (unsigned i = 1; i < dims.size(); ++i)
      if (dims[i] != dims[i - 1] + 1)
        return refuse(op, "reduces neighbouring dimensions only");
    std::string source = buffer(in), c = destination(op.getInits()[0], op);
    int64_t outer = 1, reduced = 1, inner = 1;
    for (int64_t d = 0; d < t.getRank(); ++d)
      (dims.empty() || d < dims.front() ? outer : d > dims.back() ? inner : reduced) *= t.getDimSize(d);
    StringRef combiner = op.getCombiner().front().front().getName().stripDialect();
    const char *o = combiner.starts_with("add")   ? "Add"
                    : combiner.starts_with("mul") ? "Mul"
                    : combiner.starts_with("max") ? "Max"
                                                  : "Min";
    out.line("evt::tile::reduce<evt::tile::", o, ", ", outer, ", ", reduced, ", ", inner, ">(", c, ", ", source, ");");
    endStep();
    buffers[op->getResult(0)] = c;
  }

  void emitInsert(tensor::InsertSliceOp op) {
    ensureReadable(op.getSource());
    std::string c = destination(op.getDest(), op);
    RankedTensorType small = op.getSourceType(), large = op.getDestType();
    auto dropped = op.getDroppedDims();
    loops(small.getShape(), [&](ArrayRef<std::string> index) {
      SmallVector<std::string> at;
      unsigned i = 0;
      for (unsigned d = 0; d < large.getRank(); ++d) {
        std::string x = dropped.test(d) ? "0" : index[i++];
        at.push_back("(" + num(op.getStaticOffset(d)) + " + " + x + " * " + num(op.getStaticStride(d)) + ")");
      }
      out.line(c, "[", linear(at, large.getShape()), "] = ", element(op.getSource(), index), ";");
    });
    buffers[op.getResult()] = c;
  }

  void emitTopK(ir::TopKOp op) {
    RankedTensorType t = tileType(op.getInput());
    int64_t n = t.getShape().back(), k = tileType(op.getValues()).getShape().back(), rows = t.getNumElements() / n;
    std::string in = buffer(op.getInput()), values = newBuffer(tileType(op.getValues())),
                indices = newBuffer(tileType(op.getIndices()));
    out.line("evt::tile::topk<", rows, ", ", n, ", ", k, ">(", in, ", ", values, ", ", indices, ");");
    endStep();
    buffers[op.getValues()] = values;
    buffers[op.getIndices()] = indices;
  }

  /// Room for the threads of a GPU to work together.
  std::string sharedWords(Operation *op, int64_t words) {
    if (!isCuda())
      return "";
    return ", " + newBuffer(RankedTensorType::get({words}, IntegerType::get(op->getContext(), 32)));
  }

  void emitDraw(ir::DrawOp op) {
    std::string part = newBuffer(tileType(op.getPart()));
    const int64_t outside = bytes;
    std::string shared = sharedWords(op, (int64_t)op.getChunk() + 64);
    out.line("evt::tile::draw<", op.getChunk(), ", ", op.getPageSlots(), ">(w, ", part, ", ", name(op.getLogits()),
             ", ", name(op.getRates()), ", ", name(op.getChoices()), ", ", name(op.getHistory()), ", ",
             name(op.getPages()), ", ", name(op.getScaled()), ", ", name(op.getRow()), ", ", name(op.getColumn()),
             shared, ");");
    endStep();
    bytes = outside;
    buffers[op.getPart()] = part;
  }

  void emitSample(ir::SampleOp op) {
    std::string token = newBuffer(tileType(op.getToken())), logprob = newBuffer(tileType(op.getLogprob()));
    const int64_t outside = bytes;
    std::string shared = sharedWords(op, sampleSharedWords);
    out.line("evt::tile::sample<", cast<MemRefType>(op.getParts().getType()).getDimSize(1), ", ", op.getChunk(),
             ">(w, ", token, ", ", logprob, ", ", name(op.getParts()), ", ", name(op.getScaled()), ", ",
             name(op.getLogits()), ", ", name(op.getRates()), ", ", name(op.getChoices()), ", ", name(op.getRow()),
             shared, ");");
    endStep();
    bytes = outside;
    buffers[op.getToken()] = token;
    buffers[op.getLogprob()] = logprob;
  }

  void emitPrefixSum(ir::PrefixSumOp op) {
    RankedTensorType t = tileType(op.getInput());
    std::string in = buffer(op.getInput()), b = newBuffer(t);
    int64_t outer = 1, inner = 1, dim = op.getDim();
    for (int64_t d = 0; d < t.getRank(); ++d)
      if (d != dim)
        (d < dim ? outer : inner) *= t.getDimSize(d);
    out.line("evt::tile::prefix_sum<", outer, ", ", t.getDimSize(dim), ", ", inner, ", ",
             op.getExclusive() ? "true" : "false", ">(", b, ", ", in, ");");
    endStep();
    buffers[op.getResult()] = b;
  }

  void emitFor(scf::ForOp op) {
    SmallVector<std::string> state;
    for (auto [init, arg] : llvm::zip(op.getInitArgs(), op.getRegionIterArgs())) {
      if (isa<RankedTensorType>(arg.getType())) {
        std::string b = destination(init, op);
        state.push_back(b);
        buffers[arg] = b;
        carried.insert(arg);
      } else {
        std::string s = fresh("s");
        out.line(cppType(arg.getType()), " ", s, " = ", name(init), ";");
        state.push_back(s);
        names[arg] = s;
      }
    }
    const int64_t outside = bytes; // what the body allocates is free again after it
    openLoop(op);
    emitBlock(*op.getBody());
    // A yielded tile may be computed from another iteration argument, so all are computed before any is replaced.
    Block *outer = current;
    current = op.getBody();
    SmallVector<std::pair<unsigned, std::string>> copies;
    for (auto [i, v] : llvm::enumerate(op.getYieldedValues())) {
      if (isa<RankedTensorType>(v.getType())) {
        auto it = buffers.find(v);
        if (it != buffers.end() && it->second == state[i])
          continue;
        std::string from = buffer(v);
        if (llvm::is_contained(state, from)) { // another iteration argument, which may be replaced first
          std::string b = newBuffer(tileType(v));
          copyBuffer(b, from, tileType(v));
          from = b;
        }
        copies.emplace_back(i, from);
      } else if (name(v) != state[i]) {
        std::string s = fresh("s");
        out.line("const ", cppType(v.getType()), " ", s, " = ", name(v), ";");
        copies.emplace_back(i, s);
      }
    }
    for (auto &[i, from] : copies) {
      if (auto t = dyn_cast<RankedTensorType>(op.getRegionIterArgs()[i].getType()))
        copyBuffer(state[i], from, t);
      else
        out.line(state[i], " = ", from, ";");
    }
    current = outer;
    out.line("}");
    bytes = outside;
    for (auto [i, r] : llvm::enumerate(op.getResults()))
      (isa<RankedTensorType>(r.getType()) ? buffers[r] : names[r]) = state[i];
  }
};

} // namespace

std::string ringName(ir::RingOp ring) {
  auto device = cast<ir::DeviceOp>(ring->getParentOp());
  auto all = llvm::to_vector(device.getBody().front().getOps<ir::RingOp>());
  return device.getSymName().str() + "_" + num(llvm::find(all, ring) - all.begin());
}

DeviceCode emitDevice(ir::DeviceOp device, Target target, llvm::function_ref<bool(unsigned)> isImmutable,
                      bool feedsStages) {
  if (ir::hasRoles(device)) {
    DeviceCode all;
    for (auto [number, role] : llvm::enumerate(device.getBody().front().getOps<ir::RoleOp>())) {
      DeviceCode one = TileCode(device, target, isImmutable, false).emitRole(number, role);
      if (one.text.empty())
        return {};
      all.text += one.text;
      all.tileBytes = std::max(all.tileBytes, one.tileBytes);
    }
    std::string reports = TileCode(device, target, isImmutable, false).emitReports();
    return reports.empty() ? DeviceCode{} : DeviceCode{all.text + reports, all.tileBytes};
  }
  DeviceCode code = TileCode(device, target, isImmutable, feedsStages).emit();
  if (target == Target::cuda && !code.text.empty())
    code.text += TileCode(device, target, isImmutable, feedsStages).emitFeed();
  return code;
}

bool waitsInside(ir::DeviceOp device) {
  return !device.isForeign() && !device.getBody().front().getOps<ir::AttendPartsOp>().empty();
}

} // namespace evt::emit
