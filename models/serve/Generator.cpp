#include "models/serve/Generator.h"

#include <algorithm>
#include <exception>
#include <stdexcept>

namespace evt::models {

Generator::Generator(StepRunner &runner, int64_t mostTokens, int64_t promptChunk)
    : runner(runner), mostTokens(mostTokens > 0 ? std::min(mostTokens, runner.mostTokens()) : runner.mostTokens()),
      promptChunk(promptChunk) {
  if (promptChunk > this->mostTokens)
    throw std::invalid_argument("chunks of " + std::to_string(promptChunk) +
                                " tokens of a prompt, a step has room for " + std::to_string(this->mostTokens));
  for (int64_t page = runner.pages(); page-- > 0;)
    freePages.push_back(static_cast<int32_t>(page));
}

Generator::~Generator() {
  try {
    for (const Flight &flight : flights)
      runner.wait(flight.step);
  } catch (const std::exception &) {
    // It will be said to whoever enqueues next.
  }
}

/// What the host knows of it; otherwise the step before has chosen it, in the request's row.
int32_t Generator::Running::token(int64_t position) const {
  if (position < promptLength())
    return request.prompt[static_cast<size_t>(position)];
  const auto at = static_cast<size_t>(position - promptLength());
  return at < answer.tokens.size() ? answer.tokens[at] : StepBatch::chosen(row);
}

int64_t Generator::Running::chunk(int64_t size, int64_t room) const {
  if (!size)
    return std::min(left(), room);
  const int64_t count = std::min(left(), size - done % size);
  return count <= room ? count : 0;
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
    auto next = std::make_shared<Running>();
    next->request = std::move(waiting.front());
    next->pages.assign(freePages.end() - static_cast<std::ptrdiff_t>(count), freePages.end());
    next->answer.id = next->request.id;
    freePages.resize(freePages.size() - count);
    waiting.pop_front();
    running.push_back(std::move(next));
  }
}

/// No further step has the request: its pages are free for others.
void Generator::leave(Running &request) {
  freePages.insert(freePages.end(), request.pages.begin(), request.pages.end());
  std::erase_if(running, [&](const std::shared_ptr<Running> &each) { return each.get() == &request; });
}

bool Generator::enqueue() {
  admit();
  // Decoding first: a chunk of a prompt must not hold it up.
  int64_t room = mostTokens;
  std::vector<int64_t> share(running.size());
  for (size_t r = 0; r < running.size(); ++r)
    if (running[r]->done >= running[r]->promptLength())
      share[r] = 1, --room;
  for (size_t r = 0; r < running.size(); ++r)
    if (!share[r]) {
      share[r] = running[r]->chunk(promptChunk, room);
      if (!share[r])
        break; // it is next, whoever has a smaller one
      room -= share[r];
    }
  StepBatch batch;
  Flight flight{};
  for (size_t r = 0; r < running.size(); ++r) {
    if (!share[r])
      continue;
    Running &request = *running[r];
    std::vector<int32_t> tokens;
    for (int64_t i = 0; i < share[r]; ++i)
      tokens.push_back(request.token(request.done + i));
    batch.add(tokens, static_cast<int32_t>(request.done), request.pages, request.request.sampling,
              request.promptLength());
    request.done += share[r];
    request.row = static_cast<int32_t>(flight.rows.size());
    const bool isAnswer = request.done >= request.promptLength(); // otherwise the rest of its prompt is still to come
    request.asked += isAnswer;
    if (isAnswer && request.asked == 1)
      batch.watched.push_back(static_cast<size_t>(request.row));
    flight.rows.emplace_back(running[r], isAnswer);
  }
  if (flight.rows.empty())
    return false;
  flight.step = runner.enqueue(batch);
  for (const auto &[request, isAnswer] : flight.rows)
    if (request->asked == request->request.mostTokens)
      leave(*request);
  flights.push_back(std::move(flight));
  ++steps_;
  tokens_ += static_cast<int64_t>(batch.tokens.size());
  return true;
}

std::vector<GenerateAnswer> Generator::harvest() {
  const Flight flight = std::move(flights.front());
  flights.pop_front();
  const std::span<const int32_t> chosen = runner.wait(flight.step);
  const std::vector<int64_t> &eos = runner.model().eos;
  std::vector<GenerateAnswer> answers;
  for (size_t i = 0; i < flight.rows.size(); ++i) {
    const auto &[request, isAnswer] = flight.rows[i];
    if (request->hasEnded) {
      ++dropped_;
      continue;
    }
    if (!isAnswer)
      continue;
    GenerateAnswer &answer = request->answer;
    answer.hasNoNumbers = answer.tokens.empty() && !runner.choseNumber(flight.step, i);
    if (!answer.hasNoNumbers) {
      answer.tokens.push_back(chosen[i]);
      if (request->request.sampling.logprobs)
        answer.logprobs.push_back(runner.logprobs(flight.step)[i]);
      ++generated_;
      answer.endedAtEos = request->request.endsAtEos && std::find(eos.begin(), eos.end(), chosen[i]) != eos.end();
    }
    const bool isFull = static_cast<int64_t>(answer.tokens.size()) == request->request.mostTokens;
    request->hasEnded = answer.endedAtEos || isFull || answer.hasNoNumbers;
    if (!request->hasEnded)
      continue;
    if (request->asked < request->request.mostTokens)
      leave(*request);
    answers.push_back(std::move(answer));
  }
  return answers;
}

std::vector<GenerateAnswer> Generator::step() {
  const bool isEnqueued = enqueue();
  if (flights.empty() || (isEnqueued && static_cast<int64_t>(flights.size()) < runner.ahead()))
    return {};
  return harvest();
}

} // namespace evt::models
