#include "tools/evt/Bench.h"

#include "tools/evt/Arguments.h"
#include "tools/evt/BenchRegistry.h"
#include "tools/evt/Failure.h"
#include "tools/evt/LaunchSettings.h"
#include "tools/evt/Observation.h"
#include "tools/evt/ProgramFile.h"
#include "tools/evt/Words.h"
#include "tools/evt/ceilings/BenchCeilings.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <iostream>

namespace evt::tool {
namespace {

struct BenchOptions {
  std::string program;
  CompileOptions compile;
  ArgumentOptions arguments;
  std::vector<std::string> schedules;
  std::vector<unsigned> workers;
  int64_t repeat = 20;
  bool json = false;
};

/// 1, 2, 4, … and the number of CPUs; on a GPU, where fewer workers leave SMs idle, one for each SM.
std::vector<unsigned> usualWorkers(const runtime::Manifest &manifest) {
  if (manifest.cuda)
    return {0};
  std::vector<unsigned> counts;
  unsigned cpus = defaultWorkers();
  for (unsigned n = 1; n < cpus; n *= 2)
    counts.push_back(n);
  counts.push_back(cpus);
  return counts;
}

struct Timing {
  std::string schedule;
  unsigned workers;
  double median, least;
};

void benchProgram(const BenchOptions &options) {
  for (const std::string &schedule : options.schedules)
    requireOneOf("--schedule", schedule, scheduleNames());
  for (unsigned workers : options.workers)
    requirePositive("--workers", workers);
  requirePositive("--repeat", options.repeat);
  OpenedProgram opened = openProgram(options.program, options.compile);
  auto arguments = std::make_shared<Arguments>(opened.manifest(), options.arguments);
  runtime::Binding binding = opened.program->prepare(arguments->values());
  std::vector<std::string> schedules =
      options.schedules.empty() ? supportedSchedules(opened.manifest()) : options.schedules;
  std::vector<Timing> timings;
  for (const std::string &schedule : schedules)
    for (unsigned workers : options.workers.empty() ? usualWorkers(opened.manifest()) : options.workers) {
      std::vector<double> times;
      unsigned used = workers;
      // The first launch touches memory and code for the first time: it is not counted.
      for (int64_t i = 0; i <= options.repeat; ++i) {
        arguments->restore();
        runtime::LaunchOptions launch;
        launch.schedule = schedule;
        launch.workers = workers;
        runtime::LaunchStats stats = launchKept(*opened.program, arguments, nullptr, launch);
        used = stats.workers;
        if (i > 0)
          times.push_back(stats.seconds);
      }
      timings.push_back({schedule, used, median(times), *std::min_element(times.begin(), times.end())});
    }
  if (options.json) {
    nlohmann::ordered_json json{{"graph", opened.manifest().graph}, {"tasks", binding.shapes.tasks}};
    for (size_t s = 0; s < binding.symbols.size(); ++s)
      json["symbols"][opened.manifest().symbols[s].name] = binding.symbols[s];
    for (const Timing &t : timings)
      json["timings"].push_back(
          {{"schedule", t.schedule}, {"workers", t.workers}, {"median_seconds", t.median}, {"least_seconds", t.least}});
    std::cout << json.dump(2) << "\n";
    return;
  }
  std::string shape = describeSymbols(opened.manifest(), binding.symbols);
  std::cout << opened.manifest().graph << (shape.empty() ? "" : " (" + shape + ")") << ": "
            << counted(static_cast<uint64_t>(binding.shapes.tasks), "task") << ", " << options.repeat
            << (options.repeat == 1 ? " launch" : " launches") << " each\n";
  std::cout << fmt::format("{:<10}{:>8}{:>14}{:>14}{:>14}\n", "schedule", "workers", "median ms", "least ms",
                           "µs/task");
  for (const Timing &t : timings)
    std::cout << fmt::format("{:<10}{:>8}{:>14.3f}{:>14.3f}{:>13.3f}\n", t.schedule, t.workers, t.median * 1e3,
                             t.least * 1e3, binding.shapes.tasks ? t.median * 1e6 / binding.shapes.tasks : 0.0);
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
      "times; the first launch of each is not counted. Arguments are given as for 'evt run'." +
          (registered.empty()
               ? ""
               : " A name runs a benchmark of the project instead, 'evt bench NAME --help':" + registered),
      {"evt bench examples/row_sum/row_sum.mlir --size n=512 --in x=random",
       "evt bench row_sum.evt --size n=64 --in x=random --schedule static --workers 1 --repeat 100"},
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
                "static, ticket or dynamic; may be repeated (default: all that the artifact supports)")
      ->type_name("NAME");
  command
      ->add_option("--workers", options->workers,
                   "how many threads; may be repeated (default: 1, 2, 4, … and the CPUs; on a GPU its SMs)")
      ->type_name("N")
      ->allow_extra_args(false);
  command->add_option("--repeat", options->repeat, "counted launches of each")->type_name("N")->capture_default_str();
  command->add_flag("--json", options->json, "print the times as JSON");
  addCompileOptions(command, options->compile);
}

} // namespace evt::tool
