// Writes an artifact directory (docs/design/artifact.md), whole or not at all.
#pragma once

#include <nlohmann/json.hpp>

#include <functional>
#include <string>
#include <vector>

namespace evt::pipeline {

/// Name and content of files.
using Texts = std::vector<std::pair<std::string, std::string>>;

/// The texts of an artifact and how the rest is made from them.
struct ArtifactContents {
  Texts texts;                     // the first is the kernel's source
  nlohmann::ordered_json manifest; // but for `files` and what `build` adds
  /// Compiles the texts, which lie in `folder`, and returns the names of what it made, or what went wrong.
  std::function<std::string(const std::string &folder, nlohmann::ordered_json &manifest,
                            std::vector<std::string> &made)>
      build;
};

/// Builds and writes the directory. Returns what went wrong, or an empty string. An existing artifact is replaced; a
/// directory that holds something else is refused.
std::string writeArtifact(const ArtifactContents &contents, const std::string &directory);

} // namespace evt::pipeline
