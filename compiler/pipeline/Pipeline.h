// From a program to an artifact. Pipeline.cpp is the map: each step with its reason.
#pragma once

#include "ArtifactWriter.h"
#include "HostCompiler.h"

#include "compiler/analysis/Findings.h"
#include "compiler/emit/KernelCode.h"
#include "compiler/ir/Evt.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <functional>

namespace evt::pipeline {

struct Options {
  std::string graph;                  // which graph of the module; empty: the only one
  ProofLimits proof;                  // how hard to try before "not proved"
  bool verify = true;                 // off: the program is trusted as it is
  bool roles = false;                 // on the CPU: device functions with products are split into roles first
  std::vector<std::string> schedules; // that the artifact is to hold; none named: all
  emit::Target target = emit::Target::cpu;
  HostCompiler host;
  CudaCompiler cuda;
  /// Told the name of each step and how long it took, in seconds.
  std::function<void(const std::string &step, double seconds)> progress;
};

/// A program on its way through the pipeline.
struct Program {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  ir::GraphOp graph;
  std::vector<emit::Unsplit> unsplit; // on a GPU: why calls are no products that have roles
  Findings findings;
  emit::ScheduleFacts facts;
  std::string source;  // kernel.cpp or kernel.cu
  std::string explain; // explain.cpp, of a CUDA kernel
  Texts foreign;       // the sources of foreign device functions
  /// What the program was made from, and its arguments do not show; the manifest states it.
  nlohmann::ordered_json madeFrom;
  nlohmann::ordered_json manifest;
};

/// Reads a module. Diagnostics go to the context's handler.
mlir::OwningOpRef<mlir::ModuleOp> parseFile(const std::string &path, mlir::MLIRContext &context);

/// The graph the options name; an error at the module if there is none or it is ambiguous.
ir::GraphOp findGraph(mlir::ModuleOp module, const std::string &name);

/// Events and proofs: everything `evt check` does.
mlir::LogicalResult check(Program &program, const Options &options);
/// check, then emission: everything but the host compiler.
mlir::LogicalResult lower(Program &program, const Options &options);
/// lower, then compiles and writes the artifact directory. An existing artifact is replaced whole, or not at all.
mlir::LogicalResult compile(Program &program, const Options &options, const std::string &directory);

} // namespace evt::pipeline
