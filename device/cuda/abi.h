/* The border between the kernel inside a CUDA artifact and the runtime that launches it.
 *
 * A CUDA artifact holds, for each architecture, a cubin with a kernel for each schedule it supports,
 * `evt_kernel_static`, `evt_kernel_ticket` and `evt_kernel_dynamic` (or what begins with the manifest's `entry`), and
 * `explain.so`, a host library with the entry points `_abi` and `_explain` of device/common/abi.h, which the runtime
 * uses to name what is stuck: it is given host copies of the counters and of integer memories.
 *
 * A kernel takes one parameter by value: evt_cuda_launch, directly followed by the 8-byte words of
 *   memories[], symbols[], regions[]
 * in the manifest's order: device addresses, values, device addresses. Where the manifest has `cuda.tensor_maps`, those
 * follow from the next multiple of 64 bytes on, 128 bytes each: the driver's CUtensorMap of a memory at its address and
 * with its extents in this launch. So a launch copies nothing, can be captured in a graph, and launches on one stream
 * follow each other without the host. It is launched with
 *   grid  = `workers` blocks, which must all be resident at once (one wave),
 *   block = manifest `cuda.threads`, dynamic shared memory = manifest `cuda.shared_bytes`.
 * Regions are zero before the first launch and zero again after each launch that was not aborted, but for parts of a
 * graph that others follow.
 *
 * A cubin also holds `evt_kernel_pack`, which takes evt_cuda_pack by value: weights as they are in files, in the layout
 * that the other kernels want. It is launched with any number of blocks, of EVT_PACK_THREADS threads each.
 */
#ifndef EVT_DEVICE_CUDA_ABI_H
#define EVT_DEVICE_CUDA_ABI_H

#include "device/common/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What one task did, in nanoseconds of %globaltimer. Each worker writes its own records, in its own order. */
typedef struct evt_cuda_record {
  uint32_t call, worker;
  int64_t task;
  uint64_t taken;    /* the worker began with the task: it waits from here */
  uint64_t started;  /* its waits were over */
  uint64_t finished; /* its notifies were issued */
} evt_cuda_record;

/* Beyond evt_abort: a wait lasted longer than limit_ns. The waiting worker's status tells for what. */
#define EVT_ABORT_LIMIT 5u

typedef struct evt_cuda_launch {
  uint32_t abi_version;   /* EVT_ABI_VERSION */
  uint32_t schedule;      /* an evt_schedule */
  uint32_t workers;       /* blocks */
  uint32_t trace_records; /* room for records of each worker */
  evt_status *status;     /* device, `workers` entries, zero before the launch */
  uint32_t *abort;  /* device, evt_abort or EVT_ABORT_LIMIT; the runtime may set EVT_ABORT_HOST while the kernel runs */
  evt_fault *fault; /* device */
  uint8_t *done;    /* device: null, or one byte a task, call by call */
  evt_cuda_record
      *trace;          /* device: null, or workers * trace_records records, worker by worker; unused ones stay zero */
  uint64_t limit_ns;   /* 0, or how long a single wait may take before the kernel aborts itself */
  int64_t inject_call; /* -1, or the call of the task whose notifies are dropped ... */
  int64_t inject_task; /* ... and its linear index */
  /* A part of the graph, static schedule only: tasks of these calls, and of one iteration of the repeat they are in
   * (-1: of all). What the counters hold is kept for the parts to come unless `is_last`. */
  int64_t first_call, last_call, iteration;
  uint64_t is_last;
} evt_cuda_launch;

/* Types of elements that can be packed. */
#define EVT_PACK_BF16 0u
#define EVT_PACK_F16 1u
#define EVT_PACK_F32 2u

#define EVT_PACK_THREADS 256u

/* Whole rows of a matrix to be packed: device/common/pack.h says where their elements go. */
typedef struct evt_cuda_pack {
  const void *from; /* device: rows x columns elements, row-major */
  void *to;         /* device: where the first of these rows' tiles is to lie; a multiple of 16 bytes, as `from` is */
  uint32_t from_type, to_type;
  uint32_t rows, columns;           /* multiples of the tile's; rows * columns below 2^31 */
  uint32_t tile_rows, tile_columns; /* 1 x columns is row-major */
  uint32_t blocks;                  /* of the launch */
  uint32_t reserved;
} evt_cuda_pack;

#ifdef __cplusplus
}
#endif
#endif
