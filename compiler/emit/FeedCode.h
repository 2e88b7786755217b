// CUDA: what loaders run of a device function that attends to a cache (device/cuda/tile/attend_fed.h): the indices that
// say which positions, and the loops around.
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

/// Whether loaders feed the tasks of a call, where the kernel's ring has room.
bool isFed(const GraphCode &graph, const StreamPlan &plan, unsigned k);

/// Calls for whose tasks a warp of its own notifies, while compute runs the next: one that loaders feed ends with much
/// on its way to its SM, and a release waits for all of that.
std::vector<bool> toldCalls(const GraphCode &graph, const StreamPlan &plan);

/// `feed_K` and `tell_K`: the parts of a task that are the loaders' and the teller's.
void emitFeeds(const GraphCode &graph, const StreamPlan &plan, CodeWriter &out);

} // namespace evt::emit
