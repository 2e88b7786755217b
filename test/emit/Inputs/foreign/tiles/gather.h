#pragma once

namespace tiles {

template <class Float, class Table>
EVT_DEVICE inline void gather(evt::Worker &w, const evt::Memory<Float, 2> &x, const evt::Memory<Table, 1> &rows,
                              const evt::Memory<Float, 2> &y, std::int64_t i) {
  Float *const two = w.template tile<Float>(0);
  evt::load_tile_through<2, 5>(w, two, x, {2 * i, 0}, rows, Float(0));
  w.sync();
  for (int k = w.lane(); k < 5; k += w.lanes())
    y.data[i * 5 + k] = two[k] + two[5 + k];
}

} // namespace tiles
