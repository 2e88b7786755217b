#include "Builder.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace evt::builder;
using mlir::ModuleOp;
using mlir::OwningOpRef;

namespace {

/// A context that keeps the messages of its diagnostics.
struct BuilderTest : testing::Test {
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  std::vector<std::string> messages;
  mlir::ScopedDiagnosticHandler handler{&context, [this](mlir::Diagnostic &d) {
                                          messages.push_back(d.str());
                                          return mlir::success();
                                        }};

  /// Text with constants at the start of their function, each once: where a program writes them is no part of it.
  std::string canonical(ModuleOp module) {
    mlir::PassManager passes(&context);
    passes.addPass(mlir::createCanonicalizerPass());
    passes.addPass(mlir::createCSEPass());
    EXPECT_TRUE(succeeded(passes.run(module)));
    return textOf(module);
  }

  OwningOpRef<ModuleOp> parse(const std::string &text) {
    return mlir::parseSourceString<ModuleOp>(text, &context, "program.mlir");
  }
};

/// The text of what `use` throws as std::invalid_argument; "nothing" if it throws nothing.
std::string thrownBy(const std::function<void()> &use) {
  try {
    use();
  } catch (const std::invalid_argument &error) {
    return error.what();
  }
  return "nothing";
}

const std::function<void(TileScope &)> nothing = [](TileScope &) {};

TEST_F(BuilderTest, RowSumIsTheProgramOfTheText) {
  Program p(context);
  Device partial =
      p.device("partial", {tensor("x", f32, {dyn, 4096}), tensor("p", f32, {dyn, 4})}, {"i", "j"}, [](TileScope &s) {
        Tile quarter = s.load(s["x"], {s["i"], s["j"] * 1024}, {1024});
        s.store(s.reduce(Combine::add, quarter, {0}), s["p"], {s["i"], s["j"]});
      });
  Device total = p.device("total", {tensor("p", f32, {dyn, 4}), tensor("y", f32, {dyn})}, {"i"}, [](TileScope &s) {
    s.store(s.reduce(Combine::add, s.load(s["p"], {s["i"], 0}, {4}), {0}), s["y"], {s["i"]});
  });
  p.graph("row_sum", {tensor("x", f32, {dyn, 4096}).immutable(), tensor("y", f32, {dyn})}, [&](GraphScope &g) {
    Index n = g.symbol("n", {{g["x"], 0}, {g["y"], 0}});
    Memory sums = g.alloc("p", f32, {n, 4});
    Event done = g.event("done", {n}, 4);
    g.call(partial, {g["x"], sums}, {n, 4}, [&](Protocol &t) { t.notify(done, {t[0]}); });
    g.call(total, {sums, g["y"]}, {n}, [&](Protocol &t) { t.wait(done, {t[0]}); });
  });
  OwningOpRef<ModuleOp> built = p.take();
  ASSERT_TRUE(built);
  auto text = mlir::parseSourceFile<ModuleOp>(EVT_EXAMPLES "/row_sum/row_sum.mlir", mlir::ParserConfig(&context));
  ASSERT_TRUE(text);
  EXPECT_EQ(canonical(*built), canonical(*text));
}

// Repetition, ranges, counts and grids from tables, loops of protocols, index arguments with bounds.
TEST_F(BuilderTest, GraphFormsAreThoseOfTheText) {
  Program p(context);
  Device fill = p.device("fill", {tensor("t", i32, {8, dyn}), tensor("indptr", i32, {9})}, {"one"}, nothing);
  Device step = p.device("step", {tensor("y", f32, {dyn}), scalar("l")}, {"e", "r", "j"}, nothing);
  p.graph("g", {tensor("y", f32, {dyn}), scalar("layers", 1, 64)}, [&](GraphScope &g) {
    Index n = g.symbol("n", {{g["y"], 0}}, 1, 100), layers = g["layers"];
    Index tiles = ceildiv(n, 16) + 8;
    Memory table = g.alloc("t", i32, {8, tiles}), indptr = g.alloc("indptr", i32, {9});
    Event planned = g.event("planned", {}, 1);
    Event counted = g.event("counted", {8, tiles}, Count(table, planned, 3));
    Event done = g.event("done", {layers, n}, layers);
    g.call(fill, {table, indptr}, {1}, [&](Protocol &t) { t.notify(planned); });
    g.repeat("l", layers, [&](Index l) {
      g.call(step, {g["y"], l}, Ragged{indptr, 16, tiles, planned}, {2}, [&](Protocol &t) {
        t.wait(done, {{l - 1, l}, whole});
        Index first = t[1] * 16;
        t.loop(first, least(first + 16, n), [&](Index row) {
          Index e = t.read(indptr, {row});
          t.notify(counted, {e, t[2]});
        });
      });
    });
  });
  OwningOpRef<ModuleOp> built = p.take();
  ASSERT_TRUE(built) << testing::PrintToString(messages);
  OwningOpRef<ModuleOp> text = parse(R"(
    evt.device @fill(%t: memref<8x?xi32>, %indptr: memref<9xi32>) grid(%one) {}
    evt.device @step(%y: memref<?xf32>, %l: index) grid(%e, %r, %j) {}
    evt.graph @g(%y: memref<?xf32>, %layers: index {evt.min = 1, evt.max = 64}) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c8 = arith.constant 8 : index
      %all = arith.constant 1099511627776 : index
      %n = evt.symbol "n" (%y[0]) range(1, 100) : memref<?xf32>
      %tiles = affine.apply affine_map<(d0) -> (d0 ceildiv 16 + 8)>(%n)
      %t = evt.alloc(%tiles) : memref<8x?xi32>
      %indptr = evt.alloc() : memref<9xi32>
      %planned = evt.event() count(1) : !evt.event<>
      %counted = evt.event(%c8, %tiles) count(%t * 3 after %planned) : !evt.event<?x?>, memref<8x?xi32>
      %done = evt.event(%layers, %n) count(%layers) : !evt.event<?x?>
      evt.call @fill(%t, %indptr) grid(%c1) notify(%planned[(one) -> ()]) : (memref<8x?xi32>, memref<9xi32>)
      evt.repeat %l to %layers {
        evt.call @step(%y, %l) grid((%e, %r) in ragged(%indptr by 16 bound %tiles after %planned : memref<9xi32>),
                                    %j to %c2) : (memref<?xf32>, index) {
          %before = affine.apply affine_map<(d0) -> (d0 - 1)>(%l)
          evt.wait %done[%before to %l, %c0 to %all]
          %first = affine.apply affine_map<(d0) -> (d0 * 16)>(%r)
          %end = affine.min affine_map<(d0, d1) -> (d0 * 16 + 16, d1)>(%r, %n)
          scf.for %row = %first to %end step %c1 {
            %x = evt.read %indptr[%row] : memref<9xi32>
            evt.notify %counted[%x, %j]
          }
        }
      }
    })");
  ASSERT_TRUE(text) << testing::PrintToString(messages);
  EXPECT_EQ(canonical(*built), canonical(*text));
}

