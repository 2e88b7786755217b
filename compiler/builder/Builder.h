// Writing programs in C++ instead of text: the same IR, checked by the same verifier.
//
// A program is device functions and a graph that calls them; a function of C++ writes the body of each. Operations are
// written where they are called, in that order; names are those of the text. The row sum of examples/row_sum:
//
//   Program p(context);
//   Device partial = p.device("partial", {tensor("x", f32, {dyn, 4096}), tensor("p", f32, {dyn, 4})}, {"i", "j"},
//                             [](TileScope &s) {
//     Tile quarter = s.load(s["x"], {s["i"], s["j"] * 1024}, {1024});
//     s.store(s.reduce(Combine::add, quarter, {0}), s["p"], {s["i"], s["j"]});
//   });
//   Device total = p.device("total", {tensor("p", f32, {dyn, 4}), tensor("y", f32, {dyn})}, {"i"}, [](TileScope &s) {
//     s.store(s.reduce(Combine::add, s.load(s["p"], {s["i"], 0}, {4}), {0}), s["y"], {s["i"]});
//   });
//   p.graph("row_sum", {tensor("x", f32, {dyn, 4096}).immutable(), tensor("y", f32, {dyn})}, [&](GraphScope &g) {
//     Index n = g.symbol("n", {{g["x"], 0}, {g["y"], 0}});
//     Memory sums = g.alloc("p", f32, {n, 4});
//     Event done = g.event("done", {n}, 4);
//     g.call(partial, {g["x"], sums}, {n, 4}, [&](Protocol &t) { t.notify(done, {t[0]}); });
//     g.call(total, {sums, g["y"]}, {n}, [&](Protocol &t) { t.wait(done, {t[0]}); });
//   });
//   mlir::OwningOpRef<mlir::ModuleOp> module = p.take();
//
// C++ is the program's macro language: a lambda or a function that takes tiles and gives tiles writes its operations
// into every device function that calls it, a C++ loop unrolls, a number of C++ is a constant of the program.
//
// Mistakes in the program (a rank, a type, an operation outside the tile language) are diagnostics of the context, like
// those of a text, at a location named after the function; `take` gives null then. Mistakes in the use of this
// interface (an unknown name, a memory where an index is meant) throw std::invalid_argument.
#pragma once

#include "compiler/ir/Evt.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace evt::builder {

class Scope;

//===-- what programs are made of ---------------------------------------------------------------------------------===//

enum class Element { f32, bf16, f16, i32, i64, i1 };
inline constexpr Element f32 = Element::f32, bf16 = Element::bf16, f16 = Element::f16, i32 = Element::i32,
                         i64 = Element::i64, i1 = Element::i1;
mlir::Type elementType(mlir::MLIRContext *context, Element element);

/// An extent known only at run time.
inline constexpr int64_t dyn = mlir::ShapedType::kDynamic;
/// The largest value of a size that declares none.
inline constexpr int64_t largestSize = int64_t(1) << 30;

/// An index value: a coordinate, a size, an offset. Arithmetic on values of the program writes operations; on numbers
/// it is C++'s.
class Index {
public:
  Index(int64_t constant) : constant(constant) {}
  Index(int constant) : constant(constant) {}
  Index(Scope *scope, mlir::Value value) : scope(scope), value(value) {}

  Scope *scope = nullptr;
  mlir::Value value; // null: `constant`
  int64_t constant = 0;
};
Index operator+(Index a, Index b);
Index operator-(Index a, Index b);
Index operator*(Index a, Index b);
Index operator%(Index a, int64_t b); // in [0, b), whatever the sign of a
Index floordiv(Index a, int64_t b);
Index ceildiv(Index a, int64_t b);
Index least(Index a, Index b);
Index most(Index a, Index b);

/// A tensor in memory: an argument or a planned buffer.
struct Memory {
  mlir::Value value;
};

/// An event tensor.
struct Event {
  mlir::Value value;
};

/// A tile: a value of static shape inside a task. Arithmetic is element by element, of floats or of integers.
struct Tile {
  mlir::Value value;
  Scope *scope;
  std::vector<int64_t> shape() const;
};
Tile operator+(Tile a, Tile b);
Tile operator-(Tile a, Tile b);
Tile operator*(Tile a, Tile b);
Tile operator/(Tile a, Tile b); // of integers: rounded to zero
Tile operator&(Tile a, Tile b); // of i1: and
Tile operator-(Tile a);
Tile operator+(Tile a, double b);
Tile operator*(Tile a, double b);
Tile operator/(Tile a, double b);

