#include "runtime/cuda/Lane.h"

#include <cstring>

namespace evt::runtime::cuda {

Signals::Signals(const Gpu &gpu) : driver(gpu.driver()) {
  try {
    driver.StreamCreate(&main, streamNonBlocking);
    driver.StreamCreate(&side, streamNonBlocking);
    driver.EventCreate(&begin, 0u);
    driver.EventCreate(&end, 0u);
    driver.MemHostAlloc(&pinned, pinnedBytes, 0u);
  } catch (...) {
    release();
    throw;
  }
}

Signals::~Signals() { release(); }

void Signals::release() {
  if (pinned)
    driver.MemFreeHost.raw(pinned);
  for (Event event : {begin, end})
    if (event)
      driver.EventDestroy.raw(event);
  for (Stream stream : {main, side})
    if (stream)
      driver.StreamDestroy.raw(stream);
}

Lane::Lane(const Gpu &gpu, unsigned workers, Stream stream) : workspace(gpu), control_(gpu) {
  control_.reserve(statusOffset + workers * sizeof(evt_status), stream);
}

void Lane::zeroReport(Stream stream) { control_.zero(control_.capacity(), stream); }

uint32_t Lane::readAbort(const Signals &signals) const {
  signals.driver.MemcpyDtoHAsync(signals.pinned, abort(), sizeof(uint32_t), signals.side);
  signals.driver.StreamSynchronize(signals.side);
  uint32_t code;
  std::memcpy(&code, signals.pinned, sizeof code);
  return code;
}

void Lane::writeAbort(uint32_t code, const Signals &signals) const {
  std::memcpy(signals.pinned, &code, sizeof code);
  signals.driver.MemcpyHtoDAsync(abort(), static_cast<const void *>(signals.pinned), sizeof code, signals.side);
  signals.driver.StreamSynchronize(signals.side);
}

KernelReport Lane::readReport(unsigned workers, const Signals &signals) const {
  KernelReport report;
  std::vector<unsigned char> bytes(statusOffset + workers * sizeof(evt_status));
  for (size_t at = 0; at < bytes.size(); at += Signals::pinnedBytes) {
    size_t part = std::min(Signals::pinnedBytes, bytes.size() - at);
    signals.driver.MemcpyDtoHAsync(signals.pinned, control_.address() + at, part, signals.side);
    signals.driver.StreamSynchronize(signals.side);
    std::memcpy(bytes.data() + at, signals.pinned, part);
  }
  std::memcpy(&report.abort, bytes.data(), sizeof report.abort);
  std::memcpy(&report.fault, bytes.data() + faultOffset, sizeof report.fault);
  report.status.resize(workers);
  std::memcpy(report.status.data(), bytes.data() + statusOffset, workers * sizeof(evt_status));
  return report;
}

} // namespace evt::runtime::cuda
