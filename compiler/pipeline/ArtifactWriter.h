// Writes an artifact directory (docs/design/artifact.md), whole or not at all.
#pragma once

#include "HostCompiler.h"

#include <nlohmann/json.hpp>

#include <string>

namespace evt::pipeline {

struct ArtifactContents {
  std::string source;  // kernel.cpp
  std::string program; // program.mlir
  nlohmann::ordered_json manifest;
};

/// Compiles the kernel and writes the directory. Returns what went wrong, or an empty string. An existing artifact is
/// replaced; a directory that holds something else is refused.
std::string writeArtifact(const ArtifactContents &contents, const HostCompiler &host, const std::string &directory);

} // namespace evt::pipeline
