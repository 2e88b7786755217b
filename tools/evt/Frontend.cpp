#include "tools/evt/Frontend.h"

#include "compiler/analysis/extract/Extract.h"
#include "compiler/analysis/extract/PrintTaskGraph.h"
#include "compiler/emit/StreamCode.h"
#include "compiler/pipeline/Pipeline.h"
#include "compiler/transforms/StripEvents.h"
#include "models/config/ModelConfig.h"
#include "models/graph/StepGraph.h"
#include "tools/evt/CostText.h"
#include "tools/evt/Failure.h"
#include "tools/evt/InputFile.h"
#include "tools/evt/Log.h"
#include "tools/evt/ScheduleText.h"
#include "tools/evt/Words.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/SourceMgr.h"

#include <chrono>
#include <set>

using namespace mlir;

namespace evt::tool {
namespace {

std::string textOf(Operation *op) {
  std::string text;
  llvm::raw_string_ostream(text) << *op << "\n";
  return text;
}

std::string textOf(Location location) {
  if (auto at = dyn_cast<FileLineColLoc>(location))
    return at.getFilename().str() + ":" + std::to_string(at.getLine()) + ":" + std::to_string(at.getColumn());
  return "";
}

DiagnosticRecord recordOf(Diagnostic &diagnostic) {
  static const char *const names[] = {"note", "warning", "error", "remark"};
  DiagnosticRecord record{
      names[static_cast<int>(diagnostic.getSeverity())], textOf(diagnostic.getLocation()), diagnostic.str(), {}};
  for (Diagnostic &note : diagnostic.getNotes())
    record.notes.push_back(recordOf(note));
  return record;
}

/// One file on its way through the pipeline, with its diagnostics.
class Session {
public:
  /// Which diagnostics are printed; all errors are kept.
  enum class Print { nothing, errors, everything };

  explicit Session(Print print)
      : context(MLIRContext::Threading::DISABLED), printer(sources, &context), print(print),
        // Handlers are asked last to first: this one before the printer.
        recorder(&context, [this](Diagnostic &diagnostic) { return record(diagnostic); }) {
    context.printOpOnDiagnostic(false); // the line is enough: an operation may be a function of a hundred
  }

  void open(const std::string &file, const CompileOptions &options) {
    if (llvm::sys::fs::is_directory(file))
      buildModel(file, options);
    else
      parse(file);
    pass.graph = options.graph;
    pass.verify = options.verify;
    if (options.roles && options.target == "cuda")
      throw Failure(ExitCode::wrongInput, "--roles is for --target cpu: on a GPU products have roles anyway");
    pass.roles = options.roles;
    pass.schedules = options.schedules;
    pass.host.program = options.cxx;
    pass.host.march = options.march;
    pass.host.extraFlags = options.cxxFlags;
    pass.host.includeRoot = pipeline::findDeviceHeaders("");
    pass.target = options.target == "cuda" ? emit::Target::cuda : emit::Target::cpu;
    pass.cuda.program = options.nvcc;
    if (std::string found = pipeline::findCudaCompiler(options.nvcc); !found.empty())
      pass.cuda.program = found;
    if (!options.architectures.empty())
      pass.cuda.architectures = options.architectures;
    pass.cuda.extraFlags = options.nvccFlags;
    pass.cuda.includeRoot = pass.host.includeRoot;
    pass.progress = [this](const std::string &step, double seconds) {
      finished.insert(step);
      logStep(step, seconds);
    };
    {
      // There is no line to point at: the message alone is enough.
      Print before = std::exchange(print, Print::nothing);
      program.graph = pipeline::findGraph(*program.module, options.graph);
      print = before;
    }
    if (!program.graph)
      throw Failure(ExitCode::wrongInput, file + ": " + errors.back().message);
  }

  void parse(const std::string &file) {
    requireInput(file);
    program.module = pipeline::parseFile(file, context);
    if (program.module)
      return;
    std::string why; // where it is not shown as it comes
    if (print == Print::nothing && !errors.empty())
      why = ": " + errors.back().location + ": " + errors.back().message;
    throw Failure(ExitCode::wrongInput, "'" + file + "' does not parse" + why);
  }

