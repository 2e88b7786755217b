// C++ for what is read and written early: generations, places and what is borrowed, over P and a call's coordinates.
#include "EarlyRows.h"

using namespace mlir;

namespace evt::emit {

namespace {

std::string num(int64_t n) { return std::to_string(n); }

} // namespace

std::string EarlyRows::code(const GraphCode &graph, const Tensor &tensor, Generation generation) const {
  std::string text = "INT64_C(" + num(generation.constant) + ")";
  if (generation.perIteration)
    text += " + " + num(generation.perIteration) + " * l0";
  if (generation.perRepeat)
    text += " + " + num(generation.perRepeat) + " * " + iterations(graph, tensor);
  return text;
}

std::string EarlyRows::iterations(const GraphCode &graph, const Tensor &tensor) const {
  ir::RepeatOp repeat = tensor.repeat;
  return "evt::most(" + graph.expression(repeat.getExtent()) + ", 0)";
}

std::string EarlyRows::rows(const GraphCode &graph, unsigned memory) const {
  const Tensor &tensor = tensors.at(memory);
  std::string all = "m" + num(memory) + ".dims[0]";
  if (!tensor.tiles)
    return all;
  return "evt::least(" + all + ", (" + graph.expression(tensor.tiles) + ") * " + num(tensor.tileRows) + ")";
}

nlohmann::ordered_json EarlyRows::rowsExpression(const GraphCode &graph, unsigned memory) const {
  using json = nlohmann::ordered_json;
  const Tensor &tensor = tensors.at(memory);
  json all = graph.memoryDimExpression(memory, 0);
  if (!tensor.tiles)
    return all;
  return json::array({"min", all, json::array({"*", tensor.tileRows, graph.manifestExpression(tensor.tiles)})});
}

std::string EarlyRows::written(const GraphCode &graph, unsigned call, unsigned memory) const {
  auto it = tensors.find(memory);
  if (it == tensors.end() || !llvm::is_contained(it->second.writers, call))
    return "evt::EarlyWrite{}";
  Generation generation = generationOf(graph, call, it->second);
  ++generation.constant;
  return "dynamic ? evt::EarlyWrite{} : P.y" + num(memory) + ".writes(" + code(graph, it->second, generation) + ")";
}

void EarlyRows::emitWaits(const GraphCode &graph, const Borrowed &borrowed, CodeWriter &out) const {
  std::string args;
  auto repeats = ir::enclosingRepeats(graph.signature.calls[borrowed.call]);
  if (!repeats.empty())
    args =
        ", " + (borrowed.isFromEnd ? graph.expression(repeats.back().getExtent()) : "l0") + " - " + num(borrowed.shift);
  auto extents = graph.extentList(borrowed.call);
  std::string first = "lane", step = "32";
  for (auto [c, at] : llvm::enumerate(borrowed.at)) {
    std::string name = at == every ? "b" + num(c) : at;
    if (at == every) {
      out.line("for (int64_t ", name, " = ", first, "; ", name, " < ", extents[graph.iterations(borrowed.call) + c],
               "; ", name, " += ", step, ")");
      first = "0";
      step = "1";
    }
    args += ", " + name;
  }
  out.line("if (", first == "0" ? "" : "lane == 0 && ", "!waits_", borrowed.call, "(use, P", args, ")) return false;");
}

} // namespace evt::emit
