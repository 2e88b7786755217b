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
  ir::EventOp op = s.events[event];
  if (op.getTable() && op.getGuard() != guard)
    return false; // an element whose count turns out 0 completes when its own guard does
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

/// Whether a size hangs on an iteration of a repeat: it would be another one in each.
bool hangsOnIteration(Value size, llvm::DenseSet<Operation *> &seen) {
  if (auto argument = dyn_cast<BlockArgument>(size))
    return isa<ir::RepeatOp>(argument.getOwner()->getParentOp());
  Operation *op = size.getDefiningOp();
  return seen.insert(op).second &&
         llvm::any_of(op->getOperands(), [&](Value operand) { return hangsOnIteration(operand, seen); });
}

/// Why tasks could not be found from events, by whoever notifies them.
std::string dynamicRefusalOf(const Extraction &model) {
  const ir::Signature &s = model.signature;
  for (unsigned k = 0; k < s.calls.size(); ++k) {
    ir::CallOp call = s.calls[k];
    if (call.isRagged() && !ir::enclosingRepeats(call).empty())
      return s.callName(k) + " is ragged and in a repeat, whose iterations share one guard";
  }
  // A notify compares with the count at once.
  for (auto [e, event] : llvm::enumerate(s.events)) {
    ir::EventOp op = event;
    for (const Call &call : model.graph.calls)
      for (const Access &access : call.accesses)
        if (op.getTable() && !op.getGuard() && access.write && access.memory == s.memoryOf(op.getTable()))
          return "the counts of " + op.getName().str() + " are written by " + call.name + ", and have no guard";
  }
  // What a guard stands for is known when somebody completes it.
  auto mayBeNobodys = [&](Value guard) {
    const Event &event = model.graph.events[s.eventOf(guard)];
    if (!event.count)
      return true;
    PossiblyNonZero counted = event.count->nonZeroOn(event.shape);
    isl::set elements = event.shape.intersect_params(model.graph.context);
    return !counted.decided || !elements.is_subset(counted.where);
  };
  for (unsigned k = 0; k < s.calls.size(); ++k) {
    ir::CallOp call = s.calls[k];
    if (Value guard = call.getRaggedGuard(); guard && mayBeNobodys(guard))
      return s.callName(k) + " is ragged, and the guard of its table may have nobody to wait for";
  }
  for (ir::EventOp event : s.events)
    if (Value guard = event.getGuard(); guard && mayBeNobodys(guard))
      return "the guard of the counts of " + event.getName().str() + " may have nobody to wait for";
  return "";
}

/// Whether code names a parameter of the model that is none of the program's: a product of symbols, say.
bool namesDerived(const Extraction &model, StringRef code) {
  for (size_t i = model.signature.symbols.size(); i < model.graph.symbols.size(); ++i) {
    StringRef name = model.graph.symbols[i].name;
    for (size_t at = code.find(name); at != StringRef::npos; at = code.find(name, at + 1)) {
      auto isPart = [&](size_t n) { return n < code.size() && (isalnum(code[n]) || code[n] == '_'); };
      if (!(at > 0 && isPart(at - 1)) && !isPart(at + name.size()))
        return true;
    }
  }
  return false;
}

} // namespace

LogicalResult analyseSchedules(const Extraction &model, emit::ScheduleFacts &facts) {
  const ir::Signature &s = model.signature;
  for (ir::CallOp call : s.calls) {
    llvm::DenseSet<Operation *> seen;
    SmallVector<Value> extents(call.getGrid());
    if (call.isRagged())
      extents.push_back(call.getRaggedBound());
    for (Value extent : extents)
      if (hangsOnIteration(extent, seen))
        return call.emitOpError("has a grid that hangs on the iteration of a repeat: kernels have no form for that");
  }
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
  facts.refusesDynamic = dynamicRefusalOf(model);
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
      else if (namesDerived(model, *code))
        trigger.refusal = s.callName(k) + " waits for an element of " + op.getName().str() +
                          ", and which of its tasks do hangs on a product or quotient of symbols";
      else
        trigger.code = withDeviceNames(*code);
      triggers.push_back(trigger);
    }
  }
  return success();
}

} // namespace evt::pipeline
