// A place in a JSON document that knows its own path, so that every complaint says where: "calls[2].extents[0]".
// All readers throw Error (artifact) with the kind found and the kind required; none of nlohmann's exceptions escape.
#ifndef EVT_RUNTIME_ARTIFACT_JSONVIEW_H
#define EVT_RUNTIME_ARTIFACT_JSONVIEW_H

#include <cstdint>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace evt::runtime {

class JsonView {
public:
  // `file` starts every message.
  JsonView(const nlohmann::json &value, std::string file) : value_(&value), file_(std::move(file)) {}

  JsonView at(const std::string &key) const;
  std::optional<JsonView> find(const std::string &key) const; // of an object; nothing if the key is absent
  std::vector<JsonView> items() const;                        // of an array
  std::vector<std::pair<std::string, JsonView>> members() const;

  int64_t integer(int64_t least = std::numeric_limits<int64_t>::min(),
                  int64_t most = std::numeric_limits<int64_t>::max()) const;
  double positive() const;    // a number above 0, finite
  std::string string() const; // never empty, no control characters
  bool boolean() const;

  bool isInteger() const;
  bool isString() const;
  bool isArray() const;
  std::string kind() const; // "an object", "a string", …, for messages
  std::string dump() const; // the value as JSON text

  [[noreturn]] void fail(const std::string &what) const;

private:
  JsonView(const nlohmann::json &value, std::string file, std::string path)
      : value_(&value), file_(std::move(file)), path_(std::move(path)) {}

  const nlohmann::json *value_;
  std::string file_;
  std::string path_;
};

} // namespace evt::runtime

#endif