  /// A model's folder stands for the program of its step. Its text is parsed again, so that diagnostics have lines.
  void buildModel(const std::string &folder, const CompileOptions &options) {
    const std::string config = folder + "/config.json";
    if (!llvm::sys::fs::exists(config))
      throw Failure(ExitCode::wrongInput,
                    "cannot read '" + folder +
                        "': it is a directory without a config.json, required a .mlir file or the "
                        "folder of a model");
    try {
      const CompileOptions::Step &step = options.step;
      const models::StepLimits limits{step.tokens,    step.requests, step.context.value_or(step.usualContext),
                                      step.pageSlots, step.allToAll, step.sameBits};
      const models::ModelConfig model = models::readModelConfig(config);
      if (step.context.value_or(0) > model.maxPositions)
        logWarning("--max-context is " + std::to_string(*step.context) + ", '" + config +
                   "' has max_position_embeddings " + std::to_string(model.maxPositions) +
                   ": the model was not made for positions beyond those");
      if (options.target == "cuda")
        models::requireDimensionsOfGpu(model);
      program.module = models::buildStep(context, model, limits);
      program.madeFrom["rms_norm_eps"] = model.normEpsilon;
    } catch (const std::exception &error) {
      throw Failure(ExitCode::wrongInput, error.what());
    }
    if (!program.module)
      throw Failure(ExitCode::defect, "the step of '" + folder + "' is not a program");
  }

  MLIRContext context;
  llvm::SourceMgr sources;
  SourceMgrDiagnosticHandler printer;
  Print print;
  pipeline::Program program;
  pipeline::Options pass;
  std::vector<DiagnosticRecord> errors;
  std::set<std::string> finished; // steps of the pipeline, successful or not

private:
  LogicalResult record(Diagnostic &diagnostic) {
    bool error = diagnostic.getSeverity() == DiagnosticSeverity::Error;
    if (error)
      errors.push_back(recordOf(diagnostic));
    // What the host compiler says belongs to no line of the program.
    if (!error && finished.count("emit"))
      logWarning(diagnostic.str());
    bool shown = (print == Print::everything || (error && print == Print::errors)) && !finished.count("emit");
    return success(!shown); // success: handled, the printer is not asked
  }

