// Writing programs in C++ instead of text: the same IR, checked by the same verifier.
//
// The row sum of compiler/ir/EvtDialect.td:
//
//   Program p(context);
//   Device partial = p.device("partial", {tensor("x", f32, {dyn, 4096}), tensor("p", f32, {dyn, 4})}, {"i", "j"},
//                             [](TileScope &s) {
//     Tile row = s.load(s["x"], {s["i"], s["j"] * 1024}, {1024});
//     s.store(s.reduce(Combine::add, row, {0}), s["p"], {s["i"], s["j"]});
//   });
//   Device total = …;
//   p.graph("row_sum", {tensor("x", f32, {dyn, 4096}).immutable(), tensor("y", f32, {dyn})}, [&](GraphScope &g) {
//     Index n = g.symbol("n", {{g["x"], 0}, {g["y"], 0}});
//     Memory sums = g.alloc("p", f32, {n, 4});
//     Event done = g.event("done", {n}, 4);
//     g.call(partial, {g["x"], sums}, {n, 4}, [&](Protocol &t) { t.notify(done, {t[0]}); });
//     g.call(total, {sums, g["y"]}, {n}, [&](Protocol &t) { t.wait(done, {t[0]}); });
//   });
//   mlir::OwningOpRef<mlir::ModuleOp> module = p.take();
//
// Mistakes in the program (a rank, a type, an operation outside the tile language) are diagnostics of the context, like
// those of a text; `take` gives null then. Mistakes in the use of this interface (an unknown name) throw std::invalid_argument.
#pragma once

#include "compiler/ir/Evt.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace evt::builder {

class Scope;

enum class Element { f32, bf16, f16, i32, i64, i1 };
inline constexpr Element f32 = Element::f32, bf16 = Element::bf16, f16 = Element::f16, i32 = Element::i32,
                         i64 = Element::i64, i1 = Element::i1;
/// An extent known only at run time.
inline constexpr int64_t dyn = mlir::ShapedType::kDynamic;

/// An index value: a coordinate, a size, an offset. Arithmetic writes operations where the scope stands.
class Index {
public:
  Index(int64_t constant) : constant(constant) {}
  Index(int constant) : constant(constant) {}
  Index(Scope *scope, mlir::Value value) : scope(scope), value(value) {}

  friend Index operator+(Index a, Index b);
  friend Index operator-(Index a, Index b);
  friend Index operator*(Index a, Index b);
  friend Index floordiv(Index a, Index b);
  friend Index ceildiv(Index a, Index b);
  friend Index operator%(Index a, Index b);
  friend Index least(Index a, Index b);
  friend Index most(Index a, Index b);

private:
  friend class Scope;
  Scope *scope = nullptr;
  mlir::Value value;
  int64_t constant = 0;
};

struct Memory {
  mlir::Value value;
};
struct Event {
  mlir::Value value;
};
/// A tile of static shape.
struct Tile {
  mlir::Value value;
  Scope *scope;
};
Tile operator+(Tile a, Tile b);
Tile operator-(Tile a, Tile b);
Tile operator*(Tile a, Tile b);
Tile operator/(Tile a, Tile b);
Tile operator+(Tile a, double b);
Tile operator*(Tile a, double b);

/// One argument of a device or graph function.
struct Argument {
  std::string name;
  std::optional<Element> element; // none: an index
  std::vector<int64_t> shape;
  bool isImmutable = false;
  int64_t min = 0, max = int64_t(1) << 30; // of an index argument of a graph

  Argument immutable() const;
};
Argument tensor(std::string name, Element element, std::vector<int64_t> shape);
Argument index(std::string name, int64_t min = 0, int64_t max = int64_t(1) << 30);

/// Where operations are written: names of arguments and coordinates, index arithmetic, table reads.
class Scope {
public:
  virtual ~Scope() = default;
  Index constant(int64_t value);
  mlir::Value valueOf(Index i);
  /// One integer of a table; -1 outside it.
  Index read(Memory table, std::vector<Index> at);
  Index dim(Memory memory, int64_t d);

  mlir::OpBuilder builder;
  mlir::Location loc;

protected:
  Scope(mlir::OpBuilder builder, mlir::Location loc) : builder(std::move(builder)), loc(loc) {}
};

/// A value found by its name; converts to what it is.
struct Named {
  Scope *scope;
  mlir::Value value;
  operator Memory() const { return {value}; }
  operator Index() const { return {scope, value}; }
};
inline Index operator+(Named a, Index b) { return Index(a) + b; }
inline Index operator-(Named a, Index b) { return Index(a) - b; }
inline Index operator*(Named a, Index b) { return Index(a) * b; }
inline Index operator%(Named a, Index b) { return Index(a) % b; }

enum class Combine { add, mul, max, min };
enum class Compare { equal, less, lessEqual, greater, greaterEqual };

/// The body of a device function.
class TileScope : public Scope {
public:
  TileScope(mlir::OpBuilder b, mlir::Location loc, ir::DeviceOp device) : Scope(b, loc), device(device) {}
  /// An argument or a coordinate.
  Named operator[](const std::string &name);

  struct Box {
    std::vector<int64_t> sizes; // the full-rank box, where other than leading dimensions are dropped
    double fill = 0;
    std::optional<Memory> table; // dimension 0 goes through it
  };
  Tile load(Memory from, std::vector<Index> offsets, std::vector<int64_t> shape, Box box);
  Tile load(Memory from, std::vector<Index> offsets, std::vector<int64_t> shape) {
    return load(from, std::move(offsets), std::move(shape), Box());
  }
  void store(Tile tile, Memory to, std::vector<Index> offsets, Box box);
  void store(Tile tile, Memory to, std::vector<Index> offsets) { store(tile, to, std::move(offsets), Box()); }
  /// How many of `size` elements from `offset` on lie inside dimension `d` of a memory.
  Index valid(Memory memory, Index offset, int64_t d, int64_t size);

