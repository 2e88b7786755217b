#include "tools/evt/Bench.h"

#include "runtime/cuda/Gpu.h"
#include "tools/evt/Arguments.h"
#include "tools/evt/BenchRegistry.h"
#include "tools/evt/BenchReport.h"
#include "tools/evt/Expectations.h"
#include "tools/evt/Failure.h"
#include "tools/evt/LaunchSettings.h"
#include "tools/evt/Log.h"
#include "tools/evt/Measurement.h"
#include "tools/evt/ProgramFile.h"
#include "tools/evt/SpeedOfLight.h"
#include "tools/evt/Words.h"
#include "tools/evt/ceilings/BenchCeilings.h"
#include "tools/evt/ceilings/Ceilings.h"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <map>

namespace evt::tool {
namespace {

struct BenchOptions {
  std::string program;
  CompileOptions compile;
  ArgumentOptions arguments;
  std::vector<std::string> schedules;
  std::vector<unsigned> workers;
  int64_t repeat = 20;
  bool sol = false;
  std::string ceilings; // empty: where `evt bench ceilings` puts them
  ExpectOptions expect;
  bool json = false;
};

/// One `evt bench`, step by step.
class Bencher {
public:
  explicit Bencher(const BenchOptions &options)
      : options_(options), ceilings_(options.sol ? std::optional(readCeilings(ceilingsFile(options))) : std::nullopt),
        opened_(openProgram(options.program, options.compile)),
        arguments_(std::make_shared<Arguments>(manifest(), options.arguments,
                                               options.sol ? Arguments::Missing::random : Arguments::Missing::refused)),
        binding_(opened_.program->prepare(arguments_->values())) {}

  void run() {
    if (options_.sol)
      prepareBounds();
    expected_.read(options_.expect, *arguments_);
    measurement_ = options_.sol ? measureCold(*opened_.program, arguments_) : measureWarm(*opened_.program, arguments_);
    report_.graph = manifest().graph;
    for (size_t s = 0; s < binding_.symbols.size(); ++s)
      report_.symbols.emplace_back(manifest().symbols[s].name, binding_.symbols[s]);
    report_.tasks = binding_.shapes.tasks;
    report_.repeat = options_.repeat;
    for (const std::string &schedule : options_.schedules.empty() ? supportedSchedules(manifest()) : options_.schedules)
      for (unsigned workers : options_.workers.empty() ? usualWorkers() : options_.workers)
        time(schedule, workers);
    runtime::LaunchOptions last;
    last.workers = report_.timings.back().workers;
    report_.automatic = opened_.program->choose(arguments_->values(), last).why;
    if (options_.sol)
      watch();
    std::cout << (options_.json ? toJson(report_) : toText(report_));
    if (!report_.failures.empty())
      throw Failure(ExitCode::checkFailed, joined(report_.failures, "; "));
  }

private:
  const runtime::Manifest &manifest() const { return opened_.manifest(); }

  static std::string ceilingsFile(const BenchOptions &options) {
    return options.ceilings.empty() ? defaultCeilingsFile() : options.ceilings;
  }

  /// 1, 2, 4, … and the number of CPUs, or that alone beside a bound; on a GPU, where fewer workers leave SMs idle, one
  /// for each SM.
  std::vector<unsigned> usualWorkers() const {
    if (manifest().cuda)
      return {0};
    std::vector<unsigned> counts;
    unsigned cpus = defaultWorkers();
    for (unsigned n = 1; n < cpus && !options_.sol; n *= 2)
      counts.push_back(n);
    counts.push_back(cpus);
    return counts;
  }

  void prepareBounds() {
    if (!manifest().cost)
      throw Failure(ExitCode::wrongInput, "'" + options_.program +
                                              "' says nothing about costs, required by --sol: "
                                              "compile it with this version of evt");
    SpeedOfLightReport &sol = report_.sol.emplace();
    std::string gpu = manifest().cuda ? runtime::cuda::Gpu(runtime::cuda::openDriver()).name() : "";
    sol.limits = limitsFor(manifest(), *ceilings_, gpu);
    sol.measured = ceilings_->measured;
    sol.bound = boundOf(manifest().cost->ops, manifest().cost->bytes, binding_.symbols, sol.limits);
    for (size_t k = 0; k < manifest().calls.size(); ++k) {
      const runtime::Call &call = manifest().calls[k];
      sol.calls.push_back({call.name,
                           binding_.shapes.calls[k].tasks,
                           boundOf(call.cost->ops, call.cost->bytes, binding_.symbols, sol.limits),
                           {},
                           call.cost->assumptions});
    }
  }

  void time(const std::string &schedule, unsigned workers) {
    std::vector<double> times;
    Measurement::Launch last{};
    // The first launch touches memory and code for the first time: it is not counted.
    for (int64_t i = 0; i <= options_.repeat; ++i) {
      last = measurement_->launch(schedule, workers);
      if (i > 0)
        times.push_back(last.seconds);
      if (i == 0 || i == options_.repeat)
        compareOutputs(last.schedule, last.workers);
    }
    report_.timings.push_back({schedule, last.workers, median(times), *std::min_element(times.begin(), times.end())});
  }

