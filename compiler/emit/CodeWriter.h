// Collects emitted source, line by line, indented by its braces.
#pragma once

#include <sstream>
#include <string>

namespace evt::emit {

class CodeWriter {
public:
  /// Writes one line made of the parts. A line ending in `{` opens a block, one starting with `}` closes it.
  template <class... Parts> void line(const Parts &...parts) {
    std::ostringstream s;
    (s << ... << parts);
    std::string text = s.str();
    if (!text.empty() && text.front() == '}')
      --depth;
    if (!text.empty())
      out.append(2 * (depth > 0 ? depth : 0), ' ').append(text);
    out.push_back('\n');
    if (!text.empty() && text.back() == '{')
      ++depth;
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
  int depth = 0;
};

} // namespace evt::emit
