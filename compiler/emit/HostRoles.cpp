#include "HostRoles.h"

#include "ScalarCode.h"
#include "StreamCode.h"
#include "TileCode.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace evt::emit {

namespace {

/// Device functions with roles that are called.
llvm::SetVector<Operation *> functionsOf(const GraphCode &graph) {
  llvm::SetVector<Operation *> found;
  for (ir::CallOp call : graph.signature.calls)
    if (ir::hasRoles(ir::calleeOf(call)))
      found.insert(ir::calleeOf(call));
  return found;
}

SmallVector<ir::RoleOp> rolesOf(ir::DeviceOp device) {
  return llvm::to_vector(device.getBody().front().getOps<ir::RoleOp>());
}

/// Whether a role must not begin before the task's events have passed.
bool awaitsEvents(ir::RoleOp role) {
  bool reads = false;
  role.walk([&](Operation *op) { reads |= isa<ir::LoadOp, ir::ReadOp>(op); }); // others read by nothing else
  return reads && !ir::aheadRing(role);
}

} // namespace

TaskForms hostForms(const GraphCode &graph) {
  TaskForms forms;
  for (ir::CallOp call : graph.signature.calls)
    forms.push_back(ir::hasRoles(ir::calleeOf(call)) ? TaskForm::inRoles : TaskForm::onTheSpot);
  return forms;
}

bool hasRoles(const TaskForms &forms) { return llvm::is_contained(forms, TaskForm::inRoles); }

void emitRings(const GraphCode &graph, CodeWriter &out) {
  std::string initializers;
  out.line("/// Between the roles of device functions.");
  out.line("struct RoleRings {");
  for (Operation *device : functionsOf(graph))
    for (ir::RingOp ring : cast<ir::DeviceOp>(device).getBody().front().getOps<ir::RingOp>()) {
      RankedTensorType tile = ring.getRing().getType().getTile();
      out.line("evt::Ring<", cppType(tile.getElementType()), ", ", tile.getNumElements(), ", ",
               (int64_t)ring.getStages(), "> ", ringName(ring), "; // ", ring.getName().str());
      initializers += (initializers.empty() ? " : " : ", ") + ringName(ring) + "(ending)";
    }
  out.line("explicit RoleRings(const evt::Ending &ending)", initializers, " {}");
  out.line("};");
  out.line();
}

void emitRoleThreads(const GraphCode &graph, const TaskForms &forms, CodeWriter &out) {
  size_t helpers = 0;
  for (Operation *device : functionsOf(graph))
    helpers = std::max(helpers, rolesOf(cast<ir::DeviceOp>(device)).size() - 1);
  out.line("/// Which role of a task does what: see device/cpu/roles.h.");
  out.line("struct RoleKernel {");
  out.line("static constexpr int helpers = ", helpers, ";");
  out.line("using Rings = RoleRings;");
  out.line("template <class Begun> static void run(int role, evt::Worker &w, const Program &P, Rings &rings, const "
           "evt::RoleTask &task, Begun begun) {");
  out.line("switch (task.call) {");
  for (unsigned k = 0; k < forms.size(); ++k) {
    if (forms[k] != TaskForm::inRoles)
      continue;
    ir::CallOp call = graph.signature.calls[k];
    out.line("case ", k, ": {");
    declareCoords(graph, k, out);
    SmallVector<ir::RoleOp> roles = rolesOf(ir::calleeOf(call));
    for (auto [r, role] : llvm::enumerate(ArrayRef(roles).drop_back()))
      out.line("if (role == ", r, ") ", awaitsEvents(role) ? "begun(), " : "", "role_", call.getCallee().str(), "_", r,
               "(rings, w", argumentList(graph, k), ");");
    out.line("break;");
    out.line("}");
  }
  out.line("}");
  out.line("}");
  out.line("};");
  out.line("using Roles = evt::Roles<RoleKernel, Program>;");
  out.line("/// Ends the tasks that were handed over, but for the last `left`; false when the launch was aborted.");
  out.line("template <class Use> EVT_FN bool end_handed_over(Use &use, const Program &P, int left = 0);");
  out.line();
}

std::string lastRole(const GraphCode &graph, unsigned k, const std::string &args) {
  ir::CallOp call = graph.signature.calls[k];
  std::string name = call.getCallee().str();
  return "{ Roles &roles = *static_cast<Roles *>(w.roles); roles.say_begun(); if (w.hooks) [[unlikely]] report_" +
         name + "(w" + args + "); role_" + name + "_" + std::to_string(rolesOf(ir::calleeOf(call)).size() - 1) +
         "(roles.rings, w" + args + "); if (w.aborted()) return false; roles.leave(); }";
}

void emitRoleTask(const GraphCode &graph, unsigned k, const std::string &groups, CodeWriter &out) {
  ir::CallOp op = graph.signature.calls[k];
  std::string list = graph.coordNames(k);
  out.line("template <class Use> EVT_FN inline bool task_", k, "(Use &use, const Program &P", groups,
           graph.coordParams(k), ") {");
  out.line("if constexpr (Use::reports_only) {");
  out.line("return end_", k, "(use, P", op.isRagged() ? ", groups" : "", list, ");");
  out.line("} else {");
  out.line("if (use.w.aborted()) return false;");
  out.line("static_cast<Roles *>(use.w.roles)->hand_over({", k, ", {", list.empty() ? "" : list.substr(2), "}});");
  out.line("// Dynamic tasks are ready, and make others ready; an observer is told of one task after the other.");
  out.line("return end_handed_over(use, P, Use::dynamic || use.w.hooks ? 0 : Roles::ahead);");
  out.line("}");
  out.line("}");
}

void emitEndHandedOver(const GraphCode &graph, const TaskForms &forms, CodeWriter &out) {
  out.line("template <class Use> EVT_FN bool end_handed_over(Use &use, const Program &P, int left) {");
  out.line("Roles &roles = *static_cast<Roles *>(use.w.roles);");
  out.line("while (roles.pending() > left) {");
  out.line("const evt::RoleTask task = roles.oldest();");
  out.line("switch (task.call) {");
  for (unsigned k = 0; k < forms.size(); ++k) {
    if (forms[k] != TaskForm::inRoles)
      continue;
    std::string coords;
    for (size_t d = 0; d < graph.coordList(k).size(); ++d)
      coords += ", task.coord[" + std::to_string(d) + "]";
    out.line("case ", k, ": if (!end_", k, "(use, P", coords, ")) return false; break;");
  }
  out.line("}");
  out.line("}");
  out.line("return true;");
  out.line("}");
  out.line();
}

} // namespace evt::emit
