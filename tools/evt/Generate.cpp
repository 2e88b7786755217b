#include "tools/evt/Generate.h"

#include "models/config/ModelConfig.h"
#include "models/config/Problems.h"
#include "models/serve/Generator.h"
#include "models/weights/Checkpoint.h"
#include "tools/evt/Failure.h"
#include "tools/evt/Log.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <fstream>
#include <iostream>
#include <set>

namespace evt::tool {
namespace {

struct GenerateOptions {
  std::string folder, artifact, input = "-", output = "-", schedule;
  int64_t pages = 256, batchTokens = 0, workers = 0;
};

[[noreturn]] void refuse(const std::string &message) { throw Failure(ExitCode::wrongInput, message); }

/// One line: {"id": "a", "tokens": [1, 2], "max_tokens": 16, "ignore_eos": false}
models::GenerateRequest requestOf(const std::string &line, const std::string &where) {
  nlohmann::json json = nlohmann::json::parse(line, nullptr, false);
  if (!json.is_object())
    refuse(where + ": not an object of JSON");
  models::GenerateRequest request;
  for (const auto &[key, value] : json.items()) {
    if (key == "id" && (value.is_string() || value.is_number_integer())) {
      request.id = value.is_string() ? value.get<std::string>() : value.dump();
    } else if (key == "tokens" && value.is_array()) {
      for (const nlohmann::json &token : value) {
        if (!token.is_number_integer() || token.get<int64_t>() < 0 || token.get<int64_t>() > INT32_MAX)
          refuse(where + ": 'tokens' has " + token.dump() + ", required numbers of tokens");
        request.prompt.push_back(token.get<int32_t>());
      }
    } else if (key == "max_tokens" && value.is_number_integer()) {
      request.mostTokens = value;
    } else if (key == "ignore_eos" && value.is_boolean()) {
      request.endsAtEos = !value.get<bool>();
    } else {
      refuse(where + ": '" + key + "' is " + value.dump() +
             "; a request has an id, tokens, and may have max_tokens and ignore_eos");
    }
  }
  if (request.id.empty())
    refuse(where + ": a request needs an 'id'");
  return request;
}

class Phases {
public:
  /// Ends the phase that was running.
  void end(const char *name) {
    const auto now = std::chrono::steady_clock::now();
    logStep(name, std::chrono::duration<double>(now - last).count());
    last = now;
  }

private:
  std::chrono::steady_clock::time_point last = std::chrono::steady_clock::now();
};

void generate(const GenerateOptions &options) {
  Phases phases;
  std::ifstream file;
  if (options.input != "-") {
    file.open(options.input);
    if (!file)
      refuse("cannot read '" + options.input + "'");
  }
  std::istream &in = options.input == "-" ? std::cin : file;
  std::vector<models::GenerateRequest> requests;
  std::set<std::string> ids;
  std::string line;
  for (int64_t number = 1; std::getline(in, line); ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos)
      continue;
    requests.push_back(requestOf(line, options.input + ":" + std::to_string(number)));
    if (!ids.insert(requests.back().id).second)
      refuse(options.input + ":" + std::to_string(number) + ": there are two requests '" + requests.back().id + "'");
  }
  phases.end("read requests");

  const models::ModelConfig model = models::readModelConfig(options.folder + "/" + models::configFileName);
  const models::Checkpoint checkpoint = models::openCheckpoint(options.folder, model);
  std::optional<models::StepRunner> runner;
  try {
    runner.emplace(options.artifact, model, checkpoint,
                   models::StepRunner::Options{.pages = options.pages,
                                               .schedule = options.schedule,
                                               .workers = static_cast<uint32_t>(options.workers)});
  } catch (const std::invalid_argument &error) {
    refuse(error.what());
  }
  phases.end("load and read weights");

  models::Generator generator(*runner, options.batchTokens);
  try {
    for (models::GenerateRequest &request : requests)
      generator.add(std::move(request));
  } catch (const std::invalid_argument &error) {
    refuse(error.what());
  }
  std::ofstream to;
  if (options.output != "-") {
    to.open(options.output);
    if (!to)
      refuse("cannot write '" + options.output + "'");
  }
  std::ostream &out = options.output == "-" ? std::cout : to;
  const auto begin = std::chrono::steady_clock::now();
  while (!generator.isIdle()) {
    for (const models::GenerateAnswer &answer : generator.step())
      out << nlohmann::ordered_json{{"id", answer.id},
                                    {"tokens", answer.tokens},
                                    {"finish", answer.endedAtEos ? "eos" : "length"}}
                 .dump()
          << "\n"
          << std::flush;
    if (generator.steps() == 1)
      phases.end("first step");
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  logStep(fmt::format("{} tokens in {} steps", generator.tokens(), generator.steps()), seconds);
  if (!out)
    throw Failure(ExitCode::wrongInput, "cannot write '" + options.output + "'");
}

} // namespace

void addGenerate(Commands &commands) {
  auto options = std::make_shared<GenerateOptions>();
  CLI::App *command = commands.add(
      "generate", "continue token sequences with a model",
      "Reads requests, a line of JSON each, and continues their tokens with the most likely ones. Requests join and "
      "leave "
      "a running batch; prompts are taken in chunks. The model's folder has its config.json and its weights; the "
      "artifact is "
      "its step, compiled for the cpu by 'evt compile'. Answers are written, a line of JSON each, as they are "
      "complete. "
      "Times from the start to the first step are shown on a terminal or with --log-level info.\n\n"
      "A request: {\"id\": \"a\", \"tokens\": [1, 17, 4], \"max_tokens\": 16, \"ignore_eos\": false}; the last two may "
      "be left out. "
      "Its answer: {\"id\": \"a\", \"tokens\": [9, 2], \"finish\": \"eos\"}.",
      {"evt compile models/tiny -o tiny.evt && evt generate models/tiny --artifact tiny.evt --in requests.jsonl",
       "echo '{\"id\": 1, \"tokens\": [5, 6, 7]}' | evt generate models/tiny --artifact tiny.evt"},
      [options] { generate(*options); });
  command->add_option("MODEL", options->folder, "the model's folder")->required();
  command->add_option("--artifact", options->artifact, "the model's step, compiled")->type_name("DIR")->required();
  command->add_option("--in", options->input, "the requests; - is the standard input")
      ->capture_default_str()
      ->type_name("FILE");
  command->add_option("--out", options->output, "where answers go; - is the standard output")
      ->capture_default_str()
      ->type_name("FILE");
  command->add_option("--pages", options->pages, "pages of the cache")
      ->check(CLI::Range(int64_t(1), int64_t(1) << 24))
      ->capture_default_str();
  command
      ->add_option("--batch-tokens", options->batchTokens,
                   "the most tokens of a step; 0 is as many as it was compiled for")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command->add_option("--schedule", options->schedule, "static, ticket or dynamic")
      ->check(CLI::IsMember({"static", "ticket", "dynamic"}));
  command->add_option("--workers", options->workers, "how many threads; 0 is one for each CPU")
      ->check(CLI::Range(int64_t(0), int64_t(4096)))
      ->capture_default_str();
}

} // namespace evt::tool
