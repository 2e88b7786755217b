// All device functions of a way, and those before the layers and behind the head: embedding, angles, sampling.
#include "models/graph/StepDevices.h"

namespace evt::models {

Made StepDevices::make(const std::string &name, std::vector<std::string> memories, bool layered,
                       std::vector<std::string> coords, const std::function<void(TileScope &)> &body) {
  std::vector<Argument> arguments;
  for (const std::string &m : memories)
    arguments.push_back(types.at(m));
  if (layered)
    arguments.push_back(scalar("layer"));
  return {program.device(name, arguments, std::move(coords), body), memories, layered};
}

StepDevices::Devices StepDevices::devices(const Way &way) {
  const std::string &w = way.prefix;
  Devices made;
  made.embed = makeEmbed(way);
  std::vector<std::string> ofAngles = {"positions", "frequencies", w + "cosines", w + "sines"};
  if (way.streams)
    ofAngles.insert(ofAngles.end(), {"tokens", "slots", "history"});
  made.angles = make(w + "angles", ofAngles, false, {"i"}, [&](TileScope &s) {
    // Loads side by side, then stores side by side: all of the step waits for this task.
    Index token = s["i"] * 8;
    Tile positions = s.load(s["positions"], {token}, {8}), frequencies = s.load(s["frequencies"], {0}, {half});
    std::optional<Tile> tokens;
    if (way.streams)
      tokens = s.load(s["tokens"], {token}, {8});
    Tile angle = s.broadcast(s.convert(positions, f32), {8, half}, {1}) * s.broadcast(frequencies, {8, half}, {0});
    Tile cosine = s.math("cos", angle), sine = s.math("sin", angle);
    s.store(cosine, s[w + "cosines"], {token, 0});
    s.store(sine, s[w + "sines"], {token, 0});
    if (tokens)
      s.store(*tokens, s["history"], {token}, {.table = s["slots"]});
  });
  if (!way.streams)
    made.remember = makeRemember(way);
  if (way.streams) {
    made.query = makeHead(way, "query", 0);
    made.key = makeHead(way, "key", model.heads);
    made.value = makeHead(way, "value", model.heads + model.kvHeads);
    if (model.hasQkNorm)
      made.settle = makeSettle(way);
  } else {
    makeRotations(way, made);
  }
  if (way.streams) {
    made.attend = makeSplitAttention(way);
    made.merge = makeMerge(way);
  } else {
    made.attend = makeTokenAttention(way, "attend", 1);
    if (model.kvHeads % 2 == 0 && !limits.sameBits) // which sum in another order
      made.attendPairs = makeTokenAttention(way, "attend_pairs", 1, 2);
    made.attendEights = makeTokenAttention(way, "attend_eights", 8);
    made.attendRuns = makeRunAttention(way);
    makeProducts(promptTokens, made.prompt.emplace());
  }
  makeProducts(way, made);
  if (way.streams) {
    // A tile has all tokens: those of which logits are wanted store them where the table says, others nowhere.
    made.logits =
        makeOperator("logits", way, way.headRows(), w + "xb", w + "squares", {"head"}, {"logits", "outputs"},
                     [&](TileScope &s, std::vector<Tile> sums, Index token, Index row, Index) {
                       s.store(sums[0], s["logits"], {token, row}, {.sizes = sums[0].shape(), .table = s["outputs"]});
                     });
  } else {
    made.logits = makeOperator("logits", way, way.headRows(), w + "last_xb", "", {"head"}, {"logits"},
                               [&](TileScope &s, std::vector<Tile> sums, Index token, Index row, Index) {
                                 s.store(sums[0], s["logits"], {token, row});
                               });
  }
  auto sampling = [](TileScope &s) {
    return TileScope::Sampling{s["logits"], s["scaled"], s["rates"], s["choices"], chunk};
  };
  made.best = make(w + "best", {"logits", "rates", "choices", "history", "pages", "scaled", w + "candidates"}, false,
                   {"r", "c"}, [&](TileScope &s) {
                     Tile part =
                         s.draw(sampling(s), s["history"], s["pages"], limits.pageSlots, s["r"], s["c"] * chunk);
                     s.store(part, s[w + "candidates"], {s["r"], s["c"], 0});
                   });
  made.next = make(w + "next", {w + "candidates", "scaled", "logits", "rates", "choices", "next", "logprobs"}, false,
                   {"r"}, [&](TileScope &s) {
                     TileScope::Sampled sampled = s.sample(sampling(s), s[w + "candidates"], s["r"]);
                     s.store(sampled.token, s["next"], {s["r"]});
                     s.store(sampled.logprob, s["logprobs"], {s["r"]});
                   });
  return made;
}

Made StepDevices::makeRemember(const Way &way) {
  return make(way.prefix + "remember", {"tokens", "slots", "history"}, false, {"all"}, [&](TileScope &s) {
    s.loop(0, s.dim(s["tokens"], 0), 128, {}, [&](Index token, std::vector<Tile> none) {
      s.store(s.load(s["tokens"], {token}, {128}), s["history"], {token}, {.table = s["slots"]});
      return none;
    });
  });
}

int64_t StepDevices::embedColumns(const Way &way) const {
  int64_t columns = (way.streams ? way : promptTokens).rowsOf(d, 1, true);
  while (columns < 64 && d % (2 * columns) == 0)
    columns *= 2;
  return columns;
}

Made StepDevices::makeEmbed(const Way &way) {
  const std::string &w = way.prefix;
  const int64_t columns = embedColumns(way), of = way.rowsOf(d, 1, true), groups = columns / of;
  std::vector<std::string> memories = {"tokens", "embedding", "attn_norm", w + "x", w + "xb", w + "squares"};
  if (!way.streams)
    memories.push_back("deep_squares");
  return make(w + "embed", memories, false, {"i", "j"}, [&](TileScope &s) {
    Index token = s["i"] * 8, column = s["j"] * columns;
    Tile value = s.convert(s.load(s["embedding"], {token, column}, {8, columns}, {.table = s["tokens"]}), f32);
    Tile weights = s.broadcast(s.load(s["attn_norm"], {0, column}, {columns}), {8, columns}, {0});
    s.store(value, s[w + "x"], {token, column});
    s.store(s.convert(value * weights, bf16), s[w + "xb"], {token, column});
    Tile squares = s.reduce(Combine::add, s.reshape(value * value, {8, groups, of}), {2});
    s.store(squares, s[w + "squares"], {token, s["j"] * groups});
    if (way.streams)
      return;
    // Those of prompts are of more columns.
    const int64_t deepOf = promptTokens.rowsOf(d, 1, true), wider = deepOf / of;
    Tile sums = s.reduce(Combine::add, s.reshape(squares, {8, groups / wider, wider}), {2});
    s.store(sums, s["deep_squares"], {token, s["j"] * (groups / wider)});
  });
}

} // namespace evt::models
