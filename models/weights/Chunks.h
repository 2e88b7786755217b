// Work over a long range, in chunks that threads take one after another.
#ifndef EVT_MODELS_WEIGHTS_CHUNKS_H
#define EVT_MODELS_WEIGHTS_CHUNKS_H

#include <cstdint>
#include <functional>

namespace evt::models {

/// Calls work(begin, end) for the chunks of [0, total), all of length `chunk` but perhaps the last. They are taken in
/// order by at most `threads` threads (0: as many as there are cores), the caller's among them. After an exception no
/// further chunk is taken; the first exception is thrown to the caller when all threads have ended.
void forEachChunk(uint64_t total, uint64_t chunk, unsigned threads,
                  const std::function<void(uint64_t begin, uint64_t end)> &work);

} // namespace evt::models

#endif
