// Programs with one mistake in their events. Each is judged by brute force first, then shown to the compiler:
//
//   judged   the proof says   must hold
//
//   wrong    a violation      the judge finds a defect at the counterexample's shape, too
//
//   wrong    an obligation    a checked run at the shape where the judge found the defect reports, faults or stalls
//
//   wrong    proved           never: a miss
//
//   right    a violation      the judge finds a defect at the counterexample's shape, larger than those it tried
//
//   right    anything else    nothing
#include "GraphCampaign.h"

#include "Batch.h"
#include "Frontend.h"
#include "Launch.h"
#include "Mutation.h"
#include "Routing.h"

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <regex>

namespace evt::fuzz {

namespace {

struct Mutant {
  uint64_t seed = 0;
  std::string name, mistake;
  std::unique_ptr<Subject> subject;
  // Where the judge found it wrong; `defect` is empty if nowhere.
  std::string defect;
  Values values;
  std::vector<Argument> arguments;
  Kernel kernel;
};

constexpr size_t mostTasks = 400;         // at a shape that is tried
constexpr size_t mostTasksAtAll = 20'000; // at a counterexample

class Campaign {
public:
  explicit Campaign(const CampaignOptions &options) : options(options), frontend({options.operations}) {}

  int run() {
    auto start = std::chrono::steady_clock::now();
    for (uint64_t seed = options.seed; mutants < options.mutants; ++seed)
      tryOne(seed);
    launchBatch();
    std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    printf("%d mutants: %d wrong, %d of them caught by proof, %d by a checked run; %d right, %d of them refused with a "
           "true "
           "counterexample at a larger shape; %d failures; %.1f s\n",
           mutants, wrong, byProof, byRun, mutants - wrong, beyond, failures, seconds.count());
    return failures;
  }

private:
  void tryOne(uint64_t seed) {
    Random random(seed * 6700417 + 5);
    auto mutant = std::make_unique<Mutant>();
    mutant->seed = seed;
    mutant->name = "m" + std::to_string(seed);
    if (chance(random, 4)) {
      auto mistake = static_cast<RoutingMistake>(pick(random, 1, static_cast<int>(RoutingMistake::Count_) - 1));
      mutant->subject = std::make_unique<RoutingSubject>(random, mistake);
      mutant->mistake = "routing mistake " + std::to_string(static_cast<int>(mistake));
    } else {
      Model model = randomModel(random, chance(random, 30));
      addEvents(model, random);
      std::optional<std::string> mistake = mutate(model, random);
      if (!mistake)
        return;
      mutant->mistake = *mistake;
      mutant->subject = std::make_unique<AffineSubject>(std::move(model));
    }
    ++mutants;
    judge(*mutant, random);
    wrong += !mutant->defect.empty();
    Checked checked = frontend.check(mutant->subject->text(mutant->name), mutant->name);
    if (options.verbose)
      printf("%s: proof %.2f s\n", mutant->name.c_str(), checked.seconds), fflush(stdout);
    if (!checked.accepted && checked.findings.violations.empty())
      return fail(*mutant, "refused without a violation", checked.diagnostics);
    if (!checked.findings.violations.empty())
      return judgeViolations(*mutant, checked, random);
    if (mutant->defect.empty())
      return;
    if (checked.findings.obligations.empty())
      return fail(*mutant, "MISSED: proved although it is wrong", mutant->defect);
    mutant->kernel = {mutant->name, checked.source, checked.manifest};
    batch.push_back(std::move(mutant));
    if (static_cast<int>(batch.size()) >= options.batch)
      launchBatch();
  }

  /// Tries all small shapes and some larger ones, the smallest first.
  void judge(Mutant &mutant, Random &random) {
    size_t symbols = mutant.subject->symbols().size();
    std::vector<Values> shapes;
    forEachPoint(std::vector<int64_t>(symbols, 4), [&](const std::vector<int64_t> &point) { shapes.push_back(point); });
    for (int k = 0; k < 12; ++k)
      shapes.push_back(mutant.subject->randomValues(random, 9));
    for (const Values &values : shapes) {
      std::vector<Argument> arguments = mutant.subject->arguments(values, random);
      Enumeration program = mutant.subject->enumerate(values, arguments);
      if (program.tasks.size() > mostTasks)
        continue;
      mutant.defect = findDefect(program);
      if (mutant.defect.empty())
        continue;
      mutant.values = values;
      mutant.arguments = std::move(arguments);
      return;
    }
  }

