#include "compiler/layout/Layout.h"

#include <charconv>

namespace evt::layout {

namespace {

template <class List, class Print> std::string separated(const List &list, Print print) {
  std::string text;
  for (const auto &entry : list)
    text += (text.empty() ? "" : ", ") + print(entry);
  return text;
}

std::string printed(const std::vector<Iterator> &iterators) {
  return separated(iterators, [](const Iterator &i) { return print(i); });
}

/// A cursor in the text. The first failure stays; after it, everything is skipped.
class Reader {
public:
  explicit Reader(std::string_view text) : text(text) {}

  bool failed() const { return !reason.empty(); }
  const std::string &why() const { return reason; }
  void fail(const std::string &what) { failAt(at, what); }

  /// Whether the text goes on with `word`, which is then taken.
  bool take(std::string_view word) {
    blanks();
    if (failed() || text.substr(at, word.size()) != word)
      return false;
    at += word.size();
    return true;
  }
  void expect(std::string_view word) {
    if (!take(word))
      fail("required '" + std::string(word) + "', found " + found());
  }
  int64_t number() {
    blanks();
    int64_t value = 0;
    auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), value);
    if (error == std::errc::result_out_of_range)
      fail("a number beyond 64 bits");
    else if (error != std::errc())
      fail("required a number, found " + found());
    else if (!failed())
      at = static_cast<size_t>(end - text.data());
    return value;
  }
  Axis axis() {
    expect("@");
    blanks();
    size_t end = at;
    while (end < text.size() && ((text[end] >= 'a' && text[end] <= 'z') || (text[end] >= '0' && text[end] <= '9') ||
                                 text[end] == '_' || (text[end] >= 'A' && text[end] <= 'Z')))
      ++end;
    const std::string_view name = text.substr(at, end - at);
    for (Axis a : allAxes)
      if (nameOf(a) == name) {
        at = failed() ? at : end;
        return a;
      }
    fail("unknown axis '" + std::string(name) + "'; the axes are " +
         separated(allAxes, [](Axis a) { return std::string(nameOf(a)); }));
    return Axis::m;
  }
  Iterator iterator() {
    Iterator i;
    i.extent = number();
    expect(":");
    i.stride = number();
    i.axis = axis();
    return i;
  }
  /// Entries up to `end`, with commas between them.
  template <class Entry> void list(std::string_view end, Entry entry) {
    if (take(end))
      return;
    do
      entry();
    while (take(","));
    expect(end);
  }
  void expectEnd() {
    blanks();
    if (at != text.size())
      fail("required '+', '^' or the end, found " + found());
  }

private:
  void blanks() {
    while (!failed() && at < text.size() && (text[at] == ' ' || text[at] == '\t' || text[at] == '\n'))
      ++at;
  }
  std::string found() const { return at < text.size() ? "'" + std::string(1, text[at]) + "'" : "the end"; }
  void failAt(size_t column, const std::string &what) {
    if (!failed())
      reason = "column " + std::to_string(column + 1) + ": " + what;
  }

  std::string_view text;
  size_t at = 0;
  std::string reason;
};

} // namespace

std::string print(const Iterator &iterator) {
  return std::to_string(iterator.extent) + ":" + std::to_string(iterator.stride) + "@" +
         std::string(nameOf(iterator.axis));
}

std::string print(const Place &place) {
  std::string text;
  for (Axis a : allAxes)
    if (place[a])
      text += (text.empty() ? "" : " + ") + std::to_string(place[a]) + "@" + std::string(nameOf(a));
  return text.empty() ? "0@m" : text;
}

std::string print(std::span<const int64_t> shape) {
  return "[" + separated(shape, [](int64_t extent) { return std::to_string(extent); }) + "]";
}

std::string print(const Swizzle &swizzle) {
  return "swizzle(" + std::to_string(swizzle.bits) + ", " + std::to_string(swizzle.base) + ", " +
         std::to_string(swizzle.shift) + ")";
}

std::string print(const Layout &layout) {
  std::string text = print(layout.shape()) + " -> (" + printed(layout.sharded()) + ")";
  if (!layout.replicated().empty())
    text += " + [" + printed(layout.replicated()) + "]";
  if (layout.offset() != Place{})
    text += " + " + print(layout.offset());
  if (layout.swizzle())
    text += " ^ " + print(*layout.swizzle());
  return text;
}

Result<Layout> parse(std::string_view text) {
  Reader in(text);
  Layout::Parts parts;
  in.expect("[");
  in.list("]", [&] { parts.shape.push_back(in.number()); });
  in.expect("->");
  in.expect("(");
  in.list(")", [&] { parts.sharded.push_back(in.iterator()); });
  bool replicas = false;
  std::array<bool, allAxes.size()> moved{};
  while (in.take("+")) {
    if (in.take("[")) {
      if (std::exchange(replicas, true))
        in.fail("replicated iterators a second time");
      in.list("]", [&] { parts.replicated.push_back(in.iterator()); });
      continue;
    }
    const int64_t offset = in.number();
    const Axis axis = in.axis();
    if (std::exchange(moved[static_cast<size_t>(axis)], true))
      in.fail("an offset on " + std::string(nameOf(axis)) + " a second time");
    parts.offset[axis] = offset;
  }
  if (in.take("^")) {
    in.expect("swizzle");
    in.expect("(");
    int numbers[3];
    for (int i = 0; i < 3; ++i) {
      if (i)
        in.expect(",");
      const int64_t n = in.number();
      if (n < 0 || n > 60)
        in.fail("found " + std::to_string(n) + ", required 0 to 60 bits");
      numbers[i] = static_cast<int>(n);
    }
    in.expect(")");
    parts.swizzle = Swizzle{numbers[0], numbers[1], numbers[2]};
  }
  in.expectEnd();
  if (in.failed())
    return Failure{in.why()};
  return Layout::make(std::move(parts));
}

} // namespace evt::layout
