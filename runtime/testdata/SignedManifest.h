// Fingerprints computed apart from the runtime's own code, so that a test that edits a manifest can seal it again.
#ifndef EVT_RUNTIME_TESTDATA_SIGNEDMANIFEST_H
#define EVT_RUNTIME_TESTDATA_SIGNEDMANIFEST_H

#include <cstdint>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

namespace handwritten {

inline std::string fingerprint(const std::string &bytes) {
  uint64_t hash = 14695981039346656037u; // the decimal constants of fnv1a64's description
  for (unsigned char byte : bytes)
    hash = (hash ^ byte) * 1099511628211u;
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash));
  return digits;
}

// The manifest's text with the checksum that belongs to it.
inline std::string signedText(nlohmann::json manifest) {
  manifest["checksum"] = "0000000000000000";
  std::string text = manifest.dump();
  return text.replace(text.find("\"checksum\":\"") + 12, 16, fingerprint(text));
}

} // namespace handwritten

#endif
