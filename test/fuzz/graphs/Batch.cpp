#include "Batch.h"

#include "compiler/pipeline/HostCompiler.h"
#include "runtime/artifact/Fingerprint.h"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace fs = std::filesystem;

namespace evt::fuzz {

namespace {

std::string content(const fs::path &path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << in.rdbuf();
  return bytes.str();
}

std::string sealed(nlohmann::ordered_json manifest) {
  manifest["checksum"] = std::string(16, '0');
  std::string text = manifest.dump(1) + "\n";
  size_t place = runtime::findChecksum(text).value();
  return text.replace(place, 16, runtime::toHex(runtime::fingerprintWithoutChecksum(text, place)));
}

} // namespace

void compileBatch(const std::vector<Kernel> &kernels, const std::string &folder, const std::string &name,
                  const std::string &optimization) {
  fs::create_directories(folder);
  fs::path source = fs::path(folder) / (name + ".cpp"), object = fs::path(folder) / (name + ".so");
  {
    std::ofstream out(source);
    for (const Kernel &kernel : kernels)
      out << kernel.source << "\n";
  }
  pipeline::HostCompiler host;
  host.includeRoot = EVT_SOURCE_DIR;
  host.extraFlags = {optimization};
  std::string failure = host.compile(source.string(), object.string());
  if (!failure.empty())
    throw std::runtime_error(source.string() + ": " + failure.substr(0, 4000));
  std::string bytes = content(object);
  std::string fingerprint = runtime::toHex(runtime::fnv1a64(bytes));
  for (const Kernel &kernel : kernels) {
    fs::path directory = fs::path(folder) / kernel.entry;
    fs::remove_all(directory);
    fs::create_directories(directory);
    fs::create_hard_link(object, directory / "kernel.so");
    nlohmann::ordered_json manifest = nlohmann::ordered_json::parse(kernel.manifest);
    manifest["entry"] = kernel.entry;
    manifest["files"]["kernel.so"] = {{"bytes", bytes.size()}, {"fnv1a64", fingerprint}};
    std::ofstream(directory / "manifest.json") << sealed(manifest);
  }
}

} // namespace evt::fuzz
