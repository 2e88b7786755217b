// What a model computes: every task in program order, one after the other, on plain arrays.
#pragma once

#include "Model.h"

namespace evt::fuzz {

using Tensor = std::vector<int32_t>; // row-major

int64_t elementCount(const Memory &memory, const Values &symbols);

/// Runs the model on `tensors`, one per memory; buffers may hold anything.
void evaluate(const Model &model, const Values &symbols, std::vector<Tensor> &tensors);

} // namespace evt::fuzz
