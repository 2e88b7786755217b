// A CUDA driver for tests, without a GPU: a library with the driver's function names, whose device memory is the
// host's, whose streams are threads and whose kernels are shared objects: hand-written ones (FakeKernel.h), or, in the
// library for simulated kernels, those of emitted source (device/cuda/simulated).
//
// It is stricter than a driver where a runtime could go wrong unnoticed:
//   - a device address has a bit set that no host address has: whoever follows one on the host crashes
//   - copies take place when the stream gets to them, not when they are asked for
//   - every range that is copied or set must lie inside one allocation
//   - every call that needs a current context fails without one
//   - nothing can wait for a stream that is captured, and only a thread that has asked for it can allocate meanwhile
//   - what was not freed is counted
#ifndef EVT_RUNTIME_CUDA_FAKE_FAKECUDA_H
#define EVT_RUNTIME_CUDA_FAKE_FAKECUDA_H

#include <cstdint>
#include <string>
#include <vector>

namespace fakecuda {

// Kernels that are simulated follow device addresses as they are.
#ifdef EVT_SIMULATED_DRIVER
inline constexpr uint64_t deviceBit = 0;
#else
inline constexpr uint64_t deviceBit = uint64_t(1) << 62;
#endif

// What a test sets and looks at. Reached through the library's function fakeCuda().
struct State {
  // The machine.
  int devices = 1;
  int major = 9, minor = 0;
  int multiprocessors = 4;
  int blocksPerMultiprocessor = 2;
  int sharedBytesPerBlock = 232448;
  int cacheBytes = 1 << 20;
  uint64_t memoryBytes = uint64_t(1) << 30;

  // A function, by name, that fails with a result from its n-th call on (counted from 0).
  std::string failing{};
  int failingResult = 0;
  int failingFrom = 0;
  int failingCalls = 0;

  void *capturing = nullptr; // a stream

  // What there is that must be given back.
  int64_t allocations = 0, pinned = 0, streams = 0, events = 0, modules = 0, contexts = 0, graphs = 0;
  bool nothingLeft() const { return allocations + pinned + streams + events + modules + contexts + graphs == 0; }

  // What was done.
  int64_t launches = 0, hostCopies = 0, memsets = 0, synchronizations = 0;
  struct Launch {
    unsigned grid, block, sharedBytes;
    void *stream;
    std::vector<unsigned char> parameters;
  };
  std::vector<Launch> launched;
  std::vector<Launch> captured;
  std::vector<void *> foundIn; // a module for each function that was found, in order
};

} // namespace fakecuda

// The one state of the library; between two tests it is reset by assigning State{}.
extern "C" fakecuda::State *fakeCuda();
// Launches what a capture has collected, as a graph does.
extern "C" void fakeCudaReplay();

#endif
