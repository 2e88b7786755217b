// Runs a model's step program: holds its weights, its cache and the arguments of a launch, on the device of the
// program.
//
// The program is an artifact that `evt compile MODEL` made; models/graph/StepGraph.h says what its arguments mean.
// Steps are put into a stream one behind the other, and their results read later, so that a GPU does not wait for the
// host:
//
//   uploads    tables of step 1 | tables of step 2 | …
//   launches                    | step 1           | step 2 | …
//   readings                                       | tokens of step 1 | …
//
// Tokens that a step has chosen can be the next step's without the host having seen them. On the CPU a step has
// happened when it was enqueued. One runner is one thread's.
#ifndef EVT_MODELS_SERVE_STEPRUNNER_H
#define EVT_MODELS_SERVE_STEPRUNNER_H

#include "models/config/ModelConfig.h"
#include "models/config/Splits.h"
#include "models/serve/Sampling.h"
#include "models/serve/StepTables.h"
#include "models/serve/WeightLoader.h"
#include "models/weights/Checkpoint.h"

#include <evt/memory.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace evt::models {

/// Tokens of a step. Those of a request are neighbours, in the order of their positions.
struct StepBatch {
  std::vector<int32_t> tokens, positions;
  std::vector<int32_t> requests; // each token's row of `pages`
  std::vector<int32_t> last;     // each request's last token, a row of `tokens`
  std::vector<std::vector<int32_t>> pages;
  SamplingTables sampling;     // how each request chooses its next token
  std::vector<size_t> watched; // requests of which choseNumber() can be asked

  /// One more request: its pages, and the tokens from `position` on. `prompt` of its tokens are not its own answer.
  void add(std::span<const int32_t> newTokens, int32_t position, std::vector<int32_t> itsPages,
           const Sampling &how = {}, int64_t prompt = 0);

  /// Stands for the token that request `row` of the step before gets, which nobody but the device may know yet.
  static constexpr int32_t chosen(int32_t row) { return -1 - row; }
};

class StepRunner {
public:
  struct Options {
    int64_t pages = 64;   // of the cache
    std::string schedule; // empty: scheduleFor
    uint32_t workers = 0;
    int64_t mostTokens = 0, mostRequests = 0; // of a step; 0, and at most, those of the program
    int64_t ahead = 0; // steps that are in flight before one is waited for; 0: 1 on the CPU, 4 on a GPU
    LoadOptions load{};
  };
  /// Seconds that making the runner took; those of the weights are in loaded().
  struct Times {
    double artifact = 0, room = 0;
  };
  struct MemoryUse {
    uint64_t weights = 0, cache = 0;
    uint64_t activations = 0; // the program's buffers, and logits
    uint64_t other = 0;       // counters of events, tables
    uint64_t device = 0;      // of the whole GPU, all that is not free: the driver's own, and other processes'
  };

  /// Reads the weights. Throws evt::Error if the artifact cannot be loaded, and std::invalid_argument if it is not a
  /// step of this model.
  StepRunner(const std::string &artifact, const ModelConfig &model, const Checkpoint &checkpoint,
             const Options &options);
  ~StepRunner();
  StepRunner(const StepRunner &) = delete;
  StepRunner &operator=(const StepRunner &) = delete;

  /// Puts a step behind those in flight; its number, counted from 0. Waits while `ahead` are in flight. Throws
  /// std::invalid_argument for a batch that is not one: tokens outside the vocabulary, positions without a page, pages
  /// that are not there.
  int64_t enqueue(const StepBatch &batch);
  /// Waits for a step, one of the last `ahead`; the token that each request has chosen. Throws evt::Error if it went
  /// wrong.
  std::span<const int32_t> wait(int64_t step);
  /// Of a step that was waited for, one of the last `ahead`: the log-probability of each of these tokens, 0 where that
  /// was not asked for.
  std::span<const float> logprobs(int64_t step) const;

  /// Of such a step: whether a watched request has chosen among numbers. Where no logit is one, all count as lowest and
  /// token 0 is taken.
  bool choseNumber(int64_t step, size_t request) const;

