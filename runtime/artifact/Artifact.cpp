#include "runtime/artifact/Artifact.h"

#include "runtime/Error.h"
#include "runtime/artifact/CpuFeatures.h"
#include "runtime/artifact/Fingerprint.h"

#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>

namespace evt::runtime {
namespace {

namespace fs = std::filesystem;

// Far above any real manifest or kernel; keeps a wrong path (a device, a core dump) from being read into memory.
constexpr uintmax_t largestFile = uintmax_t(1) << 32;

std::string readFile(const fs::path &path) {
  std::error_code error;
  if (!fs::exists(path, error))
    throw Error(EVT_ERROR_FILE, path.string() + ": does not exist");
  if (!fs::is_regular_file(path, error))
    throw Error(EVT_ERROR_FILE, path.string() + ": is not a regular file");
  uintmax_t size = fs::file_size(path, error);
  if (error)
    throw Error(EVT_ERROR_FILE, path.string() + ": cannot be read: " + error.message());
  if (size > largestFile)
    throw Error(EVT_ERROR_FILE, path.string() + ": has " + std::to_string(size) + " bytes, required at most " +
                                    std::to_string(largestFile));
  std::ifstream file(path, std::ios::binary);
  std::string content(size, '\0');
  if (!file || !file.read(content.data(), static_cast<std::streamsize>(size)))
    throw Error(EVT_ERROR_FILE, path.string() + ": cannot be read: " + std::strerror(errno));
  return content;
}

Manifest readManifest(const fs::path &directory) {
  std::error_code error;
  if (!fs::is_directory(directory, error))
    throw Error(EVT_ERROR_FILE, directory.string() + ": is not a directory; an artifact is one");
  fs::path path = directory / "manifest.json";
  return parseManifest(readFile(path), path.string());
}

void checkFiles(const fs::path &directory, const Manifest &manifest) {
  for (const ArtifactFile &file : manifest.files) {
    fs::path path = directory / file.name;
    std::string content = readFile(path);
    if (content.size() != file.bytes)
      throw Error(EVT_ERROR_ARTIFACT, path.string() + ": has " + std::to_string(content.size()) +
                                          " bytes, the manifest says " + std::to_string(file.bytes));
    uint64_t found = fnv1a64(content);
    if (found != file.fnv1a64)
      throw Error(EVT_ERROR_ARTIFACT, path.string() + ": was altered: its fnv1a64 is " + toHex(found) +
                                          ", the manifest says " + toHex(file.fnv1a64));
  }
}

// Why this machine cannot run the artifact; empty if it can.
std::string reasonUnrunnable(const Manifest &manifest) {
  if (manifest.target != "cpu" && manifest.target != "cuda")
    return "target is '" + manifest.target + "', this runtime runs 'cpu' and 'cuda'";
  if (!manifest.architecture.empty() && manifest.architecture != hostArchitecture())
    return "kernel is for '" + manifest.architecture + "', this machine is '" + std::string(hostArchitecture()) + "'";
  for (const std::string &feature : manifest.features) {
    switch (hostFeature(feature)) {
    case Feature::present:
      break;
    case Feature::absent:
      return "kernel needs the CPU feature '" + feature + "', which this machine does not have";
    case Feature::unknown:
      return "kernel needs the CPU feature '" + feature + "', which this runtime does not know";
    }
  }
  return "";
}

template <typename Function> Function symbolIn(void *handle, const std::string &name) {
  return reinterpret_cast<Function>(dlsym(handle, name.c_str()));
}

} // namespace

Kernel::Kernel(const std::string &path, const std::string &entry, Role role) {
  handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle_)
    throw Error(EVT_ERROR_ARTIFACT, path + ": cannot be loaded: " + dlerror());
  // The destructor does not run when a constructor throws, so the handle is guarded until all is well.
  std::unique_ptr<void, int (*)(void *)> guard(handle_, dlclose);
  auto abi = symbolIn<uint32_t (*)()>(handle_, entry + "_abi");
  if (!abi)
    throw Error(EVT_ERROR_ARTIFACT, path + ": has no entry point '" + entry + "_abi'");
  if (abi() != EVT_ABI_VERSION)
    throw Error(EVT_ERROR_INCOMPATIBLE, path + ": abi is " + std::to_string(abi()) + ", this runtime runs abi " +
                                            std::to_string(EVT_ABI_VERSION));
  worker_ = symbolIn<decltype(worker_)>(handle_, entry + "_worker");
  explain_ = symbolIn<decltype(explain_)>(handle_, entry + "_explain");
  if (role == Role::runs && !worker_)
    throw Error(EVT_ERROR_ARTIFACT, path + ": has no entry point '" + entry + "_worker'");
  if (role == Role::describes && !explain_)
    throw Error(EVT_ERROR_ARTIFACT, path + ": has no entry point '" + entry + "_explain'");
  guard.release();
}

Kernel::~Kernel() { dlclose(handle_); }

Artifact loadArtifact(const std::string &directory) {
  std::error_code error;
  fs::path path = fs::absolute(directory, error);
  if (error)
    throw Error(EVT_ERROR_FILE, directory + ": " + error.message());
  Manifest manifest = readManifest(path);
  std::string reason = reasonUnrunnable(manifest);
  if (!reason.empty())
    throw Error(EVT_ERROR_INCOMPATIBLE, path.string() + ": " + reason);
  checkFiles(path, manifest);
  auto kernel = std::make_shared<const Kernel>((path / manifest.kernel).string(), manifest.entry,
                                               manifest.cuda ? Kernel::Role::describes : Kernel::Role::runs);
  return Artifact{path.string(), std::move(manifest), std::move(kernel)};
}

InspectedArtifact inspectArtifact(const std::string &directory) {
  Manifest manifest = readManifest(directory);
  checkFiles(directory, manifest);
  std::string reason = reasonUnrunnable(manifest);
  return {std::move(manifest), std::move(reason)};
}

} // namespace evt::runtime
