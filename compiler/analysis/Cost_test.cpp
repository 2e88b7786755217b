// Every number here was counted by hand, from the programs' texts.
#include "compiler/analysis/Cost.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

#include <gmock/gmock.h>

namespace evt {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using Shape = std::map<std::string, int64_t>;

class CostTest : public ::testing::Test {
protected:
  CostTest() {
    mlir::DialectRegistry registry;
    ir::registerDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  GraphCost of(mlir::OwningOpRef<mlir::ModuleOp> parsed) {
    module = std::move(parsed);
    EXPECT_TRUE(module);
    signature.emplace(*module->getOps<ir::GraphOp>().begin());
    std::optional<GraphCost> cost = costOf(*signature);
    EXPECT_TRUE(cost);
    return cost.value_or(GraphCost());
  }
  GraphCost example(const std::string &name) {
    std::string file = std::string(EVT_EXAMPLES) + "/" + name + "/" + name + ".mlir";
    return of(mlir::parseSourceFile<mlir::ModuleOp>(file, &context));
  }
  GraphCost program(const std::string &text) { return of(mlir::parseSourceString<mlir::ModuleOp>(text, &context)); }
  const CallCost &call(const GraphCost &cost, const std::string &name) {
    for (size_t k = 0; k < cost.calls.size(); ++k)
      if (signature->callName(k) == name)
        return cost.calls[k];
    ADD_FAILURE() << "no call " << name;
    return cost.calls[0];
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::optional<ir::Signature> signature;
};

TEST_F(CostTest, RowSum) {
  GraphCost cost = example("row_sum");
  // partial adds 1024 floats a task and 4 tasks a row; x has 16384 bytes a row, p 16, y 4.
  EXPECT_EQ(call(cost, "partial").tasks.text(), "4 * n");
  EXPECT_EQ(call(cost, "partial").ops.text(), "4096 * n");
  EXPECT_EQ(call(cost, "partial").bytes.text(), "16400 * n");
  EXPECT_EQ(call(cost, "total").ops.text(), "4 * n");
  EXPECT_EQ(call(cost, "total").bytes.text(), "20 * n");
  EXPECT_EQ(cost.ops.text(), "4100 * n");
  EXPECT_EQ(cost.bytes.text(), "16388 * n");
  EXPECT_THAT(call(cost, "partial").assumptions, IsEmpty());
}

TEST_F(CostTest, ChainedMatmul) {
  GraphCost cost = example("chained_matmul");
  // A task is a tile of 32 x 64, 64 of the depth at a time; tiles at the edges are computed whole and stored in part.
  EXPECT_EQ(call(cost, "product").ops.text(), "262144 * (k ceildiv 64) * (m ceildiv 32) * (n ceildiv 64)");
  EXPECT_EQ(call(cost, "product").bytes.text(), "4 * m * n + 4 * k * n + 4 * k * m");
  EXPECT_EQ(cost.bytes.text(), "4 * n * p + 4 * m * p + 4 * k * n + 4 * k * m");
  // 40 x 50 times 50 x 70 times 70 x 130: 2 x 2 tiles of one chunk, then 2 x 3 tiles of two chunks.
  Shape shape{{"m", 40}, {"k", 50}, {"n", 70}, {"p", 130}};
  EXPECT_EQ(call(cost, "product").tasks.evaluate(shape), 4);
  EXPECT_EQ(call(cost, "product#2").ops.evaluate(shape), 6 * 2 * 262144);
  EXPECT_EQ(cost.bytes.evaluate(shape), 4 * (40 * 50 + 50 * 70 + 70 * 130 + 40 * 130));
}

TEST_F(CostTest, Stencil) {
  GraphCost cost = example("stencil2d");
  Shape shape{{"h", 40}, {"w", 17}, {"steps", 5}};
  // Six operations a point of blocks of 16 x 16: 3 x 2 blocks, 5 steps. Both planes are read and written.
  EXPECT_EQ(call(cost, "step").ops.evaluate(shape), 5 * 6 * 1536);
  EXPECT_EQ(call(cost, "step").bytes.text(), "16 * h * w");
  EXPECT_THAT(call(cost, "step").assumptions, ElementsAre("an index that is a remainder takes all its values"));
  EXPECT_THAT(call(cost, "end").assumptions, IsEmpty());
  // The plane of the last step alone.
  EXPECT_EQ(call(cost, "end").bytes.text(), "8 * h * w");
  EXPECT_EQ(call(cost, "begin").ops.text(), "0");
  EXPECT_EQ(cost.bytes.text(), "8 * h * w");
}

TEST_F(CostTest, DecodeChain) {
  GraphCost cost = example("decode_chain");
  Shape shape{{"tokens", 3}, {"layers", 2}};
  // A task of qkv: a norm (256 + 3 x 8), a product of 8 x 256 with 256 x 8, and 64 scalings; 64 tasks a layer.
  EXPECT_EQ(call(cost, "qkv").ops.evaluate(shape), 2 * 64 * (256 + 24 + 2 * 8 * 8 * 256 + 64));
  // x of 256 bf16 a token, 32 sums of squares, weights of 512 x 256, q of 512 bf16 a token.
  EXPECT_EQ(call(cost, "qkv").bytes.evaluate(shape), 3 * 512 + 3 * 128 + 2 * 512 * 256 * 2 + 3 * 1024);
  // All weights once, the residual stream in and out, the logits.
  int64_t weights = 2 * (512 * 256 + 256 * 256 + 2 * 9472 * 256 + 256 * 9472);
  EXPECT_EQ(cost.bytes.evaluate(shape), 2 * weights + 2 * 1000 * 256 + 2 * 3 * 1024 + 3 * 4000);
  EXPECT_EQ(call(cost, "down").tasks.evaluate(shape), 2 * 1 * 2 * 32);
  for (const CallCost &c : cost.calls)
    EXPECT_THAT(c.assumptions, IsEmpty());
}

TEST_F(CostTest, PagesAreReadAtMostAsOftenAsTasksDo) {
  GraphCost cost = example("decode_attention");
  const CallCost &split = call(cost, "split");
  // 2 requests of at most 5 pages: 2 heads, 2 splits, 4 pages each.
  Shape shape{{"requests", 2}, {"pool", 7}, {"max_pages", 5}};
  EXPECT_EQ(split.tasks.evaluate(shape), 8);
  // A page: products of 4 x 64 x 16 twice, 7 operations on 4 x 16, 2 on 16 x 64, 3 on 4, 1 on 4 x 64.
  EXPECT_EQ(split.ops.evaluate(shape), 8 * (256 + 4 * (2 * 8192 + 7 * 64 + 2 * 1024 + 3 * 4 + 256)));
  int64_t rest = 2 * 8 * 64 * 4 + 2 * 5 * 4 + 2 * 4                  // q, pages, lens
                 + 2 * 2 * 2 * 4 * (4 + 4) + 2 * 2 * 2 * 4 * 64 * 4; // part_m and part_l, part_acc
  int64_t pool = 7 * 16 * 2 * 64 * 4, tiles = 8 * 4 * 16 * 64 * 4;
  EXPECT_EQ(split.bytes.evaluate(shape), rest + 2 * std::min(pool, tiles));
  shape["pool"] = 1000;
  EXPECT_EQ(split.bytes.evaluate(shape), rest + 2 * tiles);
  EXPECT_THAT(
      split.assumptions,
      ElementsAre("a loop whose length differs between tasks runs as long as the longest",
                  "where keys is read along dimension 0 is decided by data: all of it, or all different tiles",
                  "where values is read along dimension 0 is decided by data: all of it, or all different tiles"));
}

TEST_F(CostTest, ExpertsAreCountedAtTheBound) {
  GraphCost cost = example("moe");
  const CallCost &gateUp = call(cost, "gate_up");
  // 5 tokens, 2 experts each: at most (10 + 120) / 16 = 8 tiles of rows, 3 of columns.
  Shape shape{{"tokens", 5}};
  EXPECT_EQ(gateUp.tasks.evaluate(shape), 24);
  EXPECT_EQ(gateUp.ops.evaluate(shape), 24 * (2 * 2 * 2 * 16 * 32 * 64 + 5 * 16 * 32));
  // x, the tokens of 128 slots, indptr, two weights, h, and the counts of the event that is waited for.
  EXPECT_EQ(gateUp.bytes.evaluate(shape), 5 * 512 + 128 * 4 + 9 * 4 + 2 * 8 * 96 * 128 * 4 + 128 * 96 * 4 + 8 * 4);
  EXPECT_THAT(gateUp.assumptions, Contains("every task of the ragged bound is counted"));
}

TEST_F(CostTest, ALoopOfUnknownLengthRunsOverWhatItReads) {
  GraphCost cost = example("decoder");
  bool found = false;
  for (const CallCost &c : cost.calls)
    for (const std::string &assumption : c.assumptions)
      found |= assumption == "a loop whose length is decided by data runs over all of keys along dimension 2";
  EXPECT_TRUE(found);
}

TEST_F(CostTest, LoopsOfTasksThatShareADepth) {
  // Pieces of 128 of a depth, and of what is left of it: each row is added to y once, whoever does it.
  const std::string text = R"(
evt.device @piece(%x: memref<8x?xf32>, %y: memref<?xf32>) grid(%s) {
  %c32 = arith.constant 32 : index
  %c0 = arith.constant 0 : index
  %begin = affine.apply affine_map<(d0) -> (d0 * 128)>(%s)
  END
  %zero = arith.constant dense<0.0> : tensor<1xf32>
  %sum = scf.for %k = %begin to %end step %c32 iter_args(%in = %zero) -> (tensor<1xf32>) {
    %t = evt.load %x[%c0, %k] : memref<8x?xf32> -> tensor<1x32xf32>
    %out = linalg.reduce { arith.addf } ins(%t : tensor<1x32xf32>) outs(%in : tensor<1xf32>) dimensions = [1]
    scf.yield %out : tensor<1xf32>
  }
  evt.store %sum, %y[%s] : tensor<1xf32> -> memref<?xf32>
}
evt.graph @g(%x: memref<8x?xf32> {evt.immutable}, %y: memref<?xf32>) {
  %depth = evt.symbol "depth" (%x[1]) : memref<8x?xf32>
  %pieces = affine.apply affine_map<()[s0] -> (s0 ceildiv 128)>()[%depth]
  evt.call @piece(%x, %y) grid(%pieces) : (memref<8x?xf32>, memref<?xf32>)
})";
  auto with = [&](const std::string &end) {
    std::string all = text;
    return program(all.replace(all.find("END"), 3, end));
  };
  for (const char *end : {"%end = affine.apply affine_map<(d0) -> (d0 * 128 + 128)>(%s)",
                          "%c128 = arith.constant 128 : index\n  %end = arith.addi %begin, %c128 : index",
                          "%c1 = arith.constant 1 : index\n  %next = arith.addi %s, %c1 : index\n"
                          "  %c128 = arith.constant 128 : index\n  %end = arith.muli %c128, %next : index"}) {
    GraphCost cost = with(end);
    EXPECT_EQ(cost.ops.text(), "128 * (depth ceildiv 128)") << end;
    EXPECT_THAT(call(cost, "piece").assumptions, IsEmpty()) << end;
  }
  // The last piece is as long as the others at most.
  GraphCost cost = with("%c1 = arith.constant 1 : index\n  %depth = memref.dim %x, %c1 : memref<8x?xf32>\n"
                        "  %end = affine.min affine_map<(d0)[s0] -> (d0 * 128 + 128, s0)>(%s)[%depth]");
  EXPECT_EQ(cost.ops.evaluate({{"depth", 1000}, {"y_0", 8}}), 8 * 128);
  EXPECT_THAT(call(cost, "piece").assumptions,
              ElementsAre("a loop whose length differs between tasks runs as long as the longest"));
}

TEST_F(CostTest, OperationsOfEachKind) {
  GraphCost cost = program(R"(
evt.device @f(%x: memref<8x16xf32>, %y: memref<8x4xf32>, %z: memref<8x16xf32>) grid(%i) {
  %c0 = arith.constant 0 : index
  %a = evt.load %x[%c0, %c0] : memref<8x16xf32> -> tensor<8x16xf32>
  %v, %n = evt.topk %a : tensor<8x16xf32> -> tensor<8x4xf32>, tensor<8x4xi32>
  %f = math.fma %a, %a, %a : tensor<8x16xf32>
  %p = evt.prefix_sum %f dim 1 : tensor<8x16xf32>
  %b = arith.truncf %p : tensor<8x16xf32> to tensor<8x16xbf16>
  %w = arith.extf %b : tensor<8x16xbf16> to tensor<8x16xf32>
  evt.store %v, %y[%c0, %c0] : tensor<8x4xf32> -> memref<8x4xf32>
  evt.store %w, %z[%c0, %c0] : tensor<8x16xf32> -> memref<8x16xf32>
}
evt.graph @g(%x: memref<8x16xf32> {evt.immutable}, %y: memref<8x4xf32>, %z: memref<8x16xf32>) {
  %c1 = arith.constant 1 : index
  evt.call @f(%x, %y, %z) grid(%c1) : (memref<8x16xf32>, memref<8x4xf32>, memref<8x16xf32>)
})");
  // Top-k 8 x 16 x 4, multiply-add 2 x 128, prefix sum 128; conversions are moves.
  EXPECT_EQ(cost.ops.text(), std::to_string(512 + 256 + 128));
  EXPECT_EQ(cost.bytes.text(), std::to_string(512 + 128 + 512));
}

TEST_F(CostTest, AmountsThatDoNotFitAreNoCost) {
  module = mlir::parseSourceString<mlir::ModuleOp>(R"(
evt.device @f(%x: memref<4611686018427387904xf32>) grid(%i) {
  %v = arith.constant dense<1.0> : tensor<f32>
  evt.store %v, %x[%i] : tensor<f32> -> memref<4611686018427387904xf32>
}
evt.graph @g(%x: memref<4611686018427387904xf32>) {
  %n = arith.constant 4611686018427387904 : index
  evt.call @f(%x) grid(%n) : (memref<4611686018427387904xf32>)
})",
                                                   &context);
  ASSERT_TRUE(module);
  EXPECT_FALSE(costOf(ir::Signature(*module->getOps<ir::GraphOp>().begin())));
}

} // namespace
} // namespace evt
