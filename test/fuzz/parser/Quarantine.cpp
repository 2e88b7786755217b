#include "Quarantine.h"

#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <unistd.h>

// The name under which the C library's own stays reachable once `free` is ours.
extern "C" void __libc_free(void *);

namespace evt::fuzz {

namespace {

constexpr int pattern = 0xDB;
constexpr size_t capacity = size_t{1} << 20; // a power of two; more than any text of the examples frees

// One thread only: a child of the fuzzer has no other. Static, since the allocator cannot be asked here.
bool active = false;
void *kept[capacity];
size_t oldest = 0, newest = 0;

void release() {
  void *block = kept[oldest++ % capacity];
  auto *bytes = static_cast<const unsigned char *>(block);
  for (size_t i = 0, size = malloc_usable_size(block); i < size; ++i)
    if (bytes[i] != pattern) {
      const char message[] = "a freed block was written to\n";
      [[maybe_unused]] ssize_t written = write(STDERR_FILENO, message, sizeof message - 1);
      abort();
    }
  __libc_free(block);
}

} // namespace

void Quarantine::start() { active = true; }

void Quarantine::check() {
  while (oldest != newest)
    release();
}

} // namespace evt::fuzz

// A sanitizer brings an allocator of its own, which looks for the same.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
extern "C" void free(void *block) {
  using namespace evt::fuzz;
  if (!active || !block) {
    __libc_free(block);
    return;
  }
  memset(block, pattern, malloc_usable_size(block));
  if (newest - oldest == capacity)
    release();
  kept[newest++ % capacity] = block;
}
#endif
