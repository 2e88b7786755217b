#include "models/serve/StepRunner.h"

#include "models/config/Json.h"
#include "models/config/Splits.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <thread>

namespace evt::models {
namespace {

constexpr int64_t usuallyAhead = 4;  // on a GPU: more than the host needs, which enqueues a step in a tenth of its time
constexpr int64_t usualBlocks = 132; // of a launch, an H200's; what attention is divided by, and no result depends on
constexpr size_t rowAlignment = 256 / sizeof(int32_t);

size_t aligned(int64_t rows) { return (static_cast<size_t>(rows) + rowAlignment - 1) / rowAlignment * rowAlignment; }

} // namespace

void StepBatch::add(std::span<const int32_t> newTokens, int32_t position, std::vector<int32_t> itsPages,
                    const Sampling &how, int64_t prompt) {
  const auto row = static_cast<int32_t>(pages.size());
  for (int32_t token : newTokens) {
    tokens.push_back(token);
    positions.push_back(position++);
    requests.push_back(row);
  }
  last.push_back(static_cast<int32_t>(tokens.size()) - 1);
  pages.push_back(std::move(itsPages));
  sampling.add(how, position, prompt, row);
}

/// What follows from a batch and the cache.
struct StepRunner::Lists {
  std::vector<int32_t> tokens; // with something in place of those that the host does not know
  std::vector<int32_t> slots, pages;
  std::vector<int32_t> outputs; // which request's logits a token's are, or -1
  int64_t columns = 1, longest = 1;
};

/// Every table of a step: here a new one is added.
std::vector<StepTable> StepRunner::tablesOf(const StepBatch &batch, const Lists &lists) {
  const auto tokens = static_cast<int64_t>(batch.tokens.size()), requests = static_cast<int64_t>(batch.last.size());
  return {
      {"tokens", lists.tokens.data(), {tokens}, i32Type},
      {"positions", batch.positions.data(), {tokens}, i32Type},
      {"requests", batch.requests.data(), {tokens}, i32Type},
      {"slots", lists.slots.data(), {tokens}, i32Type},
      {"pages", lists.pages.data(), {requests, lists.columns}, i32Type},
      {"outputs", lists.outputs.data(), {tokens}, i32Type},
      {"last", batch.last.data(), {requests}, i32Type},
      {"rates", batch.sampling.rates.data(), {requests, SamplingTables::columns}, f32Type},
      {"choices", batch.sampling.choices.data(), {requests, SamplingTables::columns}, i32Type},
  };
}

StepRunner::StepRunner(const std::string &artifact, const ModelConfig &model, const Checkpoint &checkpoint,
                       const Options &options)
    : model_(model), options_(options), program_(artifact), device_(evt_program_device(program_.get())),
      launches_(program_), uploads_(program_), readings_(program_),
      tables_(program_, uploads_, launches_, static_cast<size_t>((options.ahead ? options.ahead : usuallyAhead) + 2)) {
  auto sinceBegin = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(); };
  if (!options_.ahead)
    options_.ahead = isOnGpu() ? usuallyAhead : 1;
  readLimits(artifact);
  for (int64_t i = 0; i < options_.ahead + 2; ++i)
    flights_.push_back({Event(program_), Event(program_), Event(program_), Event(program_)});
  checkArguments(artifact);
  times_.artifact = sinceBegin();
  arrays_ = loadWeights(program_, model_, checkpoint, options_.load, loaded_);
  addCache();
  for (const auto &[name, array] : arrays_)
    tensors_[name] = array.tensor(device_);
  const size_t row = 3 * third() * sizeof(int32_t);
  chosenMemory_ = DeviceMemory(program_, row * flights_.size());
  chosenCopies_ = HostMemory(program_, row * flights_.size());
  nothingChosen_ = HostMemory(program_, row);
  std::memset(nothingChosen_.data(), 0xff, row);
  logitsMemory_ = DeviceMemory(program_, static_cast<size_t>(mostRequests_ * model_.vocabulary) * sizeof(float));
  if (isOnGpu())
    reserve();
  launches_.synchronize();
  times_.room = sinceBegin() - times_.artifact - loaded_.seconds;
}

// Nothing is given back while something in a stream uses it.
StepRunner::~StepRunner() {
  for (const Stream *stream : {&launches_, &uploads_, &readings_})
    evt_stream_synchronize(program_.get(), stream->get());
}

