// The element types of tensors that C++ lacks: 16-bit floats. They are storage only: generated code converts to
// float, computes there, and converts back.
//
//   type   sign exponent mantissa   largest    smallest normal   unit in the last place of 1
//   bf16     1      8        7      3.39e38        1.18e-38              2^-7
//   f16      1      5       10      65504          6.10e-5               2^-10
//
// Conversion to float is exact. Conversion from float rounds to nearest, ties to even, subnormals included; what
// rounds past the largest finite value becomes an infinity; a NaN stays a NaN, quiet, with its sign and the upper
// bits of its payload (what the conversion instructions of CPUs do too). All of it is integer arithmetic and selects,
// so that loops over tiles vectorize.
//
// `i1` is stored as one byte, 0 or 1.
#ifndef EVT_DEVICE_COMMON_TYPES_H
#define EVT_DEVICE_COMMON_TYPES_H

#include <cstdint>

namespace evt {

namespace detail {
constexpr std::uint32_t bits_of(float x) { return __builtin_bit_cast(std::uint32_t, x); }
constexpr float float_of(std::uint32_t bits) { return __builtin_bit_cast(float, bits); }
} // namespace detail

using i1 = std::uint8_t;

/// Which dimension of a memory goes through a table of rows.
template <int Dim> struct RowDim {};

struct bf16 {
  std::uint16_t bits;

  bf16() = default;
  constexpr explicit bf16(float x) : bits(round(x)) {}
  constexpr operator float() const { return detail::float_of(std::uint32_t{bits} << 16); }
  static constexpr bf16 from_bits(std::uint16_t bits) {
    bf16 x{};
    x.bits = bits;
    return x;
  }

private:
  static constexpr std::uint16_t round(float x) {
    const std::uint32_t u = detail::bits_of(x);
    // Adding just under half a unit, plus one where the kept part is odd, carries exactly when rounding up is due.
    const std::uint32_t rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
    const std::uint32_t nan = (u >> 16) | 0x40u;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    if (!__builtin_is_constant_evaluated()) {
      std::uint16_t nearest; // the instruction's, which makes one NaN of all
      asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(nearest) : "f"(x));
      return x == x ? nearest : static_cast<std::uint16_t>(nan);
    }
#endif
    return static_cast<std::uint16_t>((u & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
  }
};

struct f16 {
  std::uint16_t bits;

  f16() = default;
  constexpr explicit f16(float x) : bits(round(x)) {}
  constexpr operator float() const {
    const std::uint32_t magnitude = (std::uint32_t{bits} & 0x7fffu) << 13, sign = (std::uint32_t{bits} & 0x8000u) << 16;
    const std::uint32_t normal = magnitude + (112u << 23);  // the exponents' biases differ by 127 - 15
    const std::uint32_t special = magnitude + (224u << 23); // infinities and NaNs: all ones in both
    // A subnormal is its mantissa times 2^-24: as the fraction of 2^-14, less the 2^-14.
    const std::uint32_t subnormal =
        detail::bits_of(detail::float_of(magnitude + (113u << 23)) - detail::float_of(113u << 23));
    const std::uint32_t finite = magnitude < (1u << 23) ? subnormal : normal;
    return detail::float_of(sign | (magnitude >= (31u << 23) ? special : finite));
  }
  static constexpr f16 from_bits(std::uint16_t bits) {
    f16 x{};
    x.bits = bits;
    return x;
  }

private:
  static constexpr std::uint16_t round(float x) {
    const std::uint32_t u = detail::bits_of(x), magnitude = u & 0x7fffffffu, sign = (u >> 16) & 0x8000u;
    const std::uint32_t normal = (magnitude - (112u << 23) + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
    // Below 2^-14: adding 1/2, whose unit in the last place is 2^-24, makes the adder round where f16 does.
    const float half = 0.5f;
    const float small = detail::float_of(magnitude < (113u << 23) ? magnitude : 0u);
    const std::uint32_t subnormal = detail::bits_of(small + half) - detail::bits_of(half);
    const std::uint32_t nan = 0x7e00u | ((magnitude >> 13) & 0x3ffu);
    const std::uint32_t large = magnitude > 0x7f800000u ? nan : 0x7c00u; // 65520 = 65504 + half a unit
    const std::uint32_t finite = magnitude < (113u << 23) ? subnormal : normal;
    return static_cast<std::uint16_t>(sign | (magnitude >= detail::bits_of(65520.0f) ? large : finite));
  }
};

} // namespace evt
#endif
