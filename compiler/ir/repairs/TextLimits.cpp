#include "TextLimits.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace evt::ir {

namespace {

bool isWord(char c) { return isAlnum(c) || c == '_' || c == '.' || c == '$'; }

bool isOperatorWord(StringRef word) { return word == "floordiv" || word == "ceildiv" || word == "mod"; }

/// The length of the string or comment that `rest` starts with; 0 if it starts with neither.
size_t lengthOfText(StringRef rest) {
  if (rest.starts_with("//"))
    return std::min(rest.find('\n'), rest.size());
  if (!rest.starts_with("\""))
    return 0;
  size_t i = 1;
  while (i < rest.size() && rest[i] != '"' && rest[i] != '\n')
    i += rest[i] == '\\' ? 2 : 1;
  return std::min(i + 1, rest.size());
}

/// The digits of `#7`; none if `rest` starts with no such thing.
StringRef numberOfResult(StringRef rest) {
  return rest.consume_front("#") ? rest.take_while([](char c) { return isDigit(c); }) : "";
}

bool isAllowedResult(StringRef digits) {
  unsigned number = 0;
  return digits.empty() || (!digits.getAsInteger(10, number) && number <= maxResultNumber);
}

TextFault faultAt(StringRef text, size_t offset, std::string message) {
  StringRef before = text.take_front(offset);
  size_t lineStart = before.rfind('\n') + 1; // 0 where there is none
  return {static_cast<unsigned>(before.count('\n') + 1), static_cast<unsigned>(offset - lineStart + 1),
          std::move(message)};
}

} // namespace

std::optional<TextFault> findTextFault(StringRef text) {
  // The operators so far of the expression at hand, outside brackets and in each open one; brackets are part of it.
  SmallVector<unsigned> operators{0};
  for (size_t i = 0; i < text.size();) {
    StringRef rest = text.drop_front(i);
    if (size_t length = lengthOfText(rest)) {
      i += length;
      continue;
    }
    char c = rest.front();
    size_t length = 1;
    bool isOperator = false;
    if (isSpace(c)) {
    } else if (rest.starts_with("->") || rest.starts_with("<=") || rest.starts_with(">=")) {
      length = 2;
      operators.back() = 0;
    } else if (StringRef("([{<").contains(c)) {
      if (operators.size() > maxOpenBrackets)
        return faultAt(text, i,
                       std::to_string(operators.size()) + " brackets are open here, at most " +
                           std::to_string(maxOpenBrackets) + " may be");
      operators.push_back(operators.back());
    } else if (StringRef(")]}>").contains(c)) {
      if (operators.size() > 1) {
        unsigned inside = operators.pop_back_val();
        operators.back() = std::max(operators.back(), inside);
      }
    } else if (isWord(c)) {
      StringRef word = rest.take_while(isWord);
      length = word.size();
      isOperator = isOperatorWord(word);
    } else if (StringRef("+-*").contains(c)) {
      isOperator = true;
    } else {
      operators.back() = 0;
      if (StringRef number = numberOfResult(rest); !isAllowedResult(number))
        return faultAt(text, i,
                       "result number " + number.str() + ", at most " + std::to_string(maxResultNumber) + " may be");
    }
    if (isOperator && ++operators.back() > maxOperators)
      return faultAt(text, i,
                     std::to_string(operators.back()) + " operators in one expression, at most " +
                         std::to_string(maxOperators) + " may be");
    i += length;
  }
  return std::nullopt;
}

} // namespace evt::ir
