#include "models/config/Json.h"

#include "models/config/Problems.h"

#include <nlohmann/json.hpp>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <vector>

namespace evt::models {

nlohmann::json parseObject(std::string_view text, const std::string &where) {
  using Event = nlohmann::json::parse_event_t;
  std::vector<std::set<std::string>> keys; // of the objects around the place that is read
  auto watch = [&](int, Event event, nlohmann::json &value) {
    if (event == Event::object_start)
      keys.emplace_back();
    else if (event == Event::object_end)
      keys.pop_back();
    else if (event == Event::key && !keys.back().insert(value.get<std::string>()).second)
      throw Problems(where, "the key " + inQuotes(value.get<std::string>()) + " is there twice");
    return true;
  };
  nlohmann::json object;
  try {
    object = nlohmann::json::parse(text.begin(), text.end(), watch);
  } catch (const nlohmann::json::parse_error &error) {
    throw Problems(where, "is not JSON from byte " + std::to_string(error.byte) + " on");
  } catch (const nlohmann::json::exception &) { // a number beyond what a double holds
    throw Problems(where, "is JSON with a value that cannot be represented");
  }
  if (!object.is_object())
    throw Problems(where, std::string("is JSON of type ") + object.type_name() + ", required an object");
  return object;
}

std::string readText(const std::string &path) {
  std::error_code error; // of a file that is not there: opening it says so
  if (std::filesystem::exists(path, error) && !std::filesystem::is_regular_file(path, error))
    throw Problems(path, "cannot be read: it is no regular file");
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in || in.bad())
    throw Problems(path, std::string("cannot be read: ") + std::strerror(errno ? errno : EIO));
  return text.str();
}

} // namespace evt::models
