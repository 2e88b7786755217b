// Attention of a step: of few tokens in parts; of many, tokens in short runs by themselves and those of long ones in
// tiles.
#include "models/graph/StepDevices.h"

#include <cmath>

namespace evt::models {

std::vector<std::string> StepDevices::attentionMemories(const Way &way) {
  return {way.prefix + "q", "keys", "values", "pages", "requests", "positions"};
}

TileScope::Attention StepDevices::cacheOf(TileScope &s, Index request, Index h) {
  return {s["keys"], s["values"], s["pages"], s["layer"], request, h, limits.pageSlots};
}

Made StepDevices::makeSplitAttention(const Way &way) {
  const std::string &w = way.prefix;
  std::vector<std::string> memories = attentionMemories(way);
  memories.insert(memories.end(), {"part_m", "part_sum", "part_acc"});
  if (model.hasQkNorm)
    memories.insert(memories.end(), {w + "q_squares", "key_squares"});
  return make(w + "attend", memories, true, {"t", "h", "s"}, [&](TileScope &s) {
    Index token = s["t"], h = s["h"], number = s["s"];
    Index request = s.read(s["requests"], {token}), length = s.read(s["positions"], {token}) + 1;
    Index part = partOf(length), begin = part * number * s.dim(s["part_m"], 3);
    TileScope::Query query{s[w + "q"], token, h * (group * head), group, 1.0 / std::sqrt((double)head)};
    if (model.hasQkNorm) {
      query.squares = s[w + "q_squares"];
      query.squaresColumn = h * (group * parts);
      query.keySquares = s["key_squares"];
      query.epsilon = model.normEpsilon;
    }
    // A step writes no more positions of a request than it has tokens, the last ones up to the token's own.
    Index settled = length - s.dim(s["positions"], 0);
    s.attendParts(query, cacheOf(s, request, h), {begin, length, part, settled}, softmaxParts(s), token, h, number);
  });
}

void StepDevices::storeAttention(TileScope &s, const Way &way, const TileScope::SoftmaxPart &all, Index token, Index h,
                                 int64_t rows) {
  // The largest score adds exp(0), so the sum of a token that attends to anything is at least 1.
  Tile divisor = s.broadcast(s.maximum(all.sum, s.splat(1.0, {rows})), {rows, head}, {1});
  s.store(s.reshape(s.convert(all.acc / divisor, bf16), {1, rows * head}), s[way.prefix + "attention"],
          {token, h * (group * head)});
}

Made StepDevices::makeMerge(const Way &way) {
  return make(way.prefix + "merge", {"part_m", "part_sum", "part_acc", "positions", way.prefix + "attention"}, false,
              {"t", "h"}, [&](TileScope &s) {
                Index token = s["t"], h = s["h"], length = s.read(s["positions"], {token}) + 1;
                s.mergeParts(softmaxParts(s), token, h, length, partOf(length), s[way.prefix + "attention"], token,
                             h * (group * head));
              });
}

Made StepDevices::makeTokenAttention(const Way &way, const std::string &name, int64_t each, int64_t heads) {
  std::vector<std::string> memories = attentionMemories(way);
  memories.push_back(way.prefix + "attention");
  return make(way.prefix + name, memories, true, {"i", "h"}, [&, each, heads](TileScope &s) {
    Index h = s["h"] * heads;
    auto attend = [&](Index token) {
      s.loop(0, s.shortTokens(runs(s), token, 1), 1, {}, [&](Index, std::vector<Tile>) {
        Index request = s.read(s["requests"], {token}), length = s.read(s["positions"], {token}) + 1;
        const int64_t rows = heads * group;
        Tile query =
            s.reshape(s.load(s[way.prefix + "q"], {token, h * (group * head)}, {1, rows * head}), {rows, head});
        Tile scales = s.splat(1.0 / std::sqrt((double)head), {rows});
        TileScope::Attention over = cacheOf(s, request, h);
        over.heads = heads;
        // Of a request whose tokens are a short run the step writes no earlier positions.
        Index settled = length - enoughForTiles;
        storeAttention(s, way, s.attend(query, scales, over, 0, length, settled), token, h, rows);
        return std::vector<Tile>();
      });
    };
    if (each == 1)
      return attend(s["i"]);
    Index first = s["i"] * each;
    s.loop(0, least(s.shortTokens(runs(s), first, each), 1), 1, {}, [&](Index, std::vector<Tile>) {
      return s.loop(0, each, 1, {}, [&](Index i, std::vector<Tile>) {
        attend(first + i);
        return std::vector<Tile>();
      });
    });
  });
}

int64_t StepDevices::runTile() const {
  int64_t tokens = manyTokens.tokens;
  while (tokens > 1 && tokens * group > 128)
    tokens /= 2;
  return tokens;
}

Made StepDevices::makeRunAttention(const Way &way) {
  std::vector<std::string> memories = attentionMemories(way);
  memories.push_back(way.prefix + "attention");
  return make(way.prefix + "attend_runs", memories, true, {"t", "h"}, [&](TileScope &s) {
    TileScope::TokenAttention how{s[way.prefix + "q"], s[way.prefix + "attention"], runTile(), group,
                                  1.0 / std::sqrt((double)head)};
    s.attendTokens(how, runs(s), cacheOf(s, 0, s["h"]), s["t"] * runTile());
  });
}

} // namespace evt::models
