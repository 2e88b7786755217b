#include "WriteExpressions.h"

#include "compiler/analysis/AffineFold.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace evt {

namespace {

int64_t integerOf(isl_val *taken) {
  int64_t value = isl_val_get_num_si(taken);
  isl_val_free(taken);
  return value;
}

/// Translates an isl_aff; parameters are numbered in the order of the list.
class AffTranslator {
public:
  AffTranslator(MLIRContext *context, const std::vector<std::string> &parameters)
      : context(context), parameters(parameters) {}

  AffineExpr translate(const isl::aff &aff) {
    int64_t denominator = integerOf(isl_aff_get_denominator_val(aff.get()));
    isl::aff scaled = aff.scale(isl::val(aff.ctx(), static_cast<long>(denominator)));
    AffineExpr sum = getAffineConstantExpr(0, context);
    for (isl_dim_type type : {isl_dim_in, isl_dim_param, isl_dim_div})
      for (int i = 0, dims = isl_aff_dim(aff.get(), type); i < dims; ++i) {
        int64_t coefficient = integerOf(isl_aff_get_coefficient_val(scaled.get(), type, i));
        if (coefficient != 0)
          sum = sum + atom(scaled, type, i) * coefficient;
      }
    sum = sum + integerOf(isl_aff_get_constant_val(scaled.get()));
    // Expressions of indices are integers; what is left of a denominator divides exactly, or is inside a floor.
    return denominator == 1 ? sum : sum.floorDiv(denominator);
  }

private:
  AffineExpr atom(const isl::aff &aff, isl_dim_type type, int position) {
    if (type == isl_dim_in)
      return getAffineDimExpr(static_cast<unsigned>(position), context);
    if (type == isl_dim_div)
      return translate(isl::manage(checked(aff.ctx(), isl_aff_get_div(aff.get(), position))));
    std::string name = isl_aff_get_dim_name(aff.get(), isl_dim_param, static_cast<unsigned>(position));
    auto found = llvm::find(parameters, name);
    return getAffineSymbolExpr(static_cast<unsigned>(found - parameters.begin()), context);
  }

  MLIRContext *context;
  const std::vector<std::string> &parameters;
};

} // namespace

std::optional<AffineForm> affineForm(MLIRContext *context, const isl::pw_aff &value, const isl::set &where) {
  std::optional<AffineFold> fold = foldOf(value, where);
  if (!fold)
    return std::nullopt;
  if (fold->terms.empty())
    return AffineForm{false, {getAffineConstantExpr(0, context)}, {}};
  AffineForm form;
  form.largest = fold->largest;
  isl_aff *first = fold->terms.front().get(); // all have the same symbols, in the same order
  int parameters = isl_aff_dim(first, isl_dim_param);
  for (int i = 0; i < parameters; ++i)
    form.parameters.push_back(isl_aff_get_dim_name(first, isl_dim_param, static_cast<unsigned>(i)));
  AffTranslator translator(context, form.parameters);
  for (const isl::aff &piece : fold->terms)
    if (AffineExpr term = translator.translate(piece); !llvm::is_contained(form.terms, term))
      form.terms.push_back(term);

  // Only the parameters that occur, in order.
  std::vector<std::string> used;
  SmallVector<AffineExpr> renamed;
  for (int i = 0; i < parameters; ++i) {
    bool occurs =
        llvm::any_of(form.terms, [&](AffineExpr term) { return term.isFunctionOfSymbol(static_cast<unsigned>(i)); });
    renamed.push_back(getAffineSymbolExpr(static_cast<unsigned>(used.size()), context));
    if (occurs)
      used.push_back(form.parameters[static_cast<size_t>(i)]);
  }
  for (AffineExpr &term : form.terms)
    term = term.replaceSymbols(renamed);
  form.parameters = used;
  return form;
}

Value writeForm(OpBuilder &builder, Location location, const AffineForm &form, ValueRange coordinates,
                ValueRange parameters) {
  if (form.terms.size() == 1) {
    if (auto constant = dyn_cast<AffineConstantExpr>(form.terms[0]))
      return builder.create<arith::ConstantIndexOp>(location, constant.getValue());
    if (auto dim = dyn_cast<AffineDimExpr>(form.terms[0]))
      return coordinates[dim.getPosition()];
    if (auto symbol = dyn_cast<AffineSymbolExpr>(form.terms[0]))
      return parameters[symbol.getPosition()];
  }
  // Only the coordinates that occur: (d0) rather than (d0, d1, d2).
  SmallVector<AffineExpr> renamed;
  SmallVector<Value> operands;
  for (auto [i, coordinate] : llvm::enumerate(coordinates)) {
    renamed.push_back(builder.getAffineDimExpr(operands.size()));
    if (llvm::any_of(form.terms, [i = i](AffineExpr term) { return term.isFunctionOfDim(i); }))
      operands.push_back(coordinate);
  }
  SmallVector<AffineExpr> terms;
  for (AffineExpr term : form.terms)
    terms.push_back(term.replaceDims(renamed));
  AffineMap map = AffineMap::get(operands.size(), parameters.size(), terms, builder.getContext());
  llvm::append_range(operands, parameters);
  if (terms.size() == 1)
    return builder.create<affine::AffineApplyOp>(location, map, operands);
  if (form.largest)
    return builder.create<affine::AffineMaxOp>(location, map, operands);
  return builder.create<affine::AffineMinOp>(location, map, operands);
}

} // namespace evt
