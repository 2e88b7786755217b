// `evt show`: a program at any stage of the pipeline, or its task graph as a page.
#ifndef EVT_TOOLS_EVT_SHOW_H
#define EVT_TOOLS_EVT_SHOW_H

#include "tools/evt/Command.h"

namespace evt::tool {

void addShow(Commands &commands);

} // namespace evt::tool

#endif