void StepRunner::readLimits(const std::string &artifact) {
  int64_t ignored = 0;
  for (const evt_symbol_info *symbol : program_.symbols()) {
    const std::string name = symbol->name;
    (name == "page_size"      ? pageSlots_
     : name == "tokens"       ? mostTokens_
     : name == "requests"     ? mostRequests_
     : name == "page_columns" ? mostColumns_
                              : ignored) = symbol->max;
  }
  if (!pageSlots_ || !mostTokens_ || !mostRequests_ || !mostColumns_)
    throw std::invalid_argument("'" + artifact + "' is not a step: a model's is compiled with 'evt compile MODEL'");
  if (options_.mostTokens > 0)
    mostTokens_ = std::min(mostTokens_, options_.mostTokens);
  if (options_.mostRequests > 0)
    mostRequests_ = std::min(mostRequests_, options_.mostRequests);
}

/// Before anything large is read: the program has the arguments of this model's step, with its shapes, and was made
/// from the same numbers.
void StepRunner::checkArguments(const std::string &artifact) const {
  std::map<std::string, std::vector<int64_t>> shapes = stepShapes(model_);
  const int64_t slots = options_.pages * pageSlots_;
  for (const char *name : {"keys", "values"})
    shapes[name] = {model_.layers, model_.kvHeads, slots, model_.headDim};
  if (model_.hasQkNorm)
    shapes["key_squares"] = {model_.layers, model_.kvHeads, slots, model_.headDim / 16};
  shapes["history"] = {slots};
  std::vector<std::string> ofABatch = {"logits", "next", "logprobs", "splits", "share", "page_size"};
  for (const StepTable &table : tablesOf({}, {}))
    ofABatch.push_back(table.name);
  for (const evt_argument_info *info : program_.arguments()) {
    const std::string name = info->name;
    if (std::find(ofABatch.begin(), ofABatch.end(), name) != ofABatch.end())
      continue;
    auto found = shapes.find(name);
    if (found == shapes.end())
      throw std::invalid_argument("'" + artifact + "' is not a step of this model: it has an argument '" + name + "'");
    const std::vector<int64_t> &shape = found->second;
    bool fits = info->rank == shape.size();
    for (uint32_t d = 0; fits && d < info->rank; ++d) {
      const std::string dim = info->dims[d];
      if (dim.find_first_not_of("0123456789") == std::string::npos)
        fits = dim == std::to_string(shape[d]);
    }
    if (!fits)
      throw std::invalid_argument("'" + artifact + "' is not a step of this model: its '" + name +
                                  "' has another shape");
  }
  const std::string manifest = artifact + "/manifest.json";
  const nlohmann::json madeFrom =
      parseObject(readText(manifest), manifest).value("made_from", nlohmann::json::object());
  if (const double epsilon = madeFrom.value("rms_norm_eps", model_.normEpsilon); epsilon != model_.normEpsilon)
    throw std::invalid_argument("'" + artifact + "' is not a step of this model: it was compiled with rms_norm_eps " +
                                nlohmann::json(epsilon).dump() + ", config.json has " +
                                nlohmann::json(model_.normEpsilon).dump());
}

void StepRunner::addCache() {
  const int64_t slots = options_.pages * pageSlots_;
  auto add = [&](const char *name, int64_t columns, DLDataType type) {
    const auto bytes = static_cast<size_t>(model_.layers * slots * model_.kvHeads * columns * type.bits / 8);
    StepArray &array =
        arrays_[name] = {DeviceMemory(program_, bytes), {model_.layers, model_.kvHeads, slots, columns}, type};
    launches_.fill(array.memory.data(), 0xff, bytes); // what nobody wrote must not matter: NaN
    cacheBytes_ += bytes;
  };
  add("keys", model_.headDim, bf16Type);
  add("values", model_.headDim, bf16Type);
  if (model_.hasQkNorm)
    add("key_squares", model_.headDim / 16, f32Type);
  const auto bytes = static_cast<size_t>(slots) * sizeof(int32_t);
  StepArray &history = arrays_["history"] = {DeviceMemory(program_, bytes), {slots}, i32Type};
  launches_.fill(history.memory.data(), 0xff, bytes);
  cacheBytes_ += bytes;
}

std::string StepRunner::scheduleFor(int64_t tokens) const {
  if (!options_.schedule.empty())
    return options_.schedule;
  const auto schedules = program_.schedules();
  const bool hasTickets = std::any_of(schedules.begin(), schedules.end(), [](const evt_schedule_info *schedule) {
    return schedule->supported && std::string_view(schedule->name) == "ticket";
  });
  return usualSchedule(isOnGpu(), hasTickets, tokens);
}

