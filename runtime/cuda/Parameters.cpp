#include "runtime/cuda/Parameters.h"

#include <cstring>

namespace evt::runtime::cuda {

std::vector<uint64_t> packParameters(const evt_cuda_launch &launch, std::span<const Address> memories,
                                     std::span<const int64_t> symbols, std::span<const Address> regions,
                                     std::span<const TensorMap> maps) {
  static_assert(sizeof(evt_cuda_launch) % sizeof(uint64_t) == 0, "the words directly follow the structure");
  std::vector<uint64_t> words(sizeof launch / sizeof(uint64_t));
  std::memcpy(words.data(), &launch, sizeof launch);
  words.insert(words.end(), memories.begin(), memories.end());
  for (int64_t symbol : symbols)
    words.push_back(static_cast<uint64_t>(symbol));
  words.insert(words.end(), regions.begin(), regions.end());
  constexpr size_t wordsPerLine = alignof(TensorMap) / sizeof(uint64_t);
  if (!maps.empty())
    words.resize((words.size() + wordsPerLine - 1) / wordsPerLine * wordsPerLine);
  for (const TensorMap &map : maps)
    words.insert(words.end(), std::begin(map.words), std::end(map.words));
  return words;
}

} // namespace evt::runtime::cuda
