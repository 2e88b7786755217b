#include "runtime/cuda/Parameters.h"

#include <cstring>

namespace evt::runtime::cuda {

std::vector<uint64_t> packParameters(const evt_cuda_launch &launch, std::span<const Address> memories,
                                     std::span<const int64_t> symbols, std::span<const Address> regions) {
  static_assert(sizeof(evt_cuda_launch) % sizeof(uint64_t) == 0, "the words directly follow the structure");
  std::vector<uint64_t> words(sizeof launch / sizeof(uint64_t));
  std::memcpy(words.data(), &launch, sizeof launch);
  words.insert(words.end(), memories.begin(), memories.end());
  for (int64_t symbol : symbols)
    words.push_back(static_cast<uint64_t>(symbol));
  words.insert(words.end(), regions.begin(), regions.end());
  return words;
}

} // namespace evt::runtime::cuda
