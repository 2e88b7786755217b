// Writes checkpoints: one safetensors file, or several and their index, as transformers does.
//
// Files are written under temporary names and renamed when all of them are complete, the one by which a reader finds
// the others last: a reader sees the old checkpoint, none, or the new one, and never a part. A writer that fails
// removes what it wrote; one that is killed leaves files that end in `.partial`, which the next writer replaces.
#ifndef EVT_MODELS_WEIGHTS_CHECKPOINTWRITER_H
#define EVT_MODELS_WEIGHTS_CHECKPOINTWRITER_H

#include "models/weights/Safetensors.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace evt::models {

/// Fills `out` with whole elements of tensor number `tensor`, from its element `first` on. Called by several threads at
/// once, in any order, once for each element.
using FillElements = std::function<void(size_t tensor, uint64_t first, std::span<std::byte> out)>;

struct WriteOptions {
  uint64_t shardBytes = 5'000'000'000; // a file holds at most so many bytes of tensors, or a single larger tensor
  unsigned threads = 0;                // 0: one for each core
  bool replace = false;                // a checkpoint that is there; otherwise it is an error
  std::function<void(uint64_t done, uint64_t total)> progress; // bytes; called by one thread at a time
};

/// The names of the files of a checkpoint that is in the folder, in either form or both; empty if there is none.
std::vector<std::string> checkpointFiles(const std::string &folder);

/// Returns the names of the files that hold tensors. Throws Problems naming the folder or file.
std::vector<std::string> writeCheckpoint(const std::string &folder, const std::vector<TensorType> &tensors,
                                         const FillElements &fill, const WriteOptions &options);

} // namespace evt::models

#endif
