// For the tests of this folder: a buffer between two guards, so that a write outside it is seen. Reads outside it hit
// a NaN or a value far from any other, and so show in the results.
#ifndef EVT_DEVICE_CPU_TILE_GUARDED_BUFFER_H
#define EVT_DEVICE_CPU_TILE_GUARDED_BUFFER_H

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

namespace evt::tile {

inline std::mt19937 &test_random() {
  static std::mt19937 random(20240607);
  return random;
}

template <typename T> class GuardedBuffer {
public:
  // `shift` elements past a cache line, so that unaligned tiles are tried too.
  explicit GuardedBuffer(std::int64_t size, std::int64_t shift = 0)
      : size_(size), begin_(guard + shift), bytes_(static_cast<std::size_t>(begin_ + size + guard) * sizeof(T), 0xfe) {}

  ~GuardedBuffer() {
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(bytes_.size()); ++i) {
      const std::int64_t element = i / static_cast<std::int64_t>(sizeof(T)) - begin_;
      if ((element < 0 || element >= size_) && bytes_[static_cast<std::size_t>(i)] != 0xfe) {
        ADD_FAILURE() << "element " << element << " of a buffer of " << size_ << " was written";
        return;
      }
    }
  }
  GuardedBuffer(const GuardedBuffer &) = delete;
  GuardedBuffer &operator=(const GuardedBuffer &) = delete;

  // Values in [-2, 2) for floats, in [-1000, 1000] for integers.
  GuardedBuffer &randomize() {
    for (std::int64_t i = 0; i < size_; ++i) {
      if constexpr (std::is_floating_point_v<T>)
        (*this)[i] = std::uniform_real_distribution<T>(-2, 2)(test_random());
      else
        (*this)[i] = static_cast<T>(std::uniform_int_distribution<int>(-1000, 1000)(test_random()));
    }
    return *this;
  }

  T *data() { return reinterpret_cast<T *>(bytes_.data()) + begin_; }
  const T *data() const { return reinterpret_cast<const T *>(bytes_.data()) + begin_; }
  T &operator[](std::int64_t i) { return data()[i]; }
  const T &operator[](std::int64_t i) const { return data()[i]; }
  std::int64_t size() const { return size_; }
  std::vector<T> copy() const { return std::vector<T>(data(), data() + size_); }

private:
  static constexpr std::int64_t guard = 64;
  std::int64_t size_, begin_;
  std::vector<std::uint8_t> bytes_;
};

} // namespace evt::tile
#endif