TEST_F(BuilderTest, TileFormsAreThoseOfTheText) {
  Program p(context);
  p.device("d", {tensor("x", bf16, {dyn, 4, 64}), tensor("rows", i32, {dyn}), tensor("y", f32, {dyn, 64})}, {"i"},
           [](TileScope &s) {
             Tile narrow = s.load(s["x"], {s["i"] * 2 * 8, 1, 0}, {16, 64}, {.sizes = {16, 1, 64}, .fill = -1});
             Tile x = s.convert(narrow, f32);
             Tile m = s.reduce(Combine::max, x, {1});
             Tile wide = s.broadcast(m, {16, 64}, {1});
             Tile e = s.math("exp", -(x - wide)) + 1.0;
             Tile number = s.iota({16, 64}, 0);
             Tile live = s.compare(Compare::less, number, s.splat(s.valid(s["y"], s["i"], 0, 16), {16, 64}));
             Tile kept = s.select(live, e, s.splat(0, {16, 64}));
             std::vector<Tile> sum =
                 s.loop(0, s.dim(s["y"], 0), 4, {kept}, [&](Index k, std::vector<Tile> carried) -> std::vector<Tile> {
                   return {s.matmulTransposed(s.slice(kept, {0, 0}, {16, 32}), s.splat(2, {64, 32}), carried[0])};
                 });
             s.store(s.reshape(s.transpose(sum[0], {1, 0}), {16, 64}), s["y"], {s["i"], 0}, {.table = s["rows"]});
             s.store(narrow, s["x"], {s["i"], 0, 0}, {.sizes = {1, 16, 64}, .table = s["rows"], .tableDim = 1});
           });
  OwningOpRef<ModuleOp> built = p.take();
  ASSERT_TRUE(built) << testing::PrintToString(messages);
  OwningOpRef<ModuleOp> text = parse(R"(
    evt.device @d(%x: memref<?x4x64xbf16>, %rows: memref<?xi32>, %y: memref<?x64xf32>) grid(%i) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c4 = arith.constant 4 : index
      %o = affine.apply affine_map<(d0) -> (d0 * 16)>(%i)
      %narrow = evt.load %x[%o, %c1, %c0] sizes [16, 1, 64] fill -1.0 : memref<?x4x64xbf16> -> tensor<16x64xbf16>
      %wide = arith.extf %narrow : tensor<16x64xbf16> to tensor<16x64xf32>
      %low = arith.constant dense<0xFF800000> : tensor<16xf32>
      %m = linalg.reduce { arith.maximumf } ins(%wide : tensor<16x64xf32>) outs(%low : tensor<16xf32>) dimensions = [1]
      %like = tensor.empty() : tensor<16x64xf32>
      %mw = linalg.broadcast ins(%m : tensor<16xf32>) outs(%like : tensor<16x64xf32>) dimensions = [1]
      %d = arith.subf %wide, %mw : tensor<16x64xf32>
      %n = arith.negf %d : tensor<16x64xf32>
      %e = math.exp %n : tensor<16x64xf32>
      %one = arith.constant dense<1.0> : tensor<16x64xf32>
      %e1 = arith.addf %e, %one : tensor<16x64xf32>
      %number = evt.iota dim 0 : tensor<16x64xi32>
      %valid = evt.valid %y[%i] dim 0 size 16 : memref<?x64xf32>
      %valid32 = arith.index_cast %valid : index to i32
      %end = tensor.splat %valid32 : tensor<16x64xi32>
      %live = arith.cmpi slt, %number, %end : tensor<16x64xi32>
      %zero = arith.constant dense<0.0> : tensor<16x64xf32>
      %kept = arith.select %live, %e1, %zero : tensor<16x64xi1>, tensor<16x64xf32>
      %rows_of_y = memref.dim %y, %c0 : memref<?x64xf32>
      %sum = scf.for %k = %c0 to %rows_of_y step %c4 iter_args(%acc = %kept) -> (tensor<16x64xf32>) {
        %half = tensor.extract_slice %kept[0, 0] [16, 32] [1, 1] : tensor<16x64xf32> to tensor<16x32xf32>
        %two = arith.constant dense<2.0> : tensor<64x32xf32>
        %next = linalg.matmul_transpose_b ins(%half, %two : tensor<16x32xf32>, tensor<64x32xf32>)
            outs(%acc : tensor<16x64xf32>) -> tensor<16x64xf32>
        scf.yield %next : tensor<16x64xf32>
      }
      %like_t = tensor.empty() : tensor<64x16xf32>
      %t = linalg.transpose ins(%sum : tensor<16x64xf32>) outs(%like_t : tensor<64x16xf32>) permutation = [1, 0]
      %flat = tensor.collapse_shape %t [[0, 1]] : tensor<64x16xf32> into tensor<1024xf32>
      %back = tensor.expand_shape %flat [[0, 1]] output_shape [16, 64] : tensor<1024xf32> into tensor<16x64xf32>
      evt.store %back, %y[%rows[%i], %c0] : tensor<16x64xf32> -> memref<?x64xf32>, memref<?xi32>
      evt.store %narrow, %x[%i, %rows[%c0], %c0] : tensor<16x64xbf16> -> memref<?x4x64xbf16>, memref<?xi32>
    })");
  ASSERT_TRUE(text) << testing::PrintToString(messages);
  EXPECT_EQ(canonical(*built), canonical(*text));
}

