/* The C interface of the evt runtime: load an artifact, ask what it needs, launch it.
 *
 *   evt_program *program;
 *   if (evt_program_load("row_sum.evt", &program) != EVT_OK)
 *     fail(evt_last_error());
 *   evt_value values[] = {{.tensor = &x}, {.tensor = &y}};      // in the order of the graph's arguments
 *   if (evt_program_launch(program, values, 2, NULL) != EVT_OK) // NULL: default options
 *     fail(evt_last_error());
 *   evt_program_free(program);
 *
 * Tensors are DLPack `DLTensor`s: they stay the caller's, are read and written in place and must be dense and
 * row-major. Every argument is checked (rank, type, device, strides, alignment, symbols) before anything runs.
 *
 * An artifact of the target cuda runs on the GPU of the calling thread's current context when it is loaded, or on the
 * first one; the CUDA driver is looked for then. Tensors on that GPU are used in place; tensors of the host are copied
 * there and, if the graph writes them, back. With a stream, a launch is only put into it and returns at once: all
 * tensors must be on the GPU and live until it is done, the stream must outlive its launches, and what goes wrong is
 * reported by a later launch on that stream. Such launches can be captured in a graph, once one with the same sizes ran
 * on the stream; the program must then outlive the graph. memory.h has memory and streams for callers without a library
 * for them.
 *
 * Threads: a program may be shared; launches of one program happen one after the other, since they share its
 * workspace. Load a program twice to launch it twice at once.
 *
 * Versions: additions only within one EVT_API_VERSION. Structures the caller fills carry their size; structures the
 * library returns are reached through pointers and may grow at their end.
 */
#ifndef EVT_EVT_H
#define EVT_EVT_H

#include <dlpack/dlpack.h>
#include <stddef.h>
#include <stdint.h>

#define EVT_VERSION "0.1.0"
#define EVT_API_VERSION 1u

