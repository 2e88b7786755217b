#include "tools/evt/InputFile.h"

#include "tools/evt/Failure.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace fs = std::filesystem;

namespace evt::tool {
namespace {

[[noreturn]] void refuse(const std::string &path, const std::string &why) {
  throw Failure(ExitCode::wrongInput, "cannot read '" + path + "': " + why);
}

} // namespace

void requireInput(const std::string &path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  switch (status.type()) {
  case fs::file_type::regular:
    return;
  case fs::file_type::none:
  case fs::file_type::not_found:
    refuse(path, error ? error.message() : std::strerror(ENOENT));
  case fs::file_type::directory:
    refuse(path, "it is a directory");
  default:
    for (const char *given : {"/dev/stdin", "/dev/fd/", "/proc/self/fd/", "/dev/null"})
      if (path.starts_with(given))
        return;
    refuse(path, fs::is_fifo(status)     ? "it is a pipe, required a file"
                 : fs::is_socket(status) ? "it is a socket, required a file"
                                         : "it is a device, required a file");
  }
}

std::string readInput(const std::string &path) {
  requireInput(path);
  std::ifstream in(path, std::ios::binary);
  std::ostringstream content;
  if (in && in.peek() != std::ifstream::traits_type::eof())
    content << in.rdbuf();
  if (!in.is_open() || in.bad() || content.fail())
    refuse(path, std::strerror(errno));
  return content.str();
}

} // namespace evt::tool
