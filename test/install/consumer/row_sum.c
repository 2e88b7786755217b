/* Runs a row-sum artifact (x: n x 4096 f32, y: n f32) through the C interface and checks the sums. */
#include <evt/abi.h>
#include <evt/evt.h>
#include <stdio.h>
#include <stdlib.h>

enum { rows = 6, columns = 4096 };

static void count_task(void *user, uint32_t worker, uint32_t call, int64_t task, const int64_t *coord, uint32_t rank) {
  (void)worker, (void)call, (void)task, (void)coord, (void)rank;
  __atomic_fetch_add((int *)user, 1, __ATOMIC_RELAXED);
}
static void ignore_worker(void *user, uint32_t worker) { (void)user, (void)worker; }
static void ignore_wait(void *user, uint32_t worker, uint32_t event, int64_t element, int64_t count) {
  (void)user, (void)worker, (void)event, (void)element, (void)count;
}
static void ignore_notify(void *user, uint32_t worker, uint32_t event, int64_t element) {
  (void)user, (void)worker, (void)event, (void)element;
}
static void ignore_access(void *user, uint32_t worker, uint32_t memory, uint32_t kind, const int64_t *offset,
                          const int64_t *size, uint32_t rank) {
  (void)user, (void)worker, (void)memory, (void)kind, (void)offset, (void)size, (void)rank;
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: %s ARTIFACT\n", argv[0]);
    return 2;
  }
  evt_program *program = NULL;
  if (evt_program_load(argv[1], &program) != EVT_OK) {
    fprintf(stderr, "%s\n", evt_last_error());
    return 1;
  }
  float *x = aligned_alloc(64, sizeof(float) * rows * columns);
  float y[rows] = {0};
  if (!x)
    return 1;
  for (int i = 0; i < rows * columns; ++i)
    x[i] = (float)(i / columns + 1);
  int64_t x_shape[2] = {rows, columns}, y_shape[1] = {rows};
  DLDataType f32 = {kDLFloat, 32, 1};
  DLTensor x_tensor = {x, {kDLCPU, 0}, 2, f32, x_shape, NULL, 0};
  DLTensor y_tensor = {y, {kDLCPU, 0}, 1, f32, y_shape, NULL, 0};
  evt_value values[2] = {{&x_tensor, 0}, {&y_tensor, 0}};

  int tasks = 0;
  evt_hooks hooks = {&tasks, count_task, ignore_worker, ignore_wait, ignore_worker, ignore_notify, ignore_access};
  evt_launch_options options = EVT_LAUNCH_OPTIONS_INIT;
  options.workers = 2;
  options.hooks = &hooks;
  if (evt_program_launch(program, values, 2, &options) != EVT_OK) {
    fprintf(stderr, "%s\n", evt_last_error());
    return 1;
  }
  for (int i = 0; i < rows; ++i)
    if (y[i] != (float)(columns * (i + 1))) {
      fprintf(stderr, "row %d is %g, required %d\n", i, (double)y[i], columns * (i + 1));
      return 1;
    }
  if (tasks == 0) {
    fprintf(stderr, "the hooks saw no task\n");
    return 1;
  }
  /* A wrong argument is an error with a message, not a crash. */
  x_shape[1] = 7;
  if (evt_program_launch(program, values, 2, NULL) != EVT_ERROR_ARGUMENT || !evt_last_error()[0]) {
    fprintf(stderr, "a wrong shape was accepted\n");
    return 1;
  }
  printf("%s by evt %s: %d rows, %d tasks\n", evt_program_graph(program), evt_version(), rows, tasks);
  evt_program_free(program);
  free(x);
  return 0;
}
