// What `run`, `bench` and `show --html` take: an artifact directory, or a .mlir file that is compiled to one first.
#ifndef EVT_TOOLS_EVT_PROGRAMFILE_H
#define EVT_TOOLS_EVT_PROGRAMFILE_H

#include "runtime/launch/Program.h"
#include "system/Leftovers.h"
#include "tools/evt/CompileOptions.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace evt::tool {

/// A directory that is removed with this object, unless it is kept.
class TemporaryDirectory {
public:
  /// Throws Failure (missing) if the system gives none.
  TemporaryDirectory();
  const std::filesystem::path &path() const { return path_; }
  void keep() { leftover_->keep(); }

private:
  std::filesystem::path path_;
  std::optional<Leftover> leftover_;
};

struct OpenedArtifact {
  std::unique_ptr<TemporaryDirectory> compiled; // holds the artifact of a .mlir file
  runtime::Artifact artifact;
};

struct OpenedProgram {
  std::unique_ptr<TemporaryDirectory> compiled; // holds the artifact of a .mlir file
  std::unique_ptr<runtime::Program> program;

  const runtime::Manifest &manifest() const { return program->manifest(); }
};

/// Loads an artifact, or compiles a file and loads that; needs no device. Throws Failure or runtime::Error.
OpenedArtifact openArtifact(const std::string &path, const CompileOptions &options);
/// The same on its device, ready to be launched.
OpenedProgram openProgram(const std::string &path, const CompileOptions &options);

/// Compiles into `directory` and warns of the obligations left.
void compileWithWarnings(const std::string &file, const CompileOptions &options, const std::string &directory);

} // namespace evt::tool

#endif
