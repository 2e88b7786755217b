// How fast a program could be on a machine: what the compiler counted (Cost of the manifest) over what the machine can
// do (ceilings), and the share of it that a measured launch reaches.
//
// A bound is the larger of two times, bytes over the memory's rate and operations over the arithmetic's. It is a lower
// bound on a cold launch; a program whose data stay in a cache can beat it.
#ifndef EVT_TOOLS_EVT_SPEEDOFLIGHT_H
#define EVT_TOOLS_EVT_SPEEDOFLIGHT_H

#include "runtime/artifact/Manifest.h"
#include "runtime/observe/Timeline.h"
#include "tools/evt/ceilings/Ceilings.h"

#include <span>
#include <string>
#include <vector>

namespace evt::tool {

/// The two rates that bound a program.
struct Limits {
  std::string machine;
  double bytesPerSecond = 0;
  double opsPerSecond = 0; // 0: not known, and not a bound
};

/// For the target of a manifest. Throws Failure (missing) if the ceilings have no such machine, or another GPU than
/// `gpu`.
Limits limitsFor(const runtime::Manifest &manifest, const Ceilings &ceilings, const std::string &gpu);

struct Bound {
  int64_t ops = 0, bytes = 0;
  double seconds = 0;
  bool byMemory = true; // bytes decide
};

/// Throws runtime::Error if an amount does not fit in 64 bits for these values.
Bound boundOf(const runtime::Expression &ops, const runtime::Expression &bytes, std::span<const int64_t> symbols,
              const Limits &limits);

/// Which calls a launch's time went to.
struct Occupation {
  double taken = 0;   // of the launch: each moment is divided among the calls that workers were busy with
  double waiting = 0; // for events, of the average worker
};
struct Occupations {
  std::vector<Occupation> calls;
  double nobody = 0; // moments in which no worker was busy: all waited, or had nothing to do
};

/// While a worker has two tasks open (a GPU's loader is ahead), it is busy with the earlier one.
Occupations occupationOf(const observe::Timeline &timeline, size_t calls);

} // namespace evt::tool

#endif
