// All passes of this folder, for tools that run them by name.
#ifndef EVT_COMPILER_TRANSFORMS_PASSES_H
#define EVT_COMPILER_TRANSFORMS_PASSES_H

namespace evt {

void registerTransformPasses();

} // namespace evt

#endif