/// Makes room for the largest steps, so that none has to stop others for it.
void StepRunner::reserve() {
  for (int64_t tokens : {std::min<int64_t>(8, mostTokens_), mostTokens_}) {
    StepBatch batch;
    const int64_t requests = std::min(mostRequests_, tokens);
    const std::vector<int32_t> pages(static_cast<size_t>(std::min(mostColumns_, options_.pages)));
    for (int64_t r = 0; r < requests; ++r)
      batch.add(std::vector<int32_t>(static_cast<size_t>(r ? 1 : tokens - requests + 1)), 0, pages);
    std::fill(batch.positions.begin(), batch.positions.end(), 0);
    Lists lists = listsOf(batch);
    std::map<std::string, const DLTensor *> given;
    for (const StepTable &table : tablesOf(batch, lists))
      given[table.name] = &tables_.put(table);
    int64_t logitsShape[] = {requests, model_.vocabulary};
    DLTensor logits{logitsMemory_.get(), device_, 2, f32Type, logitsShape, nullptr, 0};
    DLTensor next{chosenMemory_.get(), device_, 1, i32Type, logitsShape, nullptr, 0}, logprobs = next;
    logprobs.data = chosenOnDevice(0) + third();
    logprobs.dtype = f32Type;
    given["logits"] = &logits;
    given["next"] = &next;
    given["logprobs"] = &logprobs;
    const std::vector<evt_value> values = valuesOf(given, splitFor(mostColumns_ * pageSlots_, tokens));
    evt_launch_options options = EVT_LAUNCH_OPTIONS_INIT;
    options.stream = launches_.get();
    const std::string schedule = scheduleFor(tokens);
    options.schedule = schedule.empty() ? nullptr : schedule.c_str();
    detail::check(evt_program_prepare(program_.get(), values.data(), static_cast<uint32_t>(values.size()), &options));
  }
}

void StepRunner::check(const StepBatch &batch) const {
  auto refuse = [](const std::string &what) { throw std::invalid_argument("not a step: " + what); };
  const size_t count = batch.tokens.size();
  if (!count || batch.positions.size() != count || batch.requests.size() != count || batch.last.empty() ||
      batch.last.size() != batch.pages.size() ||
      batch.sampling.choices.size() != batch.last.size() * SamplingTables::columns)
    refuse("its lists have different lengths, or nothing in them");
  if (static_cast<int64_t>(count) > mostTokens_ || static_cast<int64_t>(batch.last.size()) > mostRequests_)
    refuse(std::to_string(count) + " tokens of " + std::to_string(batch.last.size()) + " requests, at most " +
           std::to_string(mostTokens_) + " of " + std::to_string(mostRequests_));
  const auto before = static_cast<int32_t>(steps_ ? flights_[flightOf(steps_ - 1)].rows : 0);
  for (size_t t = 0; t < count; ++t) {
    const std::string token = "token " + std::to_string(t);
    if (batch.tokens[t] < StepBatch::chosen(before - 1) || batch.tokens[t] >= model_.vocabulary)
      refuse(token + " is number " + std::to_string(batch.tokens[t]) + " of " + std::to_string(model_.vocabulary));
    if (batch.requests[t] < 0 || static_cast<size_t>(batch.requests[t]) >= batch.pages.size())
      refuse(token + " is of request " + std::to_string(batch.requests[t]) + " of " +
             std::to_string(batch.pages.size()));
    const std::vector<int32_t> &pages = batch.pages[static_cast<size_t>(batch.requests[t])];
    const int64_t column = batch.positions[t] / pageSlots_;
    if (batch.positions[t] < 0 || column >= static_cast<int64_t>(pages.size()) ||
        pages[static_cast<size_t>(column)] < 0 || pages[static_cast<size_t>(column)] >= options_.pages)
      refuse(token + " at position " + std::to_string(batch.positions[t]) + " has no page");
  }
  for (int32_t row : batch.last)
    if (row < 0 || static_cast<size_t>(row) >= count)
      refuse("a request's last token is number " + std::to_string(row));
}

