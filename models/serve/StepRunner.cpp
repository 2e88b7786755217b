#include "models/serve/StepRunner.h"

#include "models/config/Rope.h"
#include "models/config/Splits.h"
#include "models/weights/StepWeights.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <thread>

namespace evt::models {
namespace {

constexpr DLDataType f32Type{2, 32, 1}, bf16Type{4, 16, 1}, i32Type{0, 32, 1};

} // namespace

void StepBatch::add(std::span<const int32_t> newTokens, int32_t position, std::vector<int32_t> itsPages) {
  const auto row = static_cast<int32_t>(pages.size());
  for (int32_t token : newTokens) {
    tokens.push_back(token);
    positions.push_back(position++);
    requests.push_back(row);
  }
  last.push_back(static_cast<int32_t>(tokens.size()) - 1);
  pages.push_back(std::move(itsPages));
}

StepRunner::StepRunner(const std::string &artifact, const ModelConfig &model, const Checkpoint &checkpoint,
                       const Options &options)
    : model_(model), options_(options), program_(artifact) {
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
  addWeights(checkpoint);
  addCache();
  for (const evt_argument_info *info : program_.arguments()) {
    const std::string name = info->name;
    static const char *const ofABatch[] = {"tokens", "positions", "requests", "slots",  "pages", "outputs",
                                           "last",   "logits",    "next",     "splits", "share", "page_size"};
    if (std::find(std::begin(ofABatch), std::end(ofABatch), name) != std::end(ofABatch))
      continue;
    auto found = arrays_.find(name);
    if (found == arrays_.end())
      throw std::invalid_argument("'" + artifact + "' is not a step of this model: it has an argument '" + name + "'");
    const std::vector<int64_t> &shape = found->second.shape;
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
}

void StepRunner::addWeights(const Checkpoint &checkpoint) {
  for (const StepArgument &argument : stepArguments(model_)) {
    const bool isNorm = argument.name.find("norm") != std::string::npos;
    const ElementType type = isNorm ? ElementType::f32 : ElementType::bf16;
    // The last norm is one more row of those before attention, since the layer before writes what each of them reads.
    const bool isLast = argument.name == "final_norm";
    Array &array = arrays_[isLast ? "attn_norm" : argument.name];
    const size_t begin = array.bytes.size(), size = argument.elements() * (isNorm ? 4 : 2);
    array.bytes.resize(begin + size);
    assemble(checkpoint, argument, type, std::span(array.bytes).subspan(begin));
    if (isLast) {
      ++array.shape[0];
      continue;
    }
    array.shape = argument.shape;
    array.type = isNorm ? f32Type : bf16Type;
  }
  std::vector<float> frequencies;
  for (double f : ropeFrequencies(model_))
    frequencies.push_back(static_cast<float>(f));
  Array &array = arrays_["frequencies"];
  array.bytes.resize(frequencies.size() * sizeof(float));
  std::memcpy(array.bytes.data(), frequencies.data(), array.bytes.size());
  array.shape = {static_cast<int64_t>(frequencies.size())};
  array.type = f32Type;
}

void StepRunner::addCache() {
  const int64_t slots = options_.pages * pageSlots_;
  auto add = [&](const char *name, int64_t columns, DLDataType type) {
    Array &array = arrays_[name];
    array.shape = {model_.layers, slots, model_.kvHeads, columns};
    array.type = type;
    // What nobody wrote must not matter: NaN.
    array.bytes.assign(static_cast<size_t>(model_.layers * slots * model_.kvHeads * columns * type.bits / 8),
                       std::byte{0xff});
  };
  add("keys", model_.headDim, bf16Type);
  add("values", model_.headDim, bf16Type);
  if (model_.hasQkNorm)
    add("key_squares", model_.headDim / 16, f32Type);
}

void StepRunner::check(const StepBatch &batch) const {
  auto refuse = [](const std::string &what) { throw std::invalid_argument("not a step: " + what); };
  const size_t count = batch.tokens.size();
  if (!count || batch.positions.size() != count || batch.requests.size() != count || batch.last.empty() ||
      batch.last.size() != batch.pages.size())
    refuse("its lists have different lengths, or nothing in them");
  if (static_cast<int64_t>(count) > mostTokens_ || static_cast<int64_t>(batch.last.size()) > mostRequests_)
    refuse(std::to_string(count) + " tokens of " + std::to_string(batch.last.size()) + " requests, at most " +
           std::to_string(mostTokens_) + " of " + std::to_string(mostRequests_));
  for (size_t t = 0; t < count; ++t) {
    const std::string token = "token " + std::to_string(t);
    if (batch.tokens[t] < 0 || batch.tokens[t] >= model_.vocabulary)
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

void StepRunner::step(const StepBatch &batch) {
  check(batch);
  const size_t count = batch.tokens.size(), rows = batch.last.size();
  std::vector<int32_t> slots(count);
  int64_t longest = 1;
  size_t columns = 1;
  for (const std::vector<int32_t> &pages : batch.pages)
    columns = std::max(columns, pages.size());
  std::vector<int32_t> pages(rows * columns, -1);
  for (size_t r = 0; r < rows; ++r)
    std::copy(batch.pages[r].begin(), batch.pages[r].end(), pages.begin() + static_cast<std::ptrdiff_t>(r * columns));
  for (size_t t = 0; t < count; ++t) {
    const int64_t position = batch.positions[t];
    const auto page = batch.pages[static_cast<size_t>(batch.requests[t])][static_cast<size_t>(position / pageSlots_)];
    slots[t] = static_cast<int32_t>(page * pageSlots_ + position % pageSlots_);
    longest = std::max(longest, position + 1);
  }
  std::vector<int32_t> outputs(count, -1); // which request's logits a token's are
  for (size_t r = 0; r < rows; ++r)
    outputs[static_cast<size_t>(batch.last[r])] = static_cast<int32_t>(r);
  logits_.assign(rows * static_cast<size_t>(model_.vocabulary), 0);
  next_.assign(rows, -1);

  struct Given {
    const void *data;
    std::vector<int64_t> shape;
    DLDataType type;
  };
  const auto tokens = static_cast<int64_t>(count), requests = static_cast<int64_t>(rows);
  std::map<std::string, Given> given = {
      {"tokens", {batch.tokens.data(), {tokens}, i32Type}},
      {"positions", {batch.positions.data(), {tokens}, i32Type}},
      {"requests", {batch.requests.data(), {tokens}, i32Type}},
      {"slots", {slots.data(), {tokens}, i32Type}},
      {"pages", {pages.data(), {requests, static_cast<int64_t>(columns)}, i32Type}},
      {"outputs", {outputs.data(), {tokens}, i32Type}},
      {"last", {batch.last.data(), {requests}, i32Type}},
      {"logits", {logits_.data(), {requests, model_.vocabulary}, f32Type}},
      {"next", {next_.data(), {requests}, i32Type}},
  };
  for (const auto &[name, array] : arrays_)
    given.insert({name, {array.bytes.data(), array.shape, array.type}});

  const Split split = splitOf(longest, tokens * model_.kvHeads,
                              options_.workers ? options_.workers : std::thread::hardware_concurrency());
  std::vector<evt_value> values;
  std::vector<DLTensor> tensors;
  tensors.reserve(given.size());
  for (const evt_argument_info *info : program_.arguments()) {
    if (info->kind == EVT_ARGUMENT_INDEX) {
      const std::string_view name = info->name;
      values.push_back(index(name == "splits" ? split.tasks : name == "share" ? split.share : pageSlots_));
      continue;
    }
    Given &g = given.at(info->name);
    tensors.push_back({const_cast<void *>(g.data),
                       {kDLCPU, 0},
                       static_cast<int32_t>(g.shape.size()),
                       g.type,
                       g.shape.data(),
                       nullptr,
                       0});
    values.push_back(tensor(tensors.back()));
  }
  program_.launch(values, {.schedule = options_.schedule, .workers = options_.workers});
}

std::span<const float> StepRunner::logits(size_t request) const {
  const auto columns = static_cast<size_t>(model_.vocabulary);
  return std::span(logits_).subspan(request * columns, columns);
}

} // namespace evt::models