/// One argument of a device or graph function.
struct Argument {
  std::string name;
  std::optional<Element> element; // none: an index
  std::vector<int64_t> shape;
  bool isImmutable = false;
  int64_t min = 0, max = largestSize; // of an index argument of a graph

  /// A tensor that the graph never writes (a weight).
  Argument immutable() const;
};
Argument tensor(std::string name, Element element, std::vector<int64_t> shape);
/// An index: an iteration, a size.
Argument scalar(std::string name, int64_t min = 0, int64_t max = largestSize);

//===-- where operations are written ------------------------------------------------------------------------------===//

/// A function under construction: index arithmetic and table reads. All scopes of a program write at one place, its
/// cursor, so an index of a graph may be used in a protocol of its calls.
class Scope {
public:
  virtual ~Scope() = default;
  /// One integer of a table; -1 outside it.
  Index read(Memory table, std::vector<Index> at);
  /// An extent of a memory.
  Index dim(Memory memory, int64_t d);

  /// The operand that an index is: a number becomes a constant at the function's start.
  mlir::Value valueOf(Index i);
  llvm::SmallVector<mlir::Value> valuesOf(const std::vector<Index> &indices);

  mlir::OpBuilder &cursor;
  mlir::Location loc;

protected:
  Scope(mlir::OpBuilder &cursor, mlir::Block *start, mlir::Location loc) : cursor(cursor), loc(loc), start(start) {}
  mlir::Block *start;
};

/// A value found by its name; converts to what it is, and throws where it is something else.
struct Named {
  Scope *scope;
  mlir::Value value;
  std::string name;
  operator Memory() const;
  operator Index() const;
};

enum class Combine { add, mul, max, min };
enum class Compare { equal, less, lessEqual, greater, greaterEqual };

/// How a tile lies in memory, where the tile's shape does not say it.
struct Box {
  std::vector<int64_t> sizes = {};            // of full rank, where other than leading dimensions are dropped
  double fill = 0;                            // what a load gives outside the memory
  std::optional<Memory> table = std::nullopt; // of rows: row r is row table[offset + r]
  int64_t tableDim = 0;                       // which dimension is rows; all sizes before it are 1
};

/// The body of a device function: what one task does.
class TileScope : public Scope {
public:
  TileScope(mlir::OpBuilder &cursor, mlir::Location loc, ir::DeviceOp device);
  /// An argument or a coordinate.
  Named operator[](const std::string &name);

  Tile load(Memory from, std::vector<Index> offsets, std::vector<int64_t> shape, const Box &box = {});
  void store(Tile tile, Memory to, std::vector<Index> offsets, const Box &box = {});
  /// Of a foreign device function: the box that it reads, or writes.
  void reads(Memory memory, std::vector<Index> offsets, std::vector<int64_t> sizes, std::optional<Memory> table = {},
             int64_t tableDim = 0);
  void writes(Memory memory, std::vector<Index> offsets, std::vector<int64_t> sizes, std::optional<Memory> table = {},
              int64_t tableDim = 0);
  /// How many of `size` elements from `offset` on lie inside dimension `d` of a memory.
  Index valid(Memory memory, Index offset, int64_t d, int64_t size);

  Tile splat(double value, std::vector<int64_t> shape, Element element = f32);
  Tile splat(Index value, std::vector<int64_t> shape); // i32
  /// An i32 tile whose elements are their coordinate in dimension `dim`.
  Tile iota(std::vector<int64_t> shape, int64_t dim);

  /// accumulator + a b, and accumulator + a bᵀ.
  Tile matmul(Tile a, Tile b, Tile accumulator);
  Tile matmulTransposed(Tile a, Tile b, Tile accumulator);
  /// Combines along `dims`, which disappear, in the order of their elements; from `start`, or from the neutral element.
  Tile reduce(Combine how, Tile t, std::vector<int64_t> dims, std::optional<Tile> start = {});
  /// Repeats a tile along `dims`, dimensions of `shape` that it does not have.
  Tile broadcast(Tile t, std::vector<int64_t> shape, std::vector<int64_t> dims);
  Tile transpose(Tile t, std::vector<int64_t> permutation);
  Tile slice(Tile t, std::vector<int64_t> offsets, std::vector<int64_t> sizes);
  Tile insert(Tile small, Tile into, std::vector<int64_t> offsets);
  /// The same elements, row-major, in another shape.
  Tile reshape(Tile t, std::vector<int64_t> shape);
  Tile convert(Tile t, Element element);

