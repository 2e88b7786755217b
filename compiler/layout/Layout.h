// Layouts: where the elements of a tensor are, in memory, in registers, on warps, blocks and ranks.
//
// A layout is a function from a logical coordinate to a set of *places*. A place has a number on each of seven axes:
//
//   m          memory, in elements            warp        a warp of its warpgroup or block
//   reg        an element of a lane's own     warpgroup   a warpgroup of its block
//   lane       a lane of its warp             cta, rank   a block, a GPU
//
// The logical coordinate counts: the shape's coordinate is flattened row-major, and the number is then written in mixed
// radix, with the extents of the *sharded iterators* D as radices, the last one fastest. Each digit moves the place by
// its iterator's stride on its iterator's axis. Each combination of digits of the *replicated iterators* R gives one
// more place that holds the same element. The *offset* O is added to all. An optional *swizzle* permutes the address on
// m.
//
//   places(x) = { D(x) + r + O  |  r a sum of R },     D(x) = sum of digit(i, x) * stride(i) @ axis(i)
//
// Text says shape, D, and where there are any R, O and the swizzle:
//
//   [4, 8] -> (4:8@m, 8:1@m)                            4 x 8, row-major
//   [4, 8] -> (4:1@m, 8:4@m)                            4 x 8, column-major
//   [4, 8] -> (4:8@m, 8:1@m) + [2:1@rank] + 64@m        row-major from address 64 on, and a copy on each of two ranks
//
// Example 1, the fragments of mma.m16n8k16. The sums, 16 x 8: lane l holds, of row l/4 and of row l/4 + 8, columns 2
// (l%4) and 2 (l%4) + 1. Rows are 2 halves of 8, columns 4 pairs:
//
//   [16, 8] -> (2:2@reg, 8:4@lane, 4:1@lane, 2:1@reg)
//
//   row 9, column 5:   x = 9 * 8 + 5 = 77,  digits (1, 1, 2, 1),  reg 1*2 + 1*1 = 3,  lane 1*4 + 2*1 = 6
//
//             columns  0      1      2      3      4      5      6      7
//     row 0         0.r0   0.r1   1.r0   1.r1   2.r0   2.r1   3.r0   3.r1       lane.register
//     row 1         4.r0   4.r1   5.r0   5.r1   6.r0   6.r1   7.r0   7.r1
//     row 8         0.r2   0.r3   1.r2   1.r3   2.r2   2.r3   3.r2   3.r3
//     row 9         4.r2   4.r3   5.r2   5.r3   6.r2   6.r3   7.r2   7.r3
//
// Example 2, packed weights: tiles of 8 x 32 whose elements are neighbours (PackedWeights.h). A tensor of 16 x 64 is
// a row-major order of 2 x 2 tiles, *tiled* by a row-major tile:
//
//   tile([2, 2] -> (2:2@m, 2:1@m),  [8, 32] -> (8:32@m, 32:1@m))
//     =  [16, 64] -> (2:512@m, 8:32@m, 2:256@m, 32:1@m)
//
//   row 9, column 40:  digits (1, 1, 1, 8),  address 512 + 32 + 256 + 8 = 808
//
// Example 3, a shared-memory tile of 8 rows of 128 bytes (64 elements of 2 bytes) with the 128-byte swizzle: pieces of
// 16 bytes (8 elements) trade places within their row, by xor with the number of the row, so that a column of pieces
// lies in different banks. Bits 6..8 of the address, the row, are xored into bits 3..5, the piece:
//
//   [8, 64] -> (512:1@m) ^ swizzle(3, 3, 3)
//
//   row 3, column 8:   address 200 = 0b011'001'000, piece 1 ^ 3 = 2, so 0b011'010'000 = 208
//
// Example 4, a tensor-parallel shard: the rows of a matrix of 64 x 32 dealt in four contiguous parts to four ranks, and
// a vector of 32 that each of them has:
//
//   [64, 32] -> (4:1@rank, 512:1@m)                     row 17: rank 1, address 32
//   [32] -> (32:1@m) + [4:1@rank]
//
// Everything is a value; operations give a new layout, or say why there is none.
#pragma once

