#include "ScheduleAnalysis.h"

#include "compiler/analysis/CallBorders.h"
#include "compiler/analysis/Parallel.h"
#include "compiler/analysis/Triggers.h"

using namespace mlir;

namespace evt::pipeline {

namespace {

/// `isl` names its loop functions min, max and floord; in emitted code they have the device API's names.
std::string withDeviceNames(const std::string &code) {
  std::string out;
  for (size_t i = 0; i < code.size();) {
    auto replace = [&](const std::string &from, const std::string &to) {
      bool startsWord = i == 0 || (!isalnum(code[i - 1]) && code[i - 1] != '_' && code[i - 1] != ':');
      if (!startsWord || code.compare(i, from.size(), from) != 0)
        return false;
      out += to;
      i += from.size();
      return true;
    };
    if (!replace("min(", "evt::least(") && !replace("max(", "evt::most(") && !replace("floord(", "evt::floordiv("))
      out += code[i++];
  }
  return out;
}

/// True if every task that notifies `event` comes after the guard of the ragged call, so that the call's groups are
/// known whenever an element completes.
bool knownAfterGuard(const Extraction &model, int event, Value guard) {
  const ir::Signature &s = model.signature;
  for (unsigned k = 0; k < s.calls.size(); ++k) {
    bool notifies = llvm::any_of(model.graph.calls[k].notifies, [&](const EventUse &u) { return u.event == event; });
    if (!notifies)
      continue;
    int guardEvent = s.eventOf(guard);
    if (!llvm::any_of(model.graph.calls[k].waits, [&](const EventUse &u) { return u.event == guardEvent; }))
      return false;
  }
  return true;
}

} // namespace

LogicalResult analyseSchedules(const Extraction &model, emit::ScheduleFacts &facts) {
  const ir::Signature &s = model.signature;
  std::vector<isl::set> shapes; // for which a call has tasks
  for (const Call &call : model.graph.calls)
    shapes.push_back(call.domain.params().intersect(model.graph.context));
  facts.apart.assign(shapes.size(), std::vector<bool>(shapes.size()));
  for (size_t mine = 0; mine < shapes.size(); ++mine)
    for (size_t other = 0; other <= mine; ++other)
      facts.apart[mine][other] = facts.apart[other][mine] = shapes[mine].intersect(shapes[other]).is_empty();
  facts.borders = callBorders(model.graph);
  llvm::erase_if(facts.borders, [&](const CallBorders &borders) { // not the program's own
    return llvm::none_of(s.symbols, [&](auto &symbol) { return symbol.name == borders.symbol; });
  });
  facts.carried = carriedCoordinates(model.graph);
  for (unsigned k = 0; k < s.calls.size(); ++k) {
    ir::CallOp call = s.calls[k];
    facts.mayStartReady.push_back(mayStartReady(model.graph, k));
    auto &triggers = facts.triggers.emplace_back();
    unsigned tail = sharedTail(model.graph, k);
    facts.sharedTail.push_back(tail);
    // The model makes implied waits explicit: a ragged call's guard, and the guard of a count in memory.
    unsigned next = call.getRaggedGuard() ? 1 : 0;
    for (ir::WaitOp wait : call.getProtocol().front().getOps<ir::WaitOp>()) {
      int event = s.eventOf(wait.getEvent());
      ir::EventOp op = s.events[event];
      if (op.getGuard())
        ++next;
      auto code = wokenTasks(model.graph, k, next++, "ready", tail);
      emit::Trigger trigger;
      if (!code)
        trigger.refusal = s.callName(k) + " waits for an element of " + op.getName().str() +
                          " that is read from memory, so its waiters cannot be found from the element";
      else if (call.getRaggedGuard() && !knownAfterGuard(model, event, call.getRaggedGuard()))
        trigger.refusal = s.callName(k) + " is ragged and waits for " + op.getName().str() +
                          ", which may complete before its groups are known";
      else
        trigger.code = withDeviceNames(*code);
      triggers.push_back(trigger);
    }
  }
  return success();
}

} // namespace evt::pipeline
