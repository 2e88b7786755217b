// How fast a tile product is next to OpenBLAS on one thread, measured alternately in one run.
//
//   OPENBLAS_NUM_THREADS=1 matmul_bench
//
// prints one line per shape: our rate, OpenBLAS's rate, and ours as a multiple of it. Shapes with few rows are bound
// by reading b; there the rate of b in GB/s says how far from the memory system's limit both are.
#include "device/cpu/tile/matmul.h"

#include <cblas.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>

namespace {

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

template <typename F> double time_once(F &&run, int repeat) {
  const double start = seconds();
  for (int i = 0; i < repeat; ++i)
    run();
  return (seconds() - start) / repeat;
}

// Tiles of generated code begin on a cache line.
struct Tile {
  explicit Tile(std::int64_t size)
      : floats(static_cast<float *>(std::aligned_alloc(64, static_cast<std::size_t>((size * 4 + 63) / 64 * 64)))) {
    static std::mt19937 random(1);
    std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
    for (std::int64_t i = 0; i < size; ++i)
      floats[i] = uniform(random);
  }
  ~Tile() { std::free(floats); }
  Tile(const Tile &) = delete;
  float *data() const { return floats; }
  float *floats;
};

template <std::int64_t M, std::int64_t N, std::int64_t K, bool Transposed> void compare() {
  const Tile a(M * K), b(K * N), c(M * N);
  auto ours = [&] {
    if constexpr (Transposed)
      evt::tile::matmul_tb<M, N, K>(c.data(), a.data(), b.data());
    else
      evt::tile::matmul<M, N, K>(c.data(), a.data(), b.data());
  };
  auto theirs = [&] {
    cblas_sgemm(CblasRowMajor, CblasNoTrans, Transposed ? CblasTrans : CblasNoTrans, M, N, K, 1.0f, a.data(), K,
                b.data(), Transposed ? K : N, 1.0f, c.data(), N);
  };
  const double flop = 2.0 * M * N * K;
  const int repeat = std::max(1, static_cast<int>(2e8 / flop / 20));
  double our_best = 1e30, their_best = 1e30;
  for (int round = 0; round < 40; ++round) { // the best of many short alternating runs: the machine is shared
    our_best = std::min(our_best, time_once(ours, repeat));
    their_best = std::min(their_best, time_once(theirs, repeat));
  }
  std::printf("%-9s %5d x%5d x%5d  %7.1f GFLOP/s  OpenBLAS %7.1f GFLOP/s  ratio %5.2f  b at %6.1f GB/s\n",
              Transposed ? "matmul_tb" : "matmul", int(M), int(N), int(K), flop / our_best * 1e-9,
              flop / their_best * 1e-9, their_best / our_best, 4e-9 * N * K / our_best);
}

template <std::int64_t M, std::int64_t N, std::int64_t K> void compare_both() {
  compare<M, N, K, false>();
  compare<M, N, K, true>();
}

} // namespace

int main() {
  openblas_set_num_threads(1);
  std::printf("vectors of %d floats; OpenBLAS for %s\n", evt::tile::vec_lanes, openblas_get_corename());
  compare_both<256, 256, 256>();
  compare_both<128, 128, 128>();
  compare_both<64, 64, 64>();
  compare_both<128, 128, 1024>();
  compare_both<64, 256, 2048>();
  compare_both<97, 101, 103>();
  compare_both<1, 256, 256>();
  compare_both<1, 64, 1024>();
  compare_both<2, 256, 256>();
  compare_both<4, 256, 256>();
  compare_both<8, 256, 256>();
  compare_both<16, 256, 256>();
  compare_both<16, 64, 1024>();
  compare_both<1, 4096, 4096>();
  compare_both<8, 4096, 4096>();
  compare_both<16, 4096, 4096>();
}
