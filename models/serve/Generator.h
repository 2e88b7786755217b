// Requests that join and leave: which tokens go into which step, and which pages they have.
//
// A step takes the newest token of every request that decodes, then as much of the waiting prompts as there is room
// for, in chunks, in the order in which requests came. Where chunks have a size of their own, what is computed for a
// request does not depend on who else is there. A request joins when all pages that it can ever need are free,
// so that none has to stop for another one; it leaves with its last token, and its pages are the next one's.
//
// Steps are planned before the tokens of those in flight are known: a step's tokens go into the next one on the device
// (StepRunner.h). That an answer has as many tokens as it may have is known beforehand; that it ended with a token that
// ends texts is seen some steps later, and what was computed for it since is dropped. Its pages can be another
// request's at once: steps happen in order, so that what is left of the old one is written before the new one begins.
#ifndef EVT_MODELS_SERVE_GENERATOR_H
#define EVT_MODELS_SERVE_GENERATOR_H

#include "models/serve/StepRunner.h"

#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace evt::models {

struct GenerateRequest {
  std::string id;
  std::vector<int32_t> prompt; // at least one token
  int64_t mostTokens = 16;     // of the answer
  bool endsAtEos = true;       // one of the model's tokens that end a text ends it, and is the last of the answer
  Sampling sampling = {};      // how tokens are chosen
};

struct GenerateAnswer {
  std::string id;
  std::vector<int32_t> tokens;
  std::vector<float> logprobs; // of the tokens, if they were asked for
  bool endedAtEos = false;
  bool hasNoNumbers = false; // none of its first token's logits is a number: there are no tokens
};

class Generator {
public:
  /// `mostTokens` of a step, at most the runner's; 0 means those. Prompts are cut at multiples of `promptChunk`, and a
  /// chunk waits for a step with room for all of it; 0 means as many tokens as there is room for. Throws
  /// std::invalid_argument if no step has room for a chunk.
  Generator(StepRunner &runner, int64_t mostTokens = 0, int64_t promptChunk = 0);
  /// Waits for what is in flight.
  ~Generator();
  Generator(const Generator &) = delete;
  Generator &operator=(const Generator &) = delete;

  /// Throws std::invalid_argument if it can never run: an empty prompt, a token outside the vocabulary, more positions
  /// than the cache or the program has.
  void add(GenerateRequest request);
  bool isIdle() const { return waiting.empty() && running.empty() && flights.empty(); }
  /// Enqueues a step, if there is something to do, and waits for the oldest one if enough are in flight or nothing was
  /// enqueued; the answers that are complete with that one, in the order in which their requests came.
  std::vector<GenerateAnswer> step();

  int64_t steps() const { return steps_; }         // enqueued
  int64_t tokens() const { return tokens_; }       // that went through them
  int64_t generated() const { return generated_; } // tokens of answers
  int64_t dropped() const { return dropped_; }     // computed after an answer's end

private:
  struct Running {
    GenerateRequest request;
    std::vector<int32_t> pages;
    int64_t done = 0;  // positions in the cache, or on their way there
    int64_t asked = 0; // tokens of the answer that there are, or that are on their way
    int32_t row = 0;   // in the last step
    bool hasEnded = false;
    GenerateAnswer answer;

    int64_t promptLength() const { return static_cast<int64_t>(request.prompt.size()); }
    int64_t left() const { return done < promptLength() ? promptLength() - done : 1; } // positions that could go on
    int64_t chunk(int64_t size, int64_t room) const; // of its prompt, that goes on now
    int32_t token(int64_t position) const;
  };
  /// Who takes part in a step: a request for each row, and whether its token is one of the answer.
  struct Flight {
    int64_t step;
    std::vector<std::pair<std::shared_ptr<Running>, bool>> rows;
  };

  int64_t pagesOf(const GenerateRequest &request) const;
  void admit();
  bool enqueue();
  std::vector<GenerateAnswer> harvest();
  void leave(Running &request);

  StepRunner &runner;
  const int64_t mostTokens, promptChunk;
  std::deque<GenerateRequest> waiting;
  std::vector<std::shared_ptr<Running>> running; // that go into further steps
  std::deque<Flight> flights;
  std::vector<int32_t> freePages;
  int64_t steps_ = 0, tokens_ = 0, generated_ = 0, dropped_ = 0;
};

} // namespace evt::models

#endif
