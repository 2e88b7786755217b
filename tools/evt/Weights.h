// `evt weights`: checks a model's checkpoint, or writes a random one.
#ifndef EVT_TOOLS_EVT_WEIGHTS_H
#define EVT_TOOLS_EVT_WEIGHTS_H

#include "tools/evt/Command.h"

namespace evt::tool {

void addWeights(Commands &commands);

} // namespace evt::tool

#endif
