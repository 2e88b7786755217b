// Damaged program texts through parser, verifier, proof and emission: never a crash, a failed assertion or a hang.
//
//   evt_parser_fuzz SCRATCH examples --seconds 20 --seed 1
//   evt_parser_fuzz SCRATCH examples --count 1000 --first 500 --seed 1      # the same texts on every machine
//   evt_parser_fuzz SCRATCH test/errors --unchanged                         # what `// -----` separates, as it is
//
// A child process takes a run of inputs; when one kills it, uses memory it has freed, or takes too long, the parent
// writes that input to SCRATCH and goes on behind it.
#include "Quarantine.h"
#include "TextMutation.h"
#include "test/fuzz/graphs/Frontend.h"

#include <CLI/CLI.hpp>
#include <cstring>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace evt::fuzz;

/// What a child tells its parent; in memory they share.
struct Progress {
  uint64_t input;    // the one it is working on
  uint64_t parsed;   // inputs that were programs
  uint64_t accepted; // and were proved and emitted
};

struct Options {
  std::string folder;
  std::vector<std::string> paths;
  double seconds = 20;
  uint64_t seed = 1;
  uint64_t first = 0;
  uint64_t count = 0; // of inputs; 0: as many as the seconds allow
  bool unchanged = false;
  uint64_t perChild = 200;
  unsigned secondsPerInput = 60;
  unsigned long operations = 50'000; // of the proof: it must end, not succeed
};

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

std::string inputOf(const std::vector<std::string> &programs, const Options &options, uint64_t number) {
  if (options.unchanged)
    return programs[number];
  TextRandom random((options.seed << 32) + number);
  return mutateText(programs, random);
}

[[noreturn]] void runChild(const std::vector<std::string> &programs, const Options &options, uint64_t first,
                           double deadline, Progress &progress) {
  // Messages of an assertion go to the log that the parent keeps with the input.
  int log = open((options.folder + "/last.log").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  dup2(log, STDERR_FILENO);
  Frontend frontend({options.operations});
  uint64_t end = first + options.perChild;
  if (options.count)
    end = std::min(end, options.first + options.count);
  for (uint64_t number = first; number < end; ++number) {
    progress.input = number;
    if (!options.count && seconds() > deadline)
      _exit(0);
    alarm(options.secondsPerInput);
    Quarantine::start();
    Checked checked = frontend.check(inputOf(programs, options, number), "evt_kernel");
    Quarantine::check();
    progress.parsed += checked.parsed;
    progress.accepted += checked.accepted;
  }
  progress.input = end;
  _exit(0);
}

/// The files, and those of the folders that are called .mlir, in an order that is the same everywhere.
std::vector<std::string> filesOf(const std::vector<std::string> &paths) {
  namespace fs = std::filesystem;
  std::vector<std::string> files;
  for (const std::string &path : paths) {
    if (!fs::is_directory(path)) {
      files.push_back(path);
      continue;
    }
    size_t first = files.size();
    for (const fs::directory_entry &entry : fs::recursive_directory_iterator(path))
      if (entry.path().extension() == ".mlir")
        files.push_back(entry.path().string());
    std::sort(files.begin() + static_cast<std::ptrdiff_t>(first), files.end());
  }
  return files;
}

std::vector<std::string> readPrograms(const Options &options) {
  const std::string separator = "\n// -----\n";
  std::vector<std::string> programs;
  for (const std::string &file : filesOf(options.paths)) {
    std::ostringstream stream;
    stream << std::ifstream(file).rdbuf();
    std::string text = stream.str();
    for (size_t end; options.unchanged && (end = text.find(separator)) != std::string::npos;) {
      programs.push_back(text.substr(0, end));
      text.erase(0, end + separator.size());
    }
    programs.push_back(text);
  }
  return programs;
}

int run(Options options) {
  namespace fs = std::filesystem;
  fs::create_directories(options.folder);
  std::vector<std::string> programs = readPrograms(options);
  if (programs.empty()) {
    fprintf(stderr, "no .mlir file among the programs\n");
    return 1;
  }
  if (options.unchanged) {
    options.first = 0;
    options.count = programs.size();
  }
  auto *progress = static_cast<Progress *>(
      mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  double start = seconds();
  uint64_t next = options.first, failures = 0;
  while (options.count ? next < options.first + options.count : seconds() < start + options.seconds) {
    progress->input = next;
    pid_t child = fork();
    if (child == 0)
      runChild(programs, options, next, start + options.seconds, *progress);
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
      next = progress->input;
      continue;
    }
    ++failures;
    std::string kept =
        options.folder + "/crash-" + std::to_string(options.seed) + "-" + std::to_string(progress->input);
    std::ofstream(kept + ".mlir") << inputOf(programs, options, progress->input);
    fs::copy_file(options.folder + "/last.log", kept + ".log", fs::copy_options::overwrite_existing);
    bool hang = WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM;
    printf("FAILURE input %llu of seed %llu: %s; kept as %s.mlir\n", static_cast<unsigned long long>(progress->input),
           static_cast<unsigned long long>(options.seed),
           hang                  ? "took too long"
           : WIFSIGNALED(status) ? strsignal(WTERMSIG(status))
                                 : "the process left",
           kept.c_str());
    fflush(stdout);
    next = progress->input + 1;
  }
  printf("%llu texts: %llu parsed, %llu accepted and emitted; %llu failures; %.1f s\n",
         static_cast<unsigned long long>(next - options.first), static_cast<unsigned long long>(progress->parsed),
         static_cast<unsigned long long>(progress->accepted), static_cast<unsigned long long>(failures),
         seconds() - start);
  return failures ? 1 : 0;
}

} // namespace

int main(int argc, char **argv) {
  Options options;
  CLI::App app{"damaged program texts through the compiler"};
  app.add_option("SCRATCH", options.folder, "where inputs that fail are kept")->required();
  app.add_option("PROGRAMS", options.paths, "programs to damage, files or folders")
      ->required()
      ->check(CLI::ExistingPath);
  app.add_option("--seconds", options.seconds, "how long to go on");
  app.add_option("--count", options.count, "how many inputs, however long they take");
  app.add_option("--first", options.first, "the number of the first input");
  app.add_option("--seed", options.seed, "of the inputs");
  app.add_flag("--unchanged", options.unchanged, "the texts as they are, each once");
  CLI11_PARSE(app, argc, argv);
  return run(options);
}
