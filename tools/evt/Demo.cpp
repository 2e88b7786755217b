#include "tools/evt/Demo.h"

#include "runtime/artifact/Artifact.h"
#include "tools/evt/Check.h"
#include "tools/evt/CompileOptions.h"
#include "tools/evt/Failure.h"
#include "tools/evt/Frontend.h"
#include "tools/evt/LaunchSettings.h"
#include "tools/evt/Observation.h"
#include "tools/evt/Words.h"
#include "tools/evt/demo/Decoding.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>

namespace fs = std::filesystem;

namespace evt::tool {
namespace {

constexpr int64_t layers = 4, context = 64, steps = 12;
// ‖logits - reference‖ / ‖reference‖ of a step: f32 against double, over `layers` layers and a cache of its own making.
constexpr double tolerance = 1e-5;

/// Where the demo leaves what it makes: the user's cache, or the system's temporary folder where there is none.
fs::path defaultFolder() {
  std::error_code error;
  if (const char *cache = std::getenv("XDG_CACHE_HOME"); cache && *cache)
    return fs::path(cache) / "evt" / "demo";
  if (const char *home = std::getenv("HOME"); home && *home && fs::is_directory(home, error))
    return fs::path(home) / ".cache" / "evt" / "demo";
  return fs::temp_directory_path() / "evt-demo";
}

void compileDecoder(const fs::path &artifact) {
  std::string examples = findExamples(), file = examples + "/decoder/decoder.mlir";
  if (examples.empty() && !frontendVersion().empty())
    throw Failure(ExitCode::missing, "the examples are not installed: run the demo from a source tree");
  CheckRequest quiet;
  quiet.quiet = true;
  CheckAnswer answer = checkProgram(file, {}, quiet);
  std::cout << file << "\n" << proofText(answer) << std::flush;
  auto begin = std::chrono::steady_clock::now();
  compileProgram(file, {}, artifact);
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::cout << fmt::format("compiled into one artifact: {} ({:.1f} s)\n", artifact.string(), seconds) << std::flush;
}

/// Every batch under every schedule, from the one program.
class Demonstration {
public:
  Demonstration(const fs::path &folder, unsigned workers)
      : folder_(folder), program_(runtime::loadArtifact((folder / "decoder.evt").string())), model_(layers, context, 1),
        schedules_(supportedSchedules(program_.manifest())) {
    launch_.workers = workers ? workers : defaultWorkers();
  }

  void run() {
    std::cout << fmt::format("\n{} layers, {} steps, {}; logits against a double reference\n", layers, steps,
                             counted(launch_.workers, "worker"));
    std::cout << fmt::format("{:>6}  {:<9}{:>10}{:>12}{:>14}{:>9}\n", "batch", "schedule", "ms/step", "max error",
                             "rel. error", "logits");
    for (int64_t size : {1, 3, 8}) {
      demo::Batch batch(model_, size, static_cast<uint64_t>(100 * size));
      demo::Script script(model_, batch, steps);
      std::optional<uint64_t> bits;
      for (const std::string &schedule : schedules_) {
        launch_.schedule = schedule;
        demo::DecodingResult result = demo::decode(program_, model_, batch, script, launch_);
        std::cout << fmt::format("{:>6}  {:<9}{:>10.3f}{:>12}{:>14}{:>9}\n", size, schedule,
                                 median(result.seconds) * 1e3, shortNumber(result.largestError),
                                 shortNumber(result.relativeError), result.logits)
                  << std::flush;
        judge(size, schedule, result);
        if (bits.value_or(result.fingerprint) != result.fingerprint)
          failures_.push_back(fmt::format("batch {}: the logits of schedule {} differ from those of {}", size, schedule,
                                          schedules_.front()));
        bits = result.fingerprint;
      }
    }
    if (failures_.empty())
      std::cout << "every schedule gave the same bits\n";
    checkStep();
    drawStep();
    if (!failures_.empty())
      throw Failure(ExitCode::checkFailed, joined(failures_, "; "));
  }

private:
  void judge(int64_t size, const std::string &schedule, const demo::DecodingResult &result) {
    if (!(result.relativeError <= tolerance))
      failures_.push_back(fmt::format("batch {}, {}: relative error {:.3g}, required at most {:.3g}", size, schedule,
                                      result.relativeError, tolerance));
    if (result.sameChoice != result.choices)
      failures_.push_back(fmt::format("batch {}, {}: {} of {} tokens chosen, required all", size, schedule,
                                      result.sameChoice, result.choices));
  }

  // One step with every access recorded, judged by the events alone.
  void checkStep() {
    demo::Batch batch(model_, 3, 7);
    auto recorder = std::make_shared<observe::Recorder>(launch_.workers);
    demo::decode(program_, model_, batch, demo::Script(model_, batch, 1), launch_, recorder);
    runtime::Binding binding = demo::bindingOf(program_, model_, batch);
    observe::CheckReport report = checkRun(*recorder, program_.manifest(), binding.shapes);
    std::cout << observe::toText(report);
    if (!report.clean())
      failures_.push_back("the check of a step found defects");
  }

  void drawStep() {
    demo::Batch batch(model_, 8, 800);
    observe::RecorderOptions light;
    light.accesses = light.notifies = false;
    auto recorder = std::make_shared<observe::Recorder>(launch_.workers, light);
    demo::decode(program_, model_, batch, demo::Script(model_, batch, 2), launch_, recorder);
    runtime::Binding binding = demo::bindingOf(program_, model_, batch);
    fs::path page = folder_ / "timeline.html";
    writeTrace(page, observe::timeline(*recorder), describeProgram(program_.manifest(), binding.shapes),
               describeSymbols(program_.manifest(), binding.symbols) + ", " + launch_.schedule);
    std::cout << "timeline of a step: " << page.string() << "\n";
  }

  fs::path folder_;
  runtime::Program program_;
  demo::Model model_;
  std::vector<std::string> schedules_;
  runtime::LaunchOptions launch_;
  std::vector<std::string> failures_;
};

} // namespace

void addDemo(Commands &commands) {
  struct Options {
    std::string folder;
    unsigned workers = 0;
  };
  auto options = std::make_shared<Options>();
  CLI::App *command = commands.add(
      "demo", "compile a decoder once and decode with it at three batch sizes",
      "Proves and compiles examples/decoder, a small transformer, into one artifact; decodes with that artifact at "
      "batch "
      "1, 3 and 8 under every schedule; compares every logit with a plain double-precision reference; checks one step "
      "by "
      "its events; and draws the timeline of another. Takes seconds.",
      {"evt demo", "evt demo --dir demo --workers 2"}, [options] {
        fs::path folder = options->folder.empty() ? defaultFolder() : fs::path(options->folder);
        std::error_code error;
        fs::create_directories(folder, error);
        if (error)
          throw Failure(ExitCode::wrongInput, "cannot create '" + folder.string() + "': " + error.message());
        compileDecoder(folder / "decoder.evt");
        Demonstration(folder, options->workers).run();
      });
  command->add_option("--dir", options->folder, "where to leave the artifact and the page (default: the user's cache)")
      ->type_name("DIR");
  command->add_option("--workers", options->workers, "how many threads; 0 is one for each CPU")
      ->transform(anyWorkers())
      ->type_name("N")
      ->capture_default_str();
}

} // namespace evt::tool
