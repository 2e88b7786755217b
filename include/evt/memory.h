/* Memory, streams and events of the device that a program runs on, for callers that have no library of their own for
 * them. Whoever has (PyTorch, CUDA's runtime) needs none of this: tensors and streams of the same GPU are accepted.
 *
 *   void *stream, *x;
 *   evt_stream_create(program, &stream);
 *   evt_memory_allocate(program, bytes, &x);
 *   evt_memory_copy(program, x, values, bytes, EVT_COPY_TO_DEVICE, stream);
 *   evt_program_launch(program, …);                              // with the stream in its options, tensors at x, …
 *   evt_memory_copy(program, values, y, bytes, EVT_COPY_TO_HOST, stream);
 *   evt_program_finish(program, stream);                         // waits, and says what went wrong
 *
 * On the target cpu the device is the host: memory is the host's, what is put into a stream has happened when the call
 * returns, and streams and events are null. So one program of a caller serves both.
 *
 * Everything that was made for a program is to be given back before the program is freed. Functions may be called by
 * several threads at once.
 */
#ifndef EVT_MEMORY_H
#define EVT_MEMORY_H

#include <evt/evt.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Where tensors of the program are used in place: {kDLCPU, 0} or {kDLCUDA, n}. */
DLDevice evt_program_device(const evt_program *program);

/* On the device; the address is a multiple of 256. What it holds is undefined. Freeing null is allowed. */
evt_code evt_memory_allocate(evt_program *program, uint64_t bytes, void **memory);
evt_code evt_memory_free(evt_program *program, void *memory);

/* On the host, such that the device copies from and to it without the host. Other memory of the host can be copied,
 * too, but a copy then need not overlap with anything. */
evt_code evt_memory_allocate_host(evt_program *program, uint64_t bytes, void **memory);
evt_code evt_memory_free_host(evt_program *program, void *memory);

typedef enum evt_copy { EVT_COPY_TO_DEVICE = 0, EVT_COPY_TO_HOST = 1, EVT_COPY_ON_DEVICE = 2 } evt_copy;

/* Puts a copy into the stream; both sides must live until it is done. */
evt_code evt_memory_copy(evt_program *program, void *to, const void *from, uint64_t bytes, evt_copy kind, void *stream);
/* Puts into the stream that every byte becomes `value`. */
evt_code evt_memory_fill(evt_program *program, void *to, uint8_t value, uint64_t bytes, void *stream);

typedef struct evt_memory_use {
  uint64_t free, total; /* of the device: other processes use it, too; 0 on the target cpu */
  uint64_t workspace;   /* what this program's launches use beside their arguments: values between its calls ... */
  uint64_t counters;    /* ... and events, queues and reports */
} evt_memory_use;
/* How much is used now. `size` is sizeof(evt_memory_use). */
evt_code evt_memory_used(evt_program *program, evt_memory_use *use, uint64_t size);

/* A stream is a CUstream. Work in one happens in order; work in two may overlap. */
evt_code evt_stream_create(evt_program *program, void **stream);
evt_code evt_stream_destroy(evt_program *program, void *stream);
/* Waits until everything in it is done. */
evt_code evt_stream_synchronize(evt_program *program, void *stream);

/* An event is a CUevent: recorded in a stream, it has happened when all that was put there before is done. */
evt_code evt_event_create(evt_program *program, void **event);
evt_code evt_event_destroy(evt_program *program, void *event);
evt_code evt_event_record(evt_program *program, void *event, void *stream);
/* The host waits for it; what is put into a stream later waits for it; the seconds from one to another. */
evt_code evt_event_wait(evt_program *program, void *event);
evt_code evt_stream_wait(evt_program *program, void *stream, void *event);
evt_code evt_event_elapsed(evt_program *program, void *begin, void *end, double *seconds);

/* Checks the arguments of a launch and makes room for it, running nothing: the launch then allocates nothing. */
evt_code evt_program_prepare(evt_program *program, const evt_value *values, uint32_t count,
                             const evt_launch_options *options);

/* Waits until all launches on the stream are done. EVT_ERROR_FAULT or EVT_ERROR_STUCK if one of them went wrong. */
evt_code evt_program_finish(evt_program *program, void *stream);

/* Puts into the stream that rows of an argument get their place. The argument's tensor begins at `to`; its dimensions
 * but the last are rows, one after another, of `columns` elements. `rows` of them, beginning with `first_row`, are at
 * `from`, on the device, row-major and dense, as elements of `from_type` (bf16, f16 or f32); they are converted to the
 * argument's type (to nearest, ties to even) and put where the argument's layout has them (evt_argument_info). `from`
 * is a multiple of 16 bytes; first_row and rows are multiples of packed_rows where the argument is packed. Target cuda
 * only. */
evt_code evt_program_pack(evt_program *program, uint32_t argument, void *to, const void *from, DLDataType from_type,
                          int64_t first_row, int64_t rows, int64_t columns, void *stream);

#ifdef __cplusplus
}
#endif
#endif
