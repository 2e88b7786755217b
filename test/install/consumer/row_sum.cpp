// Runs a row-sum artifact (x: n x 4096 f32, y: n f32) through the C++ interface and checks the sums, under every
// schedule the artifact supports.
#include <evt/evt.hpp>

#include <cstdio>
#include <cstdlib>
#include <memory>

int main(int argc, char **argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s ARTIFACT\n", argv[0]);
    return 2;
  }
  constexpr int64_t rows = 5, columns = 4096;
  try {
    evt::Program program(argv[1]);
    std::unique_ptr<float, decltype(&std::free)> x(
        static_cast<float *>(std::aligned_alloc(64, sizeof(float) * rows * columns)), std::free);
    for (int64_t i = 0; i < rows * columns; ++i)
      x.get()[i] = static_cast<float>(i % 3);
    int64_t xShape[] = {rows, columns}, yShape[] = {rows};
    int launches = 0;
    for (const evt_schedule_info *schedule : program.schedules()) {
      if (!schedule->supported)
        continue;
      std::vector<float> y(rows);
      DLTensor xTensor{x.get(), {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, xShape, nullptr, 0};
      DLTensor yTensor{y.data(), {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, yShape, nullptr, 0};
      evt::Options options;
      options.schedule = schedule->name;
      program.launch({evt::tensor(xTensor), evt::tensor(yTensor)}, options);
      for (int64_t row = 0; row < rows; ++row) {
        int64_t expected = 0;
        for (int64_t k = 0; k < columns; ++k)
          expected += (row * columns + k) % 3;
        if (y[row] != static_cast<float>(expected)) {
          std::fprintf(stderr, "%s: row %d is %g, required %d\n", schedule->name, int(row), double(y[row]),
                       int(expected));
          return 1;
        }
      }
      ++launches;
    }
    std::printf("%s: %d schedules agree with the plain sum\n", program.graph().c_str(), launches);
    return launches > 0 ? 0 : 1;
  } catch (const evt::Error &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