#ifdef __cplusplus
extern "C" {
#endif

/* The library that runs, as opposed to the header that was compiled: EVT_VERSION and EVT_API_VERSION of its build. */
const char *evt_version(void);
uint32_t evt_api_version(void);

/* What went wrong, for programs; evt_last_error says it for people. */
typedef enum evt_code {
  EVT_OK = 0,
  EVT_ERROR_FILE = 1,         /* a file cannot be read or written */
  EVT_ERROR_ARTIFACT = 2,     /* the artifact is malformed, truncated or altered */
  EVT_ERROR_INCOMPATIBLE = 3, /* the artifact is sound, but not for this runtime or this machine */
  EVT_ERROR_ARGUMENT = 4,     /* an argument of a call or of the graph is not what is required */
  EVT_ERROR_OPTION = 5,       /* a launch option is out of range or not supported by the artifact */
  EVT_ERROR_MEMORY = 6,       /* the workspace cannot be had */
  EVT_ERROR_FAULT = 7,        /* the kernel stopped by itself: a bound, a count or an index was violated */
  EVT_ERROR_STUCK = 8,        /* the watchdog stopped the kernel; the message names the element nobody completes */
  EVT_ERROR_INTERNAL = 9      /* a defect of the runtime */
} evt_code;

/* The message of the last call on this thread that did not return EVT_OK; valid until the thread's next call. */
const char *evt_last_error(void);

typedef struct evt_program evt_program;

/* Loads the artifact in `directory`: reads and checks its manifest, its files and this machine's features, then loads
 * its kernel. On failure *program is null. */
evt_code evt_program_load(const char *directory, evt_program **program);
void evt_program_free(evt_program *program); /* null is allowed */

/* --- What a program is. Pointers live as long as the program; an index out of range gives null. --- */

typedef enum evt_argument_kind { EVT_ARGUMENT_TENSOR = 0, EVT_ARGUMENT_INDEX = 1 } evt_argument_kind;
typedef enum evt_access { EVT_ACCESS_READ = 1, EVT_ACCESS_WRITE = 2, EVT_ACCESS_READWRITE = 3 } evt_access;

typedef struct evt_argument_info {
  const char *name;
  evt_argument_kind kind;
  /* of a tensor: */
  DLDataType type; /* i1 is one byte an element: {6 (bool), 8, 1} */
  uint32_t rank;
  const char *const *dims; /* text of each dimension: "4096", "n", "n * 2" */
  evt_access access;
  uint32_t immutable; /* 1: the graph never writes it, so it may be fetched before any event */
  uint64_t align;     /* of its first element, in bytes */
  /* of an index: */
  const char *symbol; /* the symbol it gives its value to */
  /* of a tensor: the tiles its last two dimensions are packed in, 0 if it is row-major. The elements of a tile are
   * neighbours, tiles are in row-major order; where a tile's rows are 64 bytes long, 16-byte piece p of row r lies at
   * p ^ (r / 2 % 4). The runtime packs a tensor of the host; one on the GPU must be packed. */
  uint32_t packed_rows, packed_columns;
} evt_argument_info;

typedef struct evt_symbol_info {
  const char *name;
  int64_t min, max; /* inclusive */
} evt_symbol_info;

typedef struct evt_schedule_info {
  const char *name;   /* "static", "ticket" or "dynamic" */
  uint32_t supported; /* 0: this artifact does not hold it */
  const char *reason; /* why it is not supported; "" otherwise */
} evt_schedule_info;

const char *evt_program_graph(const evt_program *program);
uint32_t evt_program_argument_count(const evt_program *program);
const evt_argument_info *evt_program_argument(const evt_program *program, uint32_t index);
uint32_t evt_program_symbol_count(const evt_program *program);
const evt_symbol_info *evt_program_symbol(const evt_program *program, uint32_t index);
uint32_t evt_program_schedule_count(const evt_program *program);
const evt_schedule_info *evt_program_schedule(const evt_program *program, uint32_t index);

/* --- Launching. --- */

struct evt_hooks; /* an observer of every task, wait, notify and access: see evt/abi.h */

typedef struct evt_launch_options {
  uint32_t size;                 /* sizeof(evt_launch_options) */
  uint32_t workers;              /* 0: one for each CPU this process may use, or for each SM of the GPU */
  const char *schedule;          /* null: the first the artifact supports of static, ticket, dynamic; "auto": the one
                                    that costs least for these arguments and workers; results are the same bits */
  double watchdog_seconds;       /* stop a launch in which no task finishes for this long; 0: never */
  uint64_t perturb;              /* 0, or a seed: workers stall at random points; target cpu only */
  int64_t inject_call;           /* -1, or the index of the call of the one task whose notifies are dropped ... */
  int64_t inject_task;           /* ... and that task's linear index in the call */
  const struct evt_hooks *hooks; /* null, or an observer; it must outlive the launch; target cpu only */
  void *stream;                  /* null, or the CUstream to launch on; target cuda only */
  int64_t first_call; /* -1, or the first and the last of the calls, in the graph's order, whose tasks this */
  int64_t last_call;  /* launch runs: a part of the graph, to see what it takes by itself or as a kernel of
                         its own. Parts follow each other in the graph's order, on one stream, and the part
                         with the graph's last call is the last; target cuda, schedule static only */
  int64_t iteration;  /* -1, or the one iteration of the outermost repeat that those calls are run in */
} evt_launch_options;

#define EVT_DEFAULT_WATCHDOG_SECONDS 10.0
#define EVT_LAUNCH_OPTIONS_INIT                                                                                        \
  { (uint32_t)sizeof(evt_launch_options), 0u, NULL, EVT_DEFAULT_WATCHDOG_SECONDS, 0u, -1, -1, NULL, NULL, -1, -1, -1 }

/* One argument: `tensor` for a tensor, `index` (with a null tensor) for an index. */
typedef struct evt_value {
  const DLTensor *tensor;
  int64_t index;
} evt_value;

/* Runs the whole graph and returns when it is done, unless a stream is given. `values` has one entry for each argument
 * of the graph, in order. After EVT_ERROR_FAULT and EVT_ERROR_STUCK what the graph writes is undefined, and the program
 * can be launched again. */
evt_code evt_program_launch(evt_program *program, const evt_value *values, uint32_t count,
                            const evt_launch_options *options);

#ifdef __cplusplus
}
#endif
#endif
