// A session's GPU as a caller of memory.h sees it.
#ifndef EVT_RUNTIME_CUDA_CUDADEVICE_H
#define EVT_RUNTIME_CUDA_CUDADEVICE_H

#include "runtime/cuda/Session.h"
#include "runtime/launch/Device.h"

namespace evt::runtime::cuda {

class CudaDevice : public Device {
public:
  // The session must outlive it.
  explicit CudaDevice(Session &session) : session_(session), gpu_(session.gpu()), driver_(gpu_.driver()) {}

  DLDevice place() const override { return {kDLCUDA, gpu_.number()}; }
  void *allocate(uint64_t bytes) override;
  void *allocateHost(uint64_t bytes) override;
  void free(void *memory) override;
  void freeHost(void *memory) override;
  void copy(void *to, const void *from, uint64_t bytes, evt_copy kind, void *stream) override;
  void fill(void *to, uint8_t value, uint64_t bytes, void *stream) override;
  evt_memory_use used() override;

  void *createStream() override;
  void destroyStream(void *stream) override;
  void synchronize(void *stream) override;
  void *createEvent() override;
  void destroyEvent(void *event) override;
  void record(void *event, void *stream) override;
  void wait(void *event) override;
  void streamWait(void *stream, void *event) override;
  double elapsed(void *begin, void *end) override;

  void pack(const RowsToPack &rows, void *stream) override;

private:
  [[noreturn]] void refuseAllocation(uint64_t bytes, const char *function, Result result) const;

  Session &session_;
  const Gpu &gpu_;
  const Driver &driver_;
};

} // namespace evt::runtime::cuda

#endif
