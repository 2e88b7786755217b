// The element types a tensor may have, how each is stored, and how it looks to DLPack.
//
//   name   bytes   DLPack (code, bits)      value
//   f32    4       float    32
//   bf16   2       bfloat   16              the upper half of an f32
//   f16    2       float    16              IEEE half
//   i32    4       int      32
//   i64    8       int      64
//   i1     1       bool      8              one byte, 0 or 1; unsigned 8 is accepted from callers too
#ifndef EVT_RUNTIME_TENSOR_DATATYPE_H
#define EVT_RUNTIME_TENSOR_DATATYPE_H

#include <cstddef>
#include <cstdint>
#include <dlpack/dlpack.h>
#include <optional>
#include <string>
#include <string_view>

namespace evt::runtime {

enum class DataType : uint8_t { f32, bf16, f16, i32, i64, i1 };

std::string_view name(DataType type);
std::optional<DataType> dataTypeNamed(std::string_view name);
size_t bytesOf(DataType type);
bool isFloat(DataType type);

DLDataType toDLPack(DataType type);
// Whether a caller's tensor of this DLPack type can be passed where `required` is asked for.
bool accepts(DataType required, DLDataType found);
// For messages: the name above where there is one, otherwise code, bits and lanes, as in "uint32" or "float32x4".
std::string describe(DLDataType type);

// Conversions round to nearest, ties to even; NaN stays NaN, what is too large becomes infinite.
uint16_t toBf16(float value);
float fromBf16(uint16_t bits);
uint16_t toF16(float value);
float fromF16(uint16_t bits);

} // namespace evt::runtime

#endif
