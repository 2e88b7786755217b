#include "tools/evt/ProgramFile.h"

#include "tools/evt/Failure.h"
#include "tools/evt/Frontend.h"
#include "tools/evt/Log.h"
#include "tools/evt/Words.h"

#include <cstdlib>
#include <cstring>

namespace fs = std::filesystem;

namespace evt::tool {

TemporaryDirectory::TemporaryDirectory() {
  std::error_code error;
  fs::path base = fs::temp_directory_path(error);
  std::string pattern = (error ? "." : base.string()) + "/evt-XXXXXX";
  if (!mkdtemp(pattern.data()))
    throw Failure(ExitCode::missing, "cannot create a directory in '" + fs::path(pattern).parent_path().string() +
                                         "': " + std::strerror(errno));
  path_ = pattern;
  leftover_.emplace(pattern);
}

void compileWithWarnings(const std::string &file, const CompileOptions &options, const std::string &directory) {
  std::vector<std::string> names;
  for (const ObligationRecord &obligation : compileProgram(file, options, directory))
    names.push_back(obligation.name);
  if (!options.verify)
    logWarning("'" + file + "' was not proved: --no-verify trusts its events");
  else if (!names.empty())
    logInfo(counted(names.size(), "obligation") + " left to 'evt run --check': " + joined(names));
}

OpenedArtifact openArtifact(const std::string &path, const CompileOptions &options) {
  OpenedArtifact opened;
  std::error_code error;
  if (!fs::exists(path, error))
    throw Failure(ExitCode::wrongInput,
                  "cannot read '" + path + "': " + (error ? error.message() : "No such file or directory"));
  std::string artifact = path;
  if (!fs::is_directory(path, error)) {
    opened.compiled = std::make_unique<TemporaryDirectory>();
    artifact = opened.compiled->path() / "artifact";
    try {
      compileWithWarnings(path, options, artifact);
    } catch (const Failure &) {
      if (!fs::is_empty(opened.compiled->path(), error)) // a source that does not compile, which the message names
        opened.compiled->keep();
      throw;
    }
  }
  opened.artifact = runtime::loadArtifact(artifact);
  if (!opened.compiled)
    refuseCompileOptions(path, options);
  logInfo("loaded graph '" + opened.artifact.manifest.graph + "' of '" + path + "' for target " +
          opened.artifact.manifest.target);
  return opened;
}

OpenedProgram openProgram(const std::string &path, const CompileOptions &options) {
  OpenedArtifact opened = openArtifact(path, options);
  return {std::move(opened.compiled), std::make_unique<runtime::Program>(std::move(opened.artifact))};
}

} // namespace evt::tool
