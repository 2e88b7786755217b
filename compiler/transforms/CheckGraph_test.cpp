#include "CheckGraph.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

namespace evt {
namespace {

/// A writer and a reader of p; `count` and `wait` are put into the text.
std::string program(const std::string &count, const std::string &wait) {
  return R"(
evt.device @write(%p: memref<?x3xf32>) grid(%i, %j) {
  %v = arith.constant dense<1.0> : tensor<f32>
  evt.store %v, %p[%i, %j] : tensor<f32> -> memref<?x3xf32>
}
evt.device @read(%p: memref<?x3xf32>) grid(%i) {
  %c0 = arith.constant 0 : index
  %t = evt.load %p[%i, %c0] : memref<?x3xf32> -> tensor<3xf32>
}
evt.graph @g(%p: memref<?x3xf32>) {
  %n = evt.symbol "n" (%p[0]) : memref<?x3xf32>
  %c3 = arith.constant 3 : index
  %done = evt.event(%n) count()" +
         count + R"() : !evt.event<?>
  evt.call @write(%p) grid(%n, %c3) notify(%done[(i, j) -> (i)]) : (memref<?x3xf32>)
  evt.call @read(%p) grid(%n) )" +
         wait + R"( : (memref<?x3xf32>)
})";
}

class CheckGraphTest : public ::testing::Test {
protected:
  CheckGraphTest() {
    mlir::DialectRegistry registry;
    ir::registerDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  ir::GraphOp parse(const std::string &text) {
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context, "g.mlir");
    EXPECT_TRUE(module);
    return *module->getOps<ir::GraphOp>().begin();
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

TEST_F(CheckGraphTest, AProvedGraphLeavesNothing) {
  auto result = checkGraph(parse(program("3", "wait(%done[(i) -> (i)])")));
  ASSERT_TRUE(mlir::succeeded(result));
  EXPECT_TRUE(result->ok());
  EXPECT_TRUE(result->obligations.empty());
}

TEST_F(CheckGraphTest, LocationsAreFileLineAndColumn) {
  auto result = checkGraph(parse(program("4", "wait(%done[(i) -> (i)])")));
  ASSERT_TRUE(mlir::succeeded(result));
  ASSERT_EQ(result->violations.size(), 1u);
  EXPECT_EQ(result->violations[0].message, "done[0] has count 4 but receives 3 notifications from write");
  EXPECT_EQ(result->violations[0].location, "g.mlir:13:11");
}

TEST_F(CheckGraphTest, WithoutATextLocationsAreDescriptions) {
  ir::GraphOp graph = parse(program("3", ""));
  module->walk([&](mlir::Operation *op) { op->setLoc(mlir::UnknownLoc::get(&context)); });
  auto result = checkGraph(graph);
  ASSERT_TRUE(mlir::succeeded(result));
  ASSERT_EQ(result->violations.size(), 1u);
  EXPECT_EQ(result->violations[0].location, "reads of call 'read'");
  ASSERT_EQ(result->violations[0].notes.size(), 3u);
  EXPECT_EQ(result->violations[0].notes[1].location, "writes of call 'write'");
}

TEST_F(CheckGraphTest, AGraphThatWritesAnImmutableArgumentHasNoModel) {
  std::string text = program("3", "wait(%done[(i) -> (i)])");
  text.replace(text.find("memref<?x3xf32>) {\n  %n"), 15, "memref<?x3xf32> {evt.immutable}");
  ir::GraphOp graph = parse(text);
  std::string error;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) { error = diagnostic.str(); });
  EXPECT_TRUE(mlir::failed(checkGraph(graph)));
  EXPECT_EQ(error, "'write' writes 'p', which is immutable");
}

} // namespace
} // namespace evt
