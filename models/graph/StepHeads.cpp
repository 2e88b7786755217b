// Queries, keys and values of a step: norms of heads, rotation, the cache.
#include "models/graph/StepDevices.h"

namespace evt::models {

StepDevices::Rotated StepDevices::rotate(TileScope &s, const Way &way, Tile low, Tile high, Index token, Index column) {
  Tile c = s.load(s[way.prefix + "cosines"], {token, column}, low.shape());
  Tile n = s.load(s[way.prefix + "sines"], {token, column}, low.shape());
  return {low * c - high * n, high * c + low * n};
}

Tile StepDevices::normWeights(TileScope &s, const std::string &norm, Index column, std::vector<int64_t> shape) {
  return s.broadcast(s.load(s[norm], {s["layer"], column}, {shape[1]}), shape, {0});
}

Made StepDevices::makeHead(const Way &way, const std::string &kind, int64_t firstHead) {
  const std::string &w = way.prefix;
  const bool isQuery = kind == "query", isValue = kind == "value", isNormed = model.hasQkNorm && !isValue;
  const std::string target = isQuery ? w + "q" : isValue ? "values" : "keys";
  const std::string squares = isQuery ? w + "q_squares" : "key_squares", norm = isQuery ? "q_norm" : "k_norm";
  std::vector<std::string> memories = {w + "xb", w + "squares", "qkv", target};
  if (!isValue)
    memories.insert(memories.end(), {w + "cosines", w + "sines"});
  if (isNormed)
    memories.insert(memories.end(), {norm, squares});
  if (!isQuery)
    memories.push_back("slots");
  return make(w + kind, memories, true, {"t", "n", "i"}, [&](TileScope &s) {
    Index token = s["t"] * way.tokens, column = s["i"] * 8, layer = s["layer"];
    Index row = Index(s["n"]) * head + column + firstHead * head;
    Tile root = rootOf(s, way, w + "squares", token, 8);
    std::vector<Tile> sums =
        products(s, way, w + "xb", token, 8, d, 0, {{"qkv", {layer, row}}, {"qkv", {layer, row + half}}});
    Tile low = sums[0] * root, high = sums[1] * root;
    if (isNormed) {
      Tile both = s.reduce(Combine::add, low * low + high * high, {1});
      if (isQuery)
        s.store(both, s[squares], {token, Index(s["n"]) * parts + s["i"]}, {.sizes = {8, 1}});
      else
        s.store(both, s[squares], {layer, s["n"], token, s["i"]},
                {.sizes = {1, 1, 8, 1}, .table = s["slots"], .tableDim = 2});
      low = low * normWeights(s, norm, column, {8, 8});
      high = high * normWeights(s, norm, column + half, {8, 8});
    }
    if (!isValue) {
      Rotated r = rotate(s, way, low, high, token, column);
      low = r.low;
      high = r.high;
    }
    auto store = [&](Tile value, Index at) {
      if (isQuery)
        s.store(s.convert(value, bf16), s[target], {token, Index(s["n"]) * head + at});
      else
        s.store(s.convert(value, bf16), s[target], {layer, s["n"], token, at},
                {.sizes = {1, 1, 8, 8}, .table = s["slots"], .tableDim = 2});
    };
    store(low, column);
    store(high, column + half);
  });
}

void StepDevices::makeRotations(const Way &way, Devices &made) {
  const std::string &w = way.prefix;
  auto rotation = [&](const std::string &kind, const std::string &target, const std::string &norm, int64_t firstHead) {
    const bool isKey = target == "keys", isCached = isKey || target == "values", turns = !norm.empty();
    const bool hasNorm = turns && model.hasQkNorm;
    std::vector<std::string> memories = {"wide_qkv", target};
    if (turns)
      memories.insert(memories.end(), {w + "cosines", w + "sines"});
    if (isCached)
      memories.push_back("slots");
    if (hasNorm)
      memories.push_back(norm);
    if (hasNorm && isKey)
      memories.push_back("key_squares");
    return make(w + kind, memories, true, {"i", "n"}, [=, this](TileScope &s) {
      TileScope::HeadRotation how{s["wide_qkv"], s[target], {}, {}, {}, {}, {}, rotatedTokens, head, model.normEpsilon};
      if (turns) {
        how.cosines = s[w + "cosines"];
        how.sines = s[w + "sines"];
      }
      if (isCached)
        how.slots = s["slots"];
      if (hasNorm)
        how.weights = s[norm];
      if (hasNorm && isKey)
        how.squares = s["key_squares"];
      s.rotateHead(how, s["i"] * rotatedTokens, (s["n"] + firstHead) * head, s["layer"], s["n"]);
    });
  };
  made.rotate = rotation("rotate", w + "q", "q_norm", 0);
  made.appendKeys = rotation("append_keys", "keys", "k_norm", model.heads);
  made.appendValues = rotation("append_values", "values", "", model.heads + model.kvHeads);
}

Made StepDevices::makeSettle(const Way &way) {
  return make(way.prefix + "settle", {"keys", "key_squares", "slots"}, false, {"t", "l", "h"}, [&](TileScope &s) {
    const std::vector<int64_t> keys = {1, 1, way.tokens, head}, sums = {1, 1, way.tokens, parts};
    const std::vector<Index> at = {s["l"], s["h"], s["t"] * way.tokens, 0};
    Tile key = s.load(s["keys"], at, keys, {.table = s["slots"], .tableDim = 2});
    Tile squares = s.load(s["key_squares"], at, sums, {.table = s["slots"], .tableDim = 2});
    // The bits of evt.attend_parts, which has them in this step.
    Tile mean = s.reduce(Combine::add, squares, {3}) / (double)head;
    Tile root = s.broadcast(s.mathNear("rsqrt", mean + model.normEpsilon), keys, {3});
    s.store(s.convert(s.convert(key, f32) * root, bf16), s["keys"], at,
            {.sizes = keys, .table = s["slots"], .tableDim = 2});
    s.store(s.splat((1 - model.normEpsilon) * (double)(head / parts), sums), s["key_squares"], at,
            {.sizes = sums, .table = s["slots"], .tableDim = 2});
  });
}

} // namespace evt::models
