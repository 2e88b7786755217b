// A checkpoint: the tensors of a model in one safetensors file or several, in the folder of its config.json.
//
//   model.safetensors                  the one file, or
//   model.safetensors.index.json       {"weight_map": {"lm_head.weight": "model-00002-of-00002.safetensors", …}}
//   model-00001-of-00002.safetensors   and the files that it names
//
// Where both forms are there, the one file counts, as it does for transformers.
#ifndef EVT_MODELS_WEIGHTS_CHECKPOINT_H
#define EVT_MODELS_WEIGHTS_CHECKPOINT_H

#include "models/config/ModelConfig.h"
#include "models/weights/MappedFile.h"
#include "models/weights/Safetensors.h"

#include <map>
#include <span>
#include <string>
#include <vector>

namespace evt::models {

inline constexpr const char *configFileName = "config.json";
inline constexpr const char *singleFileName = "model.safetensors";
inline constexpr const char *indexFileName = "model.safetensors.index.json";

class Checkpoint {
public:
  struct Tensor : TensorType {
    std::span<const std::byte> data; // in the mapped file; need not be aligned
    size_t file = 0;                 // which of the checkpoint's, and where in it the tensor begins
    uint64_t offset = 0;
  };
  using Tensors = std::map<std::string, Tensor, std::less<>>; // by name

  /// Opens and maps the files of a folder. Throws Problems with everything that is wrong with them: files that are not
  /// there or damaged, tensors that the index puts elsewhere or nowhere.
  static Checkpoint open(const std::string &folder);

  const std::string &folder() const { return folder_; }
  const std::vector<std::string> &fileNames() const { return fileNames_; }
  const Tensors &tensors() const { return tensors_; }
  /// nullptr if there is none.
  const Tensor *find(std::string_view name) const;
  /// Copies bytes of a tensor from `begin` on. May be called by several threads. Throws Problems.
  void read(const Tensor &tensor, uint64_t begin, std::span<std::byte> out) const {
    files_[tensor.file].read(tensor.offset + begin, out);
  }

private:
  Checkpoint() = default;
  std::optional<Tensors> map(const std::string &fileName, std::vector<std::string> &problems);
  void openShards(std::vector<std::string> &problems);

  std::string folder_;
  std::vector<std::string> fileNames_;
  std::vector<MappedFile> files_;
  Tensors tensors_;
};

/// What keeps a checkpoint from being the model's: tensors that are missing, of another shape, or not the model's, each
/// named. Empty if it fits. A model whose head is its embedding may have lm_head.weight or not; one that is there must
/// hold the same values. Types are free, and may differ between tensors.
std::vector<std::string> misfits(const Checkpoint &checkpoint, const ModelConfig &model);

/// Opens a folder's checkpoint. Throws Problems if it is damaged or not the model's.
Checkpoint openCheckpoint(const std::string &folder, const ModelConfig &model);

} // namespace evt::models

#endif
