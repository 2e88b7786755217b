#include "runtime/artifact/Fingerprint.h"

namespace evt::runtime {

uint64_t fnv1a64(std::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (unsigned char byte : bytes)
    hash = (hash ^ byte) * 0x100000001b3u;
  return hash;
}

std::string toHex(uint64_t value) {
  std::string text(16, '0');
  for (int i = 15; i >= 0; --i, value >>= 4)
    text[static_cast<size_t>(i)] = "0123456789abcdef"[value & 15];
  return text;
}

std::optional<uint64_t> fromHex(std::string_view text) {
  if (text.size() != 16)
    return std::nullopt;
  uint64_t value = 0;
  for (char c : text) {
    size_t digit = std::string_view("0123456789abcdef").find(c);
    if (digit == std::string_view::npos)
      return std::nullopt;
    value = value << 4 | digit;
  }
  return value;
}

std::optional<size_t> findChecksum(std::string_view manifest) {
  constexpr std::string_view key = "\"checksum\"";
  constexpr std::string_view space = " \t\r\n";
  for (size_t at = manifest.find(key); at != std::string_view::npos; at = manifest.find(key, at + 1)) {
    size_t colon = manifest.find_first_not_of(space, at + key.size());
    if (colon == std::string_view::npos || manifest[colon] != ':')
      continue;
    size_t quote = manifest.find_first_not_of(space, colon + 1);
    if (quote == std::string_view::npos || manifest[quote] != '"' || manifest.size() < quote + 18 ||
        manifest[quote + 17] != '"')
      continue;
    if (fromHex(manifest.substr(quote + 1, 16)))
      return quote + 1;
  }
  return std::nullopt;
}

uint64_t fingerprintWithoutChecksum(std::string manifest, size_t checksum) {
  manifest.replace(checksum, 16, 16, '0');
  return fnv1a64(manifest);
}

} // namespace evt::runtime
