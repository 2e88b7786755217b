#include "models/weights/MappedFile.h"

#include "models/config/Problems.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace evt::models {

MappedFile::MappedFile(const std::string &path) : path_(path) {
  auto fail = [&](const std::string &why) { throw Problems(path, "cannot be read: " + why); };
  // A pipe is opened, too, and does not wait for somebody who writes: it is refused below.
  int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0)
    fail(std::strerror(errno));
  struct stat status {};
  void *memory = nullptr;
  std::string why;
  if (fstat(file, &status) != 0)
    why = std::strerror(errno);
  else if (!S_ISREG(status.st_mode))
    why = S_ISDIR(status.st_mode) ? std::strerror(EISDIR) : "it is no regular file";
  else if (status.st_size > 0) {
    memory = mmap(nullptr, static_cast<size_t>(status.st_size), PROT_READ, MAP_PRIVATE, file, 0);
    if (memory == MAP_FAILED)
      why = std::strerror(errno);
  }
  if (!why.empty()) {
    close(file);
    fail(why);
  }
  file_ = file;
  bytes_ = {static_cast<const std::byte *>(memory), static_cast<size_t>(status.st_size)};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty())
    munmap(const_cast<std::byte *>(bytes_.data()), bytes_.size());
  if (file_ >= 0)
    close(file_);
}

void MappedFile::read(uint64_t offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    const ssize_t got = pread(file_, out.data(), out.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      throw Problems(path_, "cannot be read at byte " + std::to_string(offset) + ": " +
                                (got ? std::strerror(errno) : "the file ends there"));
    out = out.subspan(static_cast<size_t>(got));
    offset += static_cast<uint64_t>(got);
  }
}

MappedFile::MappedFile(MappedFile &&other) noexcept
    : path_(std::move(other.path_)), file_(std::exchange(other.file_, -1)), bytes_(std::exchange(other.bytes_, {})) {}

MappedFile &MappedFile::operator=(MappedFile &&other) noexcept {
  std::swap(path_, other.path_);
  std::swap(file_, other.file_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

} // namespace evt::models
