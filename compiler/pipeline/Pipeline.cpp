#include "Pipeline.h"

#include "ArtifactWriter.h"
#include "ForeignSources.h"
#include "ScheduleAnalysis.h"

#include "compiler/analysis/extract/Extract.h"
#include "compiler/roles/SplitRoles.h"
#include "compiler/transforms/CheckGraph.h"
#include "compiler/transforms/InferEvents.h"
#include "compiler/transforms/InternalErrors.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CrashRecoveryContext.h"

#include <chrono>
#include <thread>

using namespace mlir;

namespace evt::pipeline {

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

std::string buildCpu(const Options &options, const std::string &folder, nlohmann::ordered_json &manifest,
                     std::vector<std::string> &made) {
  manifest["cpu"]["arch"] =
#if defined(__aarch64__)
      "aarch64";
#else
      "x86_64";
#endif
  manifest["cpu"]["features"] = options.host.features();
  made.push_back("kernel.so");
  return options.host.compile(folder + "/kernel.cpp", folder + "/kernel.so");
}

/// What a block may have on a GPU of this kind; more is refused here and not only where the GPU is.
constexpr int64_t sharedBytesOfBlock = 227 << 10;
/// Registers that a thread keeps in memory before it is worth a word: a few around a loop cost nothing.
constexpr int64_t spillWorthAWord = 256;

/// How a block is launched: the same for all kernels, or for those of each variant.
void stateVariants(nlohmann::ordered_json &cuda, ArrayRef<emit::CudaKernel::Variant> variants) {
  for (const emit::CudaKernel::Variant &variant : variants) {
    nlohmann::ordered_json block = {{"threads", variant.threads}, {"shared_bytes", variant.sharedBytes}};
    if (variants.size() == 1) {
      cuda = block;
      return;
    }
    block["suffix"] = variant.suffix;
    block["without"] = variant.without;
    cuda["variants"].push_back(block);
  }
}

int64_t sharedBytesOf(const nlohmann::ordered_json &cuda, StringRef kernel) {
  if (cuda.contains("variants"))
    for (const nlohmann::ordered_json &variant : cuda["variants"])
      if (kernel.ends_with(variant["suffix"].get<std::string>()))
        return variant["shared_bytes"];
  return cuda.value("shared_bytes", int64_t(0));
}

/// Why the kernels do not fit, or an empty string. Notes what they need in the manifest.
std::string checkBudgets(ArrayRef<KernelResources> kernels, nlohmann::ordered_json &manifest) {
  for (const KernelResources &k : kernels) {
    int64_t tiles = sharedBytesOf(manifest["cuda"], k.kernel);
    manifest["cuda"]["resources"][k.kernel] = {{"registers", k.registers},
                                               {"spilled_bytes", k.spilledBytes},
                                               {"barriers", k.barriers},
                                               {"static_shared_bytes", k.sharedBytes}};
    if (tiles + k.sharedBytes > sharedBytesOfBlock)
      return "needs " + std::to_string(tiles + k.sharedBytes) + " bytes of shared memory a block (" +
             std::to_string(tiles) + " for tiles and rings, " + std::to_string(k.sharedBytes) +
             " of its own), an SM has " + std::to_string(sharedBytesOfBlock) + ": use smaller tiles";
  }
  return "";
}

/// Why kernels that fit are slower than they should be.
std::vector<std::string> slownessOf(ArrayRef<KernelResources> kernels) {
  const std::string isDefect = ": this is a defect of the compiler, please report the program";
  std::vector<std::string> reasons, one, spilling;
  if (llvm::any_of(kernels, [](const KernelResources &k) { return k.ignoresRoles; }))
    reasons.push_back("the assembler gives all roles of a block as many registers, those that multiply too few" +
                      isDefect);
  for (const KernelResources &k : kernels) {
    if (k.multipliesOneByOne)
      one.push_back(k.kernel);
    if (k.spilledBytes > spillWorthAWord)
      spilling.push_back(k.kernel + " keeps " + std::to_string(k.spilledBytes));
  }
  if (!one.empty())
    reasons.push_back("the assembler lets products of tiles wait for each other in " + llvm::join(one, ", ") +
                      isDefect);
  if (!spilling.empty())
    reasons.push_back(llvm::join(spilling, ", ") +
                      " bytes a thread in memory that do not fit in registers: smaller tiles would be faster");
  return reasons;
}

std::string buildCuda(const Options &options, const std::string &folder, nlohmann::ordered_json &manifest,
                      std::vector<std::string> &made, std::string &refusal, std::vector<std::string> &warnings) {
  HostCompiler host = options.host;
  host.march = ""; // the library that explains a stall runs wherever the GPU is
  host.optimization = "-O1";
  made.push_back("explain.so");
  struct Cubin {
    std::string architecture, file, definition, failure;
    std::vector<KernelResources> resources;
  };
  std::vector<Cubin> cubins;
  const nlohmann::ordered_json variants = manifest["cuda"].value("variants", nlohmann::ordered_json::array());
  for (const std::string &architecture : options.cuda.architectures) {
    if (variants.empty())
      cubins.push_back({architecture, "kernel." + architecture + ".cubin", "", "", {}});
    // Variants have no code in common, so a file each, and NVIDIA's compiler makes them side by side: half of its time
    // it uses one core.
    for (size_t v = 0; v < variants.size(); ++v)
      cubins.push_back({architecture,
                        "kernel." + architecture + "." + variants[v]["suffix"].get<std::string>().substr(1) + ".cubin",
                        std::string(emit::variantMacro) + "=" + std::to_string(v),
                        "",
                        {}});
  }
  std::string failure;
  std::vector<KernelResources> kernels;
  {
    std::vector<std::thread> compilers;
    for (Cubin &cubin : cubins)
      compilers.emplace_back([&] {
        cubin.failure = options.cuda.compile(folder + "/kernel.cu", cubin.architecture, folder + "/" + cubin.file,
                                             cubin.resources, cubin.definition);
      });
    failure = host.compile(folder + "/explain.cpp", folder + "/explain.so");
    for (std::thread &compiler : compilers)
      compiler.join();
  }
  nlohmann::ordered_json files; // of each architecture
  for (const Cubin &cubin : cubins) {
    made.push_back(cubin.file);
    files[cubin.architecture].push_back(cubin.file);
    if (!failure.empty())
      continue;
    failure = cubin.failure;
    kernels.insert(kernels.end(), cubin.resources.begin(), cubin.resources.end());
    if (failure.empty())
      failure = refusal = checkBudgets(cubin.resources, manifest);
    else if (StringRef(failure).contains("Register allocation failed"))
      refusal = "needs more registers than its threads can have: use smaller tiles";
  }
  manifest["cuda"]["cubins"] = nlohmann::ordered_json::array();
  for (auto &[architecture, names] : files.items())
    manifest["cuda"]["cubins"].push_back(names.size() == 1
                                             ? nlohmann::ordered_json{{"arch", architecture}, {"file", names[0]}}
                                             : nlohmann::ordered_json{{"arch", architecture}, {"files", names}});
  warnings = slownessOf(kernels);
  return failure;
}

} // namespace

