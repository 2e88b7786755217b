#include "Generator.h"

#include <algorithm>

namespace evt::fuzz {

int pick(Random &random, int lo, int hi) {
  return lo + static_cast<int>(random() % static_cast<uint64_t>(hi - lo + 1));
}

bool chance(Random &random, int percent) { return pick(random, 0, 99) < percent; }

namespace {

/// How a memory's first dimension is addressed by calls that step through time.
enum class Time { None, Step, Turns };

class Generator {
public:
  Generator(Random &random, bool aligned) : random(random), aligned(aligned) {}

  Model make() {
    static const char *names[] = {"n", "m", "k"};
    int symbols = pick(random, 1, 3);
    for (int s = 0; s < symbols; ++s) {
      model.symbols.push_back(names[s]);
      strides.push_back(pick(random, 1, 4));
    }
    model.shorthand = chance(random, 50);
    bool repeated = chance(random, 35), carried = !repeated && chance(random, 30);
    steps = chance(random, 70) ? Size{symbols - 1} : constantSize(pick(random, 1, 3));
    model.repeat = repeated ? steps : constantSize(1);

    addMemory(Memory::Input, Time::None);
    for (int k = pick(random, 1, aligned ? 2 : 3); k > 0; --k)
      addMemory(chance(random, 60) ? Memory::Output : Memory::Buffer, Time::None);
    if (repeated || carried)
      for (int k = pick(random, 1, aligned ? 1 : 2); k > 0; --k)
        addMemory(chance(random, 40) ? Memory::Output : Memory::Buffer, chance(random, 50) ? Time::Step : Time::Turns);
    for (size_t m = 0; m < model.memories.size(); ++m)
      if (model.memories[m].role == Memory::Buffer)
        addInitialization(static_cast<int>(m));

    int ordinary = repeated || carried ? pick(random, 0, 1) : pick(random, 1, aligned ? 3 : 4);
    for (int k = 0; k < ordinary; ++k)
      addCall(false, false);
    if (carried)
      addCall(false, true);
    for (int k = repeated ? pick(random, 1, aligned ? 2 : 3) : 0; k > 0; --k)
      addCall(true, false);
    for (int k = pick(random, repeated || carried ? 1 : 0, aligned ? 1 : 2); k > 0; --k)
      addCall(false, false);
    return model;
  }

private:
  Size randomDim(Memory::Role role) {
    int symbol = pick(random, 0, static_cast<int>(model.symbols.size()) - 1);
    if (chance(random, 25))
      return constantSize(pick(random, 1, 6));
    if (role == Memory::Buffer && !aligned && chance(random, 30))
      return {symbol, pick(random, 1, 2), pick(random, 0, 3), pick(random, 1, 3)};
    return {symbol};
  }

  void addMemory(Memory::Role role, Time time) {
    Memory m{role,
             (role == Memory::Input    ? "x"
              : role == Memory::Output ? "y"
                                       : "b") +
                 std::to_string(model.memories.size()),
             {}};
    if (time == Time::Turns)
      m.dims.push_back(constantSize(2));
    // Places for all steps and one more; an argument's dimension is a symbol or a number, so its last step is clipped.
    if (time == Time::Step)
      m.dims.push_back(role == Memory::Buffer && !steps.isConstant() ? Size{steps.symbol, 1, 1, 1}
                       : role == Memory::Buffer                      ? constantSize(steps.plus + 1)
                                                                     : steps);
    for (int d = time == Time::None ? pick(random, 0, 2) : pick(random, 0, 1); d >= 0 && m.dims.size() < 3; --d)
      m.dims.push_back(randomDim(role));
    model.memories.push_back(m);
    times.push_back(time);
  }

  /// How all calls of an aligned model cut a dimension.
  int strideOf(const Size &dim) const {
    return dim.isConstant() ? std::max(1, dim.plus / 2) : strides[static_cast<size_t>(dim.symbol)];
  }

  Time timeOf(int memory) const { return times[static_cast<size_t>(memory)]; }
  const std::vector<Size> &dims(int memory) const { return model.memories[static_cast<size_t>(memory)].dims; }

