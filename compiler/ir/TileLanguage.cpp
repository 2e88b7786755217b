// Which operations a tile program may use. The only file of the dialect that includes linalg, whose headers are slow.
#include "Evt.h"
#include "Signature.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace evt::ir {

namespace {

bool isStaticShape(Type t) {
  auto tensor = dyn_cast<RankedTensorType>(t);
  return !isa<TensorType>(t) || (tensor && tensor.hasStaticShape());
}

bool isElementType(Type t) {
  return t.isF32() || t.isBF16() || t.isF16() || t.isInteger(32) || t.isInteger(64) || t.isInteger(1) || t.isIndex();
}

/// Operations whose region is part of them rather than part of the program.
bool isReduceRegion(Operation *op) { return isa_and_nonnull<linalg::LinalgOp>(op->getParentOp()); }

LogicalResult verifyReduce(linalg::ReduceOp op) {
  if (op.getNumDpsInputs() != 1)
    return op.emitOpError("reduces one tensor at a time in the tile language, found ") << op.getNumDpsInputs();
  auto body = op.getCombiner().front().without_terminator();
  if (!llvm::hasSingleElement(body) ||
      !isa<arith::AddFOp, arith::AddIOp, arith::MulFOp, arith::MulIOp, arith::MaximumFOp, arith::MinimumFOp,
           arith::MaxSIOp, arith::MinSIOp>(*body.begin()))
    return op.emitOpError("combines with one of addf, mulf, maximumf, minimumf, addi, muli, maxsi, minsi");
  return success();
}

LogicalResult verifyOp(Operation *op) {
  if (isa<RoleOp, RingOp, PutOp, GetOp>(op))
    return success(); // RoleRules.cpp
  SmallVector<Type> types(op->getOperandTypes());
  llvm::append_range(types, op->getResultTypes());
  for (Type t : types) {
    if (!isStaticShape(t))
      return op->emitOpError("tiles have static shapes, found ") << t;
    Type element = t;
    if (auto shaped = dyn_cast<ShapedType>(t))
      element = shaped.getElementType();
    if (!isElementType(element))
      return op->emitOpError("element type must be f32, bf16, f16, i32, i64 or i1, found ") << element;
  }
  if (isa<EndOp, LoadOp, StoreOp, ReadsOp, WritesOp, ValidOp, ReadOp, IotaOp, TopKOp, PrefixSumOp, AttendOp, MergeOp,
          AttendPartsOp, MergePartsOp, AttendTokensOp, RotateHeadOp, ShortTokensOp, DrawOp, SampleOp, scf::ForOp,
          scf::YieldOp, affine::AffineApplyOp, affine::AffineMinOp, affine::AffineMaxOp, memref::DimOp, tensor::EmptyOp,
          tensor::SplatOp, tensor::ExtractOp, tensor::ExpandShapeOp, tensor::CollapseShapeOp, linalg::FillOp,
          linalg::MatmulOp, linalg::MatmulTransposeBOp, linalg::BroadcastOp, linalg::TransposeOp>(op)) {
    if (isa<linalg::MatmulOp, linalg::MatmulTransposeBOp>(op))
      for (Value v : op->getOperands())
        if (!cast<ShapedType>(v.getType()).getElementType().isF32())
          return op->emitOpError("computes in f32; convert with arith.extf, found ") << v.getType();
    if (auto loop = dyn_cast<scf::ForOp>(op); loop && constantOf(loop.getStep()).value_or(1) < 1)
      return op->emitOpError("has a step of ") << *constantOf(loop.getStep()) << ", required at least 1";
    return isa<memref::DimOp>(op) ? verifyDimension(op) : success();
  }
  if (auto reduce = dyn_cast<linalg::ReduceOp>(op))
    return verifyReduce(reduce);
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
    if (!slice.getOffsets().empty() || !slice.getSizes().empty() || !slice.getStrides().empty())
      return op->emitOpError("needs static offsets, sizes and strides in the tile language");
    return success();
  }
  if (auto slice = dyn_cast<tensor::InsertSliceOp>(op)) {
    if (!slice.getOffsets().empty() || !slice.getSizes().empty() || !slice.getStrides().empty())
      return op->emitOpError("needs static offsets, sizes and strides in the tile language");
    return success();
  }
  if (isa<arith::ArithDialect, math::MathDialect>(op->getDialect())) {
    // Arithmetic is in f32 (and integers); bf16 and f16 appear only in conversions.
    bool conversion = isa<arith::ExtFOp, arith::TruncFOp, arith::ConstantOp, arith::SelectOp, arith::BitcastOp>(op);
    for (Value v : op->getOperands()) {
      Type element = getElementTypeOrSelf(v.getType());
      if (!conversion && isa<FloatType>(element) && !element.isF32())
        return op->emitOpError("computes in f32; convert with arith.extf, found ") << v.getType();
    }
    return success();
  }
  return op->emitOpError("is not part of the tile language; see 'evt.device' for what is");
}

} // namespace

LogicalResult verifyTileProgram(DeviceOp device) {
  WalkResult walked = device.getBody().walk<WalkOrder::PreOrder>([](Operation *op) -> WalkResult {
    if (isReduceRegion(op))
      return WalkResult::skip();
    return failed(verifyOp(op)) ? WalkResult::interrupt() : WalkResult::advance();
  });
  return failure(walked.wasInterrupted());
}

void registerDialects(DialectRegistry &registry) {
  registry.insert<EvtDialect, affine::AffineDialect, arith::ArithDialect, linalg::LinalgDialect, math::MathDialect,
                  memref::MemRefDialect, scf::SCFDialect, tensor::TensorDialect>();
}

llvm::SmallVector<Value> memoriesWritten(Operation *op) {
  if (auto store = dyn_cast<StoreOp>(op))
    return {store.getMemory()};
  if (auto declared = dyn_cast<WritesOp>(op))
    return {declared.getMemory()};
  if (auto attend = dyn_cast<AttendPartsOp>(op))
    return {attend.getM(), attend.getSum(), attend.getAcc()};
  if (auto merge = dyn_cast<MergePartsOp>(op))
    return {merge.getTo()};
  if (auto draw = dyn_cast<DrawOp>(op))
    return {draw.getScaled()};
  if (auto attend = dyn_cast<AttendTokensOp>(op))
    return {attend.getOut()};
  if (auto rotate = dyn_cast<RotateHeadOp>(op)) {
    llvm::SmallVector<Value> written = {rotate.getOut()};
    if (rotate.getSquares())
      written.push_back(rotate.getSquares());
    return written;
  }
  return {};
}

} // namespace evt::ir
