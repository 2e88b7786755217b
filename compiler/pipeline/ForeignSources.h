// The sources of foreign device functions, on their way into the artifact.
//
// A program names a source by a path relative to its own file; in the artifact the source lies beside kernel.cpp and
// program.mlir under its bare name, so both can name it there:
//
//   dir/program.mlir   foreign("../tiles/gelu.h", "gelu")   reads dir/../tiles/gelu.h
//   artifact           gelu.h, #include "gelu.h" in kernel.cpp, foreign("gelu.h", "gelu") in program.mlir
//
// A source is one file. It is included after the device API, and sees what that includes.
#pragma once

#include "ArtifactWriter.h"

#include "compiler/ir/Evt.h"

namespace evt::pipeline {

/// Reads the sources of the foreign device functions that the graph calls and names them there as the artifact will.
/// Fails, after an error at the device function, where a source is missing, does not mention its function, or cannot
/// keep its name.
mlir::FailureOr<Texts> takeForeignSources(ir::GraphOp graph);

} // namespace evt::pipeline
