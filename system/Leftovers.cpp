#include "system/Leftovers.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <sstream>
#include <sys/prctl.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace fs = std::filesystem;

namespace evt {
namespace {

struct Registry {
  std::mutex mutex; // locked for ever by who cleans up: nobody else goes on
  std::multiset<std::string> paths;
};
// Never destroyed: a signal may come while the process ends.
Registry &registry() {
  static auto *only = new Registry;
  return *only;
}

std::atomic<bool> isInterrupted = false;
int signalPipe[2] = {-1, -1};

// Only what is allowed in a signal's handler; the rest is the thread's that reads.
void tellOfSignal(int number) {
  const int before = errno;
  isInterrupted = true;
  const auto byte = static_cast<unsigned char>(number);
  [[maybe_unused]] ssize_t written = write(signalPipe[1], &byte, 1);
  errno = before;
}

void removeAll(const std::string &path) {
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

/// Processes that this one has started, and those that they have; not those that have ended and nobody has asked after.
std::vector<pid_t> descendants() {
  std::multimap<pid_t, pid_t> children;
  std::error_code error;
  for (fs::directory_iterator entry("/proc", error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos)
      continue;
    std::ifstream file(entry->path() / "stat");
    std::string text;
    std::getline(file, text, '\0');
    std::istringstream fields(text.substr(std::min(text.size(), text.rfind(')') + 1))); // the name may hold anything
    char state = 'Z';
    pid_t parent = 0;
    if (fields >> state >> parent && state != 'Z')
      children.emplace(parent, std::stoi(name));
  }
  std::vector<pid_t> found{getpid()};
  for (size_t i = 0; i < found.size(); ++i)
    for (auto [at, last] = children.equal_range(found[i]); at != last; ++at)
      found.push_back(at->second);
  found.erase(found.begin());
  return found;
}

/// Compilers are asked to end, so that they remove files of their own; whoever does not is made to.
void endDescendants() {
  prctl(PR_SET_CHILD_SUBREAPER, 1); // whose parent ends becomes this process's, and is found again
  for (int round = 0; round < 200; ++round) {
    const std::vector<pid_t> processes = descendants();
    if (processes.empty())
      return;
    if (round % 10 == 0)
      for (pid_t process : processes)
        kill(process, round < 100 ? SIGTERM : SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

[[noreturn]] void sleepForEver() {
  for (;;)
    pause();
}

[[noreturn]] void awaitSignal() {
  unsigned char number = 0;
  while (read(signalPipe[0], &number, 1) != 1) {
  }
  registry().mutex.lock();
  endDescendants();
  std::error_code error;
  for (const std::string &path : registry().paths)
    for (int tries = 0; tries < 100 && fs::exists(fs::symlink_status(path, error)); ++tries) // somebody may write there
      removeAll(path);
  std::signal(number, SIG_DFL);
  kill(getpid(), number);
  sleepForEver();
}

} // namespace

Leftover::Leftover(std::string path) : path_(std::move(path)) {
  std::lock_guard lock(registry().mutex);
  registry().paths.insert(path_);
}

Leftover::~Leftover() {
  if (path_.empty())
    return;
  removeAll(path_);
  keep();
}

void Leftover::keep() {
  std::lock_guard lock(registry().mutex);
  registry().paths.erase(registry().paths.find(path_));
  path_.clear();
}

void cleanUpWhenInterrupted() {
  if (signalPipe[0] >= 0 || pipe2(signalPipe, O_CLOEXEC) != 0)
    return;
  registry();
  std::thread(awaitSignal).detach();
  struct sigaction action {};
  action.sa_handler = tellOfSignal;
  action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
  for (int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    if (sigaction(number, nullptr, &before) == 0 && before.sa_handler != SIG_IGN) // of nohup
      sigaction(number, &action, nullptr);
  }
}

void stopIfInterrupted() {
  if (isInterrupted)
    sleepForEver();
}

} // namespace evt
