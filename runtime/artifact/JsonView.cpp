#include "runtime/artifact/JsonView.h"

#include "runtime/Error.h"

#include <nlohmann/json.hpp>

namespace evt::runtime {

void JsonView::fail(const std::string &what) const {
  throw Error(EVT_ERROR_ARTIFACT, file_ + ": " + (path_.empty() ? "" : path_ + ": ") + what);
}

std::string JsonView::kind() const {
  switch (value_->type()) {
  case nlohmann::json::value_t::object:
    return "an object";
  case nlohmann::json::value_t::array:
    return "an array";
  case nlohmann::json::value_t::string:
    return "a string";
  case nlohmann::json::value_t::boolean:
    return "a boolean";
  case nlohmann::json::value_t::number_integer:
  case nlohmann::json::value_t::number_unsigned:
    return "an integer";
  case nlohmann::json::value_t::number_float:
    return "a fraction";
  default:
    return "null";
  }
}

std::optional<JsonView> JsonView::find(const std::string &key) const {
  if (!value_->is_object())
    fail("found " + kind() + ", required an object");
  auto found = value_->find(key);
  if (found == value_->end())
    return std::nullopt;
  return JsonView(*found, file_, path_.empty() ? key : path_ + "." + key);
}

JsonView JsonView::at(const std::string &key) const {
  std::optional<JsonView> found = find(key);
  if (!found)
    fail("key '" + key + "' is missing");
  return *found;
}

std::vector<JsonView> JsonView::items() const {
  if (!value_->is_array())
    fail("found " + kind() + ", required an array");
  std::vector<JsonView> views;
  for (size_t i = 0; i < value_->size(); ++i)
    views.push_back(JsonView((*value_)[i], file_, path_ + "[" + std::to_string(i) + "]"));
  return views;
}

std::vector<std::pair<std::string, JsonView>> JsonView::members() const {
  if (!value_->is_object())
    fail("found " + kind() + ", required an object");
  std::vector<std::pair<std::string, JsonView>> views;
  for (const auto &[key, value] : value_->items())
    views.push_back({key, JsonView(value, file_, path_.empty() ? key : path_ + "." + key)});
  return views;
}

int64_t JsonView::integer(int64_t least, int64_t most) const {
  if (!isInteger())
    fail("found " + kind() + ", required an integer");
  if (value_->is_number_unsigned() &&
      value_->get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
    fail("found " + value_->dump() + ", required an integer of 64 bits");
  int64_t found = value_->get<int64_t>();
  if (found < least || found > most)
    fail("found " + std::to_string(found) + ", required " + std::to_string(least) + ".." + std::to_string(most));
  return found;
}

double JsonView::positive() const {
  if (!value_->is_number())
    fail("found " + kind() + ", required a number");
  double found = value_->get<double>();
  if (!(found > 0 && found <= std::numeric_limits<double>::max()))
    fail("found " + value_->dump() + ", required a number above 0");
  return found;
}

std::string JsonView::string() const {
  if (!value_->is_string())
    fail("found " + kind() + ", required a string");
  const std::string &text = value_->get_ref<const std::string &>();
  if (text.empty())
    fail("found an empty string");
  for (unsigned char c : text)
    if (c < 0x20 || c == 0x7f)
      fail("found a string with a control character");
  return text;
}

bool JsonView::boolean() const {
  if (!value_->is_boolean())
    fail("found " + kind() + ", required a boolean");
  return value_->get<bool>();
}

bool JsonView::isInteger() const { return value_->is_number_integer(); }
bool JsonView::isString() const { return value_->is_string(); }
bool JsonView::isArray() const { return value_->is_array(); }
std::string JsonView::dump() const { return value_->dump(); }

} // namespace evt::runtime
