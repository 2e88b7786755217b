#include "runtime/artifact/Artifact.h"

#include "runtime/Error.h"
#include "runtime/artifact/CpuFeatures.h"
#include "runtime/testdata/SignedManifest.h"

#include <filesystem>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

using namespace evt::runtime;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

// A copy of the row_sum artifact that a test may damage.
class ArtifactTest : public testing::Test {
protected:
  void SetUp() override {
    directory_ = fs::path(testing::TempDir()) / ("artifact_" + std::to_string(getpid()));
    fs::remove_all(directory_);
    fs::copy(fs::path(EVT_TEST_ARTIFACTS) / "row_sum", directory_);
  }
  void TearDown() override { fs::remove_all(directory_); }

  static std::string content(const fs::path &path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void replace(const std::string &name, const std::string &bytes) {
    fs::remove(directory_ / name);
    std::ofstream(directory_ / name, std::ios::binary) << bytes;
  }
  void edit(const std::function<void(json &)> &change) {
    json document = json::parse(content(directory_ / "manifest.json"));
    change(document);
    replace("manifest.json", handwritten::signedText(document));
  }
  // Makes the manifest agree with a kernel put in place of the real one.
  void adopt(const std::string &kernel) {
    replace("kernel.so", kernel);
    edit([&](json &m) {
      m["files"]["kernel.so"] = {{"bytes", kernel.size()}, {"fnv1a64", handwritten::fingerprint(kernel)}};
    });
  }

  std::string message(evt_code code) {
    try {
      loadArtifact(directory_.string());
    } catch (const Error &error) {
      EXPECT_EQ(error.code(), code) << error.what();
      std::string text = error.what(), prefix = directory_.string();
      return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
    }
    return "no error";
  }

  fs::path directory_;
};

TEST_F(ArtifactTest, LoadsWhatAnIndependentWriterMade) {
  Artifact artifact = loadArtifact(directory_.string());
  EXPECT_EQ(artifact.manifest.graph, "row_sum");
  EXPECT_TRUE(artifact.kernel->canExplain());
  EXPECT_EQ(inspectArtifact(directory_.string()).unrunnable, "");
}

TEST_F(ArtifactTest, MissingParts) {
  fs::remove(directory_ / "kernel.so");
  EXPECT_EQ(message(EVT_ERROR_FILE), "/kernel.so: does not exist");
  fs::create_directory(directory_ / "kernel.so");
  EXPECT_EQ(message(EVT_ERROR_FILE), "/kernel.so: is not a regular file");
  fs::remove(directory_ / "manifest.json");
  EXPECT_EQ(message(EVT_ERROR_FILE), "/manifest.json: does not exist");
  fs::remove_all(directory_);
  EXPECT_EQ(message(EVT_ERROR_FILE), ": is not a directory; an artifact is one");
}

TEST_F(ArtifactTest, DamagedKernels) {
  std::string kernel = content(directory_ / "kernel.so");
  std::string size = std::to_string(kernel.size());
  replace("kernel.so", kernel.substr(0, 100));
  EXPECT_EQ(message(EVT_ERROR_ARTIFACT), "/kernel.so: has 100 bytes, the manifest says " + size);
  std::string flipped = kernel;
  flipped[flipped.size() / 2] ^= 1;
  replace("kernel.so", flipped);
  std::string found = message(EVT_ERROR_ARTIFACT);
  EXPECT_TRUE(found.starts_with("/kernel.so: was altered: its fnv1a64 is ")) << found;
  std::string stated = json::parse(content(directory_ / "manifest.json"))["files"]["kernel.so"]["fnv1a64"];
  EXPECT_TRUE(found.ends_with(", the manifest says " + stated)) << found;
}

TEST_F(ArtifactTest, KernelsThatAreNone) {
  adopt("this is not a shared object");
  EXPECT_TRUE(message(EVT_ERROR_ARTIFACT).starts_with("/kernel.so: cannot be loaded: "));
}

TEST_F(ArtifactTest, AnotherAbiInTheKernelItself) {
  adopt(content(EVT_OTHER_ABI_KERNEL));
  EXPECT_EQ(message(EVT_ERROR_INCOMPATIBLE), "/kernel.so: abi is 7, this runtime runs abi 3");
}

TEST_F(ArtifactTest, SharedObjectsWithoutEntryPoints) {
  adopt(content(EVT_NO_ENTRY_KERNEL));
  EXPECT_EQ(message(EVT_ERROR_ARTIFACT), "/kernel.so: has no entry point 'evt_kernel_abi'");
}

// An artifact for a GPU describes itself with a library that has no worker, and needs one that explains.
TEST_F(ArtifactTest, LibrariesThatDescribe) {
  Artifact cuda = loadArtifact(std::string(EVT_TEST_ARTIFACTS) + "/row_sum_cuda");
  EXPECT_TRUE(cuda.kernel->canExplain());
  EXPECT_EQ(inspectArtifact(cuda.directory).unrunnable, "");
  fs::remove_all(directory_);
  fs::copy(cuda.directory, directory_);
  edit([](json &m) { m["cpu"] = {{"arch", "riscv64"}, {"features", json::array()}}; });
  EXPECT_EQ(message(EVT_ERROR_INCOMPATIBLE),
            ": kernel is for 'riscv64', this machine is '" + std::string(hostArchitecture()) + "'");
  edit([](json &m) { m.erase("cpu"); });
  std::string mute = content(fs::path(EVT_TEST_ARTIFACTS) / "faults" / "kernel.so");
  replace("explain.so", mute);
  edit([&](json &m) {
    m["files"]["explain.so"] = {{"bytes", mute.size()}, {"fnv1a64", handwritten::fingerprint(mute)}};
  });
  EXPECT_EQ(message(EVT_ERROR_ARTIFACT), "/explain.so: has no entry point 'evt_kernel_explain'");
}

TEST_F(ArtifactTest, EntryPointsOfAnotherName) {
  edit([](json &m) { m["entry"] = "second"; });
  EXPECT_EQ(message(EVT_ERROR_ARTIFACT), "/kernel.so: has no entry point 'second_abi'");
  edit([](json &m) { m["entry"] = "evt_kernel"; });
  EXPECT_EQ(loadArtifact(directory_.string()).manifest.entry, "evt_kernel");
}

TEST_F(ArtifactTest, OtherMachines) {
  edit([](json &m) { m["target"] = "abacus"; });
  EXPECT_EQ(message(EVT_ERROR_INCOMPATIBLE), ": target is 'abacus', this runtime runs 'cpu' and 'cuda'");
  EXPECT_EQ(inspectArtifact(directory_.string()).unrunnable, "target is 'abacus', this runtime runs 'cpu' and 'cuda'");
  edit([](json &m) {
    m["target"] = "cpu";
    m["cpu"]["arch"] = "riscv64";
  });
  EXPECT_EQ(message(EVT_ERROR_INCOMPATIBLE),
            ": kernel is for 'riscv64', this machine is '" + std::string(hostArchitecture()) + "'");
  edit([](json &m) { m["cpu"] = {{"arch", std::string(hostArchitecture())}, {"features", {"warp drive"}}}; });
  EXPECT_EQ(message(EVT_ERROR_INCOMPATIBLE),
            ": kernel needs the CPU feature 'warp drive', which this runtime does not know");
}

// /proc/cpuinfo is the kernel's own reading of the same instruction.
TEST(CpuFeatures, AgreeWithTheSystem) {
  if (hostArchitecture() != "x86_64")
    GTEST_SKIP() << "no feature is known on this architecture";
  std::ifstream file("/proc/cpuinfo");
  std::string flags, line;
  while (std::getline(file, line))
    if (line.starts_with("flags")) {
      flags = line + " ";
      break;
    }
  ASSERT_FALSE(flags.empty());
  for (auto [gcc, linux] : {std::pair{"avx2", "avx2"},
                            {"fma", "fma"},
                            {"avx512f", "avx512f"},
                            {"avx512bf16", "avx512_bf16"},
                            {"sse4.2", "sse4_2"},
                            {"f16c", "f16c"}}) {
    bool present = flags.find(" " + std::string(linux) + " ") != std::string::npos;
    EXPECT_EQ(hostFeature(gcc), present ? Feature::present : Feature::absent) << gcc;
  }
  EXPECT_EQ(hostFeature("avx3"), Feature::unknown);
}

} // namespace
