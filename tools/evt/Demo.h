// `evt demo`: one artifact, three batch sizes, every logit checked.
#ifndef EVT_TOOLS_EVT_DEMO_H
#define EVT_TOOLS_EVT_DEMO_H

#include "tools/evt/Command.h"

namespace evt::tool {

void addDemo(Commands &commands);

} // namespace evt::tool

#endif
