// A file that a command writes. What goes wrong leaves the one that was there: the new one is written under another
// name beside it, and takes its place when it is whole.
//
//   OutputFile out(path);
//   out.stream() << …;
//   out.finish();
//
// What is no regular file, such as /dev/stdout or a pipe, has no other name and is written as it is.
#ifndef EVT_TOOLS_EVT_OUTPUTFILE_H
#define EVT_TOOLS_EVT_OUTPUTFILE_H

#include "system/Leftovers.h"

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

namespace evt::tool {

class OutputFile {
public:
  /// What becomes of one that was not finished. Kept, it is FILE.partial, and the user is told if something is in it.
  enum class Unfinished { removed, kept };

  /// Both throw Failure (wrong input): "cannot write 'y.npy': No space left on device".
  explicit OutputFile(const std::string &path, Unfinished unfinished = Unfinished::removed);
  void finish();
  ~OutputFile();
  OutputFile(const OutputFile &) = delete;
  OutputFile &operator=(const OutputFile &) = delete;

  std::ostream &stream() { return stream_; }

private:
  [[noreturn]] void fail(int error) const;

  std::string path_;                      // as the user names it
  std::filesystem::path place_, partial_; // where it is to be and is until then; none if it is written where it is
  Unfinished unfinished_;
  std::optional<Leftover> leftover_;
  std::ofstream stream_;
};

} // namespace evt::tool

#endif