  /// Runs a step and waits for it.
  void step(const StepBatch &batch);
  /// Of the last step, which must have been waited for: a row for each request; the token that each has chosen, and its
  /// log-probability.
  std::span<const float> logits(size_t request);
  std::span<const int32_t> next() const { return next_; }
  std::span<const float> logprobs() const { return logprobs(steps_ - 1); }

  int64_t pages() const { return options_.pages; }
  /// Positions of a page, and the most tokens and requests of a step: what the program was compiled for, or less.
  int64_t pageSlots() const { return pageSlots_; }
  int64_t mostTokens() const { return mostTokens_; }
  int64_t mostRequests() const { return mostRequests_; }
  /// The most positions that a request can have.
  int64_t mostPositions() const { return std::min(mostColumns_, options_.pages) * pageSlots_; }
  int64_t ahead() const { return options_.ahead; }
  bool isOnGpu() const { return device_.device_type != kDLCPU; }
  /// The schedule of a step of so many tokens.
  std::string scheduleFor(int64_t tokens) const;
  /// The same where none was asked for; empty: the first that the program has. On a GPU, tasks of prompts take
  /// different times, which tickets balance; for anything shorter, static is faster since nobody asks for a number.
  static std::string usualSchedule(bool isOnGpu, bool hasTickets, int64_t tokens) {
    return isOnGpu && hasTickets && tokens > mostInSmallTiles ? "ticket" : "";
  }

  const ModelConfig &model() const { return model_; }
  const LoadReport &loaded() const { return loaded_; }
  const Times &times() const { return times_; }
  MemoryUse memoryUsed() const;
  /// The device's own time of all steps that were waited for, and how often a table was copied to it.
  double deviceSeconds() const { return deviceSeconds_; }
  int64_t tableCopies() const { return tables_.copies(); }

  /// Up to so many, the tiles of a step's products have 128 tokens or fewer (promptTokens in models/graph/Ways.h).
  static constexpr int64_t mostInSmallTiles = 256;

private:
  /// What a step in flight has of its own; there are more of them than steps in flight.
  struct Flight {
    Event uploaded, started, done, read;
    size_t rows = 0;
  };
  struct Lists; // of a batch, derived

  void readLimits(const std::string &artifact);
  void checkArguments(const std::string &artifact) const;
  void addCache();
  void reserve();
  void check(const StepBatch &batch) const;
  Lists listsOf(const StepBatch &batch) const;
  static std::vector<StepTable> tablesOf(const StepBatch &batch, const Lists &lists);
  void gather(const DLTensor &tokens, const StepBatch &batch);
  /// In the program's order; `given` are those that are a step's own.
  std::vector<evt_value> valuesOf(const std::map<std::string, const DLTensor *> &given, const Split &split) const;
  /// How the attention of so many tokens is divided among tasks.
  Split splitFor(int64_t positions, int64_t tokens) const;
  size_t flightOf(int64_t step) const { return static_cast<size_t>(step) % flights_.size(); }
  int32_t *chosenOnDevice(int64_t step) const;
  int32_t *chosenOnHost(int64_t step) const;
  /// Elements of a third of a row of chosenMemory_, which has a step's tokens, then their log-probabilities, then the
  /// first logits of requests that are watched.
  size_t third() const;

  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  Times times_;
  ModelConfig model_;
  Options options_;
  Program program_;
  DLDevice device_;
  int64_t pageSlots_ = 0, mostTokens_ = 0, mostRequests_ = 0, mostColumns_ = 0;
  LoadReport loaded_;
  uint64_t cacheBytes_ = 0;
  std::map<std::string, StepArray> arrays_;  // weights and cache
  std::map<std::string, DLTensor> tensors_;  // the same, as arguments
  DeviceMemory logitsMemory_, chosenMemory_; // the latter, and the next two, a row for each flight
  HostMemory chosenCopies_, nothingChosen_;
  std::vector<Flight> flights_;
  std::vector<float> logits_;
  std::vector<int32_t> next_;
  int64_t steps_ = 0, waited_ = 0; // enqueued; and all before this one were waited for
  double deviceSeconds_ = 0;
  // Last, so that they end first: what is in them uses the rest.
  Stream launches_, uploads_, readings_;
  StepTables tables_;
};

} // namespace evt::models

#endif
