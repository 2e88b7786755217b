// C++ for tile programs: the body of one device function.
//
// A tile that has to be in memory is a local array. Element-wise operations whose only user is another element-wise
// operation never get one: they become part of the user's loop, so a chain of them is one pass. Constants, splats,
// broadcasts, slices and transposes are read through index arithmetic where they are used. Operations with a
// destination (products, reductions, loops) work in place when they are the only user of their destination.
#pragma once

#include "compiler/ir/Evt.h"

#include <string>

namespace evt::emit {

/// The body as a C++ function `static void body_NAME(evt::Worker &w, ARGS..., COORDS...)`. Emits a diagnostic and
/// returns an empty string when the body needs something the CPU target does not have.
std::string emitDevice(ir::DeviceOp device);

/// Bytes of local tiles beyond which a device function is refused, because they live on a worker's stack.
inline constexpr int64_t tileBytesLimit = int64_t(4) << 20;

} // namespace evt::emit
