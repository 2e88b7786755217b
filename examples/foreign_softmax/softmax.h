// Softmax of eight rows of 256, by hand, for both targets: on a GPU the lanes of a block share the work, on the CPU
// there is one lane.
//
// A row is cut into 32 parts whoever computes them, and the parts are combined in their order, so that the result does
// not depend on the number of lanes.
#pragma once

namespace softmax {

inline constexpr int block_rows = 8, columns = 256, parts = 32, width = columns / parts;

template <class Float>
EVT_DEVICE inline void rows(evt::Worker &w, const evt::Memory<Float, 2> &s, const evt::Memory<Float, 2> &p,
                            std::int64_t block) {
  float *const part = w.template tile<float>(0); // [block_rows][parts]
  const std::int64_t first = block * block_rows;
  // Rows past the end of the memory are not ours to touch.
  const int live = (int)evt::valid(first, block_rows, s.dims[0]);
  const Float *const from = s.data + first * columns;
  Float *const to = p.data + first * columns;

  for (int q = w.lane(); q < live * parts; q += w.lanes()) {
    float most = from[q * width];
    for (int i = 1; i < width; ++i)
      most = evt::maximum(most, from[q * width + i]);
    part[q] = most;
  }
  w.sync();
  float most[block_rows]; // every lane knows all rows'
  for (int r = 0; r < live; ++r) {
    most[r] = part[r * parts];
    for (int i = 1; i < parts; ++i)
      most[r] = evt::maximum(most[r], part[r * parts + i]);
  }
  w.sync(); // the maxima are read before sums take their place

  for (int q = w.lane(); q < live * parts; q += w.lanes()) {
    float sum = 0;
    for (int i = 0; i < width; ++i) {
      const float e = evt::exp(from[q * width + i] - most[q / parts]);
      to[q * width + i] = e;
      sum += e;
    }
    part[q] = sum;
  }
  w.sync();
  for (int q = w.lane(); q < live * parts; q += w.lanes()) {
    float sum = 0;
    for (int i = 0; i < parts; ++i)
      sum += part[q / parts * parts + i];
    for (int i = 0; i < width; ++i)
      to[q * width + i] = to[q * width + i] / sum;
  }
}

} // namespace softmax
