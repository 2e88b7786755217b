#include "runtime/launch/RowSum_fixture.h"

#include <cstring>

using namespace evt::runtime;

namespace {

class Bind : public testing::Test {
protected:
  Bind() : program_(handWritten("row_sum")), arguments_(3) {}

  std::string message() {
    return messageOf(EVT_ERROR_ARGUMENT, [&] { program_->prepare(arguments_.values()); });
  }

  std::unique_ptr<Program> program_;
  RowSumArguments arguments_;
  DLTensor &X = arguments_.X, &Y = arguments_.Y;
};

TEST_F(Bind, GivesSymbolsAddressesAndShapes) {
  X.byte_offset = 0;
  Binding binding = program_->prepare(arguments_.values());
  EXPECT_EQ(binding.symbols, std::vector<int64_t>{3});
  EXPECT_EQ(binding.tensors, (std::vector<void *>{arguments_.x.data(), arguments_.y.data()}));
  EXPECT_EQ(binding.shapes.tasks, 15);
}

TEST_F(Bind, CountAndPresence) {
  EXPECT_EQ(messageOf(EVT_ERROR_ARGUMENT, [&] { program_->prepare({}); }),
            "graph 'row_sum' was given 0 arguments, required 2");
  std::vector<evt_value> values = {{nullptr, 3}, {&Y, 0}};
  EXPECT_EQ(messageOf(EVT_ERROR_ARGUMENT, [&] { program_->prepare(values); }),
            "argument 'x' is null, required a tensor");
  std::vector<evt_value> tensor = {{&X, 0}};
  auto chain = handWritten("chain");
  EXPECT_EQ(messageOf(EVT_ERROR_ARGUMENT, [&] { chain->prepare(tensor); }),
            "argument 'steps' is a tensor, required an index");
}

TEST_F(Bind, DeviceTypeAndRank) {
  X.device = {kDLCUDA, 1};
  EXPECT_EQ(message(), "argument 'x' is on cuda:1, required cpu");
  X.device = {kDLCPU, 0};
  X.dtype = {kDLFloat, 16, 1};
  EXPECT_EQ(message(), "argument 'x' has type f16, required f32");
  X.dtype = {kDLFloat, 32, 1};
  X.ndim = 1;
  EXPECT_EQ(message(), "argument 'x' has rank 1, required 2");
  X.ndim = 2;
  X.shape = nullptr;
  EXPECT_EQ(message(), "argument 'x' has no shape, required 2 extents");
}

TEST_F(Bind, ExtentsAndSymbols) {
  int64_t wide[] = {3, 4097}, negative[] = {-3, 4096}, five[] = {5};
  X.shape = wide;
  EXPECT_EQ(message(), "dimension 1 of argument 'x' is 4097, required 4096");
  X.shape = negative;
  EXPECT_EQ(message(), "argument 'x' has dimension 0 of -3, required at least 0");
  X.shape = const_cast<int64_t *>(arguments_.x.shape().data());
  Y.shape = five;
  EXPECT_EQ(message(), "dimension 0 of argument 'y' is 5, required 3: symbol 'n' is also dimension 0 of argument 'x'");
  int64_t many[] = {1000001, 4096};
  X.shape = many;
  Y.shape = many;
  EXPECT_EQ(message(), "dimension 0 of argument 'x' is 1000001, required 0..1000000 for symbol 'n'");
  std::vector<evt_value> zero = {{nullptr, 0}};
  auto chain = handWritten("chain");
  EXPECT_EQ(messageOf(EVT_ERROR_ARGUMENT, [&] { chain->prepare(zero); }),
            "argument 'steps' is 0, required 1..1000 for symbol 'n'");
}

TEST_F(Bind, Strides) {
  int64_t dense[] = {4096, 1}, padded[] = {4100, 1}, transposed[] = {1, 3};
  X.strides = dense;
  EXPECT_EQ(message(), "no error");
  X.strides = padded;
  EXPECT_EQ(message(), "argument 'x' has stride 4100 in dimension 0, required 4096: tensors are dense and row-major");
  X.strides = transposed;
  EXPECT_EQ(message(), "argument 'x' has stride 3 in dimension 1, required 1: tensors are dense and row-major");
}

TEST_F(Bind, StridesThatAreNeverUsedAreNotChecked) {
  RowSumArguments one(1), none(0);
  int64_t odd[] = {17, 1};
  one.X.strides = odd;
  none.X.strides = odd;
  none.X.data = nullptr;
  EXPECT_EQ(messageOf(EVT_ERROR_ARGUMENT, [&] { program_->prepare(one.values()); }), "no error");
  EXPECT_EQ(messageOf(EVT_ERROR_ARGUMENT, [&] { program_->prepare(none.values()); }), "no error");
}

TEST_F(Bind, AddressAndAlignment) {
  int64_t two[] = {2, 4096}, twoRows[] = {2};
  X.shape = two;
  Y.shape = twoRows;
  X.byte_offset = 4096;
  EXPECT_EQ(message(), "no error");
  X.byte_offset = 4;
  EXPECT_EQ(message(), "argument 'x' starts 4 bytes after a multiple of 16, required an alignment of 16 bytes");
  X.data = nullptr;
  EXPECT_EQ(message(), "argument 'x' has no data, required f32 elements");
}

TEST_F(Bind, WrittenArgumentsShareMemoryWithNoOther) {
  Y.data = static_cast<char *>(arguments_.x.data()) + 4096;
  EXPECT_EQ(message(), "argument 'y' overlaps argument 'x' in memory, required apart: at least one of them is written");
  Y.data = static_cast<char *>(arguments_.x.data()) + arguments_.x.bytes();
  EXPECT_EQ(message(), "no error"); // adjacent is apart; the storage behind it is not touched here
}

} // namespace
