// C++ for tile programs: the body of one device function.
//
// Operations with a destination (products, reductions, loops) work in place when they are the only user of their
// destination. TileValues.h says which tiles have an array at all.
#pragma once

#include "compiler/ir/Evt.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <string>

namespace evt::emit {

enum class Target { cpu, cuda };

/// The body of a device function for one target.
struct DeviceCode {
  std::string text;      // empty after a diagnostic
  int64_t tileBytes = 0; // of arrays that are live at the same time
};

/// The body as a function `EVT_FN void body_NAME(evt::Worker &w, ARGS..., COORDS...)`; on CUDA, if it attends to what
/// loaders can feed (FeedCode.h), `feed_NAME(ring, part, w, ARGS..., COORDS...)`, too. Emits a diagnostic when it needs
/// something the target does not have. `isImmutable` says of an argument that no task ever writes it, `feedsStages`
/// that loaders feed attention in parts through the ring of weights: then it is `feed_NAME(w, ARGS..., COORDS...)`,
/// what of a task is fed.
DeviceCode emitDevice(ir::DeviceOp device, Target target, llvm::function_ref<bool(unsigned)> isImmutable,
                      bool feedsStages);

/// CPU: of a function with roles, a function `EVT_FN void role_NAME_R(RoleRings &rings, evt::Worker &w, ARGS...,
/// COORDS...)` for each role R is emitted instead of `body_NAME`, and `report_NAME(evt::Worker &w, ARGS...,
/// COORDS...)`, which tells the observer what all but the last read. The name of a ring among the kernel's `rings`.
std::string ringName(ir::RingOp ring);

/// Whether, on CUDA, the body passes the task's waits itself, when it has begun what need not wait. It is then a
/// function `EVT_FN bool body_NAME(evt::Worker &w, ARGS..., COORDS..., Waits waits)`, false when the launch was
/// aborted.
bool waitsInside(ir::DeviceOp device);

/// Bytes of tiles beyond which a device function is refused: on the CPU they live on a worker's stack, on CUDA in the
/// shared memory of a block, of which the kernel's own state takes a part.
inline constexpr int64_t cpuTileBytesLimit = int64_t(4) << 20;
inline constexpr int64_t cudaTileBytesLimit = 220 << 10;
/// What evt.sample has of a block's shared memory: Room of device/cuda/tile/sample.h.
inline constexpr int64_t sampleSharedWords = 2880;

} // namespace evt::emit
