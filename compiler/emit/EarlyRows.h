// Which tensors' rows are read early, before the events that order them have been released (device/common/early.h has
// the protocol, docs/design/cuda.md the reason and the argument).
//
// A tensor is written in *generations*: each call, or iteration of a call, that writes it is one. Of the decode chain's
// residual stream, written by @out and @combine in every iteration l of a repeat:
//
//   generation   2 l       out(l) writes, gate_up(l) reads
//                2 l + 1   combine(l) writes, qkv(l + 1) reads; head reads the last one
//
// What a tile task writes (@start) comes before generation 0: it is in the tensor, and who reads it waits for its
// event.
//
// A task that reads early has not acquired the events it waits for. What it acquires instead is *borrowed*: what the
// tasks wait for that write its rows, and what those wait for that write theirs. Whether that is enough for everything
// else that tasks do, and for the places, is proved: with the program's model in which early tasks wait for just that
// (EarlyProof.cpp).
#pragma once

#include "FragmentCode.h"
#include "GraphCode.h"

#include <map>
#include <optional>

namespace evt::emit {

struct StreamPlan;

/// The number of a generation: constant + perIteration * l0 + perRepeat * the repeat's iterations.
struct Generation {
  int64_t constant = 0, perIteration = 0, perRepeat = 0;
  bool operator==(const Generation &o) const {
    return constant == o.constant && perIteration == o.perIteration && perRepeat == o.perRepeat;
  }
};

struct EarlyRows {
  EarlyRows() = default;
  EarlyRows(const GraphCode &graph, const StreamPlan &plan);

  /// A tensor that has places, by its memory.
  struct Tensor {
    std::vector<unsigned> writers; // calls, in program order
    ir::RepeatOp repeat;           // around those that are in one
    Generation count;              // of all generations
    mlir::Value tiles;             // of `tileRows` rows, all that are written; none: as many rows as there are
    int64_t tileRows = 0;
  };
  std::map<unsigned, Tensor> tensors;

  /// Waits of another call's tasks.
  struct Borrowed {
    unsigned call = 0;
    int64_t shift = 0;           // in a repeat: so many iterations before the own one,
    bool isFromEnd = false;      // or before its end
    std::vector<std::string> at; // grid coordinates: an own one, 0, or `every`
    bool operator==(const Borrowed &o) const {
      return call == o.call && shift == o.shift && isFromEnd == o.isFromEnd && at == o.at;
    }
  };
  static constexpr const char *every = "*";

  /// A call that streams.
  struct Reader {
    std::string why; // its rows are not read early
    /// Otherwise: its rows', and those its row values come from; and which arguments they are.
    llvm::SmallVector<unsigned> memories, arguments;
    Generation generation;
    std::vector<Borrowed> borrowed;
  };
  std::vector<Reader> readers; // by call
  std::vector<bool> hinted;    // by event

  /// Into how many parts waits are divided, which different warps pass.
  size_t waitParts() const {
    size_t parts = 1;
    for (const Reader &reader : readers)
      parts = std::max(parts, 1 + reader.borrowed.size());
    return parts;
  }
  bool isEarly(unsigned call) const { return !readers[call].memories.empty(); }
  /// A call in which the device function reads early, if there is one, and whether it writes this argument so in one.
  const Reader *readsEarly(const GraphCode &graph, ir::DeviceOp device) const;
  bool writesEarly(const GraphCode &graph, ir::DeviceOp device, unsigned argument) const;

  /// The generation of a tensor that a call finds: one less than what it writes.
  Generation generationOf(const GraphCode &graph, unsigned call, const Tensor &tensor) const;

  // As C++ over P and a call's coordinates:
  std::string code(const GraphCode &graph, const Tensor &tensor, Generation generation) const;
  std::string iterations(const GraphCode &graph, const Tensor &tensor) const;
  /// The first extent of a memory's places: a launch without early tasks has none. For the manifest, too.
  std::string rows(const GraphCode &graph, unsigned memory) const;
  nlohmann::ordered_json rowsExpression(const GraphCode &graph, unsigned memory) const;
  /// Where a call writes a memory early, an evt::EarlyWrite.
  std::string written(const GraphCode &graph, unsigned call, unsigned memory) const;
  /// Waits for what is borrowed, through `use`, by the lanes of a warp.
  void emitWaits(const GraphCode &graph, const Borrowed &borrowed, CodeWriter &out) const;
  /// The repeat around the writers of what is read early, if there is one.
  ir::RepeatOp repeatAround(const Reader &reader) const { return tensors.at(reader.memories[0]).repeat; }

private:
  /// Who may read early, if it is right; `withParts`: those, too, that wait for a part of their sum alone.
  void assemble(const GraphCode &graph, const StreamPlan &plan, bool withParts);
  /// The same, or nobody if it is not, and why; whether there is somebody.
  bool assembleProved(const GraphCode &graph, const StreamPlan &plan, bool withParts);
};

/// Why the order of the program does not follow from what its tasks acquire when rows are read early; empty if it does.
std::string earlyRefusal(const GraphCode &graph, const EarlyRows &early);

} // namespace evt::emit
