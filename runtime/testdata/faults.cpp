// A kernel that fails on request: `mode` chooses how. It has no evt_kernel_explain.
#include "runtime/testdata/HandWritten.h"

namespace {

void fail(const evt_launch &launch, uint32_t code, evt_fault fault) {
  *launch.fault = fault;
  uint32_t none = EVT_ABORT_NONE;
  __atomic_compare_exchange_n(launch.abort, &none, code, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

} // namespace

extern "C" uint32_t evt_kernel_abi() { return EVT_ABI_VERSION; }

extern "C" void evt_kernel_worker(const evt_launch *launch, uint32_t id) {
  handwritten::Worker worker(*launch, id);
  int32_t *flag = static_cast<int32_t *>(launch->memories[0]);
  int64_t coord[2] = {0, 0}, bytes[2] = {24, 4};
  if (id == 0) {
    switch (launch->symbols[0]) {
    case 1:
      fail(*launch, EVT_ABORT_BOUND, {0, 130, 128});
      break;
    case 2:
      fail(*launch, EVT_ABORT_OVERRUN, {0, 4, 7});
      break;
    case 3:
      fail(*launch, EVT_ABORT_INDEX, {0, 1, 9});
      break;
    case 4:
      fail(*launch, 77, {1, 2, 3});
      break;
    case 5: // stuck in a body, deaf to the abort flag, until the caller sets flag[0]
      worker.begin(0, 3, 3, coord, 2);
      while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) == 0)
        usleep(1000);
      __atomic_store_n(flag, 2, __ATOMIC_RELEASE);
      break;
    case 6: // waits for what nobody notifies
      worker.begin(0, 5, 5, coord, 2);
      worker.wait(0, 4, 7);
      break;
    case 7: // leaves its region of counters dirty and fails
      *static_cast<uint32_t *>(launch->regions[0]) = 1;
      fail(*launch, EVT_ABORT_OVERRUN, {0, 0, 1});
      break;
    case 8: // reports what it finds in that region
      *flag = static_cast<int32_t>(*static_cast<uint32_t *>(launch->regions[0]));
      break;
    case 9: // a fault about an event that does not exist
      fail(*launch, EVT_ABORT_OVERRUN, {12, 0, 1});
      break;
    case 10: // busy, without waiting for anything, until it is told to leave
      worker.begin(0, 4, 4, coord, 2);
      while (!worker.aborted())
        usleep(1000);
      break;
    default:
      break;
    }
  }
  worker.leave(2, bytes);
}
