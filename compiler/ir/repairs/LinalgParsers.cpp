// Parsers for linalg's operations of the tile language, in place of MLIR 19's, which crash on `linalg.reduce` without
// `ins`, on a reduction of scalars, on a list of dimensions that is not one, and on elements they cannot convert. The
// syntax is linalg's own:
//
//   linalg.reduce { arith.addf } ins(%t : tensor<4x8xf32>) outs(%z : tensor<4xf32>) dimensions = [1]
//   linalg.reduce ins(%t : tensor<4x8xf32>) outs(%z : tensor<4xf32>) dimensions = [1] (%a: f32, %b: f32) { … }
//   linalg.broadcast ins(%s : tensor<4xf32>) outs(%e : tensor<4x8xf32>) dimensions = [1]
//   linalg.transpose ins(%t : tensor<4x8xf32>) outs(%e : tensor<8x4xf32>) permutation = [1, 0]
//   linalg.fill ins(%c : f32) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
//   linalg.matmul ins(%a, %b : tensor<4x8xf32>, tensor<8x4xf32>) outs(%c : tensor<4x4xf32>) -> tensor<4x4xf32>
#include "Wrap.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;

namespace {

/// What a list of values may hold.
enum class Holds { tensors, tensorsOrScalars, tensorsToMultiply };

bool fits(Type type, Holds holds) {
  auto shaped = dyn_cast<ShapedType>(type);
  if (!shaped && holds != Holds::tensorsOrScalars)
    return false;
  Type element = shaped ? shaped.getElementType() : type;
  return element.isSignlessIntOrFloat() || (element.isIndex() && holds != Holds::tensorsToMultiply);
}

const char *describe(Holds holds) {
  switch (holds) {
  case Holds::tensors:
    return "a tensor of signless integers, indices or floats";
  case Holds::tensorsOrScalars:
    return "a signless integer, an index, a float or a tensor of them";
  case Holds::tensorsToMultiply:
    return "a tensor of signless integers or floats";
  }
  return "";
}

/// `ins(%a, %b : type, type)`, or `outs`; `number` of them, or one or more where it is 0.
ParseResult parseValues(OpAsmParser &parser, StringRef keyword, size_t number, Holds holds,
                        SmallVectorImpl<Value> &values) {
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<OpAsmParser::UnresolvedOperand> names;
  SmallVector<Type> types;
  if (parser.parseKeyword(keyword) || parser.parseLParen() || parser.parseOperandList(names) ||
      parser.parseColonTypeList(types) || parser.parseRParen())
    return failure();
  if (number ? names.size() != number : names.empty())
    return parser.emitError(loc) << "takes " << (number ? std::to_string(number) : "at least 1") << " in '" << keyword
                                 << "', found " << names.size();
  for (Type type : types)
    if (!fits(type, holds))
      return parser.emitError(loc) << "takes in '" << keyword << "' " << describe(holds) << ", found " << type;
  return parser.resolveOperands(names, types, loc, values);
}

/// Attributes beside those that the syntax gives.
ParseResult parseAttributes(OpAsmParser &parser, OperationState &result, NamedAttrList &attributes) {
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseOptionalAttrDict(attributes))
    return failure();
  for (StringRef own : {"dimensions", "permutation", "operandSegmentSizes"})
    if (attributes.get(own))
      return parser.emitError(loc) << "attribute '" << own << "' cannot be given among the others";
  return success();
}

/// `dimensions = [0, 2]`
ParseResult parseDimensions(OpAsmParser &parser, StringRef keyword, SmallVectorImpl<int64_t> &dimensions) {
  return failure(parser.parseKeyword(keyword) || parser.parseEqual() ||
                 parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square,
                                                [&] { return parser.parseInteger(dimensions.emplace_back()); }));
}

/// The operation between the braces of the short form; none where there are no braces.
ParseResult parseCombiner(OpAsmParser &parser, std::optional<OperationName> &name, NamedAttrList &attributes) {
  if (failed(parser.parseOptionalLBrace()))
    return success();
  SMLoc loc = parser.getCurrentLocation();
  FailureOr<OperationName> parsed = parser.parseCustomOperationName();
  if (failed(parsed))
    return failure();
  name = *parsed;
  if (!name->isRegistered() || name->getDialectNamespace() != "arith")
    return parser.emitError(loc) << "combines with an operation of arith, found '" << *name << "'";
  return failure(parser.parseOptionalAttrDict(attributes) || parser.parseRBrace());
}

