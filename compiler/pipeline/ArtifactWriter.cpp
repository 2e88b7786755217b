#include "ArtifactWriter.h"

#include "system/Leftovers.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
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

/// Why a file cannot be written, or an empty string.
std::string writeFile(const fs::path &path, const std::string &text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  return out ? "" : "cannot write '" + path.string() + "': " + std::strerror(errno);
}

/// The manifest's text with its own checksum in place: the fingerprint of the text with the digits taken as zeros.
std::string sealed(nlohmann::ordered_json manifest) {
  const std::string key = "\"checksum\": \"";
  manifest["checksum"] = std::string(16, '0');
  std::string text = manifest.dump(1) + "\n";
  text.replace(text.rfind(key) + key.size(), 16, fingerprint(text));
  return text;
}

/// Why what is there is not to be replaced: it is no artifact, or holds what no artifact does. Empty if it may be.
std::string whyNotReplaced(const fs::path &target) {
  std::error_code error;
  const fs::file_status status = fs::status(target, error);
  if (status.type() == fs::file_type::not_found)
    return "";
  if (error)
    return "cannot be written: " + error.message();
  if (!fs::is_directory(status))
    return "exists and is not a directory";
  fs::directory_iterator entries(target, error);
  if (error)
    return "cannot be read: " + error.message();
  if (entries == fs::directory_iterator())
    return "";
  nlohmann::ordered_json manifest =
      nlohmann::ordered_json::parse(readFile(target / "manifest.json"), nullptr, /*allow_exceptions=*/false);
  if (!manifest.is_object() || !manifest.contains("files") || !manifest["files"].is_object() ||
      !manifest.contains("checksum"))
    return "is not empty and holds no artifact";
  for (const fs::directory_entry &entry : entries) {
    std::string name = entry.path().filename().string();
    if (name != "manifest.json" && !manifest["files"].contains(name))
      return "holds an artifact and '" + name + "', which is no part of it";
  }
  return "";
}

} // namespace

std::string writeArtifact(const ArtifactContents &contents, const std::string &directory) {
  std::error_code error;
  // Without a slash at its end, and where "." is: what is staged beside it must not be inside of it.
  fs::path target = fs::weakly_canonical(directory.empty() ? "." : directory, error);
  if (!error && !target.has_filename())
    target = target.parent_path();
  if (std::string why = error ? error.message() : whyNotReplaced(target); !why.empty())
    return "'" + directory + "' " + (error ? "cannot be written: " : "") + why;
  fs::path staging = target.string() + ".tmp" + std::to_string(getpid());
  const Leftover unfinished(staging);
  fs::create_directories(staging, error);
  if (error)
    return "cannot create '" + staging.string() + "': " + error.message();

  std::vector<std::string> names;
  for (auto &[name, text] : contents.texts) {
    if (std::string why = writeFile(staging / name, text); !why.empty())
      return why;
    names.push_back(name);
  }
  nlohmann::ordered_json manifest = contents.manifest;
  std::string failure = contents.build(staging.string(), manifest, names);
  if (!failure.empty()) {
    for (int reason : {ENOSPC, EDQUOT, EFBIG})
      if (failure.find(std::strerror(reason)) != std::string::npos)
        return "'" + directory + "' cannot be written: " + std::strerror(reason) + ": " + failure;
    const std::string &source = contents.texts.front().first;
    std::string kept = target.string() + ".failed" + fs::path(source).extension().string();
    fs::copy_file(staging / source, kept, fs::copy_options::overwrite_existing, error);
    return "the emitted source does not compile" + (error ? "" : " (kept as " + kept + ")") + ": " + failure;
  }
  for (const std::string &name : names) {
    std::string bytes = readFile(staging / name);
    manifest["files"][name] = {{"bytes", bytes.size()}, {"fnv1a64", fingerprint(bytes)}};
  }
  if (std::string why = writeFile(staging / "manifest.json", sealed(manifest)); !why.empty())
    return why;
  // The old one goes when the new one is in its place.
  fs::path old = target.string() + ".old" + std::to_string(getpid());
  fs::rename(target, old, error);
  const bool hasOld = !error;
  fs::rename(staging, target, error);
  if (!error) {
    std::error_code ignored;
    fs::remove_all(old, ignored);
    return "";
  }
  std::string why = error.message();
  if (hasOld)
    fs::rename(old, target, error);
  return "cannot move the artifact to '" + directory + "': " + why;
}

} // namespace evt::pipeline
