// `evt generate`: continues token sequences with a model.
#ifndef EVT_TOOLS_EVT_GENERATE_H
#define EVT_TOOLS_EVT_GENERATE_H

#include "tools/evt/Command.h"

namespace evt::tool {

void addGenerate(Commands &commands);

} // namespace evt::tool

#endif
