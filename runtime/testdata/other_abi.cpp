// A kernel of an interface that does not exist.
#include <cstdint>

extern "C" uint32_t evt_kernel_abi() { return 7; }
