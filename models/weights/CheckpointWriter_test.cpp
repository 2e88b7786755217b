#include "models/weights/CheckpointWriter.h"

#include "models/weights/Checkpoint.h"
#include "models/weights/TemporaryFolder_fixture.h"
#include "system/Leftovers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace evt::models {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

// Of 24, 8, 40 and 6 bytes; the third is longer than a chunk in the test that says so.
const std::vector<TensorType> tensors{{"a", ElementType::bf16, {3, 4}},
                                      {"b", ElementType::f32, {2}},
                                      {"c", ElementType::bf16, {20}},
                                      {"d", ElementType::f16, {3}}};

// Byte k of tensor t is 16 t + k, modulo 256.
void fillBytes(size_t tensor, uint64_t first, std::span<std::byte> out) {
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<std::byte>(16 * tensor + first * bytesOf(tensors[tensor].type) + i);
}

void expectContent(const TemporaryFolder &folder) {
  Checkpoint checkpoint = Checkpoint::open(folder.path);
  ASSERT_EQ(checkpoint.tensors().size(), tensors.size());
  for (size_t t = 0; t < tensors.size(); ++t) {
    const Checkpoint::Tensor *tensor = checkpoint.find(tensors[t].name);
    ASSERT_NE(tensor, nullptr);
    EXPECT_EQ(tensor->shape, tensors[t].shape);
    EXPECT_EQ(tensor->type, tensors[t].type);
    for (size_t i = 0; i < tensor->data.size(); ++i)
      EXPECT_EQ(tensor->data[i], static_cast<std::byte>(16 * t + i));
  }
}

TEST(CheckpointWriter, OneFile) {
  TemporaryFolder folder;
  WriteOptions options;
  uint64_t last = 0;
  options.progress = [&](uint64_t done, uint64_t total) {
    EXPECT_GT(done, last);
    EXPECT_EQ(total, 78u);
    last = done;
  };
  EXPECT_THAT(writeCheckpoint(folder.path, tensors, fillBytes, options), ElementsAre("model.safetensors"));
  EXPECT_EQ(last, 78u);
  EXPECT_THAT(folder.names(), UnorderedElementsAre("model.safetensors"));
  expectContent(folder);
}

TEST(CheckpointWriter, LeavesNothingWhenInterrupted) {
  TemporaryFolder folder;
  auto interrupted = [&](size_t tensor, uint64_t first, std::span<std::byte> out) {
    if (tensor == 2) {
      EXPECT_THAT(folder.names(), UnorderedElementsAre("model.safetensors.partial"));
      raise(SIGTERM);
      stopIfInterrupted();
    }
    fillBytes(tensor, first, out);
  };
  auto write = [&] {
    cleanUpWhenInterrupted();
    WriteOptions options;
    options.threads = 1;
    writeCheckpoint(folder.path, tensors, interrupted, options);
  };
  EXPECT_EXIT(write(), testing::KilledBySignal(SIGTERM), "^$");
  EXPECT_THAT(folder.names(), testing::IsEmpty());
}

TEST(CheckpointWriter, Shards) {
  TemporaryFolder folder;
  WriteOptions options;
  options.shardBytes = 32; // a and b; c alone, though larger; d
  EXPECT_THAT(writeCheckpoint(folder.path, tensors, fillBytes, options),
              ElementsAre("model-00001-of-00003.safetensors", "model-00002-of-00003.safetensors",
                          "model-00003-of-00003.safetensors"));
  expectContent(folder);
  EXPECT_EQ(folder.read("model.safetensors.index.json"), R"({
  "metadata": {
    "total_size": 78
  },
  "weight_map": {
    "a": "model-00001-of-00003.safetensors",
    "b": "model-00001-of-00003.safetensors",
    "c": "model-00002-of-00003.safetensors",
    "d": "model-00003-of-00003.safetensors"
  }
}
)");
}

TEST(CheckpointWriter, ReplacesOnlyWhenAsked) {
  TemporaryFolder folder;
  folder.write("config.json", "{}");
  WriteOptions options;
  options.shardBytes = 1;
  writeCheckpoint(folder.path, tensors, fillBytes, options);
  EXPECT_EQ(refusal(folder, [&] { writeCheckpoint(folder.path, tensors, fillBytes, options); }),
            "'DIR': has a checkpoint already (model-00001-of-00004.safetensors)");
  // In each direction, and what is no part of a checkpoint stays.
  options.replace = true;
  options.shardBytes = 1000;
  writeCheckpoint(folder.path, tensors, fillBytes, options);
  EXPECT_THAT(folder.names(), UnorderedElementsAre("config.json", "model.safetensors"));
  options.shardBytes = 32;
  writeCheckpoint(folder.path, tensors, fillBytes, options);
  EXPECT_EQ(folder.names().size(), 5u);
  expectContent(folder);
}

TEST(CheckpointWriter, FailureLeavesTheOldOne) {
  TemporaryFolder folder;
  WriteOptions options;
  writeCheckpoint(folder.path, tensors, fillBytes, options);
  options.replace = true;
  options.shardBytes = 32;
  auto broken = [](size_t tensor, uint64_t first, std::span<std::byte> out) {
    if (tensor == 2)
      throw std::runtime_error("no more");
    fillBytes(tensor, first, out);
  };
  EXPECT_THROW(writeCheckpoint(folder.path, tensors, broken, options), std::runtime_error);
  EXPECT_THAT(folder.names(), UnorderedElementsAre("model.safetensors"));
  expectContent(folder);
}

TEST(CheckpointWriter, NamesWhatCannotBeWritten) {
  TemporaryFolder folder;
  EXPECT_EQ(refusal(folder, [&] { writeCheckpoint(folder.file("no"), tensors, fillBytes, {}); }),
            "'DIR/no/model.safetensors.partial': cannot be written: No such file or directory");
  int other = open(folder.file("model.safetensors.partial").c_str(), O_WRONLY | O_CREAT, 0666);
  ASSERT_EQ(flock(other, LOCK_EX), 0);
  EXPECT_EQ(refusal(folder, [&] { writeCheckpoint(folder.path, tensors, fillBytes, {}); }),
            "'DIR/model.safetensors.partial': is being written by another process");
  close(other);
  writeCheckpoint(folder.path, tensors, fillBytes, {}); // what a killed writer left is replaced
  expectContent(folder);
}

TEST(CheckpointWriter, LongTensors) {
  TemporaryFolder folder;
  std::vector<TensorType> large{{"small", ElementType::bf16, {5}}, {"large", ElementType::bf16, {3, 1 << 20}}};
  auto fill = [](size_t tensor, uint64_t first, std::span<std::byte> out) {
    for (size_t i = 0; i < out.size(); ++i) {
      uint64_t element = first + i / 2;
      out[i] = static_cast<std::byte>((element * 2654435761u + tensor) >> (8 + i % 2 * 8));
    }
  };
  WriteOptions options;
  options.threads = 3;
  writeCheckpoint(folder.path, large, fill, options);
  Checkpoint checkpoint = Checkpoint::open(folder.path);
  std::vector<std::byte> whole(3 << 21);
  fill(1, 0, whole);
  std::span<const std::byte> found = checkpoint.find("large")->data;
  EXPECT_TRUE(std::equal(whole.begin(), whole.end(), found.begin(), found.end()));
}

} // namespace
} // namespace evt::models
