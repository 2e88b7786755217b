#include "models/weights/Checkpoint.h"

#include "models/config/Json.h"
#include "models/config/Problems.h"
#include "models/weights/StepWeights.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <set>

namespace evt::models {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// Which file the index puts each tensor in.
std::map<std::string, std::string> readIndex(const std::string &path) {
  json index = parseObject(readText(path), path);
  auto map = index.find("weight_map");
  if (map == index.end() || !map->is_object())
    throw Problems(path, "weight_map is missing, required an object that names each tensor's file");
  std::map<std::string, std::string> files;
  std::vector<std::string> problems;
  for (const auto &[name, file] : map->items()) {
    bool plain = file.is_string();
    if (plain) {
      const std::string &text = file.get_ref<const std::string &>();
      plain = !text.empty() && text != "." && text != ".." && text.find_first_of(std::string("/\0", 2)) == text.npos;
      files[name] = text;
    }
    if (!plain)
      problems.push_back("tensor " + inQuotes(name) + " is in " + file.dump() +
                         ", required the name of a file beside it");
  }
  if (!problems.empty())
    throw Problems(path, std::move(problems));
  if (files.empty())
    throw Problems(path, "weight_map is empty");
  return files;
}

} // namespace

// Maps a file; its tensors, unless it is damaged.
std::optional<Checkpoint::Tensors> Checkpoint::map(const std::string &fileName, std::vector<std::string> &problems) {
  std::string path = (fs::path(folder_) / fileName).string();
  try {
    MappedFile file(path);
    Tensors tensors;
    for (const StoredTensor &stored : parseHeader(file.bytes(), path)) {
      Tensor &tensor = tensors[stored.name];
      static_cast<TensorType &>(tensor) = stored;
      tensor.data = file.bytes().subspan(stored.offset, stored.bytes());
      tensor.file = files_.size();
      tensor.offset = stored.offset;
    }
    files_.push_back(std::move(file));
    fileNames_.push_back(fileName);
    return tensors;
  } catch (const Problems &found) {
    for (const std::string &problem : found.list())
      problems.push_back(inQuotes(fileName) + ": " + problem);
    return std::nullopt;
  }
}

void Checkpoint::openShards(std::vector<std::string> &problems) {
  std::map<std::string, std::string> index = readIndex((fs::path(folder_) / indexFileName).string());
  std::map<std::string, std::vector<std::string>> tensorsOf; // of each file, by the index
  for (const auto &[tensor, file] : index)
    tensorsOf[file].push_back(tensor);
  for (const auto &[file, names] : tensorsOf) {
    std::optional<Tensors> found = map(file, problems);
    if (!found)
      continue;
    for (const std::string &name : names)
      if (!found->count(name))
        problems.push_back(inQuotes(file) + ": tensor " + inQuotes(name) + " is missing, which the index puts there");
    for (auto &[name, tensor] : *found) {
      auto place = index.find(name);
      if (place == index.end())
        problems.push_back(inQuotes(file) + ": tensor " + inQuotes(name) + " is not in the index");
      else if (place->second != file)
        problems.push_back(inQuotes(file) + ": tensor " + inQuotes(name) + " is here, but the index puts it in " +
                           inQuotes(place->second));
      else
        tensors_.emplace(name, std::move(tensor));
    }
  }
}

Checkpoint Checkpoint::open(const std::string &folder) {
  Checkpoint checkpoint;
  checkpoint.folder_ = folder;
  std::vector<std::string> problems;
  std::error_code ignored;
  if (fs::exists(fs::path(folder) / singleFileName, ignored)) {
    if (std::optional<Tensors> tensors = checkpoint.map(singleFileName, problems))
      checkpoint.tensors_ = std::move(*tensors);
  } else if (fs::exists(fs::path(folder) / indexFileName, ignored)) {
    checkpoint.openShards(problems);
  } else {
    problems.push_back(std::string("has no checkpoint, required ") + singleFileName + " or " + indexFileName);
  }
  if (!problems.empty())
    throw Problems(folder, std::move(problems));
  return checkpoint;
}

const Checkpoint::Tensor *Checkpoint::find(std::string_view name) const {
  auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second;
}

std::vector<std::string> misfits(const Checkpoint &checkpoint, const ModelConfig &model) {
  std::vector<std::string> problems;
  std::set<std::string, std::less<>> expected;
  for (const ExpectedTensor &tensor : expectedTensors(model)) {
    expected.insert(tensor.name);
    const Checkpoint::Tensor *found = checkpoint.find(tensor.name);
    if (!found)
      problems.push_back("tensor " + inQuotes(tensor.name) + " is missing, required " + shapeText(tensor.shape));
    else if (found->shape != tensor.shape)
      problems.push_back("tensor " + inQuotes(tensor.name) + " is " + shapeText(found->shape) + ", required " +
                         shapeText(tensor.shape));
  }
  for (const auto &[name, tensor] : checkpoint.tensors()) {
    if (expected.count(name))
      continue;
    if (!model.tied || name != headTensor) {
      problems.push_back("tensor " + inQuotes(name) + " is not one of this model's");
      continue;
    }
    const Checkpoint::Tensor *embedding = checkpoint.find(embeddingTensor);
    if (embedding && (embedding->type != tensor.type || embedding->data.size() != tensor.data.size() ||
                      std::memcmp(embedding->data.data(), tensor.data.data(), tensor.data.size()) != 0))
      problems.push_back("tensor " + inQuotes(name) + " differs from " + inQuotes(embeddingTensor) +
                         ", which it is tied to (tie_word_embeddings)");
  }
  return problems;
}

Checkpoint openCheckpoint(const std::string &folder, const ModelConfig &model) {
  Checkpoint checkpoint = Checkpoint::open(folder);
  std::vector<std::string> problems = misfits(checkpoint, model);
  if (!problems.empty())
    throw Problems(folder, std::move(problems));
  return checkpoint;
}

} // namespace evt::models
