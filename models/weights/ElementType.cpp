#include "models/weights/ElementType.h"

#include <bit>
#include <cstring>

namespace evt::models {
namespace {

struct Names {
  ElementType type;
  std::string_view ours, safetensors;
  size_t bytes;
};

constexpr Names table[] = {
    {ElementType::bf16, "bf16", "BF16", 2}, {ElementType::f16, "f16", "F16", 2}, {ElementType::f32, "f32", "F32", 4}};

const Names &entry(ElementType type) { return table[static_cast<size_t>(type)]; }

// The types as storage, with their conversions to and from single precision.

struct Bf16 {
  using Bits = uint16_t;
  static float load(Bits bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
  static Bits store(float value) {
    uint32_t bits = std::bit_cast<uint32_t>(value);
    uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    uint32_t quiet = (bits >> 16) | 0x40; // a NaN whose payload is only in the lower half would become infinite
    return static_cast<Bits>((bits & 0x7fffffff) > 0x7f800000 ? quiet : rounded);
  }
};

struct F16 {
  using Bits = uint16_t;
  static float load(Bits bits) {
    uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
    uint32_t exponent = (bits >> 10) & 0x1f, fraction = bits & 0x3ff;
    if (exponent == 0x1f)
      return std::bit_cast<float>(sign | 0x7f800000 | fraction << 13);
    if (exponent == 0) { // fraction * 2^-24, exactly
      float magnitude = static_cast<float>(fraction) * 0x1p-24f;
      return std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | sign);
    }
    return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
  }
  static Bits store(float value) {
    uint32_t bits = std::bit_cast<uint32_t>(value);
    uint32_t sign = (bits >> 16) & 0x8000;
    bits &= 0x7fffffff;
    if (bits > 0x7f800000)
      return static_cast<Bits>(sign | 0x7e00);
    if (bits >= 0x477ff000) // halfway between the largest f16 and the power of two above it
      return static_cast<Bits>(sign | 0x7c00);
    if (bits < 0x38800000) { // below 2^-14 steps are 2^-24: adding 0.5 leaves as many bits of fraction, rounded
      float sum = std::bit_cast<float>(bits) + 0.5f;
      return static_cast<Bits>(sign | (std::bit_cast<uint32_t>(sum) - std::bit_cast<uint32_t>(0.5f)));
    }
    uint32_t rounded = bits - 0x38000000 + 0xfff + ((bits >> 13) & 1);
    return static_cast<Bits>(sign | rounded >> 13);
  }
};

struct F32 {
  using Bits = float;
  static float load(Bits bits) { return bits; }
  static Bits store(float value) { return value; }
};

template <typename From, typename To> void convertAll(const std::byte *in, std::byte *out, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    typename From::Bits source;
    std::memcpy(&source, in + i * sizeof source, sizeof source);
    typename To::Bits result = To::store(From::load(source));
    std::memcpy(out + i * sizeof result, &result, sizeof result);
  }
}

template <typename From> void convertFrom(const std::byte *in, ElementType to, std::byte *out, size_t count) {
  switch (to) {
  case ElementType::bf16:
    return convertAll<From, Bf16>(in, out, count);
  case ElementType::f16:
    return convertAll<From, F16>(in, out, count);
  case ElementType::f32:
    return convertAll<From, F32>(in, out, count);
  }
}

} // namespace

std::string_view name(ElementType type) { return entry(type).ours; }
std::string_view safetensorsName(ElementType type) { return entry(type).safetensors; }
size_t bytesOf(ElementType type) { return entry(type).bytes; }

std::optional<ElementType> elementTypeNamed(std::string_view name) {
  for (const Names &names : table)
    if (names.ours == name)
      return names.type;
  return std::nullopt;
}

std::optional<ElementType> elementTypeOfSafetensors(std::string_view name) {
  for (const Names &names : table)
    if (names.safetensors == name)
      return names.type;
  return std::nullopt;
}

void convert(ElementType from, const void *in, ElementType to, void *out, size_t count) {
  auto *source = static_cast<const std::byte *>(in);
  auto *target = static_cast<std::byte *>(out);
  if (!count)
    return;
  if (from == to) {
    std::memcpy(target, source, count * bytesOf(from));
    return;
  }
  switch (from) {
  case ElementType::bf16:
    return convertFrom<Bf16>(source, to, target, count);
  case ElementType::f16:
    return convertFrom<F16>(source, to, target, count);
  case ElementType::f32:
    return convertFrom<F32>(source, to, target, count);
  }
}

} // namespace evt::models
