// Collects emitted source, line by line, indented by its braces.
#pragma once

#include <algorithm>
#include <sstream>
#include <string>

namespace evt::emit {

class CodeWriter {
public:
  /// Writes one line made of the parts, indented by the braces that are open before it.
  template <class... Parts> void line(const Parts &...parts) {
    std::ostringstream s;
    if constexpr (sizeof...(Parts) > 0)
      (s << ... << parts);
    std::string text = s.str();
    if (!text.empty())
      out.append(2 * (depth - (text.front() == '}')), ' ').append(text);
    out.push_back('\n');
    std::string code = text.substr(0, text.find("//"));
    depth += std::count(code.begin(), code.end(), '{') - std::count(code.begin(), code.end(), '}');
  }
  /// Writes text of several lines as it is, indented.
  void block(const std::string &text) {
    std::istringstream s(text);
    for (std::string l; std::getline(s, l);)
      out.append(l.empty() ? 0 : 2 * depth, ' ').append(l).push_back('\n');
  }
  std::string take() { return std::move(out); }
  const std::string &text() const { return out; }

private:
  std::string out;
  long depth = 0;
};

} // namespace evt::emit
