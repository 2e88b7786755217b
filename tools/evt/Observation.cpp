#include "tools/evt/Observation.h"

#include "runtime/observe/Trace.h"
#include "tools/evt/Failure.h"
#include "tools/evt/OutputFile.h"
#include "tools/evt/Words.h"

#include <algorithm>
#include <charconv>

namespace evt::tool {

observe::ProgramDescription describeProgram(const runtime::Manifest &manifest, const runtime::Shapes &shapes) {
  observe::ProgramDescription program;
  program.name = manifest.graph;
  for (size_t m = 0; m < manifest.memories.size(); ++m)
    program.memories.push_back({manifest.memories[m].name, shapes.memories[m].dims, !manifest.memories[m].argument});
  for (size_t e = 0; e < manifest.events.size(); ++e)
    program.events.push_back({manifest.events[e].name, shapes.events[e].dims});
  for (size_t k = 0; k < manifest.calls.size(); ++k) {
    const runtime::Call &call = manifest.calls[k];
    observe::CallDescription description;
    description.name = call.name;
    description.device = call.device;
    description.coords = call.coords;
    description.extents = shapes.calls[k].extents;
    description.ragged = call.ragged.has_value();
    description.repeat = call.repeat ? static_cast<int>(*call.repeat) : -1;
    program.calls.push_back(std::move(description));
  }
  return program;
}

observe::CheckReport checkRun(const observe::Recorder &recorder, const runtime::Manifest &manifest,
                              const runtime::Shapes &shapes) {
  std::vector<std::optional<int64_t>> counts;
  for (const runtime::Event &event : manifest.events) {
    int64_t count = 0;
    auto [end, error] = std::from_chars(event.count.data(), event.count.data() + event.count.size(), count);
    bool number = error == std::errc() && end == event.count.data() + event.count.size();
    counts.push_back(number ? std::optional(count) : std::nullopt);
  }
  observe::CheckOptions options;
  options.count = [counts](uint32_t event, int64_t) { return counts[event]; };
  return observe::checkHappensBefore(recorder, describeProgram(manifest, shapes), options);
}

void requireTraceName(const std::string &file) {
  if (!file.ends_with(".html") && !file.ends_with(".json"))
    throw Failure(ExitCode::wrongInput, "--trace is '" + file + "', required a name that ends in .html or .json");
}

void writeTrace(const std::string &file, const observe::Timeline &timeline, const observe::ProgramDescription &program,
                const std::string &caption) {
  OutputFile out(file);
  if (file.ends_with(".html"))
    observe::writeTracePage(out.stream(), timeline, program, caption);
  else
    observe::writeChromeTrace(out.stream(), timeline, program);
  out.finish();
}

observe::Timeline timelineOf(const runtime::LaunchTrace &trace, const observe::ProgramDescription &program) {
  observe::Timeline timeline;
  timeline.truncated = trace.truncated;
  uint64_t begin = UINT64_MAX, end = 0;
  for (const std::vector<runtime::TracedTask> &tasks : trace.workers)
    for (const runtime::TracedTask &task : tasks) {
      begin = std::min(begin, task.taken);
      end = std::max({end, task.taken, task.started, task.finished});
    }
  timeline.span = begin < end ? end - begin : 0;
  for (const std::vector<runtime::TracedTask> &tasks : trace.workers) {
    std::vector<observe::TimelineTask> &worker = timeline.workers.emplace_back();
    for (const runtime::TracedTask &task : tasks) {
      if (task.call >= program.calls.size())
        continue;
      const observe::CallDescription &call = program.calls[task.call];
      observe::TimelineTask drawn{task.call, task.coord, task.taken - begin, timeline.span, task.finished != 0, {}};
      if (drawn.finished)
        drawn.end = task.finished - begin;
      if (drawn.coord.empty() && !call.ragged)
        drawn.coord = observe::unflatten(task.task, call.extents);
      if (task.waits && task.event < program.events.size())
        drawn.waits.push_back({task.taken - begin, task.started ? task.started - begin : timeline.span, task.event,
                               task.element, task.waits});
      worker.push_back(std::move(drawn));
    }
  }
  return timeline;
}

std::string describeSymbols(const runtime::Manifest &manifest, const std::vector<int64_t> &values) {
  std::vector<std::string> parts;
  for (size_t s = 0; s < manifest.symbols.size(); ++s)
    parts.push_back(manifest.symbols[s].name + " = " + std::to_string(values[s]));
  return joined(parts);
}

} // namespace evt::tool
