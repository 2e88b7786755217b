#include "tools/evt/Check.h"

#include "tools/evt/Failure.h"
#include "tools/evt/Frontend.h"
#include "tools/evt/Words.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <iostream>

namespace evt::tool {
namespace {

using Json = nlohmann::ordered_json;

struct CheckOptions {
  std::string file;
  CompileOptions compile;
  CheckRequest request;
  bool json = false;
};

Json toJson(const DiagnosticRecord &diagnostic) {
  Json json{{"severity", diagnostic.severity}, {"location", diagnostic.location}, {"message", diagnostic.message}};
  if (!diagnostic.notes.empty())
    json["notes"] = Json::array();
  for (const DiagnosticRecord &note : diagnostic.notes)
    json["notes"].push_back(toJson(note));
  return json;
}

std::string toJson(const CheckAnswer &answer) {
  Json json{{"graph", answer.graph},        {"proved", answer.proved},         {"calls", answer.calls},
            {"events", answer.events},      {"violations", answer.violations}, {"diagnostics", Json::array()},
            {"obligations", Json::array()}, {"seconds", answer.seconds}};
  for (const DiagnosticRecord &diagnostic : answer.diagnostics)
    json["diagnostics"].push_back(toJson(diagnostic));
  for (const ObligationRecord &o : answer.obligations)
    json["obligations"].push_back({{"name", o.name}, {"text", o.text}, {"location", o.location}});
  if (!answer.inferred.empty())
    json["inferred"] = answer.inferred;
  return json.dump(2) + "\n";
}

void check(const CheckOptions &options) {
  CheckAnswer answer = checkProgram(options.file, options.compile, options.request);
  std::cout << (options.json ? toJson(answer) : answer.inferred + proofText(answer));
  if (!answer.proved)
    throw Failure(ExitCode::checkFailed, "graph '" + answer.graph + "' of '" + options.file + "' is refused");
}

} // namespace

std::string proofText(const CheckAnswer &answer) {
  std::string size = counted(answer.calls, "call") + ", " + counted(answer.events, "event");
  std::string text = answer.proved ? "proved: order, counts, progress of " + size
                                   : "not proved: " + counted(answer.diagnostics.size(), "error") + " in " + size;
  text += fmt::format(" ({:.2f} s)\n", answer.seconds);
  if (!answer.obligations.empty())
    text += "but for " + counted(answer.obligations.size(), "obligation") + ", checked by 'evt run --check':\n";
  for (const ObligationRecord &o : answer.obligations)
    text += "  " + o.name + "\n";
  return text;
}

void addCheck(Commands &commands) {
  auto options = std::make_shared<CheckOptions>();
  CLI::App *command = commands.add(
      "check", "prove a program, or show the smallest case against it",
      "Proves, for every shape, that events order each read after its writes, that every event element receives "
      "exactly "
      "its count, and that no task waits for itself. A violation is shown at its source line with the smallest symbol "
      "values, tasks and element (exit code 1). What depends on run-time data is listed by name as an obligation, "
      "which "
      "'evt run --check' checks. A program without events gets them derived first.",
      {"evt check examples/row_sum/row_sum.mlir", "evt check examples/decoder/decoder.mlir --json",
       "evt check examples/chained_matmul/chained_matmul.mlir --infer",
       "evt check bench/step/models/qwen3-8b --same-bits"},
      [options] {
        options->request.quiet = options->json;
        check(*options);
      });
  command->add_option("FILE", options->file, "the program, a .mlir file, or the folder of a model with its config.json")
      ->required();
  command->add_flag("--infer", options->request.infer,
                    "drop the program's own events, derive them from what tasks read and write, and print the graph");
  command->add_flag("--json", options->json, "print the answer as JSON, with the diagnostics in it");
  addGraphOption(command, options->compile);
  addStepOptions(command, options->compile);
}

} // namespace evt::tool
