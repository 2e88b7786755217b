// `evt bench ceilings`: measures what this machine can do at best and keeps it in a file.
#ifndef EVT_TOOLS_EVT_CEILINGS_BENCHCEILINGS_H
#define EVT_TOOLS_EVT_CEILINGS_BENCHCEILINGS_H

#include "tools/evt/Command.h"

namespace evt::tool {

void addCeilings(Commands &commands);

} // namespace evt::tool

#endif