#include <array>
#include <cassert>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace evt::layout {

/// A closed set: a name that is not in it is an error, so that a typo is not one more axis.
enum class Axis : uint8_t { m, reg, lane, warp, warpgroup, cta, rank };
inline constexpr std::array allAxes{Axis::m, Axis::reg, Axis::lane, Axis::warp, Axis::warpgroup, Axis::cta, Axis::rank};
std::string_view nameOf(Axis axis);

struct Iterator {
  int64_t extent = 1, stride = 0;
  Axis axis = Axis::m;
  bool operator==(const Iterator &) const = default;
};

struct Place {
  std::array<int64_t, allAxes.size()> at{};
  int64_t &operator[](Axis a) { return at[static_cast<size_t>(a)]; }
  int64_t operator[](Axis a) const { return at[static_cast<size_t>(a)]; }
  bool operator==(const Place &) const = default;
  bool operator<(const Place &other) const { return at < other.at; }
};

/// Xors `bits` bits of an address, those from `base + shift` on, into those from `base` on. With `shift >= bits` it is
/// its own inverse.
struct Swizzle {
  int bits = 0, base = 0, shift = 0;
  int64_t operator()(int64_t address) const {
    return address ^ (address >> shift & ((int64_t{1} << bits) - 1) << base);
  }
  /// Adding a multiple of it to an address adds it to the swizzled address.
  int64_t period() const { return int64_t{1} << (base + shift + bits); }
  bool operator==(const Swizzle &) const = default;
};

struct Failure {
  std::string why;
};

/// A value, or why there is none.
template <class T> class [[nodiscard]] Result {
public:
  Result(T value) : value(std::move(value)) {}
  Result(Failure failure) : reason(std::move(failure.why)) {}
  explicit operator bool() const { return value.has_value(); }
  const T &operator*() const {
    assert(value && "a failure has no value");
    return *value;
  }
  const T *operator->() const { return &**this; }
  const std::string &why() const { return reason; }

private:
  std::optional<T> value;
  std::string reason;
};

class Layout {
public:
  struct Parts {
    std::vector<int64_t> shape;
    std::vector<Iterator> sharded, replicated = {};
    Place offset = {};
    std::optional<Swizzle> swizzle = {};
    bool operator==(const Parts &) const = default;
  };

  /// Refuses extents below 1, sharded iterators that do not count the elements of the shape, places beyond 2^60, a
  /// swizzle that is not its own inverse, and a swizzle of negative addresses.
  static Result<Layout> make(Parts parts);
  /// The elements of a shape, as neighbours on one axis.
  static Result<Layout> rowMajor(std::vector<int64_t> shape, Axis axis = Axis::m);

  const std::vector<int64_t> &shape() const { return parts.shape; }
  const std::vector<Iterator> &sharded() const { return parts.sharded; }
  const std::vector<Iterator> &replicated() const { return parts.replicated; }
  const Place &offset() const { return parts.offset; }
  const std::optional<Swizzle> &swizzle() const { return parts.swizzle; }
  const Parts &all() const { return parts; }

  int64_t elements() const;
  int64_t flatten(std::span<const int64_t> coordinate) const;
  /// The places of an element, each once, in order.
  std::vector<Place> places(int64_t element) const;
  std::vector<Place> places(std::span<const int64_t> coordinate) const { return places(flatten(coordinate)); }
  /// The place of an element of a layout without replicas.
  Place place(int64_t element) const;
  Place place(std::span<const int64_t> coordinate) const { return place(flatten(coordinate)); }

  /// The smallest and the largest number on an axis, before the swizzle.
  struct Range {
    int64_t least, most;
    int64_t span() const { return most - least + 1; }
  };
  Range range(Axis axis) const;

  /// The same text, not the same function: compare canonical forms for that.
  bool operator==(const Layout &) const = default;

private:
  explicit Layout(Parts parts) : parts(std::move(parts)) {}
  Parts parts;
};

