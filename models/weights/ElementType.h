// The element types that weights have, in files and in memory.
#ifndef EVT_MODELS_WEIGHTS_ELEMENTTYPE_H
#define EVT_MODELS_WEIGHTS_ELEMENTTYPE_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace evt::models {

enum class ElementType : uint8_t { bf16, f16, f32 };

/// "bf16", as this project names it, and "BF16", as safetensors does.
std::string_view name(ElementType type);
std::string_view safetensorsName(ElementType type);
std::optional<ElementType> elementTypeNamed(std::string_view name);
std::optional<ElementType> elementTypeOfSafetensors(std::string_view name);
size_t bytesOf(ElementType type);

/// Writes `count` elements of type `from` at `in` as elements of type `to` at `out`. Rounds to nearest, ties to even;
/// NaN stays NaN, what is too large becomes infinite. Neither side need be aligned; they must not overlap.
void convert(ElementType from, const void *in, ElementType to, void *out, size_t count);

} // namespace evt::models

#endif