StepRunner::Lists StepRunner::listsOf(const StepBatch &batch) const {
  Lists lists;
  for (int32_t token : batch.tokens)
    lists.tokens.push_back(std::max(token, 0));
  for (const std::vector<int32_t> &pages : batch.pages)
    lists.columns = std::max(lists.columns, static_cast<int64_t>(pages.size()));
  for (const std::vector<int32_t> &pages : batch.pages) {
    lists.pages.insert(lists.pages.end(), pages.begin(), pages.end());
    lists.pages.resize(lists.pages.size() + static_cast<size_t>(lists.columns) - pages.size(), -1);
  }
  for (size_t t = 0; t < batch.tokens.size(); ++t) {
    const int64_t position = batch.positions[t];
    const auto page = batch.pages[static_cast<size_t>(batch.requests[t])][static_cast<size_t>(position / pageSlots_)];
    lists.slots.push_back(static_cast<int32_t>(page * pageSlots_ + position % pageSlots_));
    lists.longest = std::max(lists.longest, position + 1);
  }
  lists.outputs.assign(batch.tokens.size(), -1);
  for (size_t r = 0; r < batch.last.size(); ++r)
    lists.outputs[static_cast<size_t>(batch.last[r])] = static_cast<int32_t>(r);
  return lists;
}

Split StepRunner::splitFor(int64_t positions, int64_t tokens) const {
  const int64_t workers = options_.workers ? options_.workers
                          : isOnGpu()      ? usualBlocks
                                           : std::max(1u, std::thread::hardware_concurrency());
  return splitOf(positions, tokens * model_.kvHeads, workers);
}

size_t StepRunner::third() const { return aligned(mostRequests_); }

int32_t *StepRunner::chosenOnDevice(int64_t step) const {
  return reinterpret_cast<int32_t *>(chosenMemory_.data()) + flightOf(step) * 3 * third();
}

int32_t *StepRunner::chosenOnHost(int64_t step) const {
  return reinterpret_cast<int32_t *>(chosenCopies_.data()) + flightOf(step) * 3 * third();
}

/// Copies the tokens that the step before chose to their places among this one's, runs of neighbours at once.
void StepRunner::gather(const DLTensor &tokens, const StepBatch &batch) {
  const int32_t *from = chosenOnDevice(steps_ - 1);
  auto *to = static_cast<int32_t *>(tokens.data);
  for (size_t begin = 0, end; begin < batch.tokens.size(); begin = end) {
    end = begin + 1;
    if (batch.tokens[begin] >= 0)
      continue;
    while (end < batch.tokens.size() && batch.tokens[end] < 0 && batch.tokens[end] == batch.tokens[end - 1] - 1)
      ++end;
    launches_.copy(to + begin, from + (-1 - batch.tokens[begin]), (end - begin) * sizeof(int32_t), EVT_COPY_ON_DEVICE);
  }
}

std::vector<evt_value> StepRunner::valuesOf(const std::map<std::string, const DLTensor *> &given,
                                            const Split &split) const {
  std::vector<evt_value> values;
  for (const evt_argument_info *info : program_.arguments()) {
    const std::string_view name = info->name;
    if (info->kind == EVT_ARGUMENT_INDEX)
      values.push_back(index(name == "splits" ? split.tasks : name == "share" ? split.share : pageSlots_));
    else
      values.push_back(tensor(given.count(info->name) ? *given.at(info->name) : tensors_.at(info->name)));
  }
  return values;
}