  /// With those of the first launch, which are compared with what is expected.
  void compareOutputs(const std::string &schedule, unsigned workers) {
    measurement_->fetch();
    bool first = report_.outputs.empty();
    size_t next = 0;
    for (size_t number : arguments_->written()) {
      const runtime::HostTensor &tensor = arguments_->at(number);
      const std::string &name = manifest().arguments[number].name;
      if (!first) {
        if (fingerprintOf(tensor) != report_.outputs[next++].fingerprint)
          report_.failures.push_back(fmt::format("'{}' of a launch under {} with {} differs from the first launch, "
                                                 "required the same bits",
                                                 name, schedule, counted(workers, "worker")));
        continue;
      }
      OutputReport output{name, tensor.type(), tensor.shape(), fingerprintOf(tensor), {}};
      output.expectation = expected_.of(name, tensor);
      if (output.expectation && !output.expectation->met())
        report_.failures.push_back("'" + name + "' differs from '" + output.expectation->file + "'");
      report_.outputs.push_back(std::move(output));
    }
  }

  /// Where the time of the fastest one goes.
  void watch() {
    const Timing &fastest = *std::min_element(report_.timings.begin(), report_.timings.end(),
                                              [](const Timing &a, const Timing &b) { return a.median < b.median; });
    SpeedOfLightReport &sol = *report_.sol;
    sol.schedule = fastest.schedule;
    sol.workers = fastest.workers;
    observe::Timeline timeline = measurement_->trace(fastest.schedule, fastest.workers);
    if (timeline.truncated)
      logWarning("the watched launch has more tasks than its record has room for: times of calls are too small");
    Occupations occupations = occupationOf(timeline, sol.calls.size());
    for (size_t k = 0; k < sol.calls.size(); ++k)
      sol.calls[k].occupation = occupations.calls[k];
    sol.nobody = occupations.nobody;
  }

  const BenchOptions &options_;
  std::optional<Ceilings> ceilings_;
  OpenedProgram opened_;
  std::shared_ptr<Arguments> arguments_;
  runtime::Binding binding_;
  Expectations expected_;
  std::unique_ptr<Measurement> measurement_;
  BenchReport report_;
};

void benchProgram(const BenchOptions &options) {
  for (const std::string &schedule : options.schedules)
    requireOneOf("--schedule", schedule, scheduleNames());
  requireTolerance(options.expect);
  Bencher(options).run();
}

} // namespace

std::optional<int> runRegisteredBench(int argc, char **argv) {
  if (argc < 3 || std::string(argv[1]) != "bench")
    return std::nullopt;
  for (const RegisteredBench &bench : registeredBenches())
    if (bench.name == argv[2])
      return bench.run(argc - 2, argv + 2);
  return std::nullopt;
}

void addBench(Commands &commands) {
  auto options = std::make_shared<BenchOptions>();
  auto nested = std::make_shared<Action>(); // of a command after `bench`
  std::string registered;
  for (const RegisteredBench &bench : registeredBenches())
    registered += "\n" + bench.name + ": " + bench.summary;
  CLI::App *command = commands.add(
      "bench", "time a program over schedules and workers",
      "Launches a program again and again under each schedule and number of workers, and prints the median and least "
      "times; the first launch of each is not counted. Arguments are given as for 'evt run'. What the first and the "
      "last "
      "launch of each schedule write must be the same bits. With --sol, times stand beside what this machine could do "
      "at "
      "best: the bytes and operations that the compiler counted, over the limits that 'evt bench ceilings' measured; "
      "before each launch the caches are filled with other data, inputs of floats that are not given are random, and "
      "one more launch is watched to say which call its time goes to." +
          (registered.empty()
               ? ""
               : " A name runs a benchmark of the project instead, 'evt bench NAME --help':" + registered),
      {"evt bench examples/row_sum/row_sum.mlir --size n=512 --in x=random",
       "evt bench row_sum.evt --size n=64 --in x=random --schedule static --workers 1 --repeat 100",
       "evt bench row_sum.evt --size n=4096 --sol"},
      [options, nested] {
        if (*nested)
          return (*nested)();
        if (options->program.empty())
          throw Failure(ExitCode::wrongInput, "PROGRAM is required; 'evt bench --help' says what there is");
        benchProgram(*options);
      });
  Commands commandsOfBench{*command, *nested};
  addCeilings(commandsOfBench);
  command->add_option("PROGRAM", options->program, "an artifact directory, a .mlir file or a benchmark's name");
  addArgumentOptions(command, options->arguments);
  addRepeatable(command, "--schedule", options->schedules,
                "static, ticket, dynamic or auto; may be repeated (default: the first three, as far as the artifact "
                "supports them)")
      ->type_name("NAME");
  command
      ->add_option("--workers", options->workers,
                   "how many threads; may be repeated (default: 1, 2, 4, … and the CPUs; on a GPU its SMs)")
      ->transform(integerOf<unsigned>(1, UINT32_MAX))
      ->type_name("N")
      ->allow_extra_args(false);
  command->add_option("--repeat", options->repeat, "counted launches of each")
      ->transform(anyRepeat())
      ->type_name("N")
      ->capture_default_str();
  command->add_flag("--sol", options->sol, "compare with the speed of light: what the machine could do at best");
  command
      ->add_option("--ceilings", options->ceilings,
                   "the machine's limits, for --sol (default: where 'evt bench ceilings' keeps them)")
      ->type_name("FILE");
  addExpectOptions(command, options->expect);
  command->add_flag("--json", options->json, "print the times as JSON");
  addCompileOptions(command, options->compile);
}

} // namespace evt::tool