ParseResult parseReduce(OpAsmParser &parser, OperationState &result) {
  std::optional<OperationName> combiner;
  NamedAttrList combinerAttributes, attributes;
  SmallVector<Value> inputs, inits;
  SmallVector<int64_t> dimensions;
  if (parseCombiner(parser, combiner, combinerAttributes) || parseValues(parser, "ins", 0, Holds::tensors, inputs) ||
      parseValues(parser, "outs", inputs.size(), Holds::tensors, inits) ||
      parseDimensions(parser, "dimensions", dimensions) || parseAttributes(parser, result, attributes))
    return failure();
  OpBuilder builder(parser.getContext());
  auto combine = [&](OpBuilder &b, Location loc, ValueRange arguments) {
    // The accumulator comes first: (init, input).
    SmallVector<Value> operands{arguments.back()};
    llvm::append_range(operands, arguments.drop_back());
    OperationState state(loc, *combiner, operands, arguments.back().getType(), combinerAttributes.getAttrs());
    b.create<linalg::YieldOp>(loc, b.create(state)->getResults());
  };
  if (combiner) {
    linalg::ReduceOp::build(builder, result, inputs, inits, dimensions, combine, attributes);
    return success();
  }
  linalg::ReduceOp::build(builder, result, inputs, inits, dimensions, /*bodyBuild=*/nullptr, attributes);
  SmallVector<OpAsmParser::Argument> arguments;
  return failure(parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren, /*allowType=*/true,
                                          /*allowAttrs=*/true) ||
                 parser.parseRegion(*result.regions.front(), arguments));
}

/// linalg.broadcast, linalg.transpose
template <typename MoveOp> ParseResult parseMove(OpAsmParser &parser, OperationState &result, StringRef keyword) {
  NamedAttrList attributes;
  SmallVector<Value> input, init;
  SmallVector<int64_t> dimensions;
  if (parseValues(parser, "ins", 1, Holds::tensors, input) || parseValues(parser, "outs", 1, Holds::tensors, init) ||
      parseDimensions(parser, keyword, dimensions) || parseAttributes(parser, result, attributes))
    return failure();
  OpBuilder builder(parser.getContext());
  MoveOp::build(builder, result, input[0], init[0], dimensions, attributes);
  return success();
}

/// linalg.fill, linalg.matmul, linalg.matmul_transpose_b
template <typename NamedOp>
ParseResult parseNamed(OpAsmParser &parser, OperationState &result, size_t inputCount, Holds holds) {
  NamedAttrList attributes;
  SmallVector<Value> inputs, outputs;
  SmallVector<Type> types;
  if (parseAttributes(parser, result, attributes) || parseValues(parser, "ins", inputCount, holds, inputs) ||
      parseValues(parser, "outs", 1, holds, outputs) || parser.parseOptionalArrowTypeList(types))
    return failure();
  OpBuilder builder(parser.getContext());
  NamedOp::build(builder, result, types, inputs, outputs, attributes);
  return success();
}

} // namespace

#define EVT_PARSER(name, mangledClass)                                                                                 \
  ParseResult name(OpAsmParser &parser, OperationState &result)                                                        \
      EVT_WRAP("_ZN4mlir6linalg" mangledClass "5parseERNS_11OpAsmParserERNS_14OperationStateE");                       \
  ParseResult name(OpAsmParser &parser, OperationState &result)

EVT_PARSER(wrapReduce, "8ReduceOp") { return parseReduce(parser, result); }
EVT_PARSER(wrapBroadcast, "11BroadcastOp") { return parseMove<linalg::BroadcastOp>(parser, result, "dimensions"); }
EVT_PARSER(wrapTranspose, "11TransposeOp") { return parseMove<linalg::TransposeOp>(parser, result, "permutation"); }
EVT_PARSER(wrapFill, "6FillOp") { return parseNamed<linalg::FillOp>(parser, result, 1, Holds::tensorsOrScalars); }
EVT_PARSER(wrapMatmul, "8MatmulOp") {
  return parseNamed<linalg::MatmulOp>(parser, result, 2, Holds::tensorsToMultiply);
}
EVT_PARSER(wrapMatmulTransposeB, "18MatmulTransposeBOp") {
  return parseNamed<linalg::MatmulTransposeBOp>(parser, result, 2, Holds::tensorsToMultiply);
}

// Not in the tile language, whose check would refuse them, but MLIR's parsers of these two do not get that far when
// their attributes or operands are malformed.
static ParseResult refuse(OpAsmParser &parser) {
  return parser.emitError(parser.getNameLoc(), "is not part of the tile language; see 'evt.device' for what is");
}
EVT_PARSER(wrapGeneric, "9GenericOp") { return refuse(parser); }
EVT_PARSER(wrapMap, "5MapOp") { return refuse(parser); }
