// Runs a model's step program: holds its weights, its cache and the arguments of a launch.
//
// The program is an artifact that `evt compile MODEL` made for the cpu; models/graph/StepGraph.h says what its
// arguments mean. One runner is one thread's.
#ifndef EVT_MODELS_SERVE_STEPRUNNER_H
#define EVT_MODELS_SERVE_STEPRUNNER_H

#include "models/config/ModelConfig.h"
#include "models/weights/Checkpoint.h"

#include <evt/evt.hpp>

#include <algorithm>
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

  /// One more request: its pages, and the tokens from `position` on.
  void add(std::span<const int32_t> newTokens, int32_t position, std::vector<int32_t> itsPages);
};

class StepRunner {
public:
  struct Options {
    int64_t pages = 64;   // of the cache
    std::string schedule; // empty: the first that the program has
    uint32_t workers = 0;
  };

  /// Reads the weights. Throws evt::Error if the artifact cannot be loaded, and std::invalid_argument if it is not a
  /// step of this model.
  StepRunner(const std::string &artifact, const ModelConfig &model, const Checkpoint &checkpoint,
             const Options &options);

  /// Runs a step. Throws std::invalid_argument for a batch that is not one: tokens outside the vocabulary, positions
  /// without a page, pages that are not there.
  void step(const StepBatch &batch);

  int64_t pages() const { return options_.pages; }
  /// Positions of a page, and the most tokens and requests of a step: what the program was compiled for.
  int64_t pageSlots() const { return pageSlots_; }
  int64_t mostTokens() const { return mostTokens_; }
  int64_t mostRequests() const { return mostRequests_; }
  /// The most positions that a request can have.
  int64_t mostPositions() const { return std::min(mostColumns_, options_.pages) * pageSlots_; }

  /// Of the last step: a row for each request, and the most likely token of each.
  std::span<const float> logits(size_t request) const;
  std::span<const int32_t> next() const { return next_; }

  const ModelConfig &model() const { return model_; }

private:
  struct Array {
    std::vector<std::byte> bytes;
    std::vector<int64_t> shape;
    DLDataType type;
  };

  void addWeights(const Checkpoint &checkpoint);
  void addCache();
  void check(const StepBatch &batch) const;

  ModelConfig model_;
  Options options_;
  Program program_;
  int64_t pageSlots_ = 0, mostTokens_ = 0, mostRequests_ = 0, mostColumns_ = 0;
  std::map<std::string, Array> arrays_;
  std::vector<float> logits_;
  std::vector<int32_t> next_;
};

} // namespace evt::models

#endif
