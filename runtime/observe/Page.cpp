#include "runtime/observe/Page.h"

#include <stdexcept>

namespace evt::observe {

namespace {

constexpr std::string_view kTitle = "__EVT_TITLE__";
constexpr std::string_view kData = "__EVT_DATA__";

std::string htmlText(std::string_view text) {
  std::string escaped;
  for (char c : text)
    switch (c) {
    case '&':
      escaped += "&amp;";
      break;
    case '<':
      escaped += "&lt;";
      break;
    default:
      escaped += c;
    }
  return escaped;
}

} // namespace

std::string jsonString(std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string quoted = "\"";
  for (char c : text) {
    unsigned char byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (byte < 0x20 || c == '<') {
      quoted += "\\u00";
      quoted += kHex[byte >> 4];
      quoted += kHex[byte & 15];
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

void writePage(std::ostream &out, std::string_view page, const std::string &title, const std::string &data) {
  size_t titleAt = page.find(kTitle), dataAt = page.find(kData);
  if (titleAt == std::string_view::npos || dataAt == std::string_view::npos || dataAt < titleAt)
    throw std::logic_error("a page template must hold __EVT_TITLE__ and after it __EVT_DATA__");
  out << page.substr(0, titleAt) << htmlText(title)
      << page.substr(titleAt + kTitle.size(), dataAt - titleAt - kTitle.size()) << data
      << page.substr(dataAt + kData.size());
}

} // namespace evt::observe
