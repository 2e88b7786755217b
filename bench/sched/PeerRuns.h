// What the peers' files define for the library (Peers.h says what each does).
#pragma once

#include "Peers.h"

namespace evt::bench {

double runOpenMp(const Dag &dag, unsigned workers);
void *buildTbb(const Dag &dag, unsigned workers);
double runTbb(void *graph);
void freeTbb(void *graph);

} // namespace evt::bench