  /// A unary operation of the math dialect by name: "exp", "rsqrt", "log", "tanh", ….
  Tile math(const std::string &name, Tile t);
  /// The same, and a quotient, where a few units in the last place do not matter: what the machine has that is fast.
  Tile mathNear(const std::string &name, Tile t);
  Tile divideNear(Tile a, Tile b);
  Tile maximum(Tile a, Tile b);
  Tile compare(Compare how, Tile a, Tile b); // i1
  Tile select(Tile condition, Tile a, Tile b);
  /// The k largest of the last dimension, falling, and their positions; the smaller position first among equals.
  std::pair<Tile, Tile> topk(Tile t, int64_t k);
  /// Attention of query rows over the positions [from, to) of a request: see evt.attend.
  struct Attention {
    Memory keys, values, pages;
    Index layer, request, head;
    int64_t pageSlots;
    int64_t heads = 1; // `attend` alone: from `head` on, as many rows of the query for each
  };
  struct SoftmaxPart {
    Tile m, sum, acc;
  };
  SoftmaxPart attend(Tile query, Tile scales, const Attention &over, Index from, Index to,
                     std::optional<Index> settled = std::nullopt);
  /// Tokens of a step in long runs attend over their requests' positions up to their own: see evt.attend_tokens.
  struct TokenRuns {
    Memory requests, positions;
    int64_t enough; // tokens of a long run
  };
  struct TokenAttention {
    Memory query, out;
    int64_t tokens, group;
    double scale;
  };
  /// `over` names no request: the tokens do.
  void attendTokens(const TokenAttention &how, const TokenRuns &runs, const Attention &over, Index token);
  /// A head of tokens on its way from a product: see evt.rotate_head.
  struct HeadRotation {
    Memory x, out;
    std::optional<Memory> slots, cosines, sines, weights, squares;
    int64_t tokens, columns;
    double epsilon = 0;
  };
  void rotateHead(const HeadRotation &how, Index token, Index column, Index layer, Index head);
  /// How many of `count` tokens are in short runs: see evt.short_tokens.
  Index shortTokens(const TokenRuns &runs, Index token, int64_t count);
  /// The parts of a softmax at (i, j), merged: see evt.merge.
  Tile merge(Memory m, Memory sum, Memory acc, Index i, Index j, Index parts);
  /// Rows of a query, which were stored without the root of their norm where `squares` has sums of squares, as the keys
  /// were that the step writes, of which `keySquares` has them.
  struct Query {
    Memory rows;
    Index token, column;
    int64_t count;
    double scale;
    std::optional<Memory> squares = std::nullopt;
    Index squaresColumn = 0;
    std::optional<Memory> keySquares = std::nullopt;
    double epsilon = 0;
  };
  /// The parts of a softmax: [i, j, s, k, row], and the columns of `acc`.
  struct SoftmaxParts {
    Memory m, sum, acc;
  };
  struct Positions {
    Index begin, end, part, settled;
  };
  /// Attention part by part, into memory: see evt.attend_parts.
  void attendParts(const Query &query, const Attention &over, const Positions &positions, const SoftmaxParts &into,
                   Index i, Index j, Index s);
  /// The parts at (i, j) of positions below `end`, merged into memory: see evt.merge_parts.
  void mergeParts(const SoftmaxParts &from, Index i, Index j, Index end, Index part, Memory to, Index row,
                  Index column);
  Tile prefixSum(Tile t, int64_t dim, bool exclusive = false);
  /// How requests choose their next token, and what they choose from: see evt.draw.
  struct Sampling {
    Memory logits, scaled, rates, choices;
    int64_t chunk;
  };
  /// A candidate among the chunk of row `row` that begins at `column`.
  Tile draw(const Sampling &from, Memory history, Memory pages, int64_t pageSlots, Index row, Index column);
  struct Sampled {
    Tile token, logprob;
  };
  /// The candidates of a row as one token: see evt.sample.
  Sampled sample(const Sampling &from, Memory parts, Index row);

  using Step = std::function<std::vector<Tile>(Index, std::vector<Tile>)>;
  /// for (i = from; i < to; i += step): `body` gets i and the carried tiles and returns them for the next iteration.
  std::vector<Tile> loop(Index from, Index to, Index step, std::vector<Tile> carried, const Step &body);

private:
  ir::DeviceOp device;
};

/// A function written by hand, and its bytes of shared memory. Of a program that C++ compiles rather than prints, the
/// source's path is relative to the working directory.
struct Foreign {
  std::string source, function;
  int64_t sharedBytes = 0;
};

/// A device function that a graph can call.
struct Device {
  std::string name;
  std::vector<std::string> coords;
};

