// Places where MLIR 19's parser touches memory it must not, or traps, when a text is malformed. A well-formed text
// takes the same path through MLIR with and without the functions here.
#include "TextLimits.h"
#include "Wrap.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/SourceMgr.h"

#include <mutex>
#include <vector>

using namespace mlir;

//===-- The stack: parseAsmSourceFile -----------------------------------------------------------------------------===//

#define EVT_PARSE                                                                                                      \
  "_ZN4mlir18parseAsmSourceFileERKN4llvm9SourceMgrEPNS_5BlockERKNS_12ParserConfigEPNS_14AsmParserStateEPNS_"           \
  "28AsmParserCodeCompleteContextE"
LogicalResult realParse(const llvm::SourceMgr &, Block *, const ParserConfig &, AsmParserState *,
                        AsmParserCodeCompleteContext *) EVT_REAL(EVT_PARSE);
LogicalResult wrapParse(const llvm::SourceMgr &, Block *, const ParserConfig &, AsmParserState *,
                        AsmParserCodeCompleteContext *) EVT_WRAP(EVT_PARSE);

LogicalResult wrapParse(const llvm::SourceMgr &sources, Block *block, const ParserConfig &config, AsmParserState *state,
                        AsmParserCodeCompleteContext *completion) {
  const llvm::MemoryBuffer *text = sources.getMemoryBuffer(sources.getMainFileID());
  if (auto fault = evt::ir::findTextFault(text->getBuffer()))
    return emitError(FileLineColLoc::get(config.getContext(), text->getBufferIdentifier(), fault->line, fault->column),
                     fault->message);
  return realParse(sources, block, config, state, completion);
}

//===-- A block's uses: Block::~Block -----------------------------------------------------------------------------===//
//
// A value may be used above its definition, and the definition may stand in a block nested below the use. If the text
// goes wrong in that block, the parser deletes it, and the use, in a block that lives on, keeps pointing into it.

#define EVT_DELETE_BLOCK "_ZN4mlir5BlockD1Ev"
void realDeleteBlock(Block *block) EVT_REAL(EVT_DELETE_BLOCK);
void wrapDeleteBlock(Block *block) EVT_WRAP(EVT_DELETE_BLOCK);

void wrapDeleteBlock(Block *block) {
  block->dropAllDefinedValueUses();
  realDeleteBlock(block);
}

//===-- Placeholders: Operation::destroy, verify ------------------------------------------------------------------===//
//
// A value used above its definition is a placeholder until the definition is found; then its uses are replaced and it
// is destroyed. But scf.for and others hold on to their operands while they parse their region: if the definition is in
// there, the loop is made with an operand that is gone. So placeholders stay, and the verifier reports who uses one.

#define EVT_DESTROY "_ZN4mlir9Operation7destroyEv"
void realDestroy(Operation *op) EVT_REAL(EVT_DESTROY);
void wrapDestroy(Operation *op) EVT_WRAP(EVT_DESTROY);

#define EVT_VERIFY "_ZN4mlir6verifyEPNS_9OperationEb"
LogicalResult realVerify(Operation *op, bool recursively) EVT_REAL(EVT_VERIFY);
LogicalResult wrapVerify(Operation *op, bool recursively) EVT_WRAP(EVT_VERIFY);

namespace {

/// The parser's placeholders are the only operations of this form: a cast of nothing, in no block.
bool isPlaceholder(Operation *op) {
  return op && !op->getBlock() && op->getNumOperands() == 0 && isa<UnrealizedConversionCastOp>(op);
}

} // namespace

void wrapDestroy(Operation *op) {
  if (!isPlaceholder(op)) {
    realDestroy(op);
    return;
  }
  // Kept for good: only a malformed text has any, and whoever holds on to one may outlive the parser.
  static std::mutex mutex;
  static auto *kept = new std::vector<Operation *>;
  std::lock_guard<std::mutex> lock(mutex);
  kept->push_back(op);
}

LogicalResult wrapVerify(Operation *root, bool recursively) {
  WalkResult walked = root->walk([](Operation *op) {
    for (auto [i, operand] : llvm::enumerate(op->getOperands()))
      if (operand && isPlaceholder(operand.getDefiningOp())) {
        op->emitError("operand #") << i << " is defined only inside the operation that uses it";
        return WalkResult::interrupt();
      }
    return WalkResult::advance();
  });
  return walked.wasInterrupted() ? failure() : realVerify(root, recursively);
}

//===-- The least integer: AffineExpr::floorDiv, AffineExpr::ceilDiv ----------------------------------------------===//
//
// Folding divides 64-bit integers, and the least of them divided by -1 traps. Division by -1 is negation.

#define EVT_FLOOR_DIV "_ZNK4mlir10AffineExpr8floorDivES0_"
AffineExpr realFloorDiv(const AffineExpr *left, AffineExpr right) EVT_REAL(EVT_FLOOR_DIV);
AffineExpr wrapFloorDiv(const AffineExpr *left, AffineExpr right) EVT_WRAP(EVT_FLOOR_DIV);

#define EVT_CEIL_DIV "_ZNK4mlir10AffineExpr7ceilDivES0_"
AffineExpr realCeilDiv(const AffineExpr *left, AffineExpr right) EVT_REAL(EVT_CEIL_DIV);
AffineExpr wrapCeilDiv(const AffineExpr *left, AffineExpr right) EVT_WRAP(EVT_CEIL_DIV);

namespace {

bool isMinusOne(AffineExpr e) {
  auto constant = dyn_cast<AffineConstantExpr>(e);
  return constant && constant.getValue() == -1;
}

} // namespace

AffineExpr wrapFloorDiv(const AffineExpr *left, AffineExpr right) {
  return isMinusOne(right) ? -*left : realFloorDiv(left, right);
}

AffineExpr wrapCeilDiv(const AffineExpr *left, AffineExpr right) {
  return isMinusOne(right) ? -*left : realCeilDiv(left, right);
}
