// CPU: C++ for functions with roles, on device/cpu/roles.h: their rings, the threads that run all roles but the last,
// and tasks that are handed over to them.
#pragma once

#include "CodeWriter.h"
#include "GraphCode.h"
#include "ScheduleCode.h"

#include <string>

namespace evt::emit {

/// Coordinates of a task that is handed over, iterations included: RoleTask of device/cpu/roles.h.
inline constexpr size_t hostCoordLimit = 16;

/// How each call is run: with roles, or on the spot.
TaskForms hostForms(const GraphCode &graph);
bool hasRoles(const TaskForms &forms);

/// `struct RoleRings`, of all device functions that are called.
void emitRings(const GraphCode &graph, CodeWriter &out);
/// `Roles`, and `end_handed_over(use, P)`, which runs the last roles of all tasks that were handed over; declared only.
void emitRoleThreads(const GraphCode &graph, const TaskForms &forms, CodeWriter &out);

/// The body of `end_K`: the last role of a task whose events have passed.
std::string lastRole(const GraphCode &graph, unsigned k, const std::string &args);
/// `task_K`, which hands a task over.
void emitRoleTask(const GraphCode &graph, unsigned k, const std::string &groups, CodeWriter &out);
/// What a task that is run on the spot begins with: those that were handed over come before it.
inline constexpr const char *endsHandedOver =
    "if constexpr (!Use::reports_only) { if (!end_handed_over(use, P)) return false; }";

/// `end_handed_over`.
void emitEndHandedOver(const GraphCode &graph, const TaskForms &forms, CodeWriter &out);

} // namespace evt::emit
