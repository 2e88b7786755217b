// `evt check`: proves a program, or shows the smallest case against it.
#ifndef EVT_TOOLS_EVT_CHECK_H
#define EVT_TOOLS_EVT_CHECK_H

#include "tools/evt/Command.h"
#include "tools/evt/Frontend.h"

#include <string>

namespace evt::tool {

void addCheck(Commands &commands);

/// The verdict in a line, then the obligations by name:
///
///   proved: order, counts, progress of 2 calls, 1 event (0.03 s)
std::string proofText(const CheckAnswer &answer);

} // namespace evt::tool

#endif
