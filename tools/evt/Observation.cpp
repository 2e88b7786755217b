#include "tools/evt/Observation.h"

#include "runtime/observe/Trace.h"
#include "tools/evt/Failure.h"
#include "tools/evt/Words.h"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>

namespace evt::tool {

observe::ProgramDescription describeProgram(const runtime::Manifest &manifest, const runtime::Shapes &shapes) {
  observe::ProgramDescription program;
  program.name = manifest.graph;
  for (size_t m = 0; m < manifest.memories.size(); ++m)
    program.memories.push_back({manifest.memories[m].name, shapes.memories[m].dims});
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

void writeTrace(const std::string &file, const observe::Recorder &recorder, const observe::ProgramDescription &program,
                const std::string &caption) {
  std::ofstream out(file);
  if (file.ends_with(".html"))
    observe::writeTracePage(out, recorder, program, caption);
  else
    observe::writeChromeTrace(out, recorder, program);
  out.close();
  if (!out)
    throw Failure(ExitCode::wrongInput, "cannot write '" + file + "': " + std::strerror(errno));
}

std::string describeSymbols(const runtime::Manifest &manifest, const std::vector<int64_t> &values) {
  std::vector<std::string> parts;
  for (size_t s = 0; s < manifest.symbols.size(); ++s)
    parts.push_back(manifest.symbols[s].name + " = " + std::to_string(values[s]));
  return joined(parts);
}

} // namespace evt::tool