OwningOpRef<ModuleOp> parseFile(const std::string &path, MLIRContext &context) {
  DialectRegistry registry;
  ir::registerDialects(registry);
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
  // What the tile language is made of is parsed safely (compiler/ir/repairs). Operations outside it are parsed before
  // they are refused, and some of MLIR 19's crash on types they do not expect; such a text must get a message all the
  // same.
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
//   split roles       products, for a GPU where the target has a form for their roles, and on the CPU if asked for,
//                     to run them as a GPU does. Before the proof, so that what is proved is what is run
//   infer events      a graph without events gets them from what its tasks read and write; a graph with events keeps
//                     them, because whoever wrote them may know more than the analysis does
//   prove             order, counts and progress for every shape. First, because nothing after it looks for mistakes:
//                     a schedule only has to respect the events
//   plan schedules    which coordinates a call depends on itself along (static), who waits for an element (dynamic)
//   emit              C++ against the device API and the manifest; sources written by hand are read, and from here on
//                     known by their names in the artifact. All shapes stay symbolic up to here and in the kernel
//   compile, write    the host compiler, then the directory is moved into place, so that a failed run leaves the old
//                     one
//
//===--------------------------------------------------------------------------------------------------------------===//

LogicalResult check(Program &program, const Options &options) {
  program.facts.wanted = options.schedules;
  const bool isCuda = options.target == emit::Target::cuda;
  if ((isCuda || options.roles) && failed(timed(options, "split roles", [&]() -> LogicalResult {
        if (isCuda && failed(emit::splitProducts(program.graph, program.unsplit)))
          return failure();
        if (!isCuda)
          roles::splitRoles(*program.module);
        return verify(*program.module);
      })))
    return failure();
  if (!hasEvents(program.graph) && hasCalls(program.graph))
    if (failed(timed(options, "infer events", [&] {
          return reportInternalErrors(program.graph, [&] { return addInferredEvents(program.graph, options.proof); });
        })))
      return failure();
  auto prove = [&]() -> LogicalResult {
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
      program.facts.verified = true;
    }
    if (failed(analyseSchedules(*model, program.facts)))
      return failure();
    std::string refusal = program.facts.dynamicRefusal();
    if (!refusal.empty() && !program.facts.wants("static") && !program.facts.wants("ticket"))
      return emitError(program.graph.getLoc(), "no schedule that is wanted is possible: ") << refusal;
    return success();
  };
  return timed(options, "prove", [&] { return reportInternalErrors(program.graph, prove); });
}

