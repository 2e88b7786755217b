#include "Pipeline.h"

#include "ArtifactWriter.h"
#include "ScheduleAnalysis.h"

#include "compiler/analysis/extract/Extract.h"
#include "compiler/transforms/CheckGraph.h"
#include "compiler/transforms/InferEvents.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/CrashRecoveryContext.h"

#include <chrono>

using namespace mlir;

namespace evt::pipeline {

const std::vector<std::string> stages{"parsed", "events", "source", "manifest"};

namespace {

/// Runs one step, tells how long it took, and stops the pipeline where it failed.
template <class Step> LogicalResult timed(const Options &options, const char *name, Step step) {
  auto start = std::chrono::steady_clock::now();
  LogicalResult result = step();
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  if (options.progress)
    options.progress(name, seconds.count());
  return result;
}

bool hasCalls(ir::GraphOp graph) {
  return graph.walk([](ir::CallOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

bool hasEvents(ir::GraphOp graph) {
  return graph.walk([](ir::EventOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

} // namespace

OwningOpRef<ModuleOp> parseFile(const std::string &path, MLIRContext &context) {
  DialectRegistry registry;
  ir::registerDialects(registry);
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
  // Some operations of MLIR 19 crash on malformed attributes (linalg.reduce without its dimensions); a broken text must
  // get a message all the same.
  OwningOpRef<ModuleOp> module;
  llvm::CrashRecoveryContext::Enable();
  llvm::CrashRecoveryContext recovery;
  bool survived = recovery.RunSafely([&] { module = parseSourceFile<ModuleOp>(path, ParserConfig(&context)); });
  llvm::CrashRecoveryContext::Disable();
  if (!survived)
    emitError(FileLineColLoc::get(&context, path, 0, 0))
        << "MLIR's parser crashed on this text: an operation in it is malformed";
  return module;
}

ir::GraphOp findGraph(ModuleOp module, const std::string &name) {
  SmallVector<ir::GraphOp> graphs(module.getOps<ir::GraphOp>());
  if (name.empty() && graphs.size() == 1)
    return graphs[0];
  std::string all;
  for (ir::GraphOp g : graphs) {
    if (g.getSymName() == name)
      return g;
    all += (all.empty() ? "" : ", ") + g.getSymName().str();
  }
  if (graphs.empty())
    module.emitError("the module has no evt.graph");
  else if (name.empty())
    module.emitError("the module has several graphs, choose one of: ") << all;
  else
    module.emitError("the module has no graph '") << name << "', it has: " << all;
  return {};
}

//===-- The map of the pipeline -----------------------------------------------------------------------------------===//
//
//   infer events      a graph without events gets them from what its tasks read and write; a graph with events keeps
//                     them, because whoever wrote them may know more than the analysis does
//   prove             order, counts and progress for every shape. First, because nothing after it looks for mistakes: a
//                     schedule only has to respect the events
//   plan schedules    which coordinates a call depends on itself along (static), who waits for an element (dynamic)
//   emit              C++ against the device API and the manifest. All shapes stay symbolic up to here and in the
//   kernel compile, write    the host compiler, then the directory is moved into place, so that a failed run leaves the
//   old one

LogicalResult check(Program &program, const Options &options) {
  if (!hasEvents(program.graph) && hasCalls(program.graph))
    if (failed(timed(options, "infer events", [&] { return addInferredEvents(program.graph, options.proof); })))
      return failure();
  return timed(options, "prove", [&]() -> LogicalResult {
    FailureOr<Extraction> model = extractTaskGraph(program.graph);
    if (failed(model))
      return failure();
    if (options.verify) {
      CheckResult result = checkExtraction(*model, options.proof);
      report(result, model->locations, program.graph);
      program.findings = {result.violations, result.obligations};
      for (const Obligation &o : result.obligations)
        program.facts.obligations.push_back(o.name);
      if (!result.ok())
        return failure();
    }
    return analyseSchedules(*model, program.facts);
  });
}

LogicalResult lower(Program &program, const Options &options) {
  if (failed(check(program, options)))
    return failure();
  return timed(options, "emit", [&]() -> LogicalResult {
    emit::GraphCode graph(program.graph);
    program.source = emit::emitKernel(graph, program.facts);
    program.manifest = emit::emitManifest(graph, program.facts);
    return failure(program.source.empty());
  });
}

LogicalResult compile(Program &program, const Options &options, const std::string &directory) {
  if (failed(lower(program, options)))
    return failure();
  return timed(options, "compile", [&]() -> LogicalResult {
    std::string ir;
    llvm::raw_string_ostream os(ir);
    program.module->print(os);
    std::string error = writeArtifact({program.source, ir, program.manifest}, options.host, directory);
    if (error.empty())
      return success();
    program.module->emitError(error);
    return failure();
  });
}

} // namespace evt::pipeline
