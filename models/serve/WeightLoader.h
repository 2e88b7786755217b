// The weights of a step on the device that it runs on, from the files of a checkpoint.
//
// On a GPU, several threads read pieces of tensors into memory that the GPU copies from by itself, and put the copy and
// a kernel that converts and packs the piece into a stream of their own: reading, copying and packing overlap. Each
// thread has two places for a piece, so that it reads one while the GPU takes the other.
#ifndef EVT_MODELS_SERVE_WEIGHTLOADER_H
#define EVT_MODELS_SERVE_WEIGHTLOADER_H

#include "models/config/ModelConfig.h"
#include "models/weights/Checkpoint.h"

#include <evt/memory.hpp>

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace evt::models {

inline constexpr DLDataType f32Type{2, 32, 1}, f16Type{2, 16, 1}, bf16Type{4, 16, 1}, i32Type{0, 32, 1};

/// A tensor on the device.
struct StepArray {
  DeviceMemory memory;
  std::vector<int64_t> shape;
  DLDataType type;

  /// As an argument of a launch; valid as long as this is.
  DLTensor tensor(DLDevice device) const;
};

struct LoadReport {
  uint64_t bytes = 0;  // read from files
  uint64_t arrays = 0; // bytes on the device
  double seconds = 0;  // until all of it was there
  // On a GPU only, of the threads on average: making room, reading files, waiting for copies and packing. Then the
  // GPU's own time for packing: pieces of several threads overlap in it.
  double roomSeconds = 0, readSeconds = 0, waitSeconds = 0, packSeconds = 0;
};

struct LoadOptions {
  unsigned threads = 0; // 0: one for each core, for a GPU at most 8
  /// Told from time to time how many bytes have been read, by one thread at a time.
  std::function<void(uint64_t done, uint64_t total)> progress;
};

/// The shapes of the arguments that loadWeights() makes.
std::map<std::string, std::vector<int64_t>> stepShapes(const ModelConfig &model);

/// Every weight of the step, and the frequencies of its rotary embedding, by argument. Throws std::invalid_argument if
/// the program has no such argument, and what reading and the device throw.
std::map<std::string, StepArray> loadWeights(const Program &program, const ModelConfig &model,
                                             const Checkpoint &checkpoint, const LoadOptions &options,
                                             LoadReport &report);

} // namespace evt::models

#endif