/// The same function with as few iterators as there can be: those of extent 1 are gone, neighbours in D of which one
/// continues the other are one, a stride of 0 is on m; R has positive strides, in the order of axes and strides,
/// without iterators that others cover; a swizzle that moves no address is gone.
///
///   [4, 8] -> (4:8@m, 1:7@lane, 2:4@m, 4:1@m) + [2:-1@rank]   =>   [4, 8] -> (32:1@m) + [2:1@rank] + -1@rank
///
/// Two canonical forms that are equal mean equal functions. For layouts of one shape with the same swizzle (or none),
/// the converse: equal functions have
///   - the same D and O, always: O is the least corner of the places of element 0, and an iterator ends just where D
///     stops growing by its stride;
///   - the same R, if in both forms the replicas of each axis are *ordered*: each stride is larger than all smaller
///     strides' reach, the sum of (extent - 1) * stride. Without that, as 2:2 and 3:3, sums may coincide in several
///     ways.
/// A swizzle is kept if it moves an address of the range on m. Whether it could be written as other strides is not
/// asked.
Layout canonical(const Layout &layout);

/// The iterators of each dimension of the shape, outermost first, as few as there can be. Fails exactly if there is
/// no such D: if a dimension ends inside an iterator that it does not divide.
Result<std::vector<std::vector<Iterator>>> dimensions(const Layout &layout);

/// The same function of the flattened coordinate under another shape, each dimension with its own iterators.
///
///   group([24] -> (4:10@m, 6:1@m), [8, 3])  =  [8, 3] -> (4:10@m, 2:3@m, 3:1@m)
///   group([24] -> (4:10@m, 6:1@m), [3, 8])  fails: 8 and 6 do not divide each other
Result<Layout> group(const Layout &layout, std::vector<int64_t> shape);

/// Whole copies of `inner`, arranged as `outer` says, rank by rank:
///
///   shape = outer.shape * inner.shape
///   tile(x) = outer(x / inner.shape) * span(inner) + inner(x % inner.shape)
///
/// with the inner layout's span on each axis. An inner swizzle becomes the whole's if the copies lie at multiples of
/// its period; an outer one is refused, since it would tear copies apart.
Result<Layout> tile(const Layout &outer, const Layout &inner);

/// A region: slice(x) = layout(begin + x). Along each dimension, a region must lie inside one block of an iterator or
/// consist of whole blocks of it, for each iterator from the innermost to the outermost.
///
///   slice([4, 64] -> (4:8@m, 8:32@m, 8:1@m), {1, 8}, {2, 16})  =  [2, 16] -> (2:8@m, 2:32@m, 8:1@m) + 40@m
Result<Layout> slice(const Layout &layout, std::span<const int64_t> begin, std::span<const int64_t> size);

/// The swizzle after what is there: of a second one only the same is taken, which undoes the first.
Result<Layout> swizzled(const Layout &layout, Swizzle swizzle);

/// The swizzle of shared-memory tiles whose rows are `rowBytes` (128, 64 or 32) long: pieces of 16 bytes trade places.
Result<Swizzle> sharedSwizzle(int64_t rowBytes, int64_t elementBytes);

/// From places back to elements, for layouts that are a bijection onto 0..n-1 on each axis that they use.
struct Inverse {
  std::vector<Axis> axes; // of the dimensions of `layout`, in the order of `allAxes`
  Layout layout;          // from a place, flattened row-major over `axes`, to the flattened element, on m
};
/// Fails exactly if it is no such bijection, or if there is a swizzle: its own inverse, it can be applied to an address
/// before the inverse of the layout without it.
Result<Inverse> inverse(const Layout &layout);

std::string print(const Iterator &iterator);
std::string print(const Place &place);
std::string print(std::span<const int64_t> shape);
std::string print(const Swizzle &swizzle);
std::string print(const Layout &layout);
/// What print gives; blanks are free. A failure names the column.
Result<Layout> parse(std::string_view text);

} // namespace evt::layout
