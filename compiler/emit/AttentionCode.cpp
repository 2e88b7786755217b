#include "AttentionCode.h"

#include "FeedCode.h"
#include "ScalarCode.h"

using namespace mlir;

namespace evt::emit {

/// What says of keys how to find the roots of their norms.
static std::string squaresType(ir::AttendPartsOp op) {
  if (!op.getSquares())
    return "evt::tile::NoSquares";
  return "evt::tile::Squares<" + std::to_string(cast<MemRefType>(op.getSquares().getType()).getDimSize(3)) + ">";
}

static std::string f32Literal(Operation *op, const llvm::APFloat &value) {
  return cppFloat(value.convertToDouble(), Float32Type::get(op->getContext()));
}
std::string AttentionCode::squaresOf(ir::AttendPartsOp op) {
  if (!op.getSquares())
    return squaresType(op) + "{}";
  return squaresType(op) + "{" + name(op.getSquares()) + ", " + f32Literal(op, op.getEpsilon()) + ", " +
         name(op.getSettled()) + "}";
}

std::string AttentionCode::cacheOf(ir::AttendOp op) {
  return name(op.getKeys()) + ", " + name(op.getValues()) + ", " + name(op.getPages()) + ", {" + name(op.getLayer()) +
         ", " + name(op.getRequest()) + ", " + name(op.getHead()) + "}, " + name(op.getBegin()) + ", " +
         name(op.getEnd());
}
void AttentionCode::emitAttend(ir::AttendOp op) {
  RankedTensorType q = tileType(op.getQuery());
  std::string query = buffer(op.getQuery()), scales = buffer(op.getScales());
  std::string m = newBuffer(tileType(op.getM())), sum = newBuffer(tileType(op.getSum())),
              acc = newBuffer(tileType(op.getAcc()));
  std::string last;
  const int64_t outside = bytes;
  if (isCuda()) // a buffer in which the warps' parts are merged; loaders know what is settled
    last = ", " +
           newBuffer(RankedTensorType::get({8, op.getRows(), q.getDimSize(1) + 4}, Float32Type::get(op.getContext())));
  else if (op.getSettled())
    last = ", " + name(op.getSettled());
  out.line("evt::tile::attend<", op.getRows(), ", ", q.getDimSize(1), ", ", op.getPageSlots(), ", ", op.getHeads(),
           isCuda() && feedSlice(device) ? ", Kernel::layout.tile_stages()" : "", ">(w, ", m, ", ", sum, ", ", acc,
           ", ", query, ", ", scales, ", ", cacheOf(op), last, ");");
  endStep();
  bytes = outside;
  buffers[op.getM()] = m;
  buffers[op.getSum()] = sum;
  buffers[op.getAcc()] = acc;
}

std::string AttentionCode::querySquaresOf(ir::AttendPartsOp op) {
  if (!op.getQSquares())
    return "evt::tile::NoSquares{}";
  return "evt::tile::QuerySquares{" + name(op.getQSquares()) + ", " + name(op.getSquaresColumn()) + "}";
}
std::string AttentionCode::queryOf(ir::AttendPartsOp op) {
  return "evt::tile::QueryRows<" + cppType(cast<MemRefType>(op.getQ().getType()).getElementType()) + ">{" +
         name(op.getQ()) + ", " + name(op.getToken()) + ", " + name(op.getColumn()) + ", " +
         f32Literal(op, op.getScale()) + "}";
}
std::string AttentionCode::cacheRowOf(ir::AttendPartsOp op) {
  return "{" + name(op.getLayer()) + ", " + name(op.getRequest()) + ", " + name(op.getHead()) + "}";
}

void AttentionCode::openParts(ir::AttendPartsOp op) {
  std::string n = partsNames[op] = fresh("p"), squares = squaresOf(op);
  auto cache = cast<MemRefType>(op.getKeys().getType());
  out.line("evt::tile::PartsAttention<", op.getRows(), ", ", cache.getDimSize(3), ", ", op.getPageSlots(), ", ",
           feedsStages ? "Kernel::layout.stream_stages()" : "evt::StreamStages{}", ", ",
           cppType(cache.getElementType()), ", ", squaresType(op), "> ", n, "(w, ", name(op.getKeys()), ", ",
           name(op.getValues()), ", ", name(op.getPages()), ", ", squares, ", ", cacheRowOf(op), ", ",
           name(op.getBegin()), ", ", name(op.getEnd()), ", ", name(op.getPart()), ", ", name(op.getSettled()), ", ",
           name(op.getM()), ");");
  out.line(n, ".ahead();");
}

void AttentionCode::emitAttendParts(ir::AttendPartsOp op) {
  auto cache = cast<MemRefType>(op.getKeys().getType());
  const int64_t rows = op.getRows(), columns = cache.getDimSize(3);
  if (!isCuda()) {
    out.line("evt::tile::attend_parts<", rows, ", ", columns, ", ", op.getPageSlots(), ">(w, ", queryOf(op), ", ",
             querySquaresOf(op), ", ", name(op.getKeys()), ", ", name(op.getValues()), ", ", name(op.getPages()), ", ",
             squaresOf(op), ", ", cacheRowOf(op), ", ", name(op.getBegin()), ", ", name(op.getEnd()), ", ",
             name(op.getPart()), ", ", name(op.getSettled()), ", ", name(op.getM()), ", ", name(op.getSum()), ", ",
             name(op.getAcc()), ", ", name(op.getI()), ", ", name(op.getJ()), ", ", name(op.getS()), ");");
    return;
  }
  if (!ahead.contains(op))
    openParts(op);
  const bool onFragments = isOnFragments(op);
  const int64_t room =
      onFragments ? 8 * rows * (columns + 4) + rows * columns / 2 : 8 * rows * (columns + 4) + rows * (2 * columns + 3);
  const int64_t outside = bytes;
  std::string scratch = newBuffer(RankedTensorType::get({room}, Float32Type::get(op.getContext())));
  out.line("static_assert(evt::tile::parts_scratch<", rows, ", ", columns, ", ", cppType(cache.getElementType()),
           ">() == ", room, ");");
  out.line(partsNames[op], ".run(w, ", queryOf(op), ", ", querySquaresOf(op), ", ", name(op.getKeys()), ", ",
           name(op.getValues()), ", ", name(op.getPages()), ", ", squaresOf(op), ", ", cacheRowOf(op), ", {",
           name(op.getM()), ", ", name(op.getSum()), ", ", name(op.getAcc()), ", ", name(op.getI()), ", ",
           name(op.getJ()), ", ", name(op.getS()), "}, ", scratch, ");");
  endStep();
  bytes = outside;
}

void AttentionCode::emitAttendTokens(ir::AttendTokensOp op) {
  Type f32 = Float32Type::get(op.getContext());
  auto keys = cast<MemRefType>(op.getKeys().getType());
  std::string scratch;
  const int64_t outside = bytes;
  if (isCuda()) {
    // Three blocks of 32 positions, a number for each position, what is known of the cache
    // (device/cuda/tile/attend_tokens.h).
    const int64_t columns = keys.getDimSize(3), room = 32 * (3 * (2 * columns + (columns % 64 ? 16 : 0)) + 4) + 64;
    std::string b = newBuffer(RankedTensorType::get({room / 4}, f32));
    out.line("static_assert(evt::tile::attend_tokens_bytes<", cppType(keys.getElementType()), ">(", keys.getDimSize(3),
             ") <= ", room, ");");
    scratch = ", reinterpret_cast<char *>(" + b + ")";
  }
  out.line("evt::tile::attend_tokens<", op.getTokens(), ", ", op.getGroup(), ", ", keys.getDimSize(3), ", ",
           op.getPageSlots(), ", ", op.getEnough(), ">(w, ", name(op.getQuery()), ", ", name(op.getOut()), ", ",
           name(op.getRequests()), ", ", name(op.getPositions()), ", ", name(op.getKeys()), ", ", name(op.getValues()),
           ", ", name(op.getPages()), ", ", name(op.getLayer()), ", ", name(op.getToken()), ", ", name(op.getHead()),
           ", ", cppFloat(op.getScale().convertToDouble(), f32), scratch, ");");
  endStep();
  bytes = outside;
}

void AttentionCode::emitMergeParts(ir::MergePartsOp op) {
  auto acc = cast<MemRefType>(op.getAcc().getType());
  out.line("evt::tile::merge_parts<", acc.getDimSize(4), ", ", acc.getDimSize(5), ">(w, ", name(op.getM()), ", ",
           name(op.getSum()), ", ", name(op.getAcc()), ", ", name(op.getI()), ", ", name(op.getJ()), ", ",
           name(op.getEnd()), ", ", name(op.getPart()), ", ", name(op.getTo()), ", ", name(op.getRow()), ", ",
           name(op.getColumn()), ");");
  endStep();
}

void AttentionCode::emitRotateHead(ir::RotateHeadOp op) {
  auto memory = [&](Value m) { return m ? name(m) : std::string("evt::tile::Nothing{}"); };
  out.line("evt::tile::rotate_head<", op.getTokens(), ", ", op.getColumns(), ">(w, ", name(op.getX()), ", ",
           name(op.getOut()), ", ", memory(op.getSlots()), ", ", memory(op.getCosines()), ", ", memory(op.getSines()),
           ", ", memory(op.getWeights()), ", ", memory(op.getSquares()), ", ", f32Literal(op, op.getEpsilon()), ", ",
           name(op.getToken()), ", ", name(op.getColumn()), ", ", name(op.getLayer()), ", ", name(op.getHead()), ");");
  endMove(op);
}

void AttentionCode::emitMerge(ir::MergeOp op) {
  RankedTensorType t = tileType(op.getMerged());
  std::string merged = newBuffer(t);
  out.line("evt::tile::merge<", t.getDimSize(0), ", ", t.getDimSize(1), ">(w, ", merged, ", ", name(op.getM()), ", ",
           name(op.getSum()), ", ", name(op.getAcc()), ", ", name(op.getI()), ", ", name(op.getJ()), ", ",
           name(op.getParts()), ");");
  endStep();
  buffers[op.getMerged()] = merged;
}

} // namespace evt::emit
