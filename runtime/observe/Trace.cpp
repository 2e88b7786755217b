#include "runtime/observe/Trace.h"

#include "runtime/observe/Page.h"

#include <algorithm>
#include <cstdio>

namespace evt::observe {

namespace {

std::string number(int64_t value) { return std::to_string(value); }

// Chrome's times are microseconds.
std::string microseconds(uint64_t nanoseconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%llu.%03llu", static_cast<unsigned long long>(nanoseconds / 1000),
                static_cast<unsigned long long>(nanoseconds % 1000));
  return text;
}

std::string slice(const std::string &name, const char *category, size_t worker, uint64_t begin, uint64_t end,
                  const std::string &arguments) {
  return R"({"ph":"X","pid":1,"tid":)" + std::to_string(worker) + R"(,"ts":)" + microseconds(begin) + R"(,"dur":)" +
         microseconds(end - begin) + R"(,"cat":")" + category + R"(","name":)" + jsonString(name) + R"(,"args":{)" +
         arguments + "}}";
}

std::string coordinates(const CallDescription &call, const std::vector<int64_t> &coord) {
  std::string text;
  for (size_t d = 0; d < coord.size(); ++d) {
    std::string name = d < call.coords.size() ? call.coords[d] : "d" + std::to_string(d);
    text += (d > 0 ? "," : "") + jsonString(name) + ":" + number(coord[d]);
  }
  return text;
}

// Distinct device functions in order of their first call, and each call's place among them.
struct Devices {
  std::vector<std::string> names;
  std::vector<size_t> ofCall;
  explicit Devices(const ProgramDescription &program) {
    for (const CallDescription &call : program.calls) {
      size_t place = static_cast<size_t>(std::ranges::find(names, deviceName(call)) - names.begin());
      if (place == names.size())
        names.push_back(deviceName(call));
      ofCall.push_back(place);
    }
  }
};

// A worker as one flat list: per task its call, begin, end, whether it ended, its coordinates behind their number, its
// waits (event, element, elements, begin, end) behind theirs. Numbers only: a hundred thousand tasks stay small.
std::string flatTasks(const std::vector<TimelineTask> &tasks) {
  std::string text = "[";
  auto put = [&](auto value) {
    if (text.size() > 1)
      text += ',';
    text += std::to_string(value);
  };
  for (const TimelineTask &task : tasks) {
    put(task.call);
    put(task.begin);
    put(task.end);
    put(task.finished ? 1 : 0);
    put(task.coord.size());
    for (int64_t value : task.coord)
      put(value);
    put(task.waits.size());
    for (const TimelineWait &wait : task.waits) {
      put(wait.event);
      put(wait.element);
      put(wait.elements);
      put(wait.begin);
      put(wait.end);
    }
  }
  return text + "]";
}

} // namespace

void writeChromeTrace(std::ostream &out, const Timeline &run, const ProgramDescription &program) {
  out << R"({"displayTimeUnit":"ns","traceEvents":[)"
      << "\n"
      << R"({"ph":"M","pid":1,"name":"process_name","args":{"name":)" << jsonString(program.name) << "}}";
  for (size_t worker = 0; worker < run.workers.size(); ++worker) {
    out << ",\n"
        << R"({"ph":"M","pid":1,"tid":)" << worker << R"(,"name":"thread_name","args":{"name":"worker )" << worker
        << R"("}})";
    for (const TimelineTask &task : run.workers[worker]) {
      const CallDescription &call = program.calls[task.call];
      out << ",\n" << slice(call.name, "task", worker, task.begin, task.end, coordinates(call, task.coord));
      for (const TimelineWait &wait : task.waits)
        out << ",\n"
            << slice("wait " + elementName(program, wait.event, wait.element), "wait", worker, wait.begin, wait.end,
                     R"("elements":)" + std::to_string(wait.elements));
    }
  }
  out << "\n]}\n";
}

void writeTracePage(std::ostream &out, const Timeline &run, const ProgramDescription &program,
                    const std::string &caption) {
  Devices devices(program);
  std::string calls = "[";
  for (size_t call = 0; call < program.calls.size(); ++call)
    calls += (call > 0 ? "," : "") + (R"({"name":)" + jsonString(program.calls[call].name) + R"(,"device":)" +
                                      std::to_string(devices.ofCall[call]) + R"(,"coords":)" +
                                      jsonArray(program.calls[call].coords, jsonString) + "}");
  std::string events = jsonArray(program.events, [](const EventDescription &event) {
    return R"({"name":)" + jsonString(event.name) + R"(,"shape":)" + jsonArray(event.shape, number) + "}";
  });
  std::string data = R"({"name":)" + jsonString(program.name) + R"(,"caption":)" + jsonString(caption) + R"(,"span":)" +
                     std::to_string(run.span) + R"(,"truncated":)" + (run.truncated ? "true" : "false") +
                     R"(,"devices":)" + jsonArray(devices.names, jsonString) + R"(,"calls":)" + calls +
                     R"(],"events":)" + events + R"(,"workers":)" + jsonArray(run.workers, flatTasks) + "}";
  writePage(out, tracePage, program.name + " – trace", data);
}

} // namespace evt::observe