TEST_F(BuilderTest, ForeignDevicesAreThoseOfTheText) {
  Program p(context);
  p.device("scale", {tensor("x", f32, {dyn, 64}), tensor("rows", i32, {dyn}), tensor("y", f32, {dyn, 64})}, {"i"},
           Foreign{"scale.h", "tiles::scale", 256}, [](TileScope &s) {
             s.reads(s["x"], {s["i"] * 16, 0}, {16, 64}, Memory(s["rows"]));
             s.writes(s["y"], {s["i"] * 16, 0}, {16, 64});
           });
  OwningOpRef<ModuleOp> built = p.take();
  OwningOpRef<ModuleOp> text = parse(R"(
    evt.device @scale(%x: memref<?x64xf32>, %rows: memref<?xi32>, %y: memref<?x64xf32>) grid(%i)
        foreign("scale.h", "tiles::scale") shared(256) {
      %c0 = arith.constant 0 : index
      %row = affine.apply affine_map<(d0) -> (d0 * 16)>(%i)
      evt.reads %x[%rows[%row], %c0] sizes [16, 64] : memref<?x64xf32>, memref<?xi32>
      evt.writes %y[%row, %c0] sizes [16, 64] : memref<?x64xf32>
    })");
  ASSERT_TRUE(built && text);
  EXPECT_EQ(canonical(*built), canonical(*text));
  EXPECT_THAT(textOf(*built), testing::HasSubstr("evt.reads")); // not removed as dead
}

