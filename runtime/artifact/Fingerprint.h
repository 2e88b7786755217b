// fnv1a64 fingerprints: they tell a damaged or mixed-up file from the one the compiler wrote. Not a defence against
// someone who means harm: an artifact is native code and is trusted like any other shared object.
#ifndef EVT_RUNTIME_ARTIFACT_FINGERPRINT_H
#define EVT_RUNTIME_ARTIFACT_FINGERPRINT_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace evt::runtime {

uint64_t fnv1a64(std::string_view bytes);

// 16 lower-case digits, and back; nothing if the text is not exactly that.
std::string toHex(uint64_t value);
std::optional<uint64_t> fromHex(std::string_view text);

// Where the 16 digits of `"checksum": "…"` stand in a manifest's text.
std::optional<size_t> findChecksum(std::string_view manifest);

// The fingerprint of a manifest with its checksum's digits taken as zeros, which is what the checksum must be.
uint64_t fingerprintWithoutChecksum(std::string manifest, size_t checksum);

} // namespace evt::runtime

#endif
