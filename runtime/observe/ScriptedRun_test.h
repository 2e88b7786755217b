// Writes a run by hand, hook by hook, as a kernel would report it.
#ifndef EVT_RUNTIME_OBSERVE_SCRIPTEDRUN_TEST_H
#define EVT_RUNTIME_OBSERVE_SCRIPTEDRUN_TEST_H

#include "runtime/observe/Recorder.h"

#include <vector>

namespace evt::observe {

using Index = std::vector<int64_t>;

// One task of worker `worker`; ends when `end` is called or the object dies.
class ScriptedTask {
public:
  ScriptedTask(Recorder &recorder, uint32_t worker, uint32_t call, int64_t task, const Index &coord)
      : hooks(*recorder.hooks()), worker(worker) {
    hooks.task_begin(hooks.user, worker, call, task, coord.data(), static_cast<uint32_t>(coord.size()));
  }
  ~ScriptedTask() { end(); }
  void end() {
    if (open)
      hooks.task_end(hooks.user, worker);
    open = false;
  }
  ScriptedTask &wait(uint32_t event, int64_t element, int64_t count) {
    hooks.wait_begin(hooks.user, worker, event, element, count);
    hooks.wait_end(hooks.user, worker);
    return *this;
  }
  ScriptedTask &read(uint32_t memory, const Index &offset, const Index &size) {
    return access(memory, EVT_READ, offset, size);
  }
  ScriptedTask &readSettled(uint32_t memory, const Index &offset, const Index &size) {
    return access(memory, EVT_READ_SETTLED, offset, size);
  }
  ScriptedTask &write(uint32_t memory, const Index &offset, const Index &size) {
    return access(memory, EVT_WRITE, offset, size);
  }
  ScriptedTask &notify(uint32_t event, int64_t element) {
    hooks.notify(hooks.user, worker, event, element);
    return *this;
  }
  void leaveOpen() { open = false; }

private:
  ScriptedTask &access(uint32_t memory, evt_access_kind kind, const Index &offset, const Index &size) {
    hooks.access(hooks.user, worker, memory, kind, offset.data(), size.data(), static_cast<uint32_t>(offset.size()));
    return *this;
  }
  const evt_hooks &hooks;
  uint32_t worker;
  bool open = true;
};

} // namespace evt::observe
#endif
