// `evt show --stage cost`: what a program must do, as expressions of its symbols.
#ifndef EVT_TOOLS_EVT_COSTTEXT_H
#define EVT_TOOLS_EVT_COSTTEXT_H

#include "compiler/ir/Signature.h"

#include <string>

namespace evt::tool {

/// Throws Failure (wrong input) if an amount does not fit in 64 bits.
std::string costText(const ir::Signature &signature);

} // namespace evt::tool

#endif
