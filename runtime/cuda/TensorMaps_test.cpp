// What the driver is asked for; the fake driver keeps it as plain words: address, type, rank, 5 extents, 4 strides in
// bytes, 4 sizes of the box, each from the innermost dimension on.
#include "runtime/cuda/FakeGpu_fixture.h"
#include "runtime/cuda/TensorMaps.h"

namespace evt::runtime::cuda {
namespace {

struct Maps {
  Manifest manifest;
  Shapes shapes{};
  std::vector<Address> addresses;

  Maps() { manifest.cuda.emplace(); }
  void add(DataType type, std::vector<int64_t> dims, Address address, uint32_t rows, uint32_t columns = 64) {
    int64_t elements = 1;
    for (int64_t n : dims)
      elements *= n;
    uint32_t number = static_cast<uint32_t>(manifest.memories.size());
    manifest.memories.push_back({"m" + std::to_string(number), std::nullopt, type, {}});
    manifest.cuda->tensorMaps.push_back({number, rows, columns, false});
    shapes.memories.push_back({std::move(dims), elements});
    addresses.push_back(address);
  }
  std::vector<std::vector<uint64_t>> encoded(const std::string &library) const {
    std::vector<std::vector<uint64_t>> words;
    for (const TensorMap &map : encodeTensorMaps(*openDriver(library), manifest, shapes, addresses))
      words.emplace_back(std::begin(map.words), std::end(map.words));
    return words;
  }
};

using Words = std::vector<std::vector<uint64_t>>;

TEST_F(FakeGpu, TensorMapsHaveTheExtentsOfTheLaunch) {
  Maps maps;
  maps.add(DataType::bf16, {300, 200}, 0x1000, 128);
  maps.add(DataType::f16, {3, 328, 72}, 0x2000, 64);
  EXPECT_EQ(maps.encoded(EVT_FAKE_CUDA), (Words{{0x1000, 9, 2, 200, 300, 0, 0, 0, 400, 0, 0, 0, 64, 128, 0, 0},
                                                {0x2000, 6, 3, 72, 328, 3, 0, 0, 144, 328 * 144, 0, 0, 64, 64, 1, 0}}));
}

// 128 columns at a time are two times 64: 64 columns, rows, 64s of a row.
TEST_F(FakeGpu, ATensorMapOfSeveralChunksHasThemAsADimension) {
  Maps maps;
  maps.add(DataType::bf16, {300, 256}, 0x1000, 128, 128);
  maps.add(DataType::bf16, {3, 328, 192}, 0x2000, 64, 192);
  EXPECT_EQ(maps.encoded(EVT_FAKE_CUDA),
            (Words{{0x1000, 9, 3, 64, 300, 4, 0, 0, 512, 128, 0, 0, 64, 128, 2, 0},
                   {0x2000, 9, 4, 64, 328, 3, 3, 0, 384, 128, 328 * 384, 0, 64, 64, 3, 1}}));
}

// A packed tensor, [3, 48, 128] in tiles of 8 x 32: 256 elements of a tile, 4 tiles a row of tiles, 6 such rows.
TEST_F(FakeGpu, ATensorMapOfAPackedTensorHasWholeTiles) {
  Maps maps;
  maps.add(DataType::bf16, {3, 48, 128}, 0x1000, 16);
  maps.add(DataType::bf16, {3, 48, 128}, 0x2000, 16, 128);
  maps.manifest.arguments.emplace_back().packed = TileShape{8, 32};
  maps.manifest.memories[0].argument = maps.manifest.memories[1].argument = 0;
  EXPECT_EQ(maps.encoded(EVT_FAKE_CUDA),
            (Words{{0x1000, 9, 4, 256, 4, 6, 3, 0, 512, 4 * 512, 6 * 4 * 512, 0, 256, 2, 2, 1},
                   {0x2000, 9, 4, 256, 4, 6, 3, 0, 512, 4 * 512, 6 * 4 * 512, 0, 256, 4, 2, 1}}));
}

// What lies outside of a buffer's rows is zero, unless it may be anything: then it is there, and fetched like the rest;
// of a buffer with fewer rows than a tile, no more than whole groups of 8.
TEST_F(FakeGpu, ABuffersRowsAreWholeTiles) {
  Maps maps;
  maps.add(DataType::bf16, {9, 200}, 0x1000, 64);
  maps.manifest.memories[0].dims.resize(2);
  EXPECT_EQ(maps.encoded(EVT_FAKE_CUDA), (Words{{0x1000, 9, 2, 200, 9, 0, 0, 0, 400, 0, 0, 0, 64, 64, 0, 0}}));
  maps.manifest.cuda->tensorMaps[0].mayReadOutside = true;
  EXPECT_EQ(maps.encoded(EVT_FAKE_CUDA), (Words{{0x1000, 9, 2, 200, 64, 0, 0, 0, 400, 0, 0, 0, 64, 16, 0, 0}}));
  maps.shapes.memories[0].dims[0] = 65;
  EXPECT_EQ(maps.encoded(EVT_FAKE_CUDA), (Words{{0x1000, 9, 2, 200, 128, 0, 0, 0, 400, 0, 0, 0, 64, 64, 0, 0}}));
}

TEST_F(FakeGpu, ATensorMapOfNothingIsZero) {
  Maps maps;
  maps.add(DataType::bf16, {0, 200}, 0x1000, 128);
  EXPECT_EQ(maps.encoded(EVT_FAKE_CUDA), (Words{std::vector<uint64_t>(16)}));
}

TEST_F(FakeGpu, RowsThatAreNotMultiplesOf16BytesApartAreRefused) {
  Maps maps;
  maps.add(DataType::bf16, {4, 100}, 0x1000, 64);
  EXPECT_EQ(messageOf(EVT_ERROR_INTERNAL, [&] { maps.encoded(EVT_FAKE_CUDA); }),
            "cuTensorMapEncodeTiled: CUDA_ERROR_INVALID_VALUE: invalid argument");
}

} // namespace
} // namespace evt::runtime::cuda
