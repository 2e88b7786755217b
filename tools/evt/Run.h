// `evt run`: runs an artifact, or a program after compiling it, on arguments from the command line.
#ifndef EVT_TOOLS_EVT_RUN_H
#define EVT_TOOLS_EVT_RUN_H

#include "tools/evt/Command.h"

namespace evt::tool {

void addRun(Commands &commands);

} // namespace evt::tool

#endif
