#include "tools/evt/Generate.h"

#include "models/config/ModelConfig.h"
#include "models/config/Problems.h"
#include "models/serve/Generator.h"
#include "models/weights/Checkpoint.h"
#include "runtime/Error.h"
#include "tools/evt/Failure.h"
#include "tools/evt/InputFile.h"
#include "tools/evt/Log.h"
#include "tools/evt/OutputFile.h"
#include "tools/evt/ProgressLine.h"
#include "tools/evt/Words.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>
#include <sstream>
#include <unistd.h>

namespace evt::tool {
namespace {

struct GenerateOptions {
  std::string folder, artifact, input = "-", output = "-", schedule, report;
  int64_t pages = 256, batchTokens = 0, promptChunk = 0, batchRequests = 0, workers = 0, ahead = 0, readThreads = 0;
};

[[noreturn]] void refuse(const std::string &message) { throw Failure(ExitCode::wrongInput, message); }

bool readSampling(models::Sampling &sampling, const std::string &key, const nlohmann::json &value,
                  const std::string &where) {
  try {
    return models::readSamplingField(sampling, key, value);
  } catch (const std::invalid_argument &error) {
    refuse(where + ": " + error.what());
  }
}

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
      constexpr int64_t most = INT32_MAX; // far above any context
      if (value.is_number_unsigned() ? value.get<uint64_t>() > most : value.get<int64_t>() > most)
        refuse(where + ": 'max_tokens' is " + value.dump() + ", required an integer of 1 to " + std::to_string(most));
      request.mostTokens = value;
    } else if (key == "ignore_eos" && value.is_boolean()) {
      request.endsAtEos = !value.get<bool>();
    } else if (!readSampling(request.sampling, key, value, where)) {
      refuse(where + ": '" + key + "' is " + value.dump() +
             "; a request has an id, tokens, and may have max_tokens, ignore_eos, " + models::samplingFields());
    }
  }
  if (request.id.empty())
    refuse(where + ": a request needs an 'id'");
  return request;
}

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

