#include "tools/evt/Run.h"

#include "runtime/Error.h"
#include "runtime/tensor/Npy.h"
#include "tools/evt/Arguments.h"
#include "tools/evt/CompileOptions.h"
#include "tools/evt/Expectations.h"
#include "tools/evt/Failure.h"
#include "tools/evt/Injection.h"
#include "tools/evt/LaunchSettings.h"
#include "tools/evt/Log.h"
#include "tools/evt/Observation.h"
#include "tools/evt/OutputFile.h"
#include "tools/evt/ProgramFile.h"
#include "tools/evt/RunReport.h"
#include "tools/evt/Words.h"

#include <iostream>
#include <map>
#include <optional>

namespace evt::tool {
namespace {

struct RunOptions {
  std::string program;
  CompileOptions compile;
  ArgumentOptions arguments;
  std::vector<std::string> out; // NAME=FILE
  ExpectOptions expect;
  std::string schedule = "auto", trace, inject;
  unsigned workers = 0;
  std::optional<int64_t> repeat;
  uint64_t perturb = 0;
  double watchdog = EVT_DEFAULT_WATCHDOG_SECONDS;
  bool check = false, json = false, verbose = false;

  bool observed() const { return check || !trace.empty(); }
};

/// One `evt run`, step by step.
class Runner {
public:
  explicit Runner(const RunOptions &options)
      : options_(options), opened_(openProgram(options.program, options.compile)),
        arguments_(std::make_shared<Arguments>(manifest(), options.arguments)) {}

  void run() {
    if (options_.check && onGpu())
      throw Failure(ExitCode::wrongInput, "--check is given for an artifact of target 'cuda', required target 'cpu': "
                                          "only workers of the CPU can be recorded access by access");
    expected_.read(options_.expect, *arguments_);
    for (const std::string &text : options_.out)
      arguments_->tensor("--out", nameAndValue("--out", text).first);
    binding_ = opened_.program->prepare(arguments_->values());
    launch_.schedule = options_.schedule;
    launch_.workers = options_.workers || onGpu() ? options_.workers : defaultWorkers();
    launch_.watchdogSeconds = options_.watchdog;
    launch_.perturb = options_.perturb;
    if (!options_.inject.empty()) {
      Injection injection = parseInjection(options_.inject, manifest(), binding_.shapes);
      launch_.injectCall = injection.call;
      launch_.injectTask = injection.task;
    }
    begin();
    int64_t plain = options_.repeat.value_or(options_.observed() ? 0 : 1);
    for (int64_t i = 0; i < plain; ++i)
      report_.seconds.push_back(launch(nullptr).seconds);
    if (options_.observed())
      observe();
    writeOutputs();
    std::cout << (options_.json ? toJson(report_) : toText(report_));
    if (!report_.ok())
      throw Failure(ExitCode::checkFailed, joined(report_.failures, "; "));
  }

private:
  const runtime::Manifest &manifest() const { return opened_.manifest(); }
  bool onGpu() const { return manifest().cuda.has_value(); }

  void begin() {
    report_.graph = manifest().graph;
    report_.verbose = options_.verbose;
    for (size_t s = 0; s < manifest().symbols.size(); ++s)
      report_.symbols.emplace_back(manifest().symbols[s].name, binding_.symbols[s]);
  }

  runtime::LaunchStats launch(const std::shared_ptr<observe::Recorder> &recorder) {
    if (launches_++)
      arguments_->restore();
    runtime::LaunchStats stats = launchKept(*opened_.program, arguments_, recorder, launch_);
    report_.schedule = runtime::scheduleNames[stats.schedule];
    report_.why = stats.why;
    report_.workers = stats.workers;
    report_.tasks = stats.tasks;
    std::vector<std::string> finished;
    for (uint64_t tasks : stats.finished)
      finished.push_back(std::to_string(tasks));
    logDebug("launch " + std::to_string(launches_) + ": " + report_.schedule + ", " + duration(stats.seconds) +
             ", tasks by worker: " + joined(finished));
    compareWithFirst();
    return stats;
  }

  // Results are the same bits in every launch; a difference is a defect worth more than any result.
  void compareWithFirst() {
    for (size_t number : arguments_->written()) {
      uint64_t fingerprint = fingerprintOf(arguments_->at(number));
      auto [first, inserted] = fingerprints_.try_emplace(number, fingerprint);
      if (!inserted && first->second != fingerprint)
        report_.failures.push_back("'" + manifest().arguments[number].name + "' of launch " +
                                   std::to_string(launches_) + " differs from launch 1, required the same bits");
    }
  }

  void observe() {
    observe::RecorderOptions recording;
    recording.accesses = recording.notifies = options_.check;
    // On a GPU nobody can be called; its workers write down their times themselves.
    auto recorder = onGpu() ? nullptr : std::make_shared<observe::Recorder>(launch_.workers, recording);
    auto trace = std::make_unique<runtime::LaunchTrace>();
    launch_.trace = onGpu() ? trace.get() : nullptr;
    observe::ProgramDescription program = describeProgram(manifest(), binding_.shapes);
    std::string caption = describeSymbols(manifest(), binding_.symbols);
    auto draw = [&](const std::string &text) {
      if (!options_.trace.empty())
        writeTrace(options_.trace, onGpu() ? timelineOf(*trace, program) : observe::timeline(*recorder), program, text);
    };
    try {
      report_.observedSeconds = launch(recorder).seconds;
    } catch (const runtime::Error &error) {
      // A run that was cut short is worth looking at, unless workers that did not leave still write to the recorder.
      bool cutShort = error.code() == EVT_ERROR_STUCK || error.code() == EVT_ERROR_FAULT;
      bool gone = std::string(error.what()).find("did not leave") == std::string::npos;
      if (cutShort && gone)
        draw(caption);
      throw;
    }
    draw(caption + (caption.empty() ? "" : ", ") + report_.schedule);
    if (!options_.check)
      return;
    report_.check = checkRun(*recorder, manifest(), binding_.shapes);
    report_.obligations = manifest().obligations;
    if (!report_.check->refusal.empty())
      report_.failures.push_back("nothing was checked: " + report_.check->refusal);
    else if (!report_.check->clean())
      report_.failures.push_back("the check found " + counted(totalOf(*report_.check), "defect"));
  }

