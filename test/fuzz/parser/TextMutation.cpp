#include "TextMutation.h"

#include <cctype>

namespace evt::fuzz {

namespace {

struct Token {
  size_t begin, end;
};

/// Words (with what MLIR puts before them: %x, @f, !evt.event, #map), numbers, and single characters.
std::vector<Token> tokens(const std::string &text) {
  auto isWord = [](char c) { return isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; };
  std::vector<Token> found;
  for (size_t i = 0; i < text.size();) {
    size_t begin = i;
    if (isspace(static_cast<unsigned char>(text[i]))) {
      ++i;
      continue;
    }
    if (text[i] == '%' || text[i] == '@' || text[i] == '!' || text[i] == '#')
      ++i;
    while (i < text.size() && isWord(text[i]))
      ++i;
    if (i == begin)
      ++i;
    found.push_back({begin, i});
  }
  return found;
}

size_t below(TextRandom &random, size_t n) { return n ? random() % n : 0; }

std::string textOf(const std::string &text, const Token &t) { return text.substr(t.begin, t.end - t.begin); }

void change(std::string &text, const std::vector<std::string> &programs, TextRandom &random) {
  static const char *numbers[] = {"0",          "-1",   "1",    "9223372036854775807", "-9223372036854775808",
                                  "4294967296", "0x7f", "1e400"};
  std::vector<Token> all = tokens(text);
  if (all.empty())
    return;
  size_t i = below(random, all.size());
  Token t = all[i];
  switch (below(random, 10)) {
  case 0: // flip a bit
    text[below(random, text.size())] ^= static_cast<char>(1 << below(random, 8));
    break;
  case 1: // delete a token
    text.erase(t.begin, t.end - t.begin);
    break;
  case 2: // double it
    text.insert(t.end, " " + textOf(text, t));
    break;
  case 3: { // swap two
    Token u = all[below(random, all.size())];
    if (u.begin < t.begin)
      std::swap(t, u);
    if (t.begin == u.begin)
      break;
    std::string first = textOf(text, t), second = textOf(text, u);
    text.replace(u.begin, u.end - u.begin, first);
    text.replace(t.begin, t.end - t.begin, second);
    break;
  }
  case 4: // cut the end off
    text.resize(below(random, text.size()));
    break;
  case 5: { // go on in another program
    const std::string &other = programs[below(random, programs.size())];
    text = text.substr(0, t.begin) + other.substr(below(random, other.size()));
    break;
  }
  case 6: { // put some tokens of another program in
    const std::string &other = programs[below(random, programs.size())];
    std::vector<Token> others = tokens(other);
    size_t first = below(random, others.size()), last = std::min(first + below(random, 8), others.size() - 1);
    text.insert(t.begin, other.substr(others[first].begin, others[last].end - others[first].begin) + " ");
    break;
  }
  case 7: { // replace a token by another of the same kind
    for (size_t tries = 0; tries < 50; ++tries) {
      Token u = all[below(random, all.size())];
      if (text[u.begin] != text[t.begin] &&
          !(isdigit(static_cast<unsigned char>(text[u.begin])) && isdigit(static_cast<unsigned char>(text[t.begin]))))
        continue;
      text.replace(t.begin, t.end - t.begin, textOf(text, u));
      break;
    }
    break;
  }
  case 8: // replace a number
    for (size_t tries = 0; tries < 50; ++tries) {
      t = all[below(random, all.size())];
      if (!isdigit(static_cast<unsigned char>(text[t.begin])))
        continue;
      text.replace(t.begin, t.end - t.begin, numbers[below(random, std::size(numbers))]);
      break;
    }
    break;
  default: { // delete a line
    size_t begin = text.rfind('\n', t.begin), end = text.find('\n', t.begin);
    begin = begin == std::string::npos ? 0 : begin;
    text.erase(begin, (end == std::string::npos ? text.size() : end) - begin);
  }
  }
}

} // namespace

std::string mutateText(const std::vector<std::string> &programs, TextRandom &random) {
  std::string text = programs[below(random, programs.size())];
  for (size_t changes = 1 + below(random, 4); changes > 0; --changes)
    change(text, programs, random);
  return text;
}

} // namespace evt::fuzz
