// The safetensors format: named tensors in one file.
//
//   8 bytes     N, little-endian
//   N bytes     JSON: {"name": {"dtype": "BF16", "shape": [2, 3], "data_offsets": [0, 12]}, …,
//                      "__metadata__": {"format": "pt"}}, which may end in spaces
//   the rest    the tensors' elements, row-major and little-endian, at those offsets from here
//
// A file is refused unless every byte after the header belongs to exactly one tensor and every tensor's shape and type
// agree with its bytes. So whatever parseHeader returns can be read without another check. Worked example, 2 x 3 of
// bf16:
//
//   offset 0    40 00 00 00 00 00 00 00
//   offset 8    {"w":{"dtype":"BF16","shape":[2,3],"data_offsets":[0,12]}}, and spaces up to 64 bytes
//   offset 72   12 bytes
#ifndef EVT_MODELS_WEIGHTS_SAFETENSORS_H
#define EVT_MODELS_WEIGHTS_SAFETENSORS_H

#include "models/weights/ElementType.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace evt::models {

/// What a tensor is.
struct TensorType {
  std::string name;
  ElementType type = ElementType::bf16;
  std::vector<int64_t> shape;

  uint64_t elements() const;
  uint64_t bytes() const { return elements() * bytesOf(type); }
};

/// A tensor of a file: what it is, and where its bytes are, from the file's first byte on.
struct StoredTensor : TensorType {
  uint64_t offset = 0;
};

/// The tensors of a file, by offset. Throws Problems with all that is wrong, naming `where`.
std::vector<StoredTensor> parseHeader(std::span<const std::byte> file, const std::string &where);

/// The first bytes of a file that holds these tensors one after another: length and header, a multiple of 8.
std::string formatHeader(std::span<const TensorType> tensors);

} // namespace evt::models

#endif
