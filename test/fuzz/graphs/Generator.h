// Random well-formed models.
//
// Calls write disjoint tiles of one or two memories and read tiles of any: neighbours (stencils), other strides, other
// dimensions (fan-in, fan-out, transposes), their own place. Some stand in a repeat, with state that is overwritten in
// each iteration, kept per iteration, or kept in two copies that take turns; some step through time along a coordinate
// of their own grid. Symbols may be 0, grids may be smaller or larger than what they cover, tiles may lie outside.
//
// A model comes without events: addEvents makes them by hand, or they are left to the compiler. In an *aligned* model
// all calls cut a dimension into the same tiles and read tiles with a border, which is what inference finds precise
// events for; the tiles of any other model have little to do with each other, and the events found are often coarser.
#pragma once

#include "Model.h"

#include <random>

namespace evt::fuzz {

using Random = std::mt19937_64;

/// Uniform in [lo, hi].
int pick(Random &random, int lo, int hi);
bool chance(Random &random, int percent);

Model randomModel(Random &random, bool aligned);

/// Gives the model events that order all its conflicts. Each producer has its own; a consumer waits for the tasks that
/// touch what it touches: computed from the two tiles' offsets, or coarser.
void addEvents(Model &model, Random &random);

} // namespace evt::fuzz
