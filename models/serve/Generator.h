// Requests that join and leave: which tokens go into which step, and which pages they have.
//
// A step takes the newest token of every request that decodes, then as much of the waiting prompts as there is room
// for, in chunks, in the order in which requests came. A request joins when all pages that it can ever need are free,
// so that none has to stop for another one; it leaves with its last token, and its pages are the next one's.
#ifndef EVT_MODELS_SERVE_GENERATOR_H
#define EVT_MODELS_SERVE_GENERATOR_H

#include "models/serve/StepRunner.h"

#include <deque>
#include <string>
#include <vector>

namespace evt::models {

struct GenerateRequest {
  std::string id;
  std::vector<int32_t> prompt; // at least one token
  int64_t mostTokens = 16;     // of the answer
  bool endsAtEos = true;       // one of the model's tokens that end a text ends it, and is the last of the answer
};

struct GenerateAnswer {
  std::string id;
  std::vector<int32_t> tokens;
  bool endedAtEos = false;
};

class Generator {
public:
  /// `mostTokens` of a step, at most the program's; 0 means those.
  Generator(StepRunner &runner, int64_t mostTokens = 0);

  /// Throws std::invalid_argument if it can never run: an empty prompt, a token outside the vocabulary, more positions
  /// than the cache or the program has.
  void add(GenerateRequest request);
  bool isIdle() const { return waiting.empty() && running.empty(); }
  /// Runs one step; the answers that are complete with it, in the order in which their requests came.
  std::vector<GenerateAnswer> step();

  int64_t steps() const { return steps_; }
  int64_t tokens() const { return tokens_; } // that went through steps

private:
  struct Running {
    GenerateRequest request;
    std::vector<int32_t> pages;
    int64_t done = 0; // positions in the cache
    GenerateAnswer answer;

    int64_t known() const { return static_cast<int64_t>(request.prompt.size() + answer.tokens.size()); }
    int32_t token(int64_t position) const;
  };

  int64_t pagesOf(const GenerateRequest &request) const;
  void admit();

  StepRunner &runner;
  const int64_t mostTokens;
  std::deque<GenerateRequest> waiting;
  std::vector<Running> running;
  std::vector<int32_t> freePages;
  int64_t steps_ = 0, tokens_ = 0;
};

} // namespace evt::models

#endif
