#include "tools/evt/ceilings/BenchCeilings.h"

#include "runtime/Error.h"
#include "tools/evt/Failure.h"
#include "tools/evt/Frontend.h"
#include "tools/evt/InputFile.h"
#include "tools/evt/Log.h"
#include "tools/evt/ProgramFile.h"
#include "tools/evt/ceilings/Ceilings.h"
#include "tools/evt/ceilings/CpuMeasurement.h"
#include "tools/evt/ceilings/GpuMeasurement.h"

#include <ctime>
#include <fstream>
#include <iostream>

namespace evt::tool {
namespace {

struct Options {
  std::string out, only, cubin, nvcc = "nvcc";
  int64_t megabytes = 0, repeat = 15, rounds = 2000;
  bool json = false;
};

// The clock is read here and nowhere else: ceilings age.
std::string now() {
  std::time_t time = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&time, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

std::string cubinFor(const runtime::cuda::Gpu &gpu, const Options &options) {
  std::string architecture = ceilingsArchitecture(gpu);
  if (!options.cubin.empty())
    return readInput(options.cubin);
  TemporaryDirectory folder;
  std::string source = folder.path() / "ceilings.cu", cubin = folder.path() / "ceilings.cubin";
  std::ofstream(source, std::ios::binary) << ceilingsSource;
  CompileOptions compile;
  compile.nvcc = options.nvcc;
  try {
    compileCudaFile(source, compile, architecture, cubin);
  } catch (const Failure &failure) {
    std::string number = architecture.substr(3);
    throw Failure(failure.code(), std::string(failure.what()) +
                                      "\n  the GPU's kernels can also be compiled elsewhere and given with --cubin:"
                                      "\n  nvcc -std=c++20 -O3 -gencode=arch=compute_" +
                                      number + ",code=" + architecture +
                                      " -cubin -o ceilings.cubin tools/evt/ceilings/ceilings.cu");
  }
  return readInput(cubin);
}

void measure(const Options &options) {
  if (!options.only.empty())
    requireOneOf("--only", options.only, {"cpu", "gpu"});
  std::string file = options.out.empty() ? defaultCeilingsFile() : options.out;
  OutputFile out = beginCeilings(file); // where nothing can be written, nothing needs to be measured
  Progress progress = [](const std::string &what) { std::cerr << "measuring " << what << "\n"; };
  Ceilings ceilings;
  // A part that is not measured now stays as it was.
  if (!options.only.empty())
    try {
      ceilings = readCeilings(file);
    } catch (const Failure &) {
    } catch (const runtime::Error &error) {
      logWarning(std::string(error.what()) + "; it is written anew");
    }
  ceilings.measured = now();
  size_t bytes = static_cast<size_t>(options.megabytes) << 20;
  if (options.only != "cpu") {
    std::unique_ptr<runtime::cuda::Gpu> gpu;
    try {
      gpu = std::make_unique<runtime::cuda::Gpu>(runtime::cuda::openDriver());
    } catch (const runtime::Error &error) {
      if (options.only == "gpu")
        throw Failure(ExitCode::missing, "no GPU to measure: " + runtime::cuda::whyNoGpu(error));
      std::cerr << "no GPU to measure: " << runtime::cuda::whyNoGpu(error) << "\n";
    }
    if (gpu) {
      GpuMeasurement how{bytes, static_cast<unsigned>(options.rounds), static_cast<unsigned>(options.repeat), progress};
      ceilings.gpu = measureGpu(*gpu, cubinFor(*gpu, options), how);
    }
  }
  if (options.only != "gpu") {
    CpuMeasurement how;
    how.bytes = bytes;
    how.repeats = static_cast<unsigned>(options.repeat);
    how.progress = progress;
    ceilings.cpu = measureCpu(how);
  }
  out.stream() << toJson(ceilings);
  out.finish();
  if (options.json)
    std::cout << toJson(ceilings);
  else
    std::cout << toText(ceilings) << "written to " << file << "\n";
}

} // namespace

void addCeilings(Commands &commands) {
  auto options = std::make_shared<Options>();
  CLI::App *command = commands.add(
      "ceilings", "measure what this machine can do at best",
      "Measures the limits that programs are compared with and keeps them in a file for 'evt bench PROGRAM --sol'. Of "
      "a "
      "GPU: how fast memory can be read (by bulk copies into a ring in shared memory, each SM reading a run of its "
      "own, "
      "and by plain loads) and copied, what an event, a barrier of the grid, a ticket, a node of a CUDA graph and a "
      "launch cost, and the rate of bf16 products. Of the CPU: how fast all threads read memory and multiply-add in "
      "f32. Buffers are far larger than the caches, every figure is a median after a warm-up, and what was read is "
      "checked. Close other programs first. The GPU's kernels are compiled with nvcc; without it, give --cubin.",
      {"evt bench ceilings", "evt bench ceilings --only cpu --out ceilings.json --json",
       "evt bench ceilings --cubin ceilings.cubin"},
      [options] { measure(*options); });
  command->add_option("--out", options->out, "where to keep them (default: evt/ceilings.json in the user's cache)")
      ->type_name("FILE");
  command->add_option("--only", options->only, "measure the cpu or the gpu alone; the file keeps the other's numbers")
      ->type_name("PART");
  command
      ->add_option("--megabytes", options->megabytes,
                   "what a stream reads; 0 is 128 times the L2 cache of a GPU, and 4 times the CPU's last cache but at "
                   "least 512")
      ->transform(integerOf<int64_t>(0, 1 << 24))
      ->type_name("N")
      ->capture_default_str();
  command->add_option("--repeat", options->repeat, "runs of each measurement; the median counts")
      ->transform(anyRepeat())
      ->type_name("N")
      ->capture_default_str();
  command->add_option("--rounds", options->rounds, "events, tickets or products in a run on the GPU")
      ->transform(integerOf<int64_t>(1, 1 << 30))
      ->type_name("N")
      ->capture_default_str();
  command->add_option("--nvcc", options->nvcc, "NVIDIA's compiler")->type_name("PROGRAM")->capture_default_str();
  command->add_option("--cubin", options->cubin, "the GPU's kernels, compiled elsewhere from ceilings.cu")
      ->type_name("FILE");
  command->add_flag("--json", options->json, "print them as JSON");
}

} // namespace evt::tool