  Call &newCall() {
    Call &call = model.calls.emplace_back();
    call.name = "c" + std::to_string(model.calls.size() - 1);
    call.salt = pick(random, 1, 1000);
    return call;
  }

  /// A grid coordinate that steps through a dimension in tiles, or a whole dimension of known size in one tile.
  void tileDim(Call &call, Access &write, const Size &dim, bool covering) {
    int coord = model.coordCount(call);
    int gridRank = static_cast<int>(call.grid.size()) - (call.carried ? 1 : 0);
    if (gridRank > 0 && dim.isConstant() && (gridRank >= 2 || chance(random, 60))) {
      write.offset.push_back(constantExpr(0));
      write.tile.push_back(dim.plus);
      return;
    }
    covering |= aligned;
    int stride = aligned ? strideOf(dim) : pick(random, 1, 4);
    int tile = covering || chance(random, 80) ? stride : pick(random, 1, stride);
    int skew = covering || chance(random, 80) ? 0 : pick(random, -1, 2);
    // ceildiv(ceildiv(a, b), c) = ceildiv(a, b c)
    Size tiles = dim.isConstant() ? constantSize((dim.plus + stride - 1) / stride)
                                  : Size{dim.symbol, dim.factor, dim.plus, dim.divisor * stride};
    if (!covering && chance(random, 20)) // fewer tasks than would cover it, or more
      tiles = dim.isConstant() ? constantSize(pick(random, 1, 3))
                               : Size{dim.symbol, 1, pick(random, 0, 2), pick(random, 1, 4)};
    call.grid.push_back(tiles);
    write.offset.push_back(variableExpr(coord, stride, skew));
    write.tile.push_back(tile);
  }

  /// Fills a buffer, so that nobody reads what was never written.
  void addInitialization(int memory) {
    Call &call = newCall();
    Access write{memory, {}, {}};
    for (const Size &d : dims(memory))
      tileDim(call, write, d, true);
    if (chance(random, 70))
      call.reads.push_back(randomRead(call, 0));
    call.writes.push_back(write);
  }

  Expr stepExpr(int memory, int ahead) {
    Expr e = variableExpr(0, 1, ahead);
    if (timeOf(memory) == Time::Turns)
      e.modulus = 2;
    return e;
  }

  void addCall(bool inRepeat, bool carried) {
    std::vector<int> targets;
    for (size_t m = 1; m < model.memories.size(); ++m)
      if (carried ? times[m] != Time::None : inRepeat || times[m] == Time::None || chance(random, 20))
        targets.push_back(static_cast<int>(m));
    if (targets.empty())
      targets.push_back(1);
    int target = targets[random() % targets.size()];
    bool inTime = (inRepeat || carried) && timeOf(target) != Time::None;
    Call &call = newCall();
    call.inRepeat = inRepeat;
    call.carried = carried;
    if (carried)
      call.grid.push_back(steps);
    Access write{target, {}, {}};
    int ahead = timeOf(target) == Time::Turns || chance(random, 70) ? 1 : 0;
    for (size_t d = 0; d < dims(target).size(); ++d) {
      if (d == 0 && inTime) {
        write.offset.push_back(stepExpr(target, ahead));
        write.tile.push_back(1);
      } else {
        tileDim(call, write, dims(target)[d], false);
      }
    }
    for (int k = pick(random, 1, 3); k > 0; --k) {
      int from = pick(random, 0, static_cast<int>(model.memories.size()) - 1);
      if (carried && k == 1)
        from = target;
      if (carried && from != target && timeOf(from) != Time::None)
        from = 0;
      if (from != target) {
        call.reads.push_back(randomRead(call, from));
      } else if (inTime) {
        // Earlier steps, anywhere; a step that this call itself is writing now would race.
        Access read = randomRead(call, from);
        int back = timeOf(target) == Time::Turns ? 0 : ahead - 1 - (chance(random, 30) ? 1 : 0);
        read.offset[0] = stepExpr(target, back);
        read.tile[0] = 1;
        call.reads.push_back(read);
      } else {
        call.reads.push_back(write);
      }
    }
    call.writes.push_back(write);
    if (!aligned && !carried && chance(random, 20))
      addSecondWrite(call, target);
  }