LogicalResult lower(Program &program, const Options &options) {
  if (failed(check(program, options)))
    return failure();
  return timed(options, "emit", [&]() -> LogicalResult {
    FailureOr<Texts> foreign = takeForeignSources(program.graph);
    if (failed(foreign))
      return failure();
    program.foreign = *foreign;
    emit::GraphCode graph(program.graph);
    program.manifest = emit::emitManifest(graph, program.facts);
    if (!program.madeFrom.empty())
      program.manifest["made_from"] = program.madeFrom;
    if (options.target == emit::Target::cuda) {
      emit::CudaKernel kernel = emit::emitCudaKernel(graph, program.facts);
      program.source = kernel.source;
      program.explain = kernel.explain;
      program.manifest["target"] = "cuda";
      program.manifest["kernel"] = "explain.so";
      stateVariants(program.manifest["cuda"], kernel.variants);
      emit::statePacked(program.manifest, graph, kernel.packed);
      emit::stateEarly(program.manifest, graph, kernel.early);
      for (const emit::StreamPlan::Map &map : kernel.maps)
        program.manifest["cuda"]["tensor_maps"].push_back(
            {{"memory", map.memory}, {"box", {map.rows, map.columns}}, {"may_read_outside", map.mayReadOutside}});
      for (unsigned m : kernel.aligned)
        if (auto &memory = program.manifest["memories"][m]; memory.contains("argument"))
          program.manifest["arguments"][memory["argument"].get<unsigned>()]["align"] = 16;
    } else {
      program.source = emit::emitKernel(graph, program.facts);
    }
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
    bool cuda = options.target == emit::Target::cuda;
    std::string refusal;
    std::vector<std::string> warnings;
    ArtifactContents contents;
    contents.manifest = program.manifest;
    contents.texts.emplace_back(cuda ? "kernel.cu" : "kernel.cpp", program.source);
    if (cuda)
      contents.texts.emplace_back("explain.cpp", program.explain);
    contents.texts.emplace_back("program.mlir", ir);
    contents.texts.insert(contents.texts.end(), program.foreign.begin(), program.foreign.end());
    contents.build = [&](const std::string &folder, nlohmann::ordered_json &manifest, std::vector<std::string> &made) {
      return cuda ? buildCuda(options, folder, manifest, made, refusal, warnings)
                  : buildCpu(options, folder, manifest, made);
    };
    std::string error = writeArtifact(contents, directory);
    ir::GraphOp graph = program.graph;
    for (const std::string &warning : warnings)
      graph.emitWarning(warning);
    if (error.empty())
      return success();
    if (!refusal.empty()) {
      graph.emitOpError(refusal);
      return failure();
    }
    // Whose fault it is that a kernel does not compile, its compiler's message has to tell.
    program.module->emitError(program.foreign.empty() ? "" : "with its foreign sources, ") << error;
    return failure();
  });
}

} // namespace evt::pipeline
