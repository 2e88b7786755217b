// Pieces of messages.
#ifndef EVT_TOOLS_EVT_WORDS_H
#define EVT_TOOLS_EVT_WORDS_H

#include <cstdint>
#include <string>
#include <vector>

namespace evt::tool {

/// "a, b, c"
std::string joined(const std::vector<std::string> &parts, const std::string &separator = ", ");

/// "1 call", "2 calls"
std::string counted(uint64_t count, const std::string &noun);

/// "0.412 ms", "1.73 s"
std::string duration(double seconds);

/// "1.2e-06", "0"
std::string shortNumber(double value);

} // namespace evt::tool

#endif
