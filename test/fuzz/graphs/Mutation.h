// Small mistakes in a program's events, of the kind people make.
#pragma once

#include "Generator.h"

namespace evt::fuzz {

/// Makes one mistake: a dropped notify or wait, a count off by one, a shifted or permuted index, a narrowed range, a
/// wrong group size. Says which; nothing if the model has no place for the chosen kind.
std::optional<std::string> mutate(Model &model, Random &random);

} // namespace evt::fuzz
