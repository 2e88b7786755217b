// Damaged copies of an artifact's files, a different one for each seed and the same one for the same seed.
#ifndef EVT_TEST_FUZZ_ARTIFACT_MUTATION_H
#define EVT_TEST_FUZZ_ARTIFACT_MUTATION_H

#include <cstdint>
#include <random>
#include <string>

namespace evt::fuzz {

using Random = std::mt19937_64;

// Flipped bits, replaced, inserted, removed or repeated stretches, a cut end. May by chance leave the bytes as they
// are.
std::string damageBytes(const std::string &bytes, Random &random);

// The manifest as JSON with one to three values removed, replaced, repeated, exchanged or renamed, and its checksum
// made to match again, so that the checks behind the checksum are reached.
std::string damageMeaning(const std::string &manifest, Random &random);

} // namespace evt::fuzz

#endif
