#include "ArtifactWriter.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <unistd.h>

namespace fs = std::filesystem;

namespace evt::pipeline {

namespace {

std::string fingerprint(const std::string &bytes) {
  uint64_t hash = 0xcbf29ce484222325ull;
  for (unsigned char c : bytes)
    hash = (hash ^ c) * 0x100000001b3ull;
  char text[17];
  snprintf(text, sizeof text, "%016llx", (unsigned long long)hash);
  return text;
}

std::string readFile(const fs::path &path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << in.rdbuf();
  return bytes.str();
}

bool writeFile(const fs::path &path, const std::string &text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  return static_cast<bool>(out);
}

/// The manifest's text with its own checksum in place: the fingerprint of the text with the digits taken as zeros.
std::string sealed(nlohmann::ordered_json manifest) {
  const std::string key = "\"checksum\": \"";
  manifest["checksum"] = std::string(16, '0');
  std::string text = manifest.dump(1) + "\n";
  text.replace(text.rfind(key) + key.size(), 16, fingerprint(text));
  return text;
}

} // namespace

std::string writeArtifact(const ArtifactContents &contents, const std::string &directory) {
  std::error_code error;
  fs::path target(directory);
  if (fs::exists(target) && !fs::is_directory(target))
    return "'" + directory + "' exists and is not a directory";
  if (fs::exists(target) && !fs::is_empty(target) && !fs::exists(target / "manifest.json"))
    return "'" + directory + "' is not empty and holds no artifact";
  fs::path staging = directory + ".tmp" + std::to_string(getpid());
  fs::create_directories(staging, error);
  if (error)
    return "cannot create '" + staging.string() + "': " + error.message();
  struct Cleanup {
    fs::path path;
    ~Cleanup() {
      std::error_code ignored;
      fs::remove_all(path, ignored);
    }
  } cleanup{staging};

  std::vector<std::string> names;
  for (auto &[name, text] : contents.texts) {
    if (!writeFile(staging / name, text))
      return "cannot write to '" + staging.string() + "'";
    names.push_back(name);
  }
  nlohmann::ordered_json manifest = contents.manifest;
  std::string failure = contents.build(staging.string(), manifest, names);
  if (!failure.empty()) {
    const std::string &source = contents.texts.front().first;
    std::string kept = directory + ".failed" + fs::path(source).extension().string();
    fs::copy_file(staging / source, kept, fs::copy_options::overwrite_existing, error);
    return "the emitted source does not compile (kept as " + kept + "): " + failure;
  }
  for (const std::string &name : names) {
    std::string bytes = readFile(staging / name);
    manifest["files"][name] = {{"bytes", bytes.size()}, {"fnv1a64", fingerprint(bytes)}};
  }
  if (!writeFile(staging / "manifest.json", sealed(manifest)))
    return "cannot write to '" + staging.string() + "'";
  fs::remove_all(target, error);
  fs::rename(staging, target, error);
  return error ? "cannot move the artifact to '" + directory + "': " + error.message() : "";
}

} // namespace evt::pipeline
