// ceilings.cu for the fake driver (runtime/cuda/fake): what its kernels leave in memory, at no particular speed. There
// is no bf16 kernel, as on a GPU without wgmma. Rounds of 13 stand for a GPU that does not run all blocks at once.
#include "runtime/cuda/fake/FakeCuda.h"

#include <atomic>
#include <cstring>

namespace {

struct Work {
  uint64_t in, out, amount, rounds;
};

Work workOf(const void *parameters) {
  Work work;
  std::memcpy(&work, parameters, sizeof work);
  return work;
}
uint64_t *host(uint64_t device) { return reinterpret_cast<uint64_t *>(device & ~fakecuda::deviceBit); }
void add(uint64_t *to, uint64_t what) { std::atomic_ref(*to) += what; }

void exchange(const void *parameters) {
  Work work = workOf(parameters);
  if (work.rounds == 13)
    std::atomic_ref(host(work.out)[48]) = 1;
}

} // namespace

#define KERNEL(name)                                                                                                   \
  extern "C" {                                                                                                         \
  extern const uint32_t name##_parameter_bytes;                                                                        \
  const uint32_t name##_parameter_bytes = sizeof(Work);                                                                \
  void name(const void *parameters, uint32_t block);                                                                   \
  }                                                                                                                    \
  void name([[maybe_unused]] const void *parameters, [[maybe_unused]] uint32_t block)

KERNEL(ceiling_fill) {
  Work work = workOf(parameters);
  if (block == 0)
    for (uint64_t i = 0; i < work.amount; ++i)
      host(work.out)[i] = i * 0x9e3779b97f4a7c15 + 0xd1b54a32d192ed03;
}
KERNEL(ceiling_read) {
  Work work = workOf(parameters);
  uint64_t sum = 0;
  for (uint64_t i = 0; i < work.amount; ++i)
    sum += host(work.in)[i];
  if (block == 0)
    add(host(work.out), sum);
}
KERNEL(ceiling_bulk_read) {
  Work work = workOf(parameters);
  uint64_t sum = 0;
  for (uint64_t c = work.amount > work.rounds ? work.amount - work.rounds : 0; c < work.amount; ++c)
    sum += host(work.in)[(block * work.amount + c) * 2048];
  add(host(work.out), sum);
}
KERNEL(ceiling_event_one_way) { exchange(parameters); }
KERNEL(ceiling_event_all) { exchange(parameters); }
KERNEL(ceiling_barrier) { exchange(parameters); }
KERNEL(ceiling_ticket) {}
KERNEL(ceiling_empty) {}
