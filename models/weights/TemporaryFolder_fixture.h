// A folder that lives as long as a test, and files in it.
#ifndef EVT_MODELS_WEIGHTS_TEMPORARYFOLDER_FIXTURE_H
#define EVT_MODELS_WEIGHTS_TEMPORARYFOLDER_FIXTURE_H

#include "models/config/Problems.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

namespace evt::models {

class TemporaryFolder {
public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "evt_weights_XXXXXX").string();
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    path = name;
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path); }
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;

  std::string file(const std::string &name) const { return path + "/" + name; }
  void write(const std::string &name, const std::string &text) const {
    std::ofstream(file(name), std::ios::binary) << text;
  }
  std::string read(const std::string &name) const {
    std::ifstream in(file(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::set<std::string> names() const {
    std::set<std::string> found;
    for (const auto &entry : std::filesystem::directory_iterator(path))
      found.insert(entry.path().filename().string());
    return found;
  }

  std::string path;
};

/// What Problems says, with the folder's name replaced by DIR.
template <typename Action> std::string refusal(const TemporaryFolder &folder, Action action) {
  try {
    action();
  } catch (const Problems &problems) {
    std::string text = problems.what();
    for (size_t at; (at = text.find(folder.path)) != std::string::npos;)
      text.replace(at, folder.path.size(), "DIR");
    return text;
  }
  return "accepted";
}

} // namespace evt::models

#endif
