#include "Frontend.h"

#include "compiler/pipeline/Pipeline.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include <ctime>

using namespace mlir;

namespace evt::fuzz {

// A context keeps every type and attribute it has seen, so a new one is made now and then.
struct Frontend::State {
  static constexpr int programsPerContext = 100;
  ProofLimits limits;
  std::unique_ptr<MLIRContext> context;
  int programs = 0;

  MLIRContext &fresh() {
    if (!context || ++programs % programsPerContext == 0) {
      DialectRegistry registry;
      ir::registerDialects(registry);
      context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
      context->loadAllAvailableDialects();
      context->printOpOnDiagnostic(false);
    }
    return *context;
  }
};

Frontend::Frontend(const ProofLimits &limits) : state(std::make_unique<State>()) { state->limits = limits; }
Frontend::~Frontend() = default;

Checked Frontend::check(const std::string &text, const std::string &entry) {
  Checked answer;
  clock_t start = clock();
  MLIRContext &context = state->fresh();
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    auto add = [&](Diagnostic &d) {
      llvm::raw_string_ostream(answer.diagnostics) << d.getLocation() << ": " << d.str() << "\n";
    };
    add(diagnostic);
    for (Diagnostic &note : diagnostic.getNotes())
      add(note);
    return success();
  });
  pipeline::Program program;
  program.module = parseSourceString<ModuleOp>(text, ParserConfig(&context), "program");
  answer.parsed = static_cast<bool>(program.module);
  if (answer.parsed) {
    pipeline::Options options;
    options.proof = state->limits;
    program.graph = pipeline::findGraph(*program.module, "");
    answer.accepted = program.graph && succeeded(pipeline::check(program, options));
    answer.findings = program.findings;
  }
  if (answer.accepted) {
    emit::GraphCode graph(program.graph);
    answer.source = emit::emitKernel(graph, program.facts, entry);
    answer.manifest = emit::emitManifest(graph, program.facts).dump();
    answer.accepted = !answer.source.empty();
  }
  answer.seconds = static_cast<double>(clock() - start) / CLOCKS_PER_SEC;
  return answer;
}

} // namespace evt::fuzz