  Tile splat(double value, std::vector<int64_t> shape, Element element = f32);
  Tile splat(Index value, std::vector<int64_t> shape); // i32
  Tile iota(std::vector<int64_t> shape, int64_t dim);  // i32
  Tile matmul(Tile a, Tile b, Tile accumulator);
  Tile matmulTransposed(Tile a, Tile b, Tile accumulator); // b is N x K
  Tile reduce(Combine how, Tile t, std::vector<int64_t> dims);
  /// Repeats a tile along new dimensions `dims` of `shape`.
  Tile broadcast(Tile t, std::vector<int64_t> shape, std::vector<int64_t> dims);
  Tile transpose(Tile t, std::vector<int64_t> permutation);
  Tile slice(Tile t, std::vector<int64_t> offsets, std::vector<int64_t> sizes);
  Tile insert(Tile small, Tile into, std::vector<int64_t> offsets);
  Tile reshape(Tile t, std::vector<int64_t> shape); // collapses to one dimension and expands
  Tile convert(Tile t, Element element);
  /// A math operation by name: "exp", "rsqrt", "log", "tanh", ….
  Tile math(const std::string &name, Tile t);
  Tile maximum(Tile a, Tile b);
  Tile compare(Compare how, Tile a, Tile b);
  Tile select(Tile condition, Tile a, Tile b);
  std::pair<Tile, Tile> topk(Tile t, int64_t k);
  Tile prefixSum(Tile t, int64_t dim, bool exclusive);
  /// for i = from to to step step: the tiles are carried from iteration to iteration.
  std::vector<Tile> loop(Index from, Index to, Index step, std::vector<Tile> carried,
                         const std::function<std::vector<Tile>(Index, std::vector<Tile>)> &body);

private:
  mlir::RankedTensorType type(std::vector<int64_t> shape, mlir::Type element);
  ir::DeviceOp device;
};

struct Device {
  std::string name;
};

/// A dimension of a wait: one element, or a half-open range.
struct Span {
  Span(Index at) : lower(at) {}
  Span(Named at) : lower(at) {}
  Span(int at) : lower(at) {}
  Span(Index from, Index to) : lower(from), upper(to) {}
  Index lower;
  std::optional<Index> upper;
};

/// What one task of a call waits for and notifies.
class Protocol : public Scope {
public:
  Protocol(mlir::OpBuilder b, mlir::Location loc, ir::CallOp call) : Scope(b, loc), call(call) {}
  Index operator[](unsigned coordinate);
  void wait(Event event, std::vector<Span> at);
  void notify(Event event, std::vector<Span> at);
  void loop(Index from, Index to, const std::function<void(Index)> &body);

private:
  ir::CallOp call;
};

/// A ragged pair of coordinates: group and row tile (see evt.call).
struct Ragged {
  Memory table;
  int64_t by;
  Index bound;
  Event guard;
};

/// Counts of an event.
struct Count {
  Count(int64_t constant) : value(constant) {}
  Count(int constant) : value(constant) {}
  Count(Index value) : value(value) {}
  Count(Memory table, Event guard, int64_t factor = 1) : value(0), table(table), guard(guard), factor(factor) {}
  Index value;
  std::optional<Memory> table;
  std::optional<Event> guard;
  int64_t factor = 1;
};

class GraphScope : public Scope {
public:
  GraphScope(mlir::OpBuilder b, mlir::Location loc, ir::GraphOp graph) : Scope(b, loc), graph(graph) {}
  Named operator[](const std::string &argument);
  Index symbol(const std::string &name, std::vector<std::pair<Memory, int64_t>> dims, int64_t min = 0,
               int64_t max = int64_t(1) << 30);
  Memory alloc(const std::string &name, Element element, std::vector<Index> sizes);
  Event event(const std::string &name, std::vector<Index> extents, Count count);

  using Actual = std::variant<Memory, Index>;
  struct Value : Actual {
    Value(Memory m) : Actual(m) {}
    Value(Index i) : Actual(i) {}
    Value(int i) : Actual(Index(i)) {}
    Value(Named n) : Actual(n.value.getType().isIndex() ? Actual(Index(n)) : Actual(Memory(n))) {}
  };
  void call(const Device &device, std::vector<Value> args, std::vector<Index> grid,
            const std::function<void(Protocol &)> &protocol = {});
  void call(const Device &device, std::vector<Value> args, const Ragged &ragged, std::vector<Index> grid,
            const std::function<void(Protocol &)> &protocol = {});
  void repeat(const std::string &iteration, Index extent, const std::function<void(Index)> &body);

private:
  void makeCall(const Device &device, std::vector<Value> args, const Ragged *ragged, std::vector<Index> grid,
                const std::function<void(Protocol &)> &protocol);
  ir::GraphOp graph;
};

class Program {
public:
  explicit Program(mlir::MLIRContext &context);
  Device device(const std::string &name, std::vector<Argument> args, std::vector<std::string> coords,
                const std::function<void(TileScope &)> &body);
  void graph(const std::string &name, std::vector<Argument> args, const std::function<void(GraphScope &)> &body);
  /// The finished module, verified; null after diagnostics.
  mlir::OwningOpRef<mlir::ModuleOp> take();

private:
  mlir::MLIRContext &context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

} // namespace evt::builder
