#include "InternalErrors.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace evt {
namespace {

TEST(InternalErrors, AnExceptionBecomesAnError) {
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(mlir::UnknownLoc::get(&context));
  std::string text;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    text += diagnostic.str();
    return mlir::success();
  });
  auto work = []() -> mlir::LogicalResult { throw std::runtime_error("two sets of different spaces"); };
  EXPECT_TRUE(mlir::failed(reportInternalErrors(*module, work)));
  EXPECT_EQ(text, "internal error of the analysis, please report it: two sets of different spaces");
}

TEST(InternalErrors, WhatIsFineStaysFine) {
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(mlir::UnknownLoc::get(&context));
  EXPECT_TRUE(mlir::succeeded(reportInternalErrors(*module, [] { return mlir::success(); })));
}

} // namespace
} // namespace evt