  /// A second result at the same coordinates, in a memory the call does not touch otherwise.
  void addSecondWrite(Call &call, int target) {
    for (size_t m = 1; m < model.memories.size(); ++m) {
      bool used = static_cast<int>(m) == target;
      for (const Access &r : call.reads)
        used |= r.memory == static_cast<int>(m);
      size_t first = call.inRepeat ? 1 : 0;
      if (used || times[m] != Time::None || dims(static_cast<int>(m)).size() != call.grid.size())
        continue;
      Access write{static_cast<int>(m), {}, {}};
      for (size_t d = 0; d < call.grid.size(); ++d) {
        int tile = pick(random, 1, 3);
        write.offset.push_back(variableExpr(static_cast<int>(d + first), tile, 0));
        write.tile.push_back(tile);
      }
      call.writes.push_back(write);
      return;
    }
  }

  Access randomRead(const Call &call, int memory) {
    Access read{memory, {}, {}};
    int first = call.inRepeat || call.carried ? 1 : 0, coords = model.coordCount(call);
    for (size_t d = 0; d < dims(memory).size(); ++d) {
      const Size &dim = dims(memory)[d];
      if (d == 0 && timeOf(memory) == Time::Step && !call.inRepeat && !call.carried) {
        // From outside: the first steps, or the last ones.
        Expr e = constantExpr(pick(random, -1, 1));
        if (!steps.isConstant() && chance(random, 70)) {
          e.symbols.assign(model.symbols.size(), 0);
          e.symbols[static_cast<size_t>(steps.symbol)] = 1;
        }
        read.offset.push_back(e);
        read.tile.push_back(pick(random, 1, 2));
      } else if (d == 0 && timeOf(memory) != Time::None && (call.inRepeat || call.carried)) {
        int away = timeOf(memory) == Time::Turns ? pick(random, 0, 1) : pick(random, -1, 1);
        read.offset.push_back(stepExpr(memory, away));
        read.tile.push_back(1);
      } else if (aligned) {
        alignedRead(call, read, dim);
      } else if (coords == first || (dim.isConstant() && chance(random, 60)) || chance(random, 15)) {
        read.offset.push_back(constantExpr(chance(random, 80) ? 0 : pick(random, 0, 2)));
        read.tile.push_back(dim.isConstant() ? dim.plus : pick(random, 1, 4));
      } else {
        read.offset.push_back(variableExpr(pick(random, first, coords - 1), pick(random, 1, 4), pick(random, -2, 2)));
        read.tile.push_back(pick(random, 1, 4));
      }
    }
    return read;
  }

  /// The tile of a coordinate that cuts the same dimension, with a border or without; the whole of a known dimension;
  /// or the first elements.
  void alignedRead(const Call &call, Access &read, const Size &dim) {
    int first = call.inRepeat || call.carried ? 1 : 0, coords = model.coordCount(call), stride = strideOf(dim);
    Size tiles = dim.isConstant() ? constantSize((dim.plus + stride - 1) / stride)
                                  : Size{dim.symbol, dim.factor, dim.plus, dim.divisor * stride};
    for (int k = first; k < coords; ++k)
      if (model.extent(call, k) == tiles && chance(random, 80)) {
        int before = chance(random, 50) ? 0 : pick(random, 1, stride),
            after = chance(random, 50) ? 0 : pick(random, 1, stride);
        read.offset.push_back(variableExpr(k, stride, -before));
        read.tile.push_back(stride + before + after);
        return;
      }
    read.offset.push_back(constantExpr(0));
    read.tile.push_back(dim.isConstant() ? dim.plus : pick(random, 1, 4));
  }

  Random &random;
  bool aligned;
  std::vector<int> strides; // of each symbol's dimensions, where the model is aligned
  Model model;
  std::vector<Time> times;
  Size steps;
};

} // namespace

Model randomModel(Random &random, bool aligned) { return Generator(random, aligned).make(); }

} // namespace evt::fuzz
