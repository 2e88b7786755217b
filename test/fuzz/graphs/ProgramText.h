// A model as a program of the language.
#pragma once

#include "Model.h"

namespace evt::fuzz {

/// The whole module, its graph called `name`.
std::string programText(const Model &model, const std::string &name);

} // namespace evt::fuzz
