#include "tools/evt/Injection.h"

#include "tools/evt/Failure.h"
#include "tools/evt/Words.h"

#include <charconv>
#include <sstream>
#include <vector>

namespace evt::tool {
namespace {

[[noreturn]] void refuse(const std::string &what) { throw Failure(ExitCode::wrongInput, what); }

// The names of what the linear index runs over: coordinates, with a ragged pair as one.
std::vector<std::string> indexNames(const runtime::Call &call) {
  std::vector<std::string> names;
  for (size_t c = 0; c < call.coords.size(); ++c) {
    if (call.ragged && c == call.ragged->first) {
      names.push_back(call.coords[c] + "/" + call.coords[c + 1]);
      ++c;
    } else {
      names.push_back(call.coords[c]);
    }
  }
  return names;
}

} // namespace

Injection parseInjection(const std::string &text, const runtime::Manifest &manifest, const runtime::Shapes &shapes) {
  const std::string form = "drop-notify=";
  size_t colon = text.rfind(':');
  if (text.compare(0, form.size(), form) != 0 || colon == std::string::npos)
    refuse("--inject is '" + text + "', required drop-notify=CALL:COORD, as in drop-notify=partial:3,2");
  std::string name = text.substr(form.size(), colon - form.size()), coordinates = text.substr(colon + 1);

  std::vector<std::string> calls;
  size_t number = manifest.calls.size();
  for (size_t k = 0; k < manifest.calls.size(); ++k) {
    calls.push_back(manifest.calls[k].name);
    if (calls.back() == name)
      number = k;
  }
  if (number == manifest.calls.size())
    refuse("--inject names call '" + name + "', which graph '" + manifest.graph +
           "' does not have; its calls: " + joined(calls));

  std::vector<std::string> names = indexNames(manifest.calls[number]), parts;
  std::istringstream stream(coordinates);
  for (std::string part; std::getline(stream, part, ',');)
    parts.push_back(part);
  if (parts.size() != names.size())
    refuse("--inject gives " + counted(parts.size(), "coordinate") + " of call '" + name + "', required " +
           std::to_string(names.size()) + " (" + joined(names) + ")");

  Injection injection{static_cast<int64_t>(number), 0};
  for (size_t d = 0; d < parts.size(); ++d) {
    int64_t value = 0, extent = shapes.calls[number].extents[d];
    auto [end, error] = std::from_chars(parts[d].data(), parts[d].data() + parts[d].size(), value);
    if (error != std::errc() || end != parts[d].data() + parts[d].size() || value < 0 || value >= extent)
      refuse("--inject gives coordinate " + names[d] + " of call '" + name + "' as '" + parts[d] + "', required " +
             (extent > 0 ? "0.." + std::to_string(extent - 1) : "none: the call has no tasks at this shape"));
    injection.task = injection.task * extent + value;
  }
  return injection;
}

} // namespace evt::tool
