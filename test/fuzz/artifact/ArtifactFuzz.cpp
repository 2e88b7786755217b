// Damages an artifact in one way after another and loads it: each time the runtime must answer with an error or run,
// never crash, hang or compute something else.
//
//   evt_artifact_fuzz ARTIFACT SCRATCH [--iterations N] [--seconds S] [--seed FIRST] [--arg VALUE]…
//
// What must happen depends on the damage:
//   bytes of the kernel      an error: size and fingerprint are checked before it is loaded
//   bytes of the manifest    an error: its own checksum tells
//   meaning of the manifest  its checksum is made to match again, so the checks behind it must stand by themselves:
//                            an error, or arguments and workspace are prepared. It is not run: sizes that agree with
//                            each other but not with the kernel are beyond what a reader can see
// Every case runs in a process of its own with a time limit; a failing case is kept in SCRATCH and named by its seed.
#include "runtime/Error.h"
#include "runtime/launch/Program.h"
#include "runtime/tensor/Generator.h"
#include "test/fuzz/artifact/Mutation.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <sys/wait.h>
#include <unistd.h>

namespace {

namespace fs = std::filesystem;
using namespace evt::runtime;

constexpr unsigned caseSeconds = 20;

struct Options {
  fs::path artifact, scratch;
  uint64_t iterations = 300;
  double seconds = 1e9;
  uint64_t seed = 1;
  std::vector<std::string> arguments;
};

std::string content(const fs::path &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write(const fs::path &path, const std::string &bytes) {
  fs::remove(path);
  std::ofstream(path, std::ios::binary) << bytes;
}

// The arguments given on the command line, for the undamaged manifest.
class Arguments {
public:
  Arguments(const Manifest &manifest, const std::vector<std::string> &texts) {
    for (size_t i = 0; i < texts.size() && i < manifest.arguments.size(); ++i) {
      ValueSpec spec = parseValue(texts[i]);
      if (const int64_t *index = std::get_if<int64_t>(&spec)) {
        values.push_back({nullptr, *index});
        continue;
      }
      tensors_.push_back(
          std::make_unique<HostTensor>(generate(std::get<GeneratorSpec>(spec), manifest.arguments[i].type, i)));
      views_.push_back(std::make_unique<DLTensor>(tensors_.back()->dlpack()));
      values.push_back({views_.back().get(), 0});
    }
  }

  std::string bytes() const {
    std::string all;
    for (const auto &tensor : tensors_)
      all.append(static_cast<const char *>(tensor->data()), tensor->bytes());
    return all;
  }

  std::vector<evt_value> values;

private:
  std::vector<std::unique_ptr<HostTensor>> tensors_;
  std::vector<std::unique_ptr<DLTensor>> views_;
};

enum Outcome { refused = 0, prepared = 1, ran = 2, mustBeRefused = 3, wrongResult = 4, badMessage = 5, other = 6 };
const std::map<int, const char *> outcomeNames = {{refused, "refused"},
                                                  {prepared, "prepared"},
                                                  {ran, "ran"},
                                                  {mustBeRefused, "accepted although it must be refused"},
                                                  {wrongResult, "ran with another result"},
                                                  {badMessage, "refused with an empty or internal message"},
                                                  {other, "threw something that is not an error of the runtime"}};

struct Case {
  enum class Damage { kernel, manifestBytes, manifestMeaning } damage;
  std::string manifest, kernel;
};

bool sameMeaning(const std::string &a, const std::string &b) {
  nlohmann::json left = nlohmann::json::parse(a, nullptr, false), right = nlohmann::json::parse(b, nullptr, false);
  if (left.is_object() && right.is_object()) {
    left.erase("checksum");
    right.erase("checksum");
  }
  return !left.is_discarded() && left == right;
}

// In the case's own process.
Outcome load(const Case &damaged, const std::string &manifest, const Options &options, const Manifest &original,
             const std::string &expected) {
  fs::path directory = options.scratch / "case";
  bool unchanged = damaged.manifest == manifest && damaged.damage != Case::Damage::kernel;
  try {
    Program program(loadArtifact(directory.string()));
    if (!unchanged && damaged.damage != Case::Damage::manifestMeaning)
      return mustBeRefused;
    Arguments arguments(original, options.arguments);
    program.prepare(arguments.values);
    if (!unchanged && !sameMeaning(damaged.manifest, manifest))
      return prepared;
    program.launch(arguments.values, {.workers = 2});
    return arguments.bytes() == expected ? ran : wrongResult;
  } catch (const Error &error) {
    if (unchanged)
      return wrongResult;
    return error.what()[0] == '\0' || error.code() == EVT_ERROR_INTERNAL ? badMessage : refused;
  } catch (...) {
    return other;
  }
}

Case makeCase(uint64_t seed, const std::string &manifest, const std::string &kernel) {
  evt::fuzz::Random random(seed);
  Case result{static_cast<Case::Damage>(seed % 3), manifest, kernel};
  switch (result.damage) {
  case Case::Damage::kernel:
    while (result.kernel == kernel)
      result.kernel = evt::fuzz::damageBytes(kernel, random);
    break;
  case Case::Damage::manifestBytes:
    result.manifest = evt::fuzz::damageBytes(manifest, random);
    break;
  case Case::Damage::manifestMeaning:
    result.manifest = evt::fuzz::damageMeaning(manifest, random);
    break;
  }
  return result;
}

int fuzz(const Options &options) {
  Artifact artifact = loadArtifact(options.artifact.string());
  Manifest original = artifact.manifest;
  std::string manifest = content(options.artifact / "manifest.json");
  std::string kernel = content(options.artifact / original.kernel);

  // The original's result, computed in a process of its own as well: threads and fork do not mix.
  fs::create_directories(options.scratch);
  fs::path resultFile = options.scratch / "expected";
  if (pid_t child = fork(); child == 0) {
    Arguments arguments(original, options.arguments);
    Program program(artifact);
    try {
      program.launch(arguments.values, {.workers = 2});
    } catch (const std::exception &error) {
      std::fprintf(stderr, "the undamaged artifact does not run: %s\n", error.what());
      _exit(1);
    }
    write(resultFile, arguments.bytes());
    _exit(0);
  } else {
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0)
      return 2;
  }
  std::string expected = content(resultFile);

  std::map<int, uint64_t> counts;
  auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(options.seconds);
  uint64_t seed = options.seed;
  for (; seed < options.seed + options.iterations && std::chrono::steady_clock::now() < end; ++seed) {
    Case damaged = makeCase(seed, manifest, kernel);
    fs::path directory = options.scratch / "case";
    fs::create_directories(directory);
    write(directory / "manifest.json", damaged.manifest);
    write(directory / original.kernel, damaged.kernel);
    pid_t child = fork();
    if (child == 0) {
      alarm(caseSeconds);
      _exit(load(damaged, manifest, options, original, expected));
    }
    int status = 0;
    waitpid(child, &status, 0);
    int outcome = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (outcome < 0 || outcome > ran) {
      auto name = outcomeNames.find(outcome);
      std::string what = name != outcomeNames.end() ? name->second
                         : WIFSIGNALED(status)      ? std::string("died: ") + strsignal(WTERMSIG(status))
                                                    : "exited with " + std::to_string(outcome);
      std::fprintf(stderr, "seed %llu: %s; kept in %s\n", static_cast<unsigned long long>(seed), what.c_str(),
                   directory.c_str());
      return 1;
    }
    ++counts[outcome];
  }
  std::printf("%llu cases from seed %llu:", static_cast<unsigned long long>(seed - options.seed),
              static_cast<unsigned long long>(options.seed));
  for (auto [outcome, count] : counts)
    std::printf(" %llu %s", static_cast<unsigned long long>(count), outcomeNames.at(outcome));
  std::printf("\n");
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  Options options;
  std::vector<std::string> plain;
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    if (!word.starts_with("--")) {
      plain.push_back(word);
      continue;
    }
    const char *value = i + 1 < argc ? argv[++i] : "";
    if (word == "--iterations")
      options.iterations = std::strtoull(value, nullptr, 10);
    else if (word == "--seconds")
      options.seconds = std::strtod(value, nullptr);
    else if (word == "--seed")
      options.seed = std::strtoull(value, nullptr, 10);
    else if (word == "--arg")
      options.arguments.push_back(value);
    else
      plain.clear();
  }
  if (plain.size() != 2) {
    std::fprintf(stderr, "usage: %s ARTIFACT SCRATCH [--iterations N] [--seconds S] [--seed FIRST] [--arg VALUE]...\n",
                 argv[0]);
    return 2;
  }
  options.artifact = plain[0];
  options.scratch = plain[1];
  try {
    return fuzz(options);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
