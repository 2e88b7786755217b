// Damaged program texts: bytes flipped, tokens deleted, doubled, swapped or replaced, ends cut off, programs spliced.
#pragma once

#include <random>
#include <string>
#include <vector>

namespace evt::fuzz {

using TextRandom = std::mt19937_64;

/// One of `programs` with one to four changes.
std::string mutateText(const std::vector<std::string> &programs, TextRandom &random);

} // namespace evt::fuzz
