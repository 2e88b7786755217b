// Damaged program texts through parser, verifier, proof and emission: never a crash, a failed assertion or a hang.
//
//   evt_parser_fuzz SCRATCH PROGRAM.mlir… --seconds 20 --seed 1
//
// A child process takes a run of inputs; when one kills it, or takes too long, the parent writes that input to SCRATCH
// and goes on behind it.
#include "TextMutation.h"
#include "test/fuzz/graphs/Frontend.h"

#include <CLI/CLI.hpp>
#include <cstring>

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
  std::vector<std::string> files;
  double seconds = 20;
  uint64_t seed = 1;
  uint64_t perChild = 200;
  unsigned secondsPerInput = 60;
  unsigned long operations = 50'000; // of the proof: it must end, not succeed
};

std::string inputOf(const std::vector<std::string> &programs, const Options &options, uint64_t number) {
  TextRandom random((options.seed << 32) + number);
  return mutateText(programs, random);
}

[[noreturn]] void runChild(const std::vector<std::string> &programs, const Options &options, uint64_t first,
                           double deadline, Progress &progress) {
  // Messages of an assertion go to the log that the parent keeps with the input.
  int log = open((options.folder + "/last.log").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  dup2(log, STDERR_FILENO);
  Frontend frontend({options.operations});
  for (uint64_t number = first; number < first + options.perChild; ++number) {
    double now = std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
    if (now > deadline)
      break;
    progress.input = number;
    alarm(options.secondsPerInput);
    Checked checked = frontend.check(inputOf(programs, options, number), "evt_kernel");
    progress.parsed += checked.parsed;
    progress.accepted += checked.accepted;
  }
  progress.input = first + options.perChild;
  _exit(0);
}

int run(const Options &options) {
  namespace fs = std::filesystem;
  fs::create_directories(options.folder);
  std::vector<std::string> programs;
  for (const std::string &file : options.files) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    programs.push_back(text.str());
  }
  auto *progress = static_cast<Progress *>(
      mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  double start = std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  uint64_t next = 0, failures = 0;
  auto elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count() - start;
  };
  while (elapsed() < options.seconds) {
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
         static_cast<unsigned long long>(next), static_cast<unsigned long long>(progress->parsed),
         static_cast<unsigned long long>(progress->accepted), static_cast<unsigned long long>(failures), elapsed());
  return failures ? 1 : 0;
}

} // namespace

int main(int argc, char **argv) {
  Options options;
  CLI::App app{"damaged program texts through the compiler"};
  app.add_option("SCRATCH", options.folder, "where inputs that fail are kept")->required();
  app.add_option("PROGRAMS", options.files, "programs to damage")->required();
  app.add_option("--seconds", options.seconds, "how long to go on");
  app.add_option("--seed", options.seed, "of the inputs");
  CLI11_PARSE(app, argc, argv);
  return run(options);
}
