#include "HostCompiler.h"

#include "system/Leftovers.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace evt::pipeline {

namespace {

/// Runs a program. Returns its exit code, and what it says through `text`.
int runCaptured(const std::string &program, const std::vector<std::string> &arguments, std::string &text) {
  auto found = llvm::sys::findProgramByName(program);
  if (!found) {
    text = "no compiler '" + program + "' found";
    return -1;
  }
  const int capture = memfd_create("evt", MFD_CLOEXEC); // a file that no full disk and no interruption concerns
  if (capture < 0) {
    text = std::string("cannot create a file in memory: ") + std::strerror(errno);
    return -1;
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, capture, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, capture, STDERR_FILENO);
  std::vector<char *> argv{const_cast<char *>(program.c_str())};
  for (const std::string &argument : arguments)
    argv.push_back(const_cast<char *>(argument.c_str()));
  argv.push_back(nullptr);
  pid_t process = 0;
  int status = 0;
  const int error = posix_spawn(&process, found->c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  while (!error && waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  stopIfInterrupted();
  text.resize(static_cast<size_t>(lseek(capture, 0, SEEK_END)));
  text.resize(static_cast<size_t>(std::max<ssize_t>(pread(capture, text.data(), text.size(), 0), 0)));
  close(capture);
  if (!error && WIFEXITED(status))
    return WEXITSTATUS(status);
  text += error ? std::strerror(error) : std::string("ended by signal: ") + strsignal(WTERMSIG(status));
  return -1;
}

/// What went wrong, or an empty string; what the compiler says otherwise comes through `text`.
std::string failureOf(const std::string &program, const std::vector<std::string> &arguments, std::string &text) {
  int code = runCaptured(program, arguments, text);
  if (code == 0)
    return "";
  return program + " failed with exit code " + std::to_string(code) + ":\n" + text;
}

} // namespace

std::string HostCompiler::compile(const std::string &source, const std::string &output) const {
  // Contraction is off because it would make a result depend on how the compiler arranged the code around it.
  std::vector<std::string> arguments{
      "-std=c++20",          optimization, "-ffp-contract=off", "-fwrapv",         "-fno-math-errno",
      "-fno-trapping-math",  "-fPIC",      "-shared",           "-fno-exceptions", "-fno-rtti",
      "-fvisibility=hidden", "-pthread",   "-I" + includeRoot};
  if (!march.empty())
    arguments.push_back("-march=" + march);
  arguments.insert(arguments.end(), extraFlags.begin(), extraFlags.end());
  arguments.insert(arguments.end(), {"-o", output, source});
  std::string said;
  return failureOf(program, arguments, said);
}

std::vector<std::string> HostCompiler::features() const {
  static const std::pair<const char *, const char *> known[] = {
      {"__SSE4_2__", "sse4.2"},     {"__POPCNT__", "popcnt"},
      {"__AVX__", "avx"},           {"__F16C__", "f16c"},
      {"__AVX2__", "avx2"},         {"__FMA__", "fma"},
      {"__BMI__", "bmi"},           {"__BMI2__", "bmi2"},
      {"__AVX512F__", "avx512f"},   {"__AVX512BW__", "avx512bw"},
      {"__AVX512CD__", "avx512cd"}, {"__AVX512DQ__", "avx512dq"},
      {"__AVX512VL__", "avx512vl"}, {"__AVX512VNNI__", "avx512vnni"}};
  std::string macros;
  std::vector<std::string> features;
  if (runCaptured(program, {"-march=" + march, "-dM", "-E", "-x", "c++", "/dev/null"}, macros) != 0)
    return features;
  for (auto [macro, name] : known)
    if (macros.find(std::string("#define ") + macro + " ") != std::string::npos)
      features.push_back(name);
  return features;
}

std::vector<KernelResources> readResources(llvm::StringRef said) {
  std::vector<KernelResources> all;
  // The number before `words`, or 0.
  auto before = [](llvm::StringRef line, llvm::StringRef words) {
    size_t at = line.find(words);
    int64_t value = 0;
    if (at != llvm::StringRef::npos)
      line.take_front(at).rsplit(' ').second.getAsInteger(10, value);
    return value;
  };
  bool isKernel = false; // functions that kernels call are told of, too
  for (llvm::StringRef line : llvm::split(said, '\n')) {
    if (line.contains("Compiling entry function")) {
      all.emplace_back().kernel = line.split('\'').second.split('\'').first.str();
    } else if (line.contains("Function properties for ")) {
      isKernel = !all.empty() && line.rsplit(' ').second == all.back().kernel;
    } else if (isKernel && line.contains(" bytes spill stores")) {
      all.back().spilledBytes = before(line, " bytes spill stores");
    } else if (isKernel && line.contains(" registers")) {
      all.back().registers = before(line, " registers");
      all.back().barriers = before(line, " barriers");
      all.back().sharedBytes = before(line, " bytes smem");
    }
  }
  // Said of no kernel in particular.
  if (said.contains("'setmaxnreg' ignored"))
    for (KernelResources &kernel : all)
      kernel.ignoresRoles = true;
  for (llvm::StringRef line : llvm::split(said, '\n'))
    if (line.contains("wgmma.mma_async instructions are serialized"))
      for (KernelResources &kernel : all)
        kernel.multipliesOneByOne |= line.contains("'" + kernel.kernel + "'");
  return all;
}

std::string CudaCompiler::compile(const std::string &source, const std::string &architecture, const std::string &output,
                                  std::vector<KernelResources> &resources, const std::string &definition) const {
  // Named as a pair, or a plain pass for the virtual architecture rejects Hopper's own instructions. No contraction, as
  // on the CPU.
  std::string number = architecture.substr(3);
  std::vector<std::string> arguments{
      "-std=c++20", "-O3", "-fmad=false", "--expt-relaxed-constexpr",
      "-diag-suppress=177", // a trigger nobody needs
      "-gencode=arch=compute_" + number + ",code=" + architecture, "-cubin", "-Xptxas=-v",
      // Kernels side by side. As few as two gives the code that more of them give, one
      // gives other code: what is made must not depend on the machine.
      "--split-compile=" + std::to_string(std::max(2u, std::thread::hardware_concurrency())), "-I" + includeRoot};
  if (!definition.empty())
    arguments.push_back("-D" + definition);
  arguments.insert(arguments.end(), extraFlags.begin(), extraFlags.end());
  arguments.insert(arguments.end(), {"-o", output, source});
  std::string said, failure = failureOf(program, arguments, said);
  resources = readResources(said);
  return failure;
}

std::string findCudaCompiler(const std::string &program) {
  if (auto found = llvm::sys::findProgramByName(program))
    return *found;
  if (program == "nvcc")
    if (auto found = llvm::sys::findProgramByName(program, {"/usr/local/cuda/bin"}))
      return *found;
  return "";
}

std::string findDeviceHeaders(const char *argv0) {
  std::string executable = llvm::sys::fs::getMainExecutable(argv0, reinterpret_cast<void *>(&findDeviceHeaders));
  llvm::SmallString<256> installed(llvm::sys::path::parent_path(llvm::sys::path::parent_path(executable)));
  llvm::sys::path::append(installed, "share", "evt");
  if (llvm::sys::fs::exists(installed + "/device/cpu/kernel.h"))
    return std::string(installed);
  return EVT_SOURCE_DIR;
}

} // namespace evt::pipeline
