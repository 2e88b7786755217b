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

MappedFile::MappedFile(const std::string &path) {
  auto fail = [&] { throw Problems(path, std::string("cannot be read: ") + std::strerror(errno)); };
  int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    fail();
  struct stat status {};
  void *memory = nullptr;
  int error = 0;
  if (fstat(file, &status) != 0)
    error = errno;
  else if (!S_ISREG(status.st_mode))
    error = S_ISDIR(status.st_mode) ? EISDIR : EINVAL;
  else if (status.st_size > 0) {
    memory = mmap(nullptr, static_cast<size_t>(status.st_size), PROT_READ, MAP_PRIVATE, file, 0);
    error = memory == MAP_FAILED ? errno : 0;
  }
  close(file);
  if (error) {
    errno = error;
    fail();
  }
  bytes_ = {static_cast<const std::byte *>(memory), static_cast<size_t>(status.st_size)};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty())
    munmap(const_cast<std::byte *>(bytes_.data()), bytes_.size());
}

MappedFile::MappedFile(MappedFile &&other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile &MappedFile::operator=(MappedFile &&other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

} // namespace evt::models
