// Early rows: what tells a reader that a word has been written, when the event that orders it has not come through yet.
//
// A release waits for every copy that its SM has in flight, and a streaming SM always has some. So rows that others
// multiply are not written into their tensor, which events order, but into a *place* of it, whose words tell by
// themselves whether they are there. A place's word is 0 until the complement of its content is stored; who reads it
// takes what is not 0, and asks again for what is. Places are only accessed by relaxed atomic operations of 32 bits, so
// nothing is torn, and nothing races.
//
// A tensor is written again and again during a launch, in *generations*, one after the other. It has three places, used
// in turn: generation n is written to place n mod 3 and read from there, and who writes a word of it clears that word
// in place n + 1.
//
//   generation   0          1          2          3
//   place 0      content    …          cleared    content …
//   place 1      cleared    content    …          cleared …
//   place 2                 cleared    content    …
//
// Released events must order the clearing of a word before it is written and read (by n - 1 before n), and the reading
// before the clearing (of n before n + 2); the compiler proves it (compiler/emit/EarlyProof.cpp). So what a reader
// meets is either not there or of its own generation. Generation 0 finds its place clear: memory starts so, and who
// ends a launch clears place 0 if the last generation did not.
#pragma once

#include "device/common/qualifiers.h"

#include <cstdint>

namespace evt {

/// Where a generation is written, and what it clears. Null: into the tensor itself.
struct EarlyWrite {
  std::uint32_t *now = nullptr, *next = nullptr;
};

/// The places of a tensor, each as large as the tensor.
struct Places {
  std::uint32_t *place[3];
  EVT_INLINE std::uint32_t *of(std::int64_t generation) const { return place[(std::uint32_t)generation % 3]; }
  EVT_INLINE EarlyWrite writes(std::int64_t generation) const {
    EarlyWrite to{of(generation), of(generation + 1)};
    EVT_ASSUME(to.now); // so that no code is kept for tensors without places
    return to;
  }
};

/// What a word that is not there looks like, and how content is told from it: `word ^ flip`.
inline constexpr std::uint32_t early_flip = ~0u;

/// `Words` is a target's: store(address, word), relaxed.
template <class Words> EVT_INLINE void write_early(const EarlyWrite &to, std::int64_t word, std::uint32_t content) {
  Words::store(to.now + word, content ^ early_flip);
  Words::store(to.next + word, 0);
}

/// Reads until everything is there. `read()` reads what a group of threads needs and tells whether all of it was there;
/// after `tries` of them `events()` waits for the released events, and then what is read is content: a word of 0,
/// too, which is what all ones look like.
template <class Read, class Events> EVT_INLINE void read_early(int tries, Read read, Events events) {
  for (int n = 1; !read() && n <= tries; ++n)
    if (n == tries)
      events();
}

} // namespace evt
