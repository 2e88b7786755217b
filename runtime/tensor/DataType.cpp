#include "runtime/tensor/DataType.h"

#include <array>
#include <bit>

namespace evt::runtime {
namespace {

// DLPack 0.7 named this code kDLBool; Debian 12 ships 0.6, whose reader treats it like any other number.
constexpr uint8_t dlBool = 6;

struct Row {
  DataType type;
  std::string_view name;
  size_t bytes;
  DLDataType dlpack;
};
constexpr std::array<Row, 6> table = {{{DataType::f32, "f32", 4, {kDLFloat, 32, 1}},
                                       {DataType::bf16, "bf16", 2, {kDLBfloat, 16, 1}},
                                       {DataType::f16, "f16", 2, {kDLFloat, 16, 1}},
                                       {DataType::i32, "i32", 4, {kDLInt, 32, 1}},
                                       {DataType::i64, "i64", 8, {kDLInt, 64, 1}},
                                       {DataType::i1, "i1", 1, {dlBool, 8, 1}}}};

const Row &row(DataType type) { return table[static_cast<size_t>(type)]; }

bool same(DLDataType a, DLDataType b) { return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes; }

} // namespace

std::string_view name(DataType type) { return row(type).name; }

std::optional<DataType> dataTypeNamed(std::string_view name) {
  for (const Row &candidate : table)
    if (candidate.name == name)
      return candidate.type;
  return std::nullopt;
}

size_t bytesOf(DataType type) { return row(type).bytes; }

bool isFloat(DataType type) { return type == DataType::f32 || type == DataType::bf16 || type == DataType::f16; }

DLDataType toDLPack(DataType type) { return row(type).dlpack; }

bool accepts(DataType required, DLDataType found) {
  return same(found, row(required).dlpack) || (required == DataType::i1 && same(found, {kDLUInt, 8, 1}));
}

std::string describe(DLDataType type) {
  for (const Row &candidate : table)
    if (same(type, candidate.dlpack))
      return std::string(candidate.name);
  static constexpr std::array<std::string_view, 7> codes = {"int",    "uint",    "float", "opaque",
                                                            "bfloat", "complex", "bool"};
  std::string text =
      type.code < codes.size() ? std::string(codes[type.code]) : "code" + std::to_string(type.code) + ":";
  text += std::to_string(type.bits);
  if (type.lanes != 1)
    text += "x" + std::to_string(type.lanes);
  return text;
}

uint16_t toBf16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u)
    return static_cast<uint16_t>((bits >> 16) | 0x0040u); // a quiet NaN, whatever the low half held
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

float fromBf16(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

uint16_t toF16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint32_t sign = (bits >> 16) & 0x8000u;
  uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u)
    return static_cast<uint16_t>(sign | 0x7e00u);
  if (magnitude >= 0x477ff000u) // rounds to 65536 or more
    return static_cast<uint16_t>(sign | 0x7c00u);
  if (magnitude < 0x33000001u) // at most half of the smallest subnormal, 2^-25
    return static_cast<uint16_t>(sign);
  uint32_t exponent = magnitude >> 23;
  uint32_t mantissa = (magnitude & 0x7fffffu) | 0x800000u;
  // A normal result drops 13 bits; below 2^-14 the result is subnormal and drops one more for each halving.
  uint32_t shift = exponent >= 113 ? 13 : 13 + (113 - exponent);
  uint32_t kept = mantissa >> shift;
  uint32_t dropped = mantissa & ((1u << shift) - 1);
  uint32_t half = 1u << (shift - 1);
  kept += dropped > half || (dropped == half && (kept & 1u));
  // The hidden bit of a normal number, and a carry out of the mantissa, both add one to the exponent field.
  uint32_t base = exponent >= 113 ? (exponent - 113) << 10 : 0;
  return static_cast<uint16_t>(sign | (base + kept));
}

float fromF16(uint16_t bits) {
  uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  uint32_t exponent = (bits >> 10) & 0x1fu;
  uint32_t mantissa = bits & 0x3ffu;
  if (exponent == 0x1f)
    return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
  if (exponent != 0)
    return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
  float magnitude = static_cast<float>(mantissa) * 0x1p-24f; // exact: ten bits
  return sign ? -magnitude : magnitude;
}

} // namespace evt::runtime
