// What the schedules need to know about a program: how calls depend on themselves, and who waits for an element.
#pragma once

#include "compiler/analysis/extract/Extract.h"
#include "compiler/emit/KernelCode.h"

namespace evt::pipeline {

/// Fills what `facts` says of calls, their borders and triggers.
mlir::LogicalResult analyseSchedules(const Extraction &model, emit::ScheduleFacts &facts);

} // namespace evt::pipeline
