// What memory.h offers of the device that a program runs on. Every target has one; each function is the one of
// memory.h under that name, and may be called by several threads at once.
#ifndef EVT_RUNTIME_LAUNCH_DEVICE_H
#define EVT_RUNTIME_LAUNCH_DEVICE_H

#include "evt/memory.h"
#include "runtime/artifact/Manifest.h"

#include <memory>

namespace evt::runtime {

// Rows of an argument that are to get their place.
struct RowsToPack {
  const Argument &argument;
  void *to;
  const void *from;
  DLDataType fromType;
  int64_t firstRow, rows, columns;
};

class Device {
public:
  virtual ~Device() = default;

  virtual DLDevice place() const = 0;
  // Throw Error (memory).
  virtual void *allocate(uint64_t bytes) = 0;
  virtual void *allocateHost(uint64_t bytes) = 0;
  virtual void free(void *memory) = 0;
  virtual void freeHost(void *memory) = 0;
  virtual void copy(void *to, const void *from, uint64_t bytes, evt_copy kind, void *stream) = 0;
  virtual void fill(void *to, uint8_t value, uint64_t bytes, void *stream) = 0;
  virtual evt_memory_use used() = 0;

  virtual void *createStream() = 0;
  virtual void destroyStream(void *stream) = 0;
  virtual void synchronize(void *stream) = 0;
  virtual void *createEvent() = 0;
  virtual void destroyEvent(void *event) = 0;
  virtual void record(void *event, void *stream) = 0;
  virtual void wait(void *event) = 0;
  virtual void streamWait(void *stream, void *event) = 0;
  virtual double elapsed(void *begin, void *end) = 0;

  // Throws Error (argument) if the rows cannot be packed like that.
  virtual void pack(const RowsToPack &rows, void *stream) = 0;
};

// The host as a device: everything has happened when the call returns.
std::unique_ptr<Device> makeHostDevice();

} // namespace evt::runtime

#endif
