// What the launch tests share: programs of the hand-written artifacts, and arguments for them.
#ifndef EVT_RUNTIME_LAUNCH_ROWSUM_FIXTURE_H
#define EVT_RUNTIME_LAUNCH_ROWSUM_FIXTURE_H

#include "runtime/Error.h"
#include "runtime/launch/Program.h"
#include "runtime/tensor/HostTensor.h"

#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace evt::runtime {

inline std::unique_ptr<Program> handWritten(const std::string &name) {
  return std::make_unique<Program>(loadArtifact(std::string(EVT_TEST_ARTIFACTS) + "/" + name));
}

// Arguments of row_sum: small integers, whose sums are exact in any order.
struct RowSumArguments {
  explicit RowSumArguments(int64_t n)
      : x(DataType::f32, {n, 4096}), y(DataType::f32, {n}), X(x.dlpack()), Y(y.dlpack()) {
    for (int64_t i = 0; i < x.elements(); ++i)
      x.set(i, static_cast<double>((i * 7 + i / 4096) % 5));
    for (int64_t i = 0; i < n; ++i)
      y.set(i, -1);
  }
  RowSumArguments(const RowSumArguments &) = delete;

  std::vector<evt_value> values() const { return {{&X, 0}, {&Y, 0}}; }

  // Sums in plain order, without the runtime.
  bool correct() const {
    for (int64_t row = 0; row < y.elements(); ++row) {
      double sum = 0;
      for (int64_t k = 0; k < 4096; ++k)
        sum += static_cast<double>(((row * 4096 + k) * 7 + row) % 5);
      if (y.get(row) != sum)
        return false;
    }
    return true;
  }

  HostTensor x, y;
  DLTensor X, Y;
};

// The text of the error a body throws, whose code must be this one.
inline std::string messageOf(evt_code code, const std::function<void()> &body) {
  try {
    body();
  } catch (const Error &error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  return "no error";
}

} // namespace evt::runtime

#endif
