#include "models/config/Problems.h"

#include <algorithm>
#include <cassert>

namespace evt::models {
namespace {

constexpr size_t listed = 20;

std::string message(const std::string &where, const std::vector<std::string> &problems) {
  assert(!problems.empty());
  if (problems.size() == 1)
    return inQuotes(where) + ": " + problems[0];
  std::string text = inQuotes(where) + " has " + std::to_string(problems.size()) + " problems:";
  for (size_t i = 0; i < std::min(problems.size(), listed); ++i)
    text += "\n  " + problems[i];
  if (problems.size() > listed)
    text += "\n  and " + std::to_string(problems.size() - listed) + " more";
  return text;
}

} // namespace

Problems::Problems(const std::string &where, std::vector<std::string> problems)
    : std::runtime_error(message(where, problems)), list_(std::move(problems)) {}

Problems::Problems(const std::string &where, const std::string &problem) : Problems(where, std::vector{problem}) {}

std::string inQuotes(std::string_view name) {
  constexpr const char *digits = "0123456789abcdef";
  std::string text = "'";
  for (unsigned char c : name) {
    if (c < 0x20 || c == 0x7f)
      text += {'\\', 'x', digits[c >> 4], digits[c & 15]};
    else
      text += static_cast<char>(c);
  }
  return text + "'";
}

std::string shapeText(const std::vector<int64_t> &shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

} // namespace evt::models