int64_t StepRunner::enqueue(const StepBatch &batch) {
  check(batch);
  if (steps_ - waited_ >= options_.ahead)
    wait(steps_ - options_.ahead);
  const int64_t step = steps_;
  Flight &flight = flights_[flightOf(step)];
  const Lists lists = listsOf(batch);
  const size_t rows = batch.last.size();
  const auto unknown = static_cast<size_t>(
      std::count_if(batch.tokens.begin(), batch.tokens.end(), [](int32_t token) { return token < 0; }));
  // Decoding goes on with the same requests in the same rows: the tokens that were chosen are the next ones, in place.
  bool isAsChosen = unknown == batch.tokens.size() && unknown == flights_[flightOf(step - 1 + (step == 0))].rows;
  for (size_t t = 0; isAsChosen && t < batch.tokens.size(); ++t)
    isAsChosen = batch.tokens[t] == StepBatch::chosen(static_cast<int32_t>(t));

  std::map<std::string, const DLTensor *> given;
  int64_t shape[] = {static_cast<int64_t>(rows), model_.vocabulary}, count = static_cast<int64_t>(batch.tokens.size());
  DLTensor chosenBefore{isAsChosen ? chosenOnDevice(step - 1) : nullptr, device_, 1, i32Type, &count, nullptr, 0};
  for (const StepTable &table : tablesOf(batch, lists)) {
    if (table.name == "tokens" && isAsChosen)
      given[table.name] = &chosenBefore;
    else
      given[table.name] = &tables_.put(table, table.name == "tokens" && unknown > 0);
  }
  uploads_.copy(chosenOnDevice(step), nothingChosen_.data(), rows * sizeof(int32_t), EVT_COPY_TO_DEVICE);
  flight.uploaded.record(uploads_.get());
  launches_.waitFor(flight.uploaded);
  if (unknown && !isAsChosen)
    gather(*given.at("tokens"), batch);

  DLTensor logits{logitsMemory_.get(), device_, 2, f32Type, shape, nullptr, 0};
  DLTensor next{chosenOnDevice(step), device_, 1, i32Type, shape, nullptr, 0};
  DLTensor logprobs{chosenOnDevice(step) + third(), device_, 1, f32Type, shape, nullptr, 0};
  given["logits"] = &logits;
  given["next"] = &next;
  given["logprobs"] = &logprobs;
  flight.started.record(launches_.get());
  program_.launch(valuesOf(given, splitFor(lists.longest, count)),
                  {.schedule = scheduleFor(count), .workers = options_.workers, .stream = launches_.get()});
  for (size_t r : batch.watched) // before the next step has logits of its own
    launches_.copy(chosenOnDevice(step) + 2 * third() + r,
                   reinterpret_cast<const float *>(logitsMemory_.data()) + r * static_cast<size_t>(model_.vocabulary),
                   sizeof(float), EVT_COPY_ON_DEVICE);
  flight.done.record(launches_.get());
  flight.rows = rows;
  ++steps_;

  readings_.waitFor(flight.done);
  readings_.copy(chosenOnHost(step), chosenOnDevice(step), (2 * third() + rows) * sizeof(int32_t), EVT_COPY_TO_HOST);
  flight.read.record(readings_.get());
  return step;
}

std::span<const int32_t> StepRunner::wait(int64_t step) {
  if (step >= steps_ || step < steps_ - static_cast<int64_t>(flights_.size()))
    throw std::invalid_argument("step " + std::to_string(step) + " is not in flight");
  Flight &flight = flights_[flightOf(step)];
  flight.read.wait();
  const std::span<const int32_t> chosen(chosenOnHost(step), flight.rows);
  // A launch that was given up leaves rows as they were.
  if (std::find(chosen.begin(), chosen.end(), -1) != chosen.end()) {
    detail::check(evt_program_finish(program_.get(), launches_.get()));
    throw std::runtime_error("step " + std::to_string(step) + " chose no token");
  }
  if (step >= waited_) {
    waited_ = step + 1;
    deviceSeconds_ += flight.started.secondsTo(flight.done);
  }
  return chosen;
}

std::span<const float> StepRunner::logprobs(int64_t step) const {
  return {reinterpret_cast<const float *>(chosenOnHost(step) + third()), flights_[flightOf(step)].rows};
}

bool StepRunner::choseNumber(int64_t step, size_t request) const {
  const int32_t *chosen = chosenOnHost(step);
  return chosen[request] != 0 || !std::isnan(reinterpret_cast<const float *>(chosen + 2 * third())[request]);
}

void StepRunner::step(const StepBatch &batch) {
  const std::span<const int32_t> chosen = wait(enqueue(batch));
  next_.assign(chosen.begin(), chosen.end());
}

std::span<const float> StepRunner::logits(size_t request) {
  const auto columns = static_cast<size_t>(model_.vocabulary);
  logits_.resize(static_cast<size_t>(mostRequests_) * columns);
  const size_t begin = request * columns;
  readings_.copy(logits_.data() + begin, reinterpret_cast<float *>(logitsMemory_.data()) + begin,
                 columns * sizeof(float), EVT_COPY_TO_HOST);
  readings_.synchronize();
  return std::span(logits_).subspan(begin, columns);
}

StepRunner::MemoryUse StepRunner::memoryUsed() const {
  evt_memory_use use{};
  detail::check(evt_memory_used(program_.get(), &use, sizeof use));
  return {loaded_.arrays, cacheBytes_, use.workspace + logitsMemory_.bytes(),
          use.counters + chosenMemory_.bytes() + tables_.deviceBytes(), use.total - use.free};
}

} // namespace evt::models
