#include "GraphCampaign.h"

#include "Batch.h"
#include "Frontend.h"
#include "Launch.h"
#include "Routing.h"

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <future>

namespace evt::fuzz {

namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

struct Entry {
  uint64_t seed = 0;
  std::string name;
  std::unique_ptr<Subject> subject;
  Kernel kernel;
};

class Campaign {
public:
  explicit Campaign(const CampaignOptions &options) : options(options), frontend({options.operations}) {}

  int run() {
    double start = now();
    std::future<void> compiling;
    std::vector<Entry> compiled;
    // While one batch is compiled, the next is generated and proved.
    for (int first = 0, index = 0; first < options.graphs; first += options.batch, ++index) {
      std::vector<Entry> batch;
      for (int i = first; i < std::min(first + options.batch, options.graphs); ++i)
        if (auto entry = generate(options.seed + static_cast<uint64_t>(i)))
          batch.push_back(std::move(*entry));
      if (options.proofsOnly)
        continue;
      finish(compiling, compiled);
      compiled = std::move(batch);
      std::vector<Kernel> kernels;
      for (const Entry &entry : compiled)
        kernels.push_back(entry.kernel);
      std::string name = "batch" + std::to_string(index);
      // Most kernels run once or twice on a few numbers, so optimizing them would take longest of all.
      std::string optimization = index % 8 == 0 ? "-O1" : "-O0";
      compiling =
          std::async(std::launch::async, [=, this] { compileBatch(kernels, options.folder, name, optimization); });
    }
    finish(compiling, compiled);
    printf("%d graphs (%d with inferred events, %d data-dependent): %d launches, %d of them checked; %d failures; "
           "proofs %.1f s, longest %.2f s; %.1f s in all\n",
           options.graphs, inferred, dataDependent, launches, checkedLaunches, failures, proofSeconds, longestProof,
           now() - start);
    return failures;
  }

private:
  std::optional<Entry> generate(uint64_t seed) {
    Random random(seed * 7919);
    Entry entry;
    entry.seed = seed;
    entry.name = "g" + std::to_string(seed);
    Checked checked;
    if (chance(random, 10)) {
      ++dataDependent;
      entry.subject = std::make_unique<RoutingSubject>(random);
      checked = check(entry);
    } else {
      bool byHand = chance(random, 55);
      Model model = randomModel(random, !byHand && chance(random, 80));
      if (byHand)
        addEvents(model, random);
      inferred += !byHand;
      entry.subject = std::make_unique<AffineSubject>(std::move(model));
      checked = check(entry);
    }
    if (!checked.accepted) {
      fail(entry, "a well-formed graph is not accepted", checked.diagnostics);
      return std::nullopt;
    }
    if (entry.subject->isAffine() && !checked.findings.obligations.empty())
      fail(entry, "an affine graph is left with an obligation", checked.diagnostics);
    entry.kernel = {entry.name, checked.source, checked.manifest};
    return entry;
  }

  Checked check(const Entry &entry) {
    Checked checked = frontend.check(entry.subject->text(entry.name), entry.name);
    proofSeconds += checked.seconds;
    longestProof = std::max(longestProof, checked.seconds);
    if (options.verbose)
      printf("%s: proof %.2f s\n", entry.name.c_str(), checked.seconds), fflush(stdout);
    return checked;
  }

  void finish(std::future<void> &compiling, std::vector<Entry> &batch) {
    if (!compiling.valid())
      return;
    compiling.get();
    for (Entry &entry : batch) {
      launchAll(entry);
      std::filesystem::remove_all(options.folder + "/" + entry.name);
    }
  }

  void launchAll(Entry &entry) {
    Random random(entry.seed * 104729 + 1);
    LoadedProgram program(options.folder + "/" + entry.name);
    Values values;
    std::vector<Argument> arguments, expected;
    for (int k = 0; k < options.launches; ++k) {
      if (k % 2 == 0) {
        values = entry.subject->randomValues(random, 9);
        arguments = entry.subject->arguments(values, random);
        expected = entry.subject->expected(values, arguments);
      }
      LaunchChoice choice = randomChoice(random);
      Outcome outcome = program.launch(arguments, expected, choice);
      if (!outcome.supported) {
        choice.schedule = "ticket";
        outcome = program.launch(arguments, expected, choice);
      }
      ++launches;
      checkedLaunches += choice.check;
      if (outcome.refusal.empty() && outcome.wrong.empty())
        continue;
      std::string where = describe(choice) + ";";
      for (size_t s = 0; s < values.size(); ++s)
        where += " " + entry.subject->symbols()[s] + " = " + std::to_string(values[s]);
      fail(entry, "a launch went wrong: " + where, outcome.refusal + outcome.wrong);
      return;
    }
  }

  void fail(const Entry &entry, const std::string &what, const std::string &detail) {
    ++failures;
    printf("FAILURE seed %llu: %s\n%s\n%s\n", static_cast<unsigned long long>(entry.seed), what.c_str(),
           detail.substr(0, 3000).c_str(), entry.subject->text(entry.name).c_str());
    fflush(stdout);
  }

  const CampaignOptions &options;
  Frontend frontend;
  int failures = 0, inferred = 0, dataDependent = 0, launches = 0, checkedLaunches = 0;
  double proofSeconds = 0, longestProof = 0;
};

} // namespace

int runGraphs(const CampaignOptions &options) { return Campaign(options).run(); }

} // namespace evt::fuzz
