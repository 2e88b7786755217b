// CUDA: what loaders run of a device function that attends to a cache (device/cuda/tile/attend_fed.h and
// feed_parts.h): the indices that say which positions, and the loops around.
#pragma once

#include "GraphCode.h"
#include "StreamCode.h"

#include "llvm/ADT/SetVector.h"

#include <optional>

namespace evt::emit {

/// Whether an operation computes an index of indices and extents alone.
bool isIndexWork(mlir::Operation *op);

/// The operations that the attention of a device function knows its positions from, and the loops that it is in.
/// Nothing if it has none, or if that takes more than indices and tables which no operation of the function writes.
std::optional<llvm::SetVector<mlir::Operation *>> feedSlice(ir::DeviceOp device);

/// The same for attention in parts, whose loaders do not wait for the task's events: tables must be immutable, too.
std::optional<llvm::SetVector<mlir::Operation *>> partsSlice(ir::DeviceOp device,
                                                             llvm::function_ref<bool(unsigned)> isImmutable);

/// Whether its rows are multiplied on the tensor cores (`on_fragments` of device/cuda/tile/attend_softmax.h).
bool isOnFragments(ir::AttendPartsOp attend);

/// `<rows, columns, slots of a page, the ring>`: what the functions of device/cuda/tile/feed_parts.h are made for.
std::string feedShape(ir::AttendPartsOp attend);

/// Whether every call of the device function passes an immutable tensor for an argument.
bool isImmutable(const GraphCode &graph, ir::DeviceOp device, unsigned argument);

/// Whether loaders feed the tasks of a device function's calls through the ring of weights, where that has room.
bool isFedByStream(const GraphCode &graph, const StreamPlan &plan, ir::DeviceOp device);

/// Whether loaders feed the tasks of a call, where the kernel's ring of tiles has room.
bool isFed(const GraphCode &graph, const StreamPlan &plan, unsigned k);

/// Calls for whose tasks a warp of its own notifies, while compute runs the next: one that loaders feed ends with much
/// on its way to its SM, and a release waits for all of that.
std::vector<bool> toldCalls(const GraphCode &graph, const StreamPlan &plan);

/// `feed_K`, `feed_stages_K` and `tell_K`: the parts of a task that are the loaders' and the teller's.
void emitFeeds(const GraphCode &graph, const StreamPlan &plan, CodeWriter &out);

} // namespace evt::emit