/// How long this process has been there, to a hundredth of a second; 0 where the system does not say.
double secondsOfProcess() {
  std::ifstream file("/proc/self/stat");
  std::string text{std::istreambuf_iterator<char>(file), {}};
  std::istringstream fields(text.substr(std::min(text.size(), text.rfind(')') + 1)));
  std::string field;
  for (int i = 3; i <= 22; ++i) // the 22nd is when it began, after the system did
    fields >> field;
  timespec now{};
  if (!fields || clock_gettime(CLOCK_BOOTTIME, &now) != 0)
    return 0;
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9 -
         std::stod(field) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

/// Bytes of the host's memory that this process has.
uint64_t residentBytes() {
  std::ifstream file("/proc/self/statm");
  uint64_t all = 0, resident = 0;
  file >> all >> resident;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

std::vector<models::GenerateRequest> readRequests(const std::string &input) {
  std::ifstream file;
  if (input != "-") {
    requireInput(input);
    file.open(input);
    if (!file)
      refuse("cannot read '" + input + "': " + std::strerror(errno));
  }
  std::istream &in = input == "-" ? std::cin : file;
  std::vector<models::GenerateRequest> requests;
  std::set<std::string> ids;
  std::string line;
  for (int64_t number = 1; std::getline(in, line); ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos)
      continue;
    requests.push_back(requestOf(line, input + ":" + std::to_string(number)));
    if (!ids.insert(requests.back().id).second)
      refuse(input + ":" + std::to_string(number) + ": there are two requests '" + requests.back().id + "'");
  }
  return requests;
}

/// What a run took, for people at level info and for programs as a file of JSON.
class Account {
public:
  void phase(const char *name, double seconds) {
    logStep(name, seconds);
    json_["phases"][name] = seconds;
  }

  void loaded(const models::StepRunner &runner) {
    const models::LoadReport &load = runner.loaded();
    phase("load artifact", runner.times().artifact);
    phase("read and pack", load.seconds);
    phase("make room", runner.times().room);
    json_["load"] = {{"bytes", load.bytes},
                     {"seconds", load.seconds},
                     {"room_seconds", load.roomSeconds},
                     {"read_seconds", load.readSeconds},
                     {"wait_seconds", load.waitSeconds},
                     {"pack_seconds", load.packSeconds}};
    const double gigabytes = static_cast<double>(load.bytes) * 1e-9;
    logInfo(fmt::format("weights: {:.2f} GB at {:.1f} GB/s{}", gigabytes, gigabytes / load.seconds,
                        load.packSeconds > 0
                            ? fmt::format("; threads made room for {:.3f} s, read for {:.3f}, waited for "
                                          "{:.3f}; the GPU packed for {:.3f}",
                                          load.roomSeconds, load.readSeconds, load.waitSeconds, load.packSeconds)
                            : ""));
  }

  void firstToken(const models::StepRunner &runner) {
    const double all = secondsOfProcess(), weights = runner.loaded().seconds;
    json_["first_token"] = all;
    logInfo(fmt::format("first token {:.2f} s after the process began: {:.2f} s for weights, {:.2f} s for all else",
                        all, weights, all - weights));
  }

  /// Memory after some steps, to be compared with that at the end: whatever grows with steps is a leak.
  void settled(const models::StepRunner &runner, int64_t step) {
    json_["settled"] = {{"step", step}, {"resident", residentBytes()}, {"device", runner.memoryUsed().device}};
  }

  void ended(const models::StepRunner &runner, const models::Generator &generator, double seconds) {
    const models::StepRunner::MemoryUse use = runner.memoryUsed();
    const auto steps = static_cast<double>(std::max<int64_t>(generator.steps(), 1));
    logStep(fmt::format("{} tokens in {} steps", generator.tokens(), generator.steps()), seconds);
    logInfo(fmt::format(
        "answers: {} tokens, {:.1f} a second; a step took {:.3f} ms{}", generator.generated(),
        static_cast<double>(generator.generated()) / seconds, seconds / steps * 1e3,
        runner.isOnGpu() ? fmt::format(", of which the GPU {:.3f}", runner.deviceSeconds() / steps * 1e3) : ""));
    if (runner.isOnGpu())
      logInfo(
          fmt::format("GPU memory: weights {:.1f} MB, cache {:.1f}, activations {:.1f}, other {:.1f}; in use on the "
                      "GPU, with the driver's own: {:.1f}",
                      static_cast<double>(use.weights) * 1e-6, static_cast<double>(use.cache) * 1e-6,
                      static_cast<double>(use.activations) * 1e-6, static_cast<double>(use.other) * 1e-6,
                      static_cast<double>(use.device) * 1e-6));
    json_["steps"] = generator.steps();
    json_["tokens"] = generator.tokens();
    json_["generated"] = generator.generated();
    json_["dropped"] = generator.dropped();
    json_["seconds"] = seconds;
    json_["device_seconds"] = runner.deviceSeconds();
    json_["table_copies"] = runner.tableCopies();
    json_["memory"] = {{"weights", use.weights}, {"cache", use.cache},   {"activations", use.activations},
                       {"other", use.other},     {"device", use.device}, {"resident", residentBytes()}};
  }

  void write(const std::string &path) const {
    OutputFile to(path);
    to.stream() << json_.dump(2) << "\n";
    to.finish();
  }

private:
  nlohmann::ordered_json json_;
};

void generate(const GenerateOptions &options) {
  Account account;
  account.phase("start", secondsOfProcess());
  Clock::time_point begin = Clock::now();
  std::vector<models::GenerateRequest> requests = readRequests(options.input);
  account.phase("read requests", secondsSince(begin));

  begin = Clock::now();
  const models::ModelConfig model = models::readModelConfig(options.folder + "/" + models::configFileName);
  for (const models::GenerateRequest &request : requests) {
    const int64_t positions = static_cast<int64_t>(request.prompt.size()) + request.mostTokens - 1;
    if (positions <= model.maxPositions)
      continue;
    logWarning(fmt::format("request '{}' may take {} positions, config.json has max_position_embeddings {}: the model "
                           "was not made for positions beyond those",
                           request.id, positions, model.maxPositions));
    break; // one is enough
  }
  const models::Checkpoint checkpoint = models::openCheckpoint(options.folder, model);
  account.phase("open weights", secondsSince(begin));

  models::StepRunner::Options running{.pages = options.pages,
                                      .schedule = options.schedule,
                                      .workers = static_cast<uint32_t>(options.workers),
                                      .mostTokens = options.batchTokens,
                                      .mostRequests = static_cast<int64_t>(std::max<size_t>(requests.size(), 1)),
                                      .ahead = options.ahead};
  if (options.batchRequests > 0)
    running.mostRequests = std::min(running.mostRequests, options.batchRequests);
  running.load.threads = static_cast<unsigned>(options.readThreads);
  running.load.progress = [line = std::make_shared<ProgressLine>()](uint64_t done, uint64_t total) {
    (*line)(done, total);
  };
  std::optional<models::StepRunner> runner;
  try {
    runner.emplace(options.artifact, model, checkpoint, running);
  } catch (const std::invalid_argument &error) {
    refuse(error.what());
  }
  account.loaded(*runner);

  const size_t asked = requests.size();
  std::optional<models::Generator> generator;
  try {
    generator.emplace(*runner, options.batchTokens, options.promptChunk);
    for (models::GenerateRequest &request : requests)
      generator->add(std::move(request));
  } catch (const std::invalid_argument &error) {
    refuse(error.what());
  }
  std::optional<OutputFile> to;
  if (options.output != "-") {
    std::error_code error; // of one that is not there: it is another file
    if (std::filesystem::is_regular_file(options.output, error) &&
        std::filesystem::equivalent(options.input, options.output, error))
      refuse("answers are to be written over the requests, '" + options.output + "': required another file");
    to.emplace(options.output, OutputFile::Unfinished::kept);
  }
  std::ostream &out = to ? to->stream() : std::cout;
  begin = Clock::now();
  constexpr int64_t settled = 500; // steps after which nothing should need more memory
  bool isFirst = true;
  std::vector<std::string> failed;
  while (!generator->isIdle()) {
    for (const models::GenerateAnswer &answer : generator->step()) {
      nlohmann::ordered_json json{{"id", answer.id}, {"tokens", answer.tokens}};
      if (!answer.logprobs.empty())
        json["logprobs"] = answer.logprobs;
      json["finish"] = answer.hasNoNumbers ? "error" : answer.endedAtEos ? "eos" : "length";
      if (answer.hasNoNumbers) {
        json["error"] = "the logits are not numbers";
        failed.push_back(answer.id);
      }
      if (!(out << json.dump() << "\n" << std::flush))
        refuse(fmt::format("cannot write {}: {}", to ? "'" + options.output + "'" : "to the standard output",
                           std::strerror(errno)));
    }
    if (isFirst && generator->generated() > 0) {
      account.phase("first step", secondsSince(begin));
      account.firstToken(*runner);
      isFirst = false;
    }
    if (generator->steps() == settled)
      account.settled(*runner, settled);
  }
  if (to)
    to->finish();
  account.ended(*runner, *generator, secondsSince(begin));
  if (!options.report.empty())
    account.write(options.report);
  if (!failed.empty())
    throw Failure(ExitCode::checkFailed,
                  fmt::format("the logits of {} of {} are not numbers, of '{}' first: '{}' has weights that are none, "
                              "or that give none",
                              failed.size(), counted(asked, "request"), failed.front(), options.folder));
}

} // namespace

