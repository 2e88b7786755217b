#include "tools/evt/OutputFile.h"

#include "tools/evt/Failure.h"
#include "tools/evt/Log.h"

#include <cerrno>
#include <cstring>
#include <unistd.h>

namespace fs = std::filesystem;

namespace evt::tool {
namespace {

/// Where the file lies that a path stands for, if another one can take its place. Links are followed, but not those of
/// the system: what /dev/stdout leads to may be a regular file, and is still what others have open.
std::optional<fs::path> placeOf(fs::path path) {
  std::error_code error;
  for (int links = 0; fs::is_symlink(fs::symlink_status(path, error)); ++links) {
    const fs::path whole = fs::absolute(path, error).lexically_normal();
    const std::string top = std::next(whole.begin()) == whole.end() ? "" : std::next(whole.begin())->string();
    if (links == 40 || top == "dev" || top == "proc")
      return std::nullopt;
    path = path.parent_path() / fs::read_symlink(path, error);
  }
  const fs::file_status status = fs::status(path, error);
  if (status.type() != fs::file_type::not_found && !fs::is_regular_file(status))
    return std::nullopt;
  return path;
}

} // namespace

OutputFile::OutputFile(const std::string &path, Unfinished unfinished) : path_(path), unfinished_(unfinished) {
  if (std::optional<fs::path> place = placeOf(path)) {
    place_ = *place;
    partial_ = place_;
    partial_ += unfinished_ == Unfinished::kept ? ".partial" : ".tmp" + std::to_string(getpid());
    if (unfinished_ == Unfinished::removed)
      leftover_.emplace(partial_);
    stream_.open(partial_, std::ios::binary);
    // A folder in which nothing can be made may have a file that can be written.
    if (!stream_ && (errno == EACCES || errno == EPERM || errno == EROFS) && fs::exists(place_)) {
      partial_.clear();
      stream_.clear();
    }
  }
  if (partial_.empty())
    stream_.open(path_, std::ios::binary);
  if (!stream_)
    fail(errno);
}

void OutputFile::finish() {
  stream_.close();
  if (!stream_)
    fail(errno);
  if (partial_.empty())
    return;
  std::error_code error;
  if (const fs::file_status old = fs::status(place_, error); fs::exists(old))
    fs::permissions(partial_, old.permissions(), error);
  fs::rename(partial_, place_, error);
  if (error)
    fail(error.value());
  if (leftover_)
    leftover_->keep();
  partial_.clear();
}

OutputFile::~OutputFile() {
  if (partial_.empty() || unfinished_ == Unfinished::removed)
    return;
  std::error_code error;
  stream_.close();
  if (fs::file_size(partial_, error) > 0 && !error)
    logWarning("'" + path_ + "' is not whole: what there is of it is in '" + partial_.string() + "'");
  else
    fs::remove(partial_, error);
}

void OutputFile::fail(int error) const {
  throw Failure(ExitCode::wrongInput, "cannot write '" + path_ + "': " + std::strerror(error));
}

} // namespace evt::tool
