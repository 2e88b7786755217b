// The one way models/config and models/weights fail: an exception that holds every problem that was found.
//
// A file that is wrong is often wrong in several places, and whoever repairs it wants to see them together:
//
//   'tiny/config.json': hidden_size is missing
//
//   'tiny/config.json' has 2 problems:
//     hidden_size is missing
//     hidden_act is "gelu", required "silu"
//
// Messages start in lower case, end without a period, and give what was found and what is required.
#ifndef EVT_MODELS_CONFIG_PROBLEMS_H
#define EVT_MODELS_CONFIG_PROBLEMS_H

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace evt::models {

class Problems : public std::runtime_error {
public:
  /// `where` is a file or a folder; at least one problem. what() lists at most 20 of them and says how many there are.
  Problems(const std::string &where, std::vector<std::string> problems);
  Problems(const std::string &where, const std::string &problem);

  const std::vector<std::string> &list() const { return list_; }

private:
  std::vector<std::string> list_;
};

/// A name from a file, in single quotes, with control characters made visible: damaged files hold anything.
std::string inQuotes(std::string_view name);

/// "[2, 64]"
std::string shapeText(const std::vector<int64_t> &shape);

} // namespace evt::models

#endif
