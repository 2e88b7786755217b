// `evt version`: what this tool is made of.
#ifndef EVT_TOOLS_EVT_VERSION_H
#define EVT_TOOLS_EVT_VERSION_H

#include "tools/evt/Command.h"

namespace evt::tool {

void addVersion(Commands &commands);

} // namespace evt::tool

#endif
