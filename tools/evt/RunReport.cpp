#include "tools/evt/RunReport.h"

#include "runtime/artifact/Fingerprint.h"
#include "runtime/artifact/Shapes.h"
#include "tools/evt/LaunchSettings.h"
#include "tools/evt/Words.h"

#include <algorithm>

namespace evt::tool {
namespace {

using runtime::DataType;
using runtime::HostTensor;
using Json = nlohmann::ordered_json;

HostTensor widened(const HostTensor &tensor) {
  HostTensor wide(DataType::f32, tensor.shape());
  for (int64_t i = 0; i < tensor.elements(); ++i)
    wide.set(i, tensor.get(i));
  return wide;
}

std::string timesText(const RunReport &report) {
  if (report.seconds.empty())
    return duration(report.observedSeconds.value_or(0)) + " (observed)";
  if (report.seconds.size() == 1)
    return duration(report.seconds[0]);
  auto [least, most] = std::minmax_element(report.seconds.begin(), report.seconds.end());
  return "median " + duration(median(report.seconds)) + " of " + std::to_string(report.seconds.size()) + " (" +
         duration(*least) + " to " + duration(*most) + ")";
}

Json checkJson(const RunReport &report) {
  const observe::CheckReport &check = *report.check;
  Json json{{"clean", check.clean()},
            {"tasks", check.tasks},
            {"accesses", check.accesses},
            {"elements", check.elements},
            {"findings", Json::array()}};
  if (!check.refusal.empty())
    json["refusal"] = check.refusal;
  for (const observe::Finding &finding : check.findings)
    json["findings"].push_back(
        {{"subject", finding.subject}, {"total", finding.total}, {"messages", finding.messages}});
  json["obligations"] = report.obligations;
  return json;
}

} // namespace

Expectation compareWith(const std::string &file, const HostTensor &found, const HostTensor &expected,
                        double tolerance) {
  bool floats = runtime::isFloat(found.type()) && runtime::isFloat(expected.type());
  runtime::Comparison comparison = floats && found.type() != expected.type()
                                       ? runtime::compare(widened(found), widened(expected))
                                       : runtime::compare(found, expected);
  return {file, comparison, floats ? tolerance : 0.0};
}

uint64_t fingerprintOf(const HostTensor &tensor) {
  return runtime::fnv1a64({static_cast<const char *>(tensor.data()), tensor.bytes()});
}

std::string expectationText(const OutputReport &output) {
  const Expectation &e = *output.expectation;
  std::string text = "  " + output.name + (e.met() ? " agrees with '" : " differs from '") + e.file +
                     "': relative error " + shortNumber(e.comparison.relativeError) + ", required at most " +
                     shortNumber(e.tolerance);
  if (e.comparison.mismatchedNaN)
    text += ", " + counted(static_cast<uint64_t>(e.comparison.mismatchedNaN), "element") + " NaN on one side only";
  if (e.comparison.maxIndex >= 0)
    text += "; largest difference " + shortNumber(e.comparison.maxAbsolute) + " at " +
            runtime::describeElement(e.comparison.maxIndex, output.shape);
  return text + "\n";
}

Json outputJson(const OutputReport &output) {
  Json entry{
      {"type", runtime::name(output.type)}, {"shape", output.shape}, {"fnv1a64", runtime::toHex(output.fingerprint)}};
  if (output.expectation) {
    const Expectation &e = *output.expectation;
    entry["expected"] = {{"file", e.file},
                         {"agrees", e.met()},
                         {"relative_error", e.comparison.relativeError},
                         {"max_absolute", e.comparison.maxAbsolute},
                         {"different", e.comparison.different},
                         {"mismatched_nan", e.comparison.mismatchedNaN},
                         {"tolerance", e.tolerance}};
  }
  return entry;
}

std::string toText(const RunReport &report) {
  std::vector<std::string> symbols;
  for (auto &[name, value] : report.symbols)
    symbols.push_back(name + " = " + std::to_string(value));
  std::string text = report.graph + (symbols.empty() ? "" : " (" + joined(symbols) + ")") + ": " +
                     counted(static_cast<uint64_t>(report.tasks), "task") + ", " + report.schedule + ", " +
                     counted(report.workers, "worker") + ", " + timesText(report) + "\n";
  if (report.verbose && !report.why.empty())
    text += "  auto picked " + report.why + "\n";
  for (const OutputReport &output : report.outputs) {
    text += "  " + output.name + ": " + std::string(runtime::name(output.type)) + " " +
            runtime::describeShape(output.shape) + ", fnv1a64 " + runtime::toHex(output.fingerprint) + "\n";
    if (output.expectation)
      text += expectationText(output);
  }
  if (report.check) {
    text += observe::toText(*report.check);
    if (report.check->clean() && !report.obligations.empty())
      text += "held in this run: " + joined(report.obligations) + "\n";
  }
  return text;
}

std::string toJson(const RunReport &report) {
  Json json{{"graph", report.graph},     {"symbols", Json::object()}, {"schedule", report.schedule},
            {"workers", report.workers}, {"tasks", report.tasks},     {"seconds", report.seconds}};
  for (auto &[name, value] : report.symbols)
    json["symbols"][name] = value;
  if (!report.why.empty())
    json["schedule_reason"] = report.why;
  if (!report.seconds.empty())
    json["median_seconds"] = median(report.seconds);
  if (report.observedSeconds)
    json["observed_seconds"] = *report.observedSeconds;
  json["outputs"] = Json::object();
  for (const OutputReport &output : report.outputs)
    json["outputs"][output.name] = outputJson(output);
  if (report.check)
    json["check"] = checkJson(report);
  json["ok"] = report.ok();
  json["failures"] = report.failures;
  return json.dump(2) + "\n";
}

} // namespace evt::tool
