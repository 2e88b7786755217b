// How deep a text may nest. MLIR's parser goes down one call for each bracket and each operator of an affine
// expression, so a text that nests without end would run it off its stack.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

namespace evt::ir {

/// Far above what programs use, and far below what a stack of 8 MiB takes.
constexpr unsigned maxOpenBrackets = 256;
constexpr unsigned maxOperators = 1024;
constexpr unsigned maxResultNumber = 4095;

struct TextFault {
  unsigned line, column; // from 1
  std::string message;
};

/// The first place where a text opens too many brackets, or chains too many operators. Strings and comments do not
/// count, nor do the arrows and comparisons `->`, `<=`, `>=`:
///
///   affine_map<(d0) -> ((d0 + 1) floordiv 2 + 7)>      at most 3 open, 2 operators in a chain
std::optional<TextFault> findTextFault(llvm::StringRef text);

} // namespace evt::ir
