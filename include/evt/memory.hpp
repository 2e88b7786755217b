// memory.h for C++: memory, streams and events that give themselves back. They refer to their program, which must
// outlive them.
#ifndef EVT_MEMORY_HPP
#define EVT_MEMORY_HPP

#include <evt/evt.hpp>
#include <evt/memory.h>

#include <cstddef>
#include <utility>

namespace evt {
namespace detail {

// A handle of memory.h: made by one function, given back by another.
template <evt_code (*Release)(evt_program *, void *)> class Owned {
public:
  Owned() = default;
  Owned(const Program &program, void *handle) : program_(program.get()), handle_(handle) {}
  ~Owned() { reset(); }
  Owned(Owned &&other) noexcept
      : program_(std::exchange(other.program_, nullptr)), handle_(std::exchange(other.handle_, nullptr)) {}
  Owned &operator=(Owned &&other) noexcept {
    std::swap(program_, other.program_);
    std::swap(handle_, other.handle_);
    return *this;
  }

  void *get() const noexcept { return handle_; }
  void reset() {
    if (handle_)
      Release(program_, std::exchange(handle_, nullptr));
  }

protected:
  evt_program *program_ = nullptr;
  void *handle_ = nullptr;
};

template <typename Make> void *made(const Program &program, Make make) {
  void *handle = nullptr;
  check(make(program.get(), &handle));
  return handle;
}

} // namespace detail

class DeviceMemory : public detail::Owned<evt_memory_free> {
public:
  DeviceMemory() = default;
  DeviceMemory(const Program &program, std::size_t bytes)
      : Owned(program,
              detail::made(program, [&](evt_program *p, void **m) { return evt_memory_allocate(p, bytes, m); })),
        bytes_(bytes) {}
  std::byte *data() const { return static_cast<std::byte *>(get()); }
  std::size_t bytes() const { return get() ? bytes_ : 0; }

private:
  std::size_t bytes_ = 0;
};

class HostMemory : public detail::Owned<evt_memory_free_host> {
public:
  HostMemory() = default;
  HostMemory(const Program &program, std::size_t bytes)
      : Owned(program,
              detail::made(program, [&](evt_program *p, void **m) { return evt_memory_allocate_host(p, bytes, m); })) {}
  std::byte *data() const { return static_cast<std::byte *>(get()); }
};

class Event : public detail::Owned<evt_event_destroy> {
public:
  Event() = default;
  explicit Event(const Program &program) : Owned(program, detail::made(program, evt_event_create)), made_(&program) {}
  void record(void *stream) { detail::check(evt_event_record(made_->get(), get(), stream)); }
  void wait() const { detail::check(evt_event_wait(made_->get(), get())); }
  double secondsTo(const Event &end) const {
    double seconds = 0;
    detail::check(evt_event_elapsed(made_->get(), get(), end.get(), &seconds));
    return seconds;
  }

private:
  const Program *made_ = nullptr;
};

class Stream : public detail::Owned<evt_stream_destroy> {
public:
  Stream() = default;
  explicit Stream(const Program &program) : Owned(program, detail::made(program, evt_stream_create)), made_(&program) {}
  void copy(void *to, const void *from, std::size_t bytes, evt_copy kind) {
    detail::check(evt_memory_copy(made_->get(), to, from, bytes, kind, get()));
  }
  void fill(void *to, uint8_t value, std::size_t bytes) {
    detail::check(evt_memory_fill(made_->get(), to, value, bytes, get()));
  }
  void waitFor(const Event &event) { detail::check(evt_stream_wait(made_->get(), get(), event.get())); }
  void synchronize() { detail::check(evt_stream_synchronize(made_->get(), get())); }

private:
  const Program *made_ = nullptr;
};

} // namespace evt

#endif
