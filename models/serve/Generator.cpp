#include "models/serve/Generator.h"

#include <algorithm>
#include <stdexcept>

namespace evt::models {

Generator::Generator(StepRunner &runner, int64_t mostTokens)
    : runner(runner), mostTokens(mostTokens > 0 ? std::min(mostTokens, runner.mostTokens()) : runner.mostTokens()) {
  for (int64_t page = runner.pages(); page-- > 0;)
    freePages.push_back(static_cast<int32_t>(page));
}

int32_t Generator::Running::token(int64_t position) const {
  const auto at = static_cast<size_t>(position);
  return at < request.prompt.size() ? request.prompt[at] : answer.tokens[at - request.prompt.size()];
}

/// The last token of an answer is never looked at again, so it needs no position.
int64_t Generator::pagesOf(const GenerateRequest &request) const {
  const int64_t positions = static_cast<int64_t>(request.prompt.size()) + request.mostTokens - 1;
  return (positions + runner.pageSlots() - 1) / runner.pageSlots();
}

void Generator::add(GenerateRequest request) {
  auto refuse = [&](const std::string &what) { throw std::invalid_argument("request '" + request.id + "' " + what); };
  if (request.prompt.empty())
    refuse("has no tokens, required at least one");
  if (request.mostTokens < 1)
    refuse("asks for " + std::to_string(request.mostTokens) + " tokens, required at least one");
  for (int32_t token : request.prompt)
    if (token < 0 || token >= runner.model().vocabulary)
      refuse("has token " + std::to_string(token) + ", the vocabulary has " +
             std::to_string(runner.model().vocabulary));
  const int64_t positions = static_cast<int64_t>(request.prompt.size()) + request.mostTokens - 1;
  if (positions > runner.mostPositions())
    refuse("needs " + std::to_string(positions) + " positions, there are " + std::to_string(runner.mostPositions()));
  waiting.push_back(std::move(request));
}

void Generator::admit() {
  while (!waiting.empty() && static_cast<int64_t>(running.size()) < std::min(runner.mostRequests(), mostTokens)) {
    const auto count = static_cast<size_t>(pagesOf(waiting.front()));
    if (freePages.size() < count)
      return;
    Running next;
    next.request = std::move(waiting.front());
    next.pages.assign(freePages.end() - static_cast<std::ptrdiff_t>(count), freePages.end());
    next.answer.id = next.request.id;
    freePages.resize(freePages.size() - count);
    waiting.pop_front();
    running.push_back(std::move(next));
  }
}

std::vector<GenerateAnswer> Generator::step() {
  admit();
  StepBatch batch;
  std::vector<size_t> in;
  // Decoding first: a chunk of a prompt must not hold it up.
  int64_t room = mostTokens;
  std::vector<int64_t> share(running.size());
  for (size_t r = 0; r < running.size(); ++r)
    if (running[r].known() - running[r].done == 1)
      share[r] = 1, --room;
  for (size_t r = 0; r < running.size(); ++r)
    if (!share[r]) {
      share[r] = std::min(running[r].known() - running[r].done, room);
      room -= share[r];
    }
  for (size_t r = 0; r < running.size(); ++r) {
    if (!share[r])
      continue;
    std::vector<int32_t> tokens;
    for (int64_t i = 0; i < share[r]; ++i)
      tokens.push_back(running[r].token(running[r].done + i));
    batch.add(tokens, static_cast<int32_t>(running[r].done), running[r].pages);
    in.push_back(r);
  }
  if (in.empty())
    return {};
  runner.step(batch);
  ++steps_;
  tokens_ += static_cast<int64_t>(batch.tokens.size());

  const std::vector<int64_t> &eos = runner.model().eos;
  std::vector<bool> isDone(running.size());
  for (size_t i = 0; i < in.size(); ++i) {
    Running &r = running[in[i]];
    r.done += share[in[i]];
    if (r.done < r.known())
      continue; // the rest of its prompt is still to come
    const int32_t token = runner.next()[i];
    r.answer.tokens.push_back(token);
    r.answer.endedAtEos = r.request.endsAtEos && std::find(eos.begin(), eos.end(), token) != eos.end();
    isDone[in[i]] = r.answer.endedAtEos || static_cast<int64_t>(r.answer.tokens.size()) == r.request.mostTokens;
  }
  std::vector<GenerateAnswer> answers;
  std::vector<Running> left;
  for (size_t r = 0; r < running.size(); ++r) {
    if (!isDone[r]) {
      left.push_back(std::move(running[r]));
      continue;
    }
    freePages.insert(freePages.end(), running[r].pages.begin(), running[r].pages.end());
    answers.push_back(std::move(running[r].answer));
  }
  running = std::move(left);
  return answers;
}

} // namespace evt::models
