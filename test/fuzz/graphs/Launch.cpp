#include "Launch.h"

#include "runtime/Error.h"
#include "runtime/artifact/Artifact.h"
#include "runtime/launch/Program.h"
#include "tools/evt/Observation.h"

namespace evt::fuzz {

struct LoadedProgram::State {
  runtime::Program program;
};

LoadedProgram::LoadedProgram(const std::string &directory)
    : state(new State{runtime::Program(runtime::loadArtifact(directory))}) {}
LoadedProgram::~LoadedProgram() = default;

Outcome LoadedProgram::launch(const std::vector<Argument> &arguments, const std::vector<Argument> &expected,
                              const LaunchChoice &choice) {
  const runtime::Manifest &manifest = state->program.manifest();
  for (size_t s = 0; s < runtime::scheduleNames.size(); ++s)
    if (runtime::scheduleNames[s] == choice.schedule && !manifest.schedules[s].supported)
      return {false, "", ""};
  std::vector<Argument> actual = arguments;
  std::vector<DLTensor> tensors(actual.size());
  std::vector<evt_value> values;
  for (size_t a = 0; a < actual.size(); ++a) {
    DLTensor &t = tensors[a];
    t = {};
    t.data = actual[a].data.data();
    t.device = {kDLCPU, 0};
    t.ndim = static_cast<int32_t>(actual[a].dims.size());
    t.dtype = {kDLInt, 32, 1};
    t.shape = actual[a].dims.data();
    values.push_back(actual[a].isIndex ? evt_value{nullptr, actual[a].index} : evt_value{&t, 0});
  }
  runtime::LaunchOptions options;
  options.schedule = choice.schedule;
  options.workers = choice.workers;
  options.perturb = choice.perturb;
  options.watchdogSeconds = choice.watchdogSeconds;
  Outcome outcome;
  observe::Recorder recorder(choice.workers);
  if (choice.check)
    options.hooks = recorder.hooks();
  try {
    runtime::Shapes shapes = state->program.prepare(values).shapes;
    state->program.launch(values, options);
    if (choice.check) {
      observe::CheckReport report = tool::checkRun(recorder, manifest, shapes);
      if (!report.clean())
        outcome.refusal = report.refusal.empty() ? observe::toText(report) : report.refusal;
    }
  } catch (const runtime::Error &error) {
    outcome.refusal = error.what();
    return outcome;
  }
  for (size_t a = 0; a < actual.size() && outcome.wrong.empty(); ++a)
    for (size_t i = 0; i < actual[a].data.size(); ++i)
      if (actual[a].data[i] != expected[a].data[i]) {
        outcome.wrong = "argument " + std::to_string(a) + " element " + std::to_string(i) + ": found " +
                        std::to_string(actual[a].data[i]) + ", required " + std::to_string(expected[a].data[i]);
        break;
      }
  return outcome;
}

LaunchChoice randomChoice(Random &random) {
  static const char *schedules[] = {"static", "ticket", "dynamic"};
  LaunchChoice choice;
  choice.schedule = schedules[pick(random, 0, 2)];
  choice.workers = static_cast<unsigned>(chance(random, 50) ? pick(random, 1, 4) : pick(random, 1, 16));
  choice.perturb = chance(random, 50) ? random() | 1 : 0;
  choice.check = chance(random, 15);
  return choice;
}

std::string describe(const LaunchChoice &choice) {
  return choice.schedule + ", " + std::to_string(choice.workers) + " workers, perturb " +
         std::to_string(choice.perturb) + (choice.check ? ", checked" : "");
}

} // namespace evt::fuzz