/// A dimension of a wait or notify: one element, or a half-open range.
struct Span {
  Span(Index at) : lower(at) {}
  Span(Named at) : lower(at) {}
  Span(int at) : lower(at) {}
  Span(Index from, Index to) : lower(from), upper(to) {}
  Index lower;
  std::optional<Index> upper;
};
/// All elements of a dimension: `*` in the text.
inline const Span whole(0, ir::wholeDimension);

/// What one task of a call waits for and notifies; all waits come before the first notify.
class Protocol : public Scope {
public:
  Protocol(mlir::OpBuilder &cursor, mlir::Block *start, mlir::Location loc, ir::CallOp call)
      : Scope(cursor, start, loc), call(call) {}
  /// A coordinate of the task, by its number.
  Index operator[](unsigned coordinate);
  void wait(Event event, std::vector<Span> at = {});
  void notify(Event event, std::vector<Span> at = {});
  /// Notifies for every value in [from, to).
  void loop(Index from, Index to, const std::function<void(Index)> &body);

private:
  ir::CallOp call;
};

/// Two coordinates, a group and a row tile in it: group e has ceildiv(table[e + 1] - table[e], by) tiles, all groups
/// together at most `bound`. `guard` orders the reading of the table (see evt.call).
struct Ragged {
  Memory table;
  int64_t by;
  Index bound;
  Event guard;
};

/// The counts of an event: one for all elements, or read from a table, times a factor, once `guard` has passed.
struct Count {
  Count(int64_t constant) : value(constant) {}
  Count(int constant) : value(constant) {}
  Count(Index value) : value(value) {}
  Count(Memory table, Event guard, int64_t factor = 1) : value(0), table(table), guard(guard), factor(factor) {}
  /// Of `total` things in groups of `by`, the last one ragged, those in group number `coordinate` of the element,
  /// `times` each.
  static Count grouped(Index total, int64_t by, unsigned coordinate, int64_t times = 1);
  Index value;
  std::optional<Memory> table;
  std::optional<Event> guard;
  int64_t factor = 1;
  int64_t by = 0, times = 1; // of `value` things, where by is not 0
  unsigned coordinate = 0;
};

/// The body of a graph function: sizes, buffers, events, calls.
class GraphScope : public Scope {
public:
  GraphScope(mlir::OpBuilder &cursor, mlir::Location loc, ir::GraphOp graph);
  /// An argument.
  Named operator[](const std::string &name);
  /// A run-time size that dimensions of arguments share.
  Index symbol(const std::string &name, std::vector<std::pair<Memory, int64_t>> dims, int64_t min = 0,
               int64_t max = largestSize);
  Memory alloc(const std::string &name, Element element, std::vector<Index> sizes);
  Event event(const std::string &name, std::vector<Index> extents, Count count);

  /// What a call passes: a memory or an index.
  struct Operand {
    Operand(Memory m) : index(nullptr, m.value) {}
    Operand(Index i) : index(i) {}
    Operand(int i) : index(i) {}
    Operand(const Named &n) : index(n.scope, n.value) {}
    Index index;
  };
  using Rules = std::function<void(Protocol &)>;
  void call(const Device &device, std::vector<Operand> args, std::vector<Index> grid, const Rules &protocol = {});
  /// The grid's first two coordinates are the ragged pair.
  void call(const Device &device, std::vector<Operand> args, const Ragged &ragged, std::vector<Index> grid,
            const Rules &protocol = {});
  /// Repeats the calls that `body` makes; nothing is unrolled.
  void repeat(const std::string &iteration, Index extent, const std::function<void(Index)> &body);

private:
  void makeCall(const Device &device, const std::vector<Operand> &args, const Ragged *ragged,
                const std::vector<Index> &grid, const Rules &protocol);
  ir::GraphOp graph;
};

class Program {
public:
  explicit Program(mlir::MLIRContext &context);
  Device device(const std::string &name, std::vector<Argument> args, std::vector<std::string> coords,
                const std::function<void(TileScope &)> &body);
  /// A foreign device function: `body` declares what it accesses.
  Device device(const std::string &name, std::vector<Argument> args, std::vector<std::string> coords,
                const Foreign &foreign, const std::function<void(TileScope &)> &body);
  void graph(const std::string &name, std::vector<Argument> args, const std::function<void(GraphScope &)> &body);
  /// The finished module, verified; null after diagnostics. Ends the program.
  mlir::OwningOpRef<mlir::ModuleOp> take();

private:
  Device makeDevice(const std::string &name, const std::vector<Argument> &args, std::vector<std::string> coords,
                    const Foreign *foreign, const std::function<void(TileScope &)> &body);
  mlir::OpBuilder cursor;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// A program as text, as the tools read it.
std::string textOf(mlir::ModuleOp module);

} // namespace evt::builder