  static uint64_t totalOf(const observe::CheckReport &check) {
    uint64_t total = 0;
    for (const observe::Finding &finding : check.findings)
      total += finding.total;
    return total;
  }

  void writeOutputs() {
    for (const std::string &text : options_.out) {
      auto [name, file] = nameAndValue("--out", text);
      OutputFile out(file);
      runtime::writeNpy(out.stream(), arguments_->tensor("--out", name));
      out.finish();
    }
    for (size_t number : arguments_->written()) {
      const runtime::HostTensor &tensor = arguments_->at(number);
      OutputReport output{manifest().arguments[number].name, tensor.type(), tensor.shape(), fingerprintOf(tensor), {}};
      output.expectation = expected_.of(output.name, tensor);
      if (output.expectation && !output.expectation->met())
        report_.failures.push_back("'" + output.name + "' differs from '" + output.expectation->file + "'");
      report_.outputs.push_back(std::move(output));
    }
  }

  const RunOptions &options_;
  OpenedProgram opened_;
  std::shared_ptr<Arguments> arguments_;
  runtime::Binding binding_;
  runtime::LaunchOptions launch_;
  RunReport report_;
  Expectations expected_;
  std::map<size_t, uint64_t> fingerprints_; // of the first launch
  unsigned launches_ = 0;
};

void run(const RunOptions &options) {
  // What is wrong with the command line alone is said before anything is compiled.
  requireOneOf("--schedule", options.schedule, scheduleNames());
  if (!options.trace.empty())
    requireTraceName(options.trace);
  requireWatchdog(options.watchdog);
  requireTolerance(options.expect);
  Runner(options).run();
}

} // namespace

void addRun(Commands &commands) {
  auto options = std::make_shared<RunOptions>();
  CLI::App *command =
      commands.add("run", "run a program on given arguments",
                   "Runs an artifact, or a .mlir file after compiling it to a temporary one. Arguments are given by "
                   "name; outputs that "
                   "are not given are allocated from the shapes of the others and hold NaN (or bytes 0xA5) before the "
                   "run. Prints the "
                   "time and a checksum of every output, which depends on neither the schedule nor the number of "
                   "workers. With --check "
                   "every access of every task is recorded and judged by the events alone, obligations included.",
                   {"evt run examples/row_sum/row_sum.mlir --in x='random(37x4096)' --out y=y.npy",
                    "evt run row_sum.evt --size n=37 --in x=random --schedule ticket --workers 4 --repeat 20",
                    "evt run row_sum.evt --size n=37 --in x=random --check --trace timeline.html",
                    "evt run row_sum.evt --size n=3 --in x=random --inject drop-notify=partial:1,2 --watchdog 1"},
                   [options] { run(*options); });
  command->add_option("PROGRAM", options->program, "an artifact directory or a .mlir file")->required();
  addArgumentOptions(command, options->arguments);
  addRepeatable(command, "--out", options->out, "write an argument to a .npy file after the run; may be repeated")
      ->type_name("NAME=FILE");
  addExpectOptions(command, options->expect);
  command
      ->add_option("--schedule", options->schedule,
                   "static, ticket or dynamic; auto picks the one that should cost least here")
      ->type_name("NAME")
      ->capture_default_str();
  command->add_option("--workers", options->workers, "how many threads; 0 is one for each CPU, or each SM of a GPU")
      ->transform(anyWorkers())
      ->type_name("N")
      ->capture_default_str();
  command->add_option("--repeat", options->repeat, "launch N times and print the median time (default: 1)")
      ->transform(anyRepeat())
      ->type_name("N");
  command->add_flag("--check", options->check,
                    "record a launch and check that events order its accesses and that counts are exact; exit code 1 "
                    "and a report otherwise");
  command->add_option("--trace", options->trace, "record a launch as a page (.html) or for Perfetto (.json)")
      ->type_name("FILE");
  command->add_option("--perturb", options->perturb, "a seed: workers stall at random points; 0 is off")
      ->transform(anySeed())
      ->type_name("SEED")
      ->capture_default_str();
  command->add_option("--inject", options->inject, "drop the notifications of one task: drop-notify=CALL:COORD")
      ->type_name("FAULT");
  command
      ->add_option("--watchdog", options->watchdog,
                   "stop a launch in which no task finishes for so long, and say why; 0 is never")
      ->type_name("SECONDS")
      ->capture_default_str();
  command->add_flag("-v,--verbose", options->verbose, "say why this schedule was picked");
  command->add_flag("--json", options->json, "print the result as JSON");
  addCompileOptions(command, options->compile);
}

} // namespace evt::tool
