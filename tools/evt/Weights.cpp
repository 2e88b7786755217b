#include "tools/evt/Weights.h"

#include "models/config/ModelConfig.h"
#include "models/config/Problems.h"
#include "models/weights/Checkpoint.h"
#include "models/weights/CheckpointWriter.h"
#include "models/weights/RandomWeights.h"
#include "tools/evt/Failure.h"
#include "tools/evt/Log.h"
#include "tools/evt/ProgressLine.h"
#include "tools/evt/Words.h"

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <optional>
#include <set>
#include <unistd.h>

namespace evt::tool {
namespace {

struct WeightsOptions {
  std::string folder, type = "bf16", shardSize = "5GB";
  std::optional<std::string> seed;
  int64_t threads = 0;
  bool force = false;
};

uint64_t seedOf(const std::string &text) {
  uint64_t seed = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (error != std::errc() || end != text.data() + text.size())
    throw Failure(ExitCode::wrongInput, "--random is '" + text + "', required a seed of 0 to 18446744073709551615");
  return seed;
}

// Bytes of "5GB", "512MiB", "1000".
uint64_t shardBytes(const std::string &text) {
  static const std::pair<const char *, uint64_t> units[] = {{"", 1},
                                                            {"kB", 1000},
                                                            {"KB", 1000},
                                                            {"MB", 1000'000},
                                                            {"GB", 1000000000},
                                                            {"KiB", 1ull << 10},
                                                            {"MiB", 1ull << 20},
                                                            {"GiB", 1ull << 30}};
  uint64_t number = 0, bytes = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  for (const auto &[unit, size] : units)
    if (error == std::errc() && number && std::string_view(end) == unit &&
        !__builtin_mul_overflow(number, size, &bytes))
      return bytes;
  throw Failure(ExitCode::wrongInput,
                "--shard-size is '" + text + "', required a number of bytes, as in 5GB, 500MB or 2GiB");
}

std::string describe(const models::ModelConfig &model) {
  return fmt::format(
      "{}: {}, hidden size {}, {} of {} ({} of keys and values), feed-forward size {}, vocabulary {}, {}",
      models::architectureName(model.family), counted(model.layers, "layer"), model.hidden,
      counted(model.heads, "head"), model.headDim, model.kvHeads, model.feedForward, model.vocabulary,
      model.tied ? "head tied to the embedding" : "a head of its own");
}

std::string describe(const models::Checkpoint &checkpoint) {
  uint64_t parameters = 0, bytes = 0;
  std::set<std::string> types;
  for (const auto &[name, tensor] : checkpoint.tensors()) {
    parameters += tensor.elements();
    bytes += tensor.bytes();
    types.insert(std::string(models::name(tensor.type)));
  }
  return fmt::format("{}, {}, {} of {} in {}", counted(checkpoint.tensors().size(), "tensor"),
                     counted(parameters, "parameter"), counted(bytes, "byte"),
                     joined({types.begin(), types.end()}, " and "), counted(checkpoint.fileNames().size(), "file"));
}

// Checks a checkpoint; everything that is wrong with it is in one message.
models::Checkpoint checked(const std::string &folder, const models::ModelConfig &model) {
  std::vector<std::string> problems;
  try {
    models::Checkpoint checkpoint = models::Checkpoint::open(folder);
    problems = models::misfits(checkpoint, model);
    if (problems.empty())
      return checkpoint;
  } catch (const models::Problems &found) {
    problems = found.list();
  }
  throw Failure(ExitCode::checkFailed, fmt::format("'{}' holds no checkpoint of its config.json, {}:\n  {}", folder,
                                                   counted(problems.size(), "problem"), joined(problems, "\n  ")));
}

void writeRandom(const WeightsOptions &options, const models::ModelConfig &model) {
  uint64_t seed = seedOf(*options.seed);
  requireOneOf("--dtype", options.type, {"bf16", "f16", "f32"});
  models::WriteOptions write;
  write.shardBytes = shardBytes(options.shardSize);
  write.threads = static_cast<unsigned>(options.threads);
  write.replace = options.force;
  write.progress = [line = std::make_shared<ProgressLine>()](uint64_t done, uint64_t total) { (*line)(done, total); };
  std::vector<std::string> old = models::checkpointFiles(options.folder);
  if (!old.empty() && !options.force)
    throw Failure(ExitCode::wrongInput,
                  fmt::format("'{}' has a checkpoint already ({}); --force replaces it", options.folder, old[0]));
  models::writeRandomCheckpoint(options.folder, model, *models::elementTypeNamed(options.type), seed, write);
}

void weights(const WeightsOptions &options) {
  models::ModelConfig model =
      models::readModelConfig((std::filesystem::path(options.folder) / models::configFileName).string());
  if (options.seed)
    writeRandom(options, model);
  else if (models::checkpointFiles(options.folder).empty())
    throw Failure(ExitCode::wrongInput,
                  fmt::format("'{}' has no checkpoint, required {} or {}; --random SEED writes one", options.folder,
                              models::singleFileName, models::indexFileName));
  models::Checkpoint checkpoint = checked(options.folder, model);
  std::cout << describe(model) << "\n" << describe(checkpoint) << "\n";
}

} // namespace

void addWeights(Commands &commands) {
  auto options = std::make_shared<WeightsOptions>();
  CLI::App *command = commands.add(
      "weights", "check a model's checkpoint, or write a random one",
      "DIR is a model as Hugging Face publishes it: a config.json, and the weights as model.safetensors or as files "
      "that "
      "model.safetensors.index.json names. Every tensor is compared with what the configuration asks for, by name and "
      "shape; all that is missing, misshaped, not the model's or damaged is listed, and the exit code is then 1. "
      "With --random the weights are written instead: matrices of N(0, s), where s is the configuration's "
      "initializer_range (0.02 if it has none), and norms of 1 + N(0, 0.1), so that a norm that is left out or "
      "exchanged shows. The values depend on the seed, the tensor's name and the element's index alone, not on files, "
      "threads or the machine. Known models: Llama 3 (LlamaForCausalLM) and dense Qwen3 (Qwen3ForCausalLM).",
      {"evt weights models/Llama-3.2-1B", "evt weights build/tiny --random 1",
       "evt weights build/8b --random 1 --shard-size 2GB --force"},
      [options] { weights(*options); });
  command->add_option("DIR", options->folder, "the folder of the model, with its config.json")->required();
  CLI::Option *random =
      command->add_option("--random", options->seed, "write random weights of this seed")->type_name("SEED");
  command->add_option("--dtype", options->type, "the type to write: bf16, f16 or f32")
      ->type_name("TYPE")
      ->capture_default_str()
      ->needs(random);
  command->add_option("--shard-size", options->shardSize, "write files of at most this size, with an index if several")
      ->type_name("SIZE")
      ->capture_default_str()
      ->needs(random);
  command->add_option("--threads", options->threads, "threads that compute and write; 0: one for each core")
      ->transform(integerOf<int64_t>(0, 4096))
      ->type_name("N")
      ->capture_default_str()
      ->needs(random);
  command->add_flag("--force", options->force, "replace a checkpoint that is there")->needs(random);
}

} // namespace evt::tool
