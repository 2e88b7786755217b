// A file's bytes as memory, read when they are looked at. They must stay as they are: a file that another process cuts
// off while it is mapped ends this one.
#ifndef EVT_MODELS_WEIGHTS_MAPPEDFILE_H
#define EVT_MODELS_WEIGHTS_MAPPEDFILE_H

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace evt::models {

class MappedFile {
public:
  /// Throws Problems naming the file.
  explicit MappedFile(const std::string &path);
  ~MappedFile();
  MappedFile(MappedFile &&other) noexcept;
  MappedFile &operator=(MappedFile &&other) noexcept;

  std::span<const std::byte> bytes() const { return bytes_; }
  /// Copies the bytes from `offset` on, all of which must be there: faster than reading them where they are mapped, if
  /// each is looked at once. Throws Problems.
  void read(uint64_t offset, std::span<std::byte> out) const;

private:
  std::string path_;
  int file_ = -1;
  std::span<const std::byte> bytes_;
};

} // namespace evt::models

#endif
