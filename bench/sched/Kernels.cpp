#include "Kernels.h"

#include "compiler/pipeline/Pipeline.h"
#include "evt/evt.h"
#include "runtime/artifact/Artifact.h"
#include "runtime/launch/Program.h"

#include "mlir/IR/MLIRContext.h"

#include <filesystem>
#include <stdexcept>
#include <unistd.h>

namespace fs = std::filesystem;

namespace evt::bench {

namespace {

/// A vector of 32-bit integers as an argument; it stays the caller's.
struct IntTensor {
  explicit IntTensor(std::vector<int32_t> values) : values(std::move(values)), shape((int64_t)this->values.size()) {
    tensor = {};
    tensor.data = this->values.data();
    tensor.device = {kDLCPU, 0};
    tensor.ndim = 1;
    tensor.dtype = {kDLInt, 32, 1};
    tensor.shape = &shape;
  }
  IntTensor(const IntTensor &) = delete;
  std::vector<int32_t> values;
  int64_t shape;
  DLTensor tensor;
};

} // namespace

struct Kernel::State {
  std::string kind;
  fs::path directory;
  std::unique_ptr<runtime::Program> program;
};

Kernel::Kernel(const std::string &kind) : state(new State) {
  state->kind = kind;
  state->directory = fs::temp_directory_path() / ("evt-bench-" + kind + "-" + std::to_string(getpid()));
  mlir::MLIRContext context;
  pipeline::Program program;
  pipeline::Options options;
  options.host.includeRoot = pipeline::findDeviceHeaders("");
  program.module = pipeline::parseFile(std::string(EVT_BENCH_PROGRAMS) + "/" + kind + ".mlir", context);
  if (program.module)
    program.graph = pipeline::findGraph(*program.module, "");
  if (!program.graph || mlir::failed(pipeline::compile(program, options, state->directory.string())))
    throw std::runtime_error("the benchmark's program '" + kind + "' does not compile");
  state->program = std::make_unique<runtime::Program>(runtime::loadArtifact(state->directory.string()));
}

Kernel::~Kernel() {
  state->program.reset();
  std::error_code ignored;
  fs::remove_all(state->directory, ignored);
}

double Kernel::run(const Dag &dag, const std::string &schedule, unsigned workers) {
  runtime::LaunchOptions options;
  options.schedule = schedule;
  options.workers = workers;
  auto launch = [&](std::vector<evt_value> values) { return state->program->launch(values, options).seconds; };
  if (dag.kind == "chain")
    return launch({{nullptr, dag.tasks}});
  if (dag.kind == "wide")
    return launch({{nullptr, dag.tasks - 2}});
  if (dag.kind == "stencil")
    return launch({{nullptr, dag.steps}, {nullptr, dag.width}});
  IntTensor first(dag.first), succ(dag.succ), indegree(dag.indegree);
  return launch({{&first.tensor, 0}, {&succ.tensor, 0}, {&indegree.tensor, 0}});
}

} // namespace evt::bench
