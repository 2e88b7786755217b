// How many tasks the calls of a step have, by its tokens and requests: one way or the other has none.
#pragma once

#include "models/graph/Ways.h"

#include "compiler/builder/Builder.h"

#include <algorithm>

namespace evt::models {

/// The most tokens of which those in short runs have a task each. With more, most are in prompts, and tasks that find
/// nothing to do would take longer than the others.
inline constexpr int64_t mostSingles = 1024;

/// The most tokens of which each key/value head has a task of its own, with an even number of heads: as many tasks as a
/// large GPU has SMs. With more, two heads share a task, and with it the time in which nothing is multiplied.
inline int64_t mostAlone(int64_t kvHeads) { return std::max<int64_t>(128 / kvHeads, 8); }

/// The sizes of one way through the step.
struct StepSizes {
  using Index = builder::Index;
  Index tiles;    // of tokens
  Index eights;   // groups of 8 tokens
  Index tokens;   // all of them, or none
  Index requests; // tiles of requests
  Index rows;     // requests
  // Many tokens, those that are no prompt (`narrow`) and those that are (`deep`): one or the other is empty.
  struct Part {
    Index tiles, requests, rows;
  };
  Part narrow{0, 0, 0}, deep{0, 0, 0};
  // Tokens in short runs have a task for each head, or for every two heads, with tiles of 128, or 8 of them one, with
  // tiles of 256: likewise.
  Index singles = 0, singleTiles = 0, pairs = 0, pairTiles = 0, groups = 0, groupTiles = 0;

  static StepSizes ofFew(Index tokens, Index requests) {
    return {most(least(1, Index(9) - tokens), 0), most(least(1, Index(9) - tokens), 0),
            most(least(tokens, Index(72) - tokens * 8), 0), most(least(1, Index(9) - tokens), 0),
            most(least(least(requests, 8), Index(72) - tokens * 8), 0)};
  }
  /// Of more than `streamed` tokens; up to `alone` of them, each has a task for each head.
  static StepSizes ofMany(Index tokens, Index requests, int64_t mostTokens, int64_t streamed, int64_t alone) {
    const Index more = tokens - streamed;
    StepSizes sizes{most(least(ceildiv(tokens, manyTokens.tokens), more), 0),
                    most(least(ceildiv(tokens, 8), more * 8), 0), most(least(tokens, more * 16), 0),
                    most(least(ceildiv(requests, manyTokens.tokens), more * 64), 0),
                    most(least(requests, more * 64), 0)};
    auto upTo = [&](int64_t border, Index n) { return most(least(n, (Index(border + 1) - tokens) * border), 0); };
    auto beyond = [&](int64_t border, Index n) { return most(least(n, (tokens - border) * mostTokens), 0); };
    sizes.narrow = {upTo(mostNarrow, sizes.tiles), upTo(mostNarrow, sizes.requests), upTo(mostNarrow, sizes.rows)};
    sizes.deep = {beyond(mostNarrow, ceildiv(tokens, promptTokens.tokens)),
                  beyond(mostNarrow, ceildiv(requests, manyTokens.tokens)), beyond(mostNarrow, requests)};
    sizes.singles = upTo(alone, sizes.tokens);
    sizes.singleTiles = upTo(alone, sizes.tiles);
    sizes.pairs = upTo(mostSingles, beyond(alone, tokens));
    sizes.pairTiles = upTo(mostSingles, beyond(alone, ceildiv(tokens, manyTokens.tokens)));
    sizes.groups = beyond(mostSingles, ceildiv(tokens, 8));
    sizes.groupTiles = beyond(mostSingles, ceildiv(tokens, promptTokens.tokens));
    return sizes;
  }
};

} // namespace evt::models