  ScopedDiagnosticHandler recorder;
};

std::vector<ObligationRecord> obligationsOf(const pipeline::Program &program) {
  std::vector<ObligationRecord> records;
  for (const Obligation &o : program.findings.obligations)
    records.push_back({o.name, o.text, o.location});
  return records;
}

[[noreturn]] void failToCompile(const Session &session, const std::string &file, const CompileOptions &options) {
  if (!session.finished.count("emit"))
    throw Failure(ExitCode::checkFailed, "'" + file + "' is refused: nothing was compiled");
  if (!session.finished.count("compile"))
    throw Failure(ExitCode::wrongInput, "'" + file + "' cannot be emitted: nothing was compiled");
  std::string message = session.errors.empty() ? "the artifact cannot be written" : session.errors.back().message;
  bool ours = llvm::StringRef(message).starts_with("the emitted source does not compile");
  CompileOptions standard;
  bool standardCompiler = options.cxx == standard.cxx && options.march == standard.march &&
                          options.cxxFlags == standard.cxxFlags && options.nvcc == standard.nvcc &&
                          options.architectures.empty() && options.nvccFlags.empty();
  throw Failure(ours && standardCompiler ? ExitCode::defect : ExitCode::wrongInput, message);
}

/// The path of nvcc. Throws Failure (missing).
std::string requireCudaCompiler(const std::string &program) {
  std::string found = pipeline::findCudaCompiler(program);
  if (found.empty())
    throw Failure(ExitCode::missing, "no CUDA compiler '" + program +
                                         "' found: install the CUDA toolkit (12.4 or later) or name its nvcc with "
                                         "--nvcc");
  return found;
}

} // namespace

std::string frontendVersion() { return "MLIR " LLVM_VERSION_STRING; }

CheckAnswer checkProgram(const std::string &file, const CompileOptions &options, const CheckRequest &request) {
  Session session(request.quiet ? Session::Print::nothing : Session::Print::everything);
  session.open(file, options);
  if (request.infer)
    stripEvents(session.program.graph);
  auto start = std::chrono::steady_clock::now();
  CheckAnswer answer;
  answer.proved = succeeded(pipeline::check(session.program, session.pass));
  answer.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  ir::Signature signature(session.program.graph);
  answer.graph = session.program.graph.getSymName().str();
  answer.calls = signature.calls.size();
  answer.events = signature.events.size();
  answer.violations = session.program.findings.violations.size();
  answer.obligations = obligationsOf(session.program);
  answer.diagnostics = session.errors;
  if (request.infer)
    answer.inferred = textOf(session.program.graph);
  return answer;
}

std::vector<ObligationRecord> compileProgram(const std::string &file, const CompileOptions &options,
                                             const std::string &directory) {
  if (!llvm::sys::findProgramByName(options.cxx))
    throw Failure(ExitCode::missing, "no C++ compiler '" + options.cxx + "' found: install one or name it with --cxx");
  if (options.target == "cuda")
    requireCudaCompiler(options.nvcc);
  for (const std::string &architecture : options.architectures)
    if (!llvm::Regex("^sm_[0-9]+a?$").match(architecture))
      throw Failure(ExitCode::wrongInput,
                    "--arch is '" + architecture + "', required sm_ and a number, such as sm_90a");
  for (auto it = options.architectures.begin(); it != options.architectures.end(); ++it)
    if (std::find(options.architectures.begin(), it, *it) != it)
      throw Failure(ExitCode::wrongInput, "--arch is '" + *it + "' twice, required once");
  Session session(Session::Print::errors);
  session.open(file, options);
  logDebug("host compiler: " + options.cxx + " -march=" + options.march + " -I" + session.pass.host.includeRoot + " " +
           joined(options.cxxFlags, " "));
  if (failed(pipeline::compile(session.program, session.pass, directory)))
    failToCompile(session, file, options);
  return obligationsOf(session.program);
}

void compileCudaFile(const std::string &source, const CompileOptions &options, const std::string &architecture,
                     const std::string &cubin) {
  pipeline::CudaCompiler compiler;
  compiler.program = requireCudaCompiler(options.nvcc);
  compiler.includeRoot = pipeline::findDeviceHeaders("");
  compiler.extraFlags = options.nvccFlags;
  std::vector<pipeline::KernelResources> unused;
  if (std::string failure = compiler.compile(source, architecture, cubin, unused); !failure.empty())
    throw Failure(ExitCode::wrongInput, failure);
}

const std::vector<std::string> &showStages() {
  static const std::vector<std::string> names{"parsed",   "events", "model",  "cost",
                                              "schedule", "roles",  "source", "manifest"};
  return names;
}

std::string showProgram(const std::string &file, const CompileOptions &options, const std::string &stage) {
  Session session(Session::Print::errors);
  session.open(file, options);
  pipeline::Program &program = session.program;
  if (stage == "parsed")
    return textOf(*program.module);
  // Only the manifest holds something of the proof: the obligations.
  session.pass.verify = options.verify && stage == "manifest";
  if (stage == "roles")
    session.pass.target = emit::Target::cuda;
  if (failed(pipeline::check(program, session.pass)))
    throw Failure(ExitCode::checkFailed, "'" + file + "' is refused: it has no stage '" + stage + "'");
  if (stage == "events")
    return textOf(*program.module);
  if (stage == "model") {
    FailureOr<Extraction> model = extractTaskGraph(program.graph);
    if (failed(model))
      throw Failure(ExitCode::checkFailed, "'" + file + "' is refused: it has no model");
    return printTaskGraph(model->graph);
  }
  if (stage == "cost")
    return costText(ir::Signature(program.graph));
  if (stage == "roles") {
    emit::GraphCode graph(program.graph);
    return emit::StreamPlan(graph).text(graph, program.unsplit);
  }
  // lower() checks again, which derives nothing anew: the events are there.
  program.facts = {};
  if (failed(pipeline::lower(program, session.pass)))
    throw Failure(ExitCode::wrongInput, "'" + file + "' cannot be emitted");
  if (stage == "source")
    return program.source;
  if (stage == "manifest")
    return program.manifest.dump(2) + "\n";
  return scheduleText(emit::GraphCode(program.graph), program.manifest, program.facts);
}

std::string findExamples() {
  std::string folder = pipeline::findDeviceHeaders("") + "/examples";
  return llvm::sys::fs::is_directory(folder) ? folder : "";
}

} // namespace evt::tool
