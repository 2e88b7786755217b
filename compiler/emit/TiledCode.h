// CUDA code for calls that multiply tiles on the tensor cores (compiler/roles/TiledProduct.h).
#pragma once

#include "CodeWriter.h"
#include "GraphCode.h"
#include "StreamCode.h"

namespace evt::emit {

/// Whether everything but the products has a form on the registers that hold the sums.
bool hasStackForm(ir::DeviceOp device, const roles::TiledProduct &product, std::vector<unsigned> &aligned,
                  std::string &why);

/// Of the device functions: `steps_D`, `fetch_rows_D` and `fetch_weights_D`, `begin_D` and `finish_D`.
void emitTiledBodies(const GraphCode &graph, const StreamPlan &plan, CodeWriter &out);
/// Bytes of shared memory through which a call's warps share what follows its products, where there are rows for half
/// of them only; 0 if it is not of form `tiled`, or does not.
int64_t sharedSumsBytes(const GraphCode &graph, const StreamPlan &plan, unsigned call);
/// Of the kernel: `tile_stage_bytes`.
void emitTileStageBytes(const GraphCode &graph, const StreamPlan &plan, CodeWriter &out);
/// `task_K`: what control does for a task.
/// With `mayBeAbsent` there are kernels without it.
void emitTiledHandOver(const GraphCode &graph, unsigned call, bool mayBeAbsent, CodeWriter &out);
/// `load_weights_K`, `load_rows_K` and `execute_K`.
void emitTiledTasks(const GraphCode &graph, const StreamPlan &plan, CodeWriter &out);

} // namespace evt::emit