void addGenerate(Commands &commands) {
  auto options = std::make_shared<GenerateOptions>();
  CLI::App *command = commands.add(
      "generate", "continue token sequences with a model",
      "Reads requests, a line of JSON each, and continues their tokens. Requests join and "
      "leave a running batch; prompts are taken in chunks. The model's folder has its config.json and its weights; the "
      "artifact is its step, compiled by 'evt compile', and runs where it was compiled for: on the CPU, or on a GPU "
      "with --target cuda. Nothing is compiled or captured here. Answers are written, a line of JSON each, as they are "
      "complete. Times, from the start of the process to the last token, are shown on a terminal or with --log-level "
      "info.\n\n"
      "A request: {\"id\": \"a\", \"tokens\": [1, 17, 4], \"max_tokens\": 16, \"ignore_eos\": false}; the last two may "
      "be left out. "
      "Its answer: {\"id\": \"a\", \"tokens\": [9, 2], \"finish\": \"eos\"}, or \"length\"; where the "
      "model's logits are not numbers it has no tokens, \"error\" as its finish, and the exit code is 1.\n\n"
      "The most likely token is taken, unless a request has a temperature above 0; then one is drawn. It may also "
      "have: "
      "top_k (0: all), top_p (1: all) and min_p (0: all), which draw from the most likely tokens alone, in this order; "
      "seed (0), of which, with the token's position, the draw is a function, whatever else runs; repetition_penalty "
      "(1), "
      "of tokens of the prompt and the answer, presence_penalty (0) and frequency_penalty (0), of tokens of the "
      "answer; "
      "\"logprobs\": true, which adds the list of the tokens' log-probabilities, before penalties and temperature, to "
      "the answer.",
      {"evt compile models/tiny -o tiny.evt && evt generate models/tiny --artifact tiny.evt --in requests.jsonl",
       "evt compile models/tiny -o gpu.evt --target cuda && evt generate models/tiny --artifact gpu.evt --in r.jsonl",
       "echo '{\"id\": 1, \"tokens\": [5, 6, 7]}' | evt generate models/tiny --artifact tiny.evt",
       "echo '{\"id\": 1, \"tokens\": [5], \"temperature\": 0.7, \"top_p\": 0.9, \"seed\": 4}' | evt generate "
       "models/tiny --artifact tiny.evt"},
      [options] {
        try {
          generate(*options);
        } catch (const Error &error) { // of the public interface, which models/serve uses
          throw runtime::Error(error.code(), error.what());
        }
      });
  command->add_option("MODEL", options->folder, "the model's folder")->required();
  command->add_option("--artifact", options->artifact, "the model's step, compiled")->type_name("DIR")->required();
  command->add_option("--in", options->input, "the requests; - is the standard input")
      ->capture_default_str()
      ->type_name("FILE");
  command->add_option("--out", options->output, "where answers go; - is the standard output")
      ->capture_default_str()
      ->type_name("FILE");
  command->add_option("--pages", options->pages, "pages of the cache")
      ->transform(integerOf<int64_t>(1, 1 << 24))
      ->capture_default_str();
  command
      ->add_option("--batch-tokens", options->batchTokens,
                   "the most tokens of a step; 0 is as many as it was compiled for")
      ->transform(integerOf<int64_t>(0, 1 << 24))
      ->capture_default_str();
  command
      ->add_option("--prompt-chunk", options->promptChunk,
                   "cut prompts at multiples of so many tokens, whoever else is in the batch; a chunk waits until a "
                   "step has room for it beside new tokens; 0 is as many as there is room for")
      ->transform(integerOf<int64_t>(0, 1 << 24))
      ->capture_default_str();
  command
      ->add_option("--batch-requests", options->batchRequests,
                   "the most requests of a step; 0 is as many as it was compiled for")
      ->transform(integerOf<int64_t>(0, 1 << 24))
      ->capture_default_str();
  command
      ->add_option("--ahead", options->ahead,
                   "steps in flight before the tokens of the oldest are looked at; 0 is 4 on a GPU, 1 on the CPU")
      ->transform(integerOf<int64_t>(0, 64))
      ->capture_default_str();
  command
      ->add_option("--read-threads", options->readThreads,
                   "threads that read weights; 0 is one for each CPU, for a GPU at most 8")
      ->transform(integerOf<int64_t>(0, 256))
      ->capture_default_str();
  command->add_option("--report", options->report, "write times and memory as JSON")->type_name("FILE");
  command
      ->add_option(
          "--schedule", options->schedule,
          "static, ticket or dynamic; without it static, and on a GPU ticket for steps of more than 256 tokens")
      ->check(CLI::IsMember({"static", "ticket", "dynamic"}));
  command
      ->add_option("--workers", options->workers, "how many threads, or blocks of a GPU; 0 is one for each CPU or SM")
      ->transform(integerOf<int64_t>(0, 4096))
      ->capture_default_str();
}

} // namespace evt::tool
