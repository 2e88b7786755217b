// A file that a command reads.
#ifndef EVT_TOOLS_EVT_INPUTFILE_H
#define EVT_TOOLS_EVT_INPUTFILE_H

#include <string>

namespace evt::tool {

/// Throws Failure (wrong input) unless it is there and a regular file: "cannot read 'a.mlir': it is a directory". A
/// pipe with a name would keep the command waiting until somebody writes. /dev/stdin and /dev/fd/N may be anything,
/// since somebody gave them to this process.
void requireInput(const std::string &path);

/// All of such a file. Throws Failure (wrong input).
std::string readInput(const std::string &path);

} // namespace evt::tool

#endif
