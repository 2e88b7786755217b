#include "models/weights/Safetensors.h"

#include "models/config/Json.h"
#include "models/config/Problems.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>

namespace evt::models {
namespace {

using nlohmann::json;

constexpr uint64_t lengthBytes = 8;
constexpr uint64_t maxHeaderBytes = 100'000'000; // the format's own limit
constexpr const char *metadataKey = "__metadata__";

uint64_t readLength(std::span<const std::byte> file) {
  uint64_t length = 0;
  for (size_t i = 0; i < lengthBytes; ++i)
    length |= std::to_integer<uint64_t>(file[i]) << (8 * i);
  return length;
}

// Non-negative integers that fit.
bool isSize(const json &value) {
  return value.is_number_unsigned() && value.get<uint64_t>() <= std::numeric_limits<int64_t>::max();
}

// Reads one tensor's entry; says what is wrong with it instead, if something is.
std::string readEntry(const json &entry, uint64_t dataBytes, StoredTensor &tensor) {
  if (!entry.is_object())
    return std::string("is of type ") + entry.type_name() + ", required an object";
  for (const char *key : {"dtype", "shape", "data_offsets"})
    if (!entry.contains(key))
      return std::string(key) + " is missing";
  const json &type = entry["dtype"], &shape = entry["shape"], &offsets = entry["data_offsets"];
  std::optional<ElementType> element;
  if (type.is_string())
    element = elementTypeOfSafetensors(type.get_ref<const std::string &>());
  if (!element)
    return "dtype is " + type.dump() + ", required BF16, F16 or F32";
  tensor.type = *element;
  if (!shape.is_array() || !std::all_of(shape.begin(), shape.end(), isSize))
    return "shape is " + shape.dump() + ", required a list of sizes";
  uint64_t required = bytesOf(tensor.type);
  bool overflows = false, empty = false;
  for (const json &extent : shape) {
    tensor.shape.push_back(extent.get<int64_t>());
    empty = empty || tensor.shape.back() == 0;
    overflows = overflows || __builtin_mul_overflow(required, extent.get<uint64_t>(), &required);
  }
  if (empty)
    required = 0;
  else if (overflows)
    return "shape is " + shape.dump() + ", which is more than memory holds";
  if (!offsets.is_array() || offsets.size() != 2 || !isSize(offsets[0]) || !isSize(offsets[1]))
    return "data_offsets is " + offsets.dump() + ", required [begin, end]";
  uint64_t begin = offsets[0].get<uint64_t>(), end = offsets[1].get<uint64_t>();
  if (begin > end || end > dataBytes)
    return "data_offsets is " + offsets.dump() + ", required an order and at most " + std::to_string(dataBytes) +
           ", the bytes after the header";
  if (end - begin != required)
    return "has " + std::to_string(end - begin) + " bytes, required " + std::to_string(required) + " for " +
           std::string(name(tensor.type)) + " of " + shapeText(tensor.shape);
  tensor.offset = begin;
  return "";
}

// Tensors that are sorted by offset must follow each other without holes, up to the end.
void checkPlaces(const std::vector<StoredTensor> &tensors, uint64_t dataBytes, std::vector<std::string> &problems) {
  uint64_t next = 0;
  std::string before;
  for (const StoredTensor &tensor : tensors) {
    if (tensor.offset < next)
      problems.push_back("tensor " + inQuotes(tensor.name) + " overlaps tensor " + inQuotes(before));
    else if (tensor.offset > next)
      problems.push_back("bytes " + std::to_string(next) + " to " + std::to_string(tensor.offset) +
                         " after the header belong to no tensor");
    if (tensor.offset + tensor.bytes() >= next) {
      next = tensor.offset + tensor.bytes();
      before = tensor.name;
    }
  }
  if (next < dataBytes)
    problems.push_back("the last " + std::to_string(dataBytes - next) + " bytes belong to no tensor");
}

} // namespace

uint64_t TensorType::elements() const {
  uint64_t count = 1;
  for (int64_t extent : shape)
    count *= static_cast<uint64_t>(extent);
  return count;
}

std::vector<StoredTensor> parseHeader(std::span<const std::byte> file, const std::string &where) {
  if (file.size() < lengthBytes)
    throw Problems(where, "has " + std::to_string(file.size()) + " bytes, required at least 8 for a header's length");
  uint64_t length = readLength(file), rest = file.size() - lengthBytes;
  if (length > maxHeaderBytes)
    throw Problems(where, "says that its header has " + std::to_string(length) + " bytes, required at most " +
                              std::to_string(maxHeaderBytes) + "; is it a safetensors file?");
  if (length > rest)
    throw Problems(where, "says that its header has " + std::to_string(length) + " bytes, but has " +
                              std::to_string(rest) + " after the length; it is cut off");
  json header = parseObject({reinterpret_cast<const char *>(file.data()) + lengthBytes, length}, where);
  uint64_t dataBytes = rest - length;
  std::vector<StoredTensor> tensors;
  std::vector<std::string> problems;
  for (const auto &[name, entry] : header.items()) {
    if (name == metadataKey) {
      if (!entry.is_object() || !std::all_of(entry.begin(), entry.end(), [](const json &v) { return v.is_string(); }))
        problems.push_back("__metadata__ is " + std::string(entry.type_name()) + ", required an object of strings");
      continue;
    }
    StoredTensor tensor;
    tensor.name = name;
    std::string problem = readEntry(entry, dataBytes, tensor);
    if (problem.empty())
      tensors.push_back(std::move(tensor));
    else
      problems.push_back("tensor " + inQuotes(name) + ": " + problem);
  }
  std::stable_sort(tensors.begin(), tensors.end(), [](const StoredTensor &a, const StoredTensor &b) {
    return std::pair(a.offset, a.bytes()) < std::pair(b.offset, b.bytes());
  });
  if (problems.empty())
    checkPlaces(tensors, dataBytes, problems);
  if (!problems.empty())
    throw Problems(where, std::move(problems));
  for (StoredTensor &tensor : tensors)
    tensor.offset += lengthBytes + length;
  return tensors;
}

std::string formatHeader(std::span<const TensorType> tensors) {
  nlohmann::ordered_json header;
  header[metadataKey] = {{"format", "pt"}};
  uint64_t next = 0;
  for (const TensorType &tensor : tensors) {
    uint64_t end = next + tensor.bytes();
    header[tensor.name] = {
        {"dtype", safetensorsName(tensor.type)}, {"shape", tensor.shape}, {"data_offsets", {next, end}}};
    next = end;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::string length(lengthBytes, '\0');
  for (size_t i = 0; i < lengthBytes; ++i)
    length[i] = static_cast<char>(static_cast<uint64_t>(text.size()) >> (8 * i));
  return length + text;
}

} // namespace evt::models