  void judgeViolations(const Mutant &mutant, const Checked &checked, Random &random) {
    bool judged = false;
    for (const Violation &violation : checked.findings.violations) {
      std::optional<bool> verdict = isTrue(mutant, violation, random);
      judged |= verdict.has_value();
      if (verdict == false)
        return fail(mutant, "refused with a false counterexample", checked.diagnostics);
    }
    if (!judged)
      return fail(mutant, "refused with no counterexample small enough to judge", checked.diagnostics);
    (mutant.defect.empty() ? beyond : byProof) += 1;
  }

  /// Whether the program is wrong at the shape of a violation's counterexample; none if it has too many tasks to tell.
  std::optional<bool> isTrue(const Mutant &mutant, const Violation &violation, Random &random) {
    std::vector<std::string> names = mutant.subject->symbols();
    Values values(names.size(), 0);
    for (const Note &note : violation.notes)
      if (note.message.starts_with("for example with "))
        for (std::sregex_iterator at(note.message.begin(), note.message.end(), assignment), end; at != end; ++at)
          for (size_t s = 0; s < names.size(); ++s)
            if ((*at)[1] == names[s])
              values[s] = std::stoll((*at)[2]);
    for (int64_t v : values)
      if (v > 200)
        return std::nullopt;
    // What data decides may go wrong for some data only.
    for (int tries = mutant.subject->isAffine() ? 1 : 20; tries > 0; --tries) {
      Enumeration program = mutant.subject->enumerate(values, mutant.subject->arguments(values, random));
      if (program.tasks.size() > mostTasksAtAll)
        return std::nullopt;
      if (!findDefect(program).empty())
        return true;
    }
    return false;
  }

  void launchBatch() {
    if (batch.empty())
      return;
    std::vector<Kernel> kernels;
    for (const auto &mutant : batch)
      kernels.push_back(mutant->kernel);
    compileBatch(kernels, options.folder, "mutants" + std::to_string(batches++), "-O0");
    for (const auto &mutant : batch) {
      LoadedProgram program(options.folder + "/" + mutant->name);
      LaunchChoice choice;
      choice.schedule = "ticket";
      choice.workers = 2;
      choice.check = true;
      choice.watchdogSeconds = 5;
      // Results of a wrong program are not compared: only the report counts.
      Outcome outcome = program.launch(mutant->arguments, mutant->arguments, choice);
      if (outcome.refusal.empty())
        fail(*mutant, "MISSED: a checked run reports nothing", mutant->defect);
      else
        ++byRun;
      std::filesystem::remove_all(options.folder + "/" + mutant->name);
    }
    batch.clear();
  }

  void fail(const Mutant &mutant, const std::string &what, const std::string &detail) {
    ++failures;
    std::string at;
    for (size_t s = 0; s < mutant.values.size(); ++s)
      at += " " + mutant.subject->symbols()[s] + " = " + std::to_string(mutant.values[s]);
    printf("FAILURE mutant %llu (%s): %s\n%s\njudge:%s: %s\n%s\n", static_cast<unsigned long long>(mutant.seed),
           mutant.mistake.c_str(), what.c_str(), detail.substr(0, 3000).c_str(), at.c_str(), mutant.defect.c_str(),
           mutant.subject->text(mutant.name).c_str());
    fflush(stdout);
  }

  const CampaignOptions &options;
  const std::regex assignment{"([A-Za-z_]+) = (-?[0-9]+)"};
  Frontend frontend;
  std::vector<std::unique_ptr<Mutant>> batch;
  int batches = 0, mutants = 0, wrong = 0, byProof = 0, byRun = 0, beyond = 0, failures = 0;
};

} // namespace

int runMutants(const CampaignOptions &options) { return Campaign(options).run(); }

} // namespace evt::fuzz
