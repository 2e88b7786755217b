// How proofs of the emitter write sets and relations over the program's model (compiler/analysis/TaskGraph.h).
//
// Coordinates have a prime behind their name, `c0'`: isl takes a name in a tuple that is also a symbol's for that
// symbol, and a program may call its symbols as it likes.
#pragma once

#include "GraphCode.h"

#include "llvm/ADT/StringExtras.h"

namespace evt::emit {

/// `c0` or `l1` as a coordinate of a task; a number is itself.
inline std::string coordinateText(const std::string &name) {
  return !name.empty() && (name[0] == 'c' || name[0] == 'l') ? name + "'" : name;
}

/// The coordinates of a call's tasks, iterations first.
inline std::vector<std::string> coordinateTexts(const GraphCode &graph, unsigned call) {
  std::vector<std::string> names;
  for (const std::string &name : graph.coordList(call))
    names.push_back(coordinateText(name));
  return names;
}

/// `C2[l0', c0', c1']`
inline std::string taskText(const GraphCode &graph, unsigned call) {
  return "C" + std::to_string(call) + "[" + llvm::join(coordinateTexts(graph, call), ", ") + "]";
}

/// `[tokens, layers] -> `, where symbols are named.
inline std::string symbolsText(const GraphCode &graph) {
  std::vector<std::string> names;
  for (auto &symbol : graph.signature.symbols)
    names.push_back(symbol.name);
  return "[" + llvm::join(names, ", ") + "] -> ";
}

} // namespace evt::emit
