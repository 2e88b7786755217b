// --inject drop-notify=CALL:COORD: the one task whose notifications are dropped, to see how a broken run is reported.
//
//   drop-notify=partial:3,2     task partial(3, 2)
//   drop-notify=finish:         the only task of a call without coordinates
//
// Of a ragged call the two ragged coordinates are one, their number among the call's tiles.
#ifndef EVT_TOOLS_EVT_INJECTION_H
#define EVT_TOOLS_EVT_INJECTION_H

#include "runtime/artifact/Manifest.h"
#include "runtime/artifact/Shapes.h"

#include <string>

namespace evt::tool {

struct Injection {
  int64_t call = -1;
  int64_t task = -1; // linear index
};

/// Throws Failure (wrong input): another form, an unknown call, coordinates that the call does not have.
Injection parseInjection(const std::string &text, const runtime::Manifest &manifest, const runtime::Shapes &shapes);

} // namespace evt::tool

#endif
