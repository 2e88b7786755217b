// What must not outlive the process: files and folders that are not finished, and the processes that it has started.
//
//   const Leftover staging(folder); // removed, with all that is in it, when this object ends
//
// Once cleanUpWhenInterrupted() was called, they are removed as well when somebody presses Ctrl-C: a signal that ends
// the process first ends the processes it has started and those that they have, removes what is left over, and then
// does what it would have done. Without that call, signals are as they were.
#ifndef EVT_SYSTEM_LEFTOVERS_H
#define EVT_SYSTEM_LEFTOVERS_H

#include <string>

namespace evt {

/// A file or a folder, which need not be there yet, or any more.
class Leftover {
public:
  explicit Leftover(std::string path);
  ~Leftover();
  Leftover(const Leftover &) = delete;
  Leftover &operator=(const Leftover &) = delete;

  /// It stays, whatever happens.
  void keep();

private:
  std::string path_;
};

/// For SIGINT, SIGTERM and SIGHUP, as far as they are not ignored. A second signal of the same kind does not wait.
void cleanUpWhenInterrupted();

/// Does not return if such a signal has come: what just failed was ended by it, and there is nothing to be said.
void stopIfInterrupted();

} // namespace evt

#endif
