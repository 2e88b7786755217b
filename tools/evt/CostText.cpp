#include "tools/evt/CostText.h"

#include "compiler/analysis/Cost.h"
#include "tools/evt/Failure.h"

namespace evt::tool {
namespace {

std::string amounts(const Amount &ops, const Amount &bytes) {
  return "\n  ops    " + ops.text() + "\n  bytes  " + bytes.text() + "\n";
}

} // namespace

std::string costText(const ir::Signature &signature) {
  std::optional<GraphCost> cost = costOf(signature);
  if (!cost)
    throw Failure(ExitCode::wrongInput,
                  "the program's cost does not fit in 64 bits, or hangs on more than its symbols");
  ir::GraphOp graph = signature.graph;
  std::string text = "graph " + graph.getSymName().str() + amounts(cost->ops, cost->bytes);
  for (size_t k = 0; k < cost->calls.size(); ++k) {
    const CallCost &call = cost->calls[k];
    text += "\n" + signature.callName(k) + ": " + call.tasks.text() + (call.tasks == Amount(1) ? " task" : " tasks") +
            amounts(call.ops, call.bytes);
    for (const std::string &assumption : call.assumptions)
      text += "  assumed: " + assumption + "\n";
  }
  return text;
}

} // namespace evt::tool
