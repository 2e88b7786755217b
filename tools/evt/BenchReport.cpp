#include "tools/evt/BenchReport.h"

#include "runtime/artifact/Fingerprint.h"
#include "tools/evt/Words.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>

namespace evt::tool {
namespace {

using Json = nlohmann::ordered_json;

double shareOf(const Bound &bound, double seconds) { return seconds > 0 ? bound.seconds / seconds : 0; }

std::string timesText(const BenchReport &report) {
  std::string text =
      fmt::format("{:<10}{:>8}{:>14}{:>14}{:>14}", "schedule", "workers", "median ms", "least ms", "µs/task");
  text += report.sol ? fmt::format("{:>12}{:>10}\n", "bound ms", "of bound") : "\n";
  for (const Timing &t : report.timings) {
    text += fmt::format("{:<10}{:>8}{:>14.3f}{:>14.3f}{:>13.3f}", t.schedule, t.workers, t.median * 1e3, t.least * 1e3,
                        report.tasks ? t.median * 1e6 / static_cast<double>(report.tasks) : 0.0);
    text += report.sol ? fmt::format("{:>12.4f}{:>8.1f} %\n", report.sol->bound.seconds * 1e3,
                                     100 * shareOf(report.sol->bound, t.median))
                       : "\n";
  }
  return text;
}

std::string limitsText(const SpeedOfLightReport &sol) {
  const Limits &limits = sol.limits;
  std::string text =
      fmt::format("limits of {}, measured {}: {:.1f} GB/s", limits.machine, sol.measured, limits.bytesPerSecond / 1e9);
  if (limits.opsPerSecond > 0)
    text += fmt::format(", {:.1f} GFLOP/s", limits.opsPerSecond / 1e9);
  return text + fmt::format("; the graph has {:.3f} MB and {:.3f} Gop\n", static_cast<double>(sol.bound.bytes) / 1e6,
                            static_cast<double>(sol.bound.ops) / 1e9);
}

std::string callsText(const SpeedOfLightReport &sol) {
  size_t width = 4;
  for (const CallShare &call : sol.calls)
    width = std::max(width, call.name.size());
  std::string text =
      fmt::format("where the time of a watched launch went, {}, {}\n", sol.schedule, counted(sol.workers, "worker"));
  text += fmt::format("{:<{}}{:>10}{:>13}{:>11}{:>8}{:>11}{:>11}{:>12}{:>11}\n", "call", width, "tasks", "MB", "Gop",
                      "by", "bound ms", "taken ms", "waiting ms", "of bound");
  for (const CallShare &call : sol.calls)
    text +=
        fmt::format("{:<{}}{:>10}{:>13.3f}{:>11.4f}{:>8}{:>11.4f}{:>11.4f}{:>12.4f}{:>9.1f} %\n", call.name, width,
                    call.tasks, static_cast<double>(call.bound.bytes) / 1e6, static_cast<double>(call.bound.ops) / 1e9,
                    call.bound.byMemory ? "bytes" : "ops", call.bound.seconds * 1e3, call.occupation.taken * 1e3,
                    call.occupation.waiting * 1e3, 100 * shareOf(call.bound, call.occupation.taken));
  if (sol.nobody > 0)
    text += fmt::format("no worker was in a task for {:.4f} ms\n", sol.nobody * 1e3);
  std::map<std::string, std::vector<std::string>> callsByAssumption;
  std::vector<std::string> order;
  for (const CallShare &call : sol.calls)
    for (const std::string &assumption : call.assumptions) {
      if (!callsByAssumption.count(assumption))
        order.push_back(assumption);
      callsByAssumption[assumption].push_back(call.name);
    }
  for (const std::string &assumption : order)
    text += "assumed of " + joined(callsByAssumption[assumption]) + ": " + assumption + "\n";
  return text;
}

Json boundJson(const Bound &bound) {
  return {{"ops", bound.ops},
          {"bytes", bound.bytes},
          {"bound_seconds", bound.seconds},
          {"by", bound.byMemory ? "bytes" : "ops"}};
}

Json solJson(const BenchReport &report) {
  const SpeedOfLightReport &sol = *report.sol;
  Json json{{"machine", sol.limits.machine},
            {"measured", sol.measured},
            {"bytes_per_second", sol.limits.bytesPerSecond},
            {"graph", boundJson(sol.bound)},
            {"watched", {{"schedule", sol.schedule}, {"workers", sol.workers}}},
            {"nobody_seconds", sol.nobody},
            {"calls", Json::array()}};
  if (sol.limits.opsPerSecond > 0)
    json["ops_per_second"] = sol.limits.opsPerSecond;
  for (const CallShare &call : sol.calls) {
    Json entry{{"name", call.name}, {"tasks", call.tasks}};
    entry.update(boundJson(call.bound));
    entry["taken_seconds"] = call.occupation.taken;
    entry["waiting_seconds"] = call.occupation.waiting;
    entry["share"] = shareOf(call.bound, call.occupation.taken);
    entry["assumptions"] = call.assumptions;
    json["calls"].push_back(entry);
  }
  return json;
}

} // namespace

std::string toText(const BenchReport &report) {
  std::vector<std::string> symbols;
  for (const auto &[name, value] : report.symbols)
    symbols.push_back(name + " = " + std::to_string(value));
  std::string text = report.graph + (symbols.empty() ? "" : " (" + joined(symbols) + ")") + ": " +
                     counted(static_cast<uint64_t>(report.tasks), "task") + ", " + std::to_string(report.repeat) +
                     (report.repeat == 1 ? " launch" : " launches") + " each" +
                     (report.sol ? ", caches filled with other data before each" : "") + "\n";
  if (report.sol)
    text += limitsText(*report.sol);
  text += timesText(report);
  text += "auto picks " + report.automatic + "\n";
  if (report.sol)
    text += callsText(*report.sol);
  for (const OutputReport &output : report.outputs)
    if (output.expectation)
      text += expectationText(output);
  return text;
}

std::string toJson(const BenchReport &report) {
  Json json{{"graph", report.graph}, {"tasks", report.tasks}};
  for (const auto &[name, value] : report.symbols)
    json["symbols"][name] = value;
  for (const Timing &t : report.timings) {
    Json timing{
        {"schedule", t.schedule}, {"workers", t.workers}, {"median_seconds", t.median}, {"least_seconds", t.least}};
    if (report.sol)
      timing["share"] = shareOf(report.sol->bound, t.median);
    json["timings"].push_back(timing);
  }
  json["auto"] = report.automatic;
  if (report.sol)
    json["sol"] = solJson(report);
  for (const OutputReport &output : report.outputs)
    json["outputs"][output.name] = outputJson(output);
  json["ok"] = report.failures.empty();
  json["failures"] = report.failures;
  return json.dump(2) + "\n";
}

} // namespace evt::tool
