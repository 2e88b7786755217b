// The HTML pages embedded in the library, and how data gets into them.
#ifndef EVT_RUNTIME_OBSERVE_PAGE_H
#define EVT_RUNTIME_OBSERVE_PAGE_H

#include <ostream>
#include <string>
#include <string_view>

namespace evt::observe {

extern const std::string_view tracePage; // pages/trace.html with its styles and script inside
extern const std::string_view graphPage; // pages/graph.html likewise

// A JSON string literal with its quotes. "<" is escaped too: no name can end the script element it travels in.
std::string jsonString(std::string_view text);

// [1, 2, 3] of strings or numbers.
template <typename List, typename Format> std::string jsonArray(const List &list, Format format) {
  std::string text = "[";
  for (const auto &item : list)
    text += (text.size() > 1 ? "," : "") + format(item);
  return text + "]";
}

// Writes the page with `title` (escaped here) and `data` (JSON) in their places.
void writePage(std::ostream &out, std::string_view page, const std::string &title, const std::string &data);

} // namespace evt::observe
#endif
