// `evt compile`: from a program to an artifact.
#ifndef EVT_TOOLS_EVT_COMPILE_H
#define EVT_TOOLS_EVT_COMPILE_H

#include "tools/evt/Command.h"

namespace evt::tool {

void addCompile(Commands &commands);

} // namespace evt::tool

#endif