TEST_F(BuilderTest, AForeignDeviceWithoutAWriteIsADiagnostic) {
  Program p(context);
  p.device("scale", {tensor("x", f32, {dyn})}, {"i"}, Foreign{"scale.h", "scale"},
           [](TileScope &s) { s.reads(s["x"], {s["i"]}, {1}); });
  EXPECT_FALSE(p.take());
  EXPECT_THAT(messages, testing::ElementsAre(testing::HasSubstr("declares no write")));
}

TEST_F(BuilderTest, ArithmeticOnNumbersIsNumbers) {
  EXPECT_EQ((Index(7) * 3 + 1 - 2).constant, 20);
  EXPECT_EQ(floordiv(-7, 2).constant, -4);
  EXPECT_EQ(ceildiv(-7, 2).constant, -3);
  EXPECT_EQ((Index(-7) % 4).constant, 1);
  EXPECT_EQ(least(3, 4).constant, 3);
  EXPECT_EQ(most(3, 4).constant, 4);
  EXPECT_EQ(thrownBy([] { floordiv(7, 0); }), "a divisor must be positive, found 0");
}

TEST_F(BuilderTest, UnknownNamesThrow) {
  Program p(context);
  std::string device, math, coordinate, argument;
  Device d = p.device("d", {tensor("x", f32, {dyn})}, {"i"}, [&](TileScope &s) {
    device = thrownBy([&] { s["z"]; });
    math = thrownBy([&] { s.math("expo", s.splat(1, {4})); });
  });
  p.graph("g", {tensor("x", f32, {dyn})}, [&](GraphScope &g) {
    argument = thrownBy([&] { g["y"]; });
    g.call(d, {g["x"]}, {4}, [&](Protocol &t) { coordinate = thrownBy([&] { t[1]; }); });
  });
  EXPECT_EQ(device, "device function 'd' has no argument or coordinate 'z'");
  EXPECT_EQ(math, "no operation of the math dialect is called 'expo'");
  EXPECT_EQ(argument, "graph 'g' has no argument 'y'");
  EXPECT_EQ(coordinate, "a task of 'd' has 1 coordinates, asked for number 1");
}

TEST_F(BuilderTest, WrongKindsAndShapesThrow) {
  Program p(context);
  p.device("d", {tensor("x", f32, {dyn})}, {"i"}, [&](TileScope &s) {
    EXPECT_EQ(thrownBy([&] { s.load(s["i"], {0}, {4}); }), "'i' is an index, not a memory");
    EXPECT_EQ(thrownBy([&] { s.load(s["x"], {s["x"]}, {4}); }), "'x' is a memory, not an index");
    EXPECT_EQ(thrownBy([&] { s.reshape(s.splat(1, {4}), {3}); }), "cannot reshape 4 elements into 3");
    EXPECT_EQ(thrownBy([&] { s.transpose(s.splat(1, {4}), {1}); }), "cannot permute dimension 1 of a tile of rank 1");
    EXPECT_EQ(thrownBy([&] { s.topk(s.splat(1, {}), 1); }), "topk needs a tile of rank 1 or more");
  });
}

TEST_F(BuilderTest, AWrongTileProgramIsADiagnostic) {
  Program p(context);
  p.device("d", {tensor("x", bf16, {dyn})}, {"i"}, [](TileScope &s) {
    Tile t = s.load(s["x"], {s["i"]}, {4});
    s.store(t + t, s["x"], {s["i"]});
  });
  EXPECT_FALSE(p.take());
  EXPECT_THAT(messages, testing::ElementsAre("'arith.addf' op computes in f32; convert with arith.extf, found "
                                             "'tensor<4xbf16>'"));
}

TEST_F(BuilderTest, AWrongGridIsADiagnostic) {
  Program p(context);
  Device d = p.device("d", {tensor("x", f32, {dyn})}, {"i"}, nothing);
  p.graph("g", {tensor("x", f32, {dyn})}, [&](GraphScope &g) { g.call(d, {g["x"]}, {4, 4}); });
  EXPECT_FALSE(p.take());
  EXPECT_THAT(messages, testing::ElementsAre("'evt.call' op grid has 2 coordinates but 'd' takes 1"));
}

} // namespace
