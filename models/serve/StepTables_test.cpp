// What is copied to the device, and what stays there. On the CPU, whose memory can be looked at.
#include "models/serve/StepTables.h"

#include <gtest/gtest.h>

#include <cstring>

namespace evt::models {
namespace {

class Tables : public testing::Test {
protected:
  Tables() : program(std::string(EVT_STEPS) + "/step-llama.evt"), uploads(program), launches(program) {}

  static StepTable table(const char *name, const std::vector<int32_t> &values) {
    return {name, values.data(), {static_cast<int64_t>(values.size())}, {0, 32, 1}};
  }
  static std::vector<int32_t> there(const DLTensor &tensor) {
    std::vector<int32_t> values(static_cast<size_t>(tensor.shape[0]));
    std::memcpy(values.data(), tensor.data, values.size() * sizeof(int32_t));
    return values;
  }

  Program program;
  Stream uploads, launches;
};

TEST_F(Tables, AreCopiedWhenTheyChange) {
  StepTables tables(program, uploads, launches, 3);
  const std::vector<int32_t> pages = {7, 8};
  void *ofPages = tables.put(table("pages", pages)).data;
  std::vector<void *> places;
  for (int32_t position = 0; position < 6; ++position) {
    const std::vector<int32_t> positions = {position};
    const DLTensor &tensor = tables.put(table("positions", positions));
    EXPECT_EQ(there(tensor), positions);
    places.push_back(tensor.data);
    EXPECT_EQ(tables.put(table("pages", pages)).data, ofPages);
  }
  EXPECT_EQ(tables.copies(), 1 + 6);
  EXPECT_EQ(places[3], places[0]); // of three places
  EXPECT_NE(places[1], places[0]);
  EXPECT_NE(places[2], places[0]);
  EXPECT_GT(tables.deviceBytes(), 0u);
}

TEST_F(Tables, GrowAndShrink) {
  StepTables tables(program, uploads, launches, 2);
  for (size_t size : {1, 5000, 3, 100000, 100000}) {
    std::vector<int32_t> values(size);
    for (size_t i = 0; i < size; ++i)
      values[i] = static_cast<int32_t>(i * 3);
    EXPECT_EQ(there(tables.put(table("a", values))), values);
  }
  EXPECT_EQ(tables.copies(), 4); // the last one was there
}

// Another shape of the same values needs no copy; values that the device changes are not known any more.
TEST_F(Tables, ShapesAndRewrittenValues) {
  StepTables tables(program, uploads, launches, 2);
  const std::vector<int32_t> values = {1, 2, 3, 4};
  tables.put(table("a", values));
  const DLTensor &square = tables.put({"a", values.data(), {2, 2}, {0, 32, 1}});
  EXPECT_EQ(square.ndim, 2);
  EXPECT_EQ(square.shape[1], 2);
  EXPECT_EQ(tables.copies(), 1);
  std::memset(tables.put(table("a", values), true).data, 0, 16);
  EXPECT_EQ(there(tables.put(table("a", values))), values);
  EXPECT_EQ(tables.copies(), 3);
}

} // namespace
} // namespace evt::models
