// `evt check`: proves a program, or shows the smallest case against it.
#ifndef EVT_TOOLS_EVT_CHECK_H
#define EVT_TOOLS_EVT_CHECK_H

#include "tools/evt/Command.h"

namespace evt::tool {

void addCheck(Commands &commands);

} // namespace evt::tool

#endif
