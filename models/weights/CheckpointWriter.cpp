#include "models/weights/CheckpointWriter.h"

#include "models/config/Problems.h"
#include "models/weights/Checkpoint.h"
#include "models/weights/Chunks.h"
#include "system/Leftovers.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <mutex>
#include <optional>
#include <sys/file.h>
#include <unistd.h>

namespace evt::models {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t chunkElements = 1 << 20;

[[noreturn]] void fail(const std::string &path, const char *what) {
  throw Problems(path, std::string(what) + ": " + std::strerror(errno));
}

// A file under its temporary name. It is removed unless it was renamed, also if the process is interrupted.
class PartialFile {
public:
  explicit PartialFile(std::string path) : path_(std::move(path)), partial_(path_ + ".partial") {
    file_ = open(partial_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (file_ < 0)
      fail(partial_, "cannot be written");
    if (flock(file_, LOCK_EX | LOCK_NB) != 0) {
      close(file_);
      throw Problems(partial_, "is being written by another process");
    }
    if (ftruncate(file_, 0) != 0) {
      int error = errno;
      close(file_);
      errno = error;
      fail(partial_, "cannot be written");
    }
    leftover_.emplace(partial_);
  }
  ~PartialFile() { close(file_); }
  PartialFile(const PartialFile &) = delete;
  PartialFile &operator=(const PartialFile &) = delete;

  // May be called by several threads.
  void write(uint64_t offset, const void *data, size_t bytes) const {
    auto *next = static_cast<const char *>(data);
    while (bytes) {
      ssize_t written = pwrite(file_, next, bytes, static_cast<off_t>(offset));
      if (written < 0 && errno == EINTR)
        continue;
      if (written <= 0)
        fail(partial_, "cannot be written");
      next += written, offset += static_cast<uint64_t>(written), bytes -= static_cast<size_t>(written);
    }
  }

  void rename() {
    if (::rename(partial_.c_str(), path_.c_str()) != 0)
      fail(path_, "cannot be written");
    leftover_->keep();
  }

private:
  std::string path_, partial_;
  int file_ = -1;
  std::optional<Leftover> leftover_;
};

// The tensors [first, end) of the checkpoint.
struct Shard {
  size_t first, end;
};

std::vector<Shard> divide(const std::vector<TensorType> &tensors, uint64_t shardBytes) {
  std::vector<Shard> shards{{0, 0}};
  uint64_t bytes = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (bytes && bytes + tensors[i].bytes() > shardBytes) {
      shards.push_back({i, i});
      bytes = 0;
    }
    shards.back().end = i + 1;
    bytes += tensors[i].bytes();
  }
  return shards;
}

std::string shardName(size_t index, size_t count) {
  char name[64];
  std::snprintf(name, sizeof name, "model-%05zu-of-%05zu.safetensors", index + 1, count);
  return name;
}

// "model-00001-of-00003.safetensors"
bool isShardName(const std::string &name) {
  std::string pattern = shardName(0, 0);
  return name.size() == pattern.size() && std::equal(name.begin(), name.end(), pattern.begin(), [](char c, char p) {
           return p >= '0' && p <= '9' ? c >= '0' && c <= '9' : c == p;
         });
}

// Says how far all files together are.
class Progress {
public:
  Progress(const std::function<void(uint64_t, uint64_t)> &report, uint64_t total) : report_(report), total_(total) {}
  void add(uint64_t bytes) {
    std::lock_guard lock(mutex_);
    done_ += bytes;
    if (report_)
      report_(done_, total_);
  }

private:
  const std::function<void(uint64_t, uint64_t)> &report_;
  std::mutex mutex_;
  uint64_t done_ = 0, total_;
};

void writeShard(const PartialFile &file, const std::vector<TensorType> &tensors, Shard shard, const FillElements &fill,
                unsigned threads, Progress &progress) {
  std::string header = formatHeader(std::span(tensors).subspan(shard.first, shard.end - shard.first));
  file.write(0, header.data(), header.size());
  // Chunks of all the shard's tensors in one sequence, so that small tensors keep no thread waiting.
  struct Start {
    size_t tensor;
    uint64_t chunk, offset;
  };
  std::vector<Start> starts;
  uint64_t chunks = 0, offset = header.size();
  for (size_t i = shard.first; i < shard.end; ++i) {
    starts.push_back({i, chunks, offset});
    chunks += (tensors[i].elements() + chunkElements - 1) / chunkElements;
    offset += tensors[i].bytes();
  }
  forEachChunk(chunks, 1, threads, [&](uint64_t chunk, uint64_t) {
    auto after = [](uint64_t value, const Start &start) { return value < start.chunk; };
    const Start &start = *std::prev(std::upper_bound(starts.begin(), starts.end(), chunk, after));
    const TensorType &tensor = tensors[start.tensor];
    uint64_t first = (chunk - start.chunk) * chunkElements;
    uint64_t count = std::min(chunkElements, tensor.elements() - first);
    std::vector<std::byte> buffer(count * bytesOf(tensor.type));
    fill(start.tensor, first, buffer);
    file.write(start.offset + first * bytesOf(tensor.type), buffer.data(), buffer.size());
    progress.add(buffer.size());
  });
}

std::string indexText(const std::vector<TensorType> &tensors, const std::vector<Shard> &shards,
                      const std::vector<std::string> &names) {
  nlohmann::ordered_json index;
  uint64_t total = 0;
  for (const TensorType &tensor : tensors)
    total += tensor.bytes();
  index["metadata"] = {{"total_size", total}};
  for (size_t s = 0; s < shards.size(); ++s)
    for (size_t i = shards[s].first; i < shards[s].end; ++i)
      index["weight_map"][tensors[i].name] = names[s];
  return index.dump(2) + "\n";
}

} // namespace

std::vector<std::string> checkpointFiles(const std::string &folder) {
  std::vector<std::string> found;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::string name = entry->path().filename().string();
    if (name == singleFileName || name == indexFileName || isShardName(name))
      found.push_back(name);
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<std::string> writeCheckpoint(const std::string &folder, const std::vector<TensorType> &tensors,
                                         const FillElements &fill, const WriteOptions &options) {
  std::vector<std::string> old = checkpointFiles(folder);
  if (!old.empty() && !options.replace)
    throw Problems(folder, "has a checkpoint already (" + old[0] + ")");
  auto pathOf = [&](const std::string &name) { return (fs::path(folder) / name).string(); };
  std::vector<Shard> shards = divide(tensors, options.shardBytes);
  std::vector<std::string> names;
  for (size_t i = 0; i < shards.size(); ++i)
    names.push_back(shards.size() == 1 ? singleFileName : shardName(i, shards.size()));

  uint64_t total = 0;
  for (const TensorType &tensor : tensors)
    total += tensor.bytes();
  Progress progress(options.progress, total);
  std::vector<std::unique_ptr<PartialFile>> files;
  for (size_t i = 0; i < shards.size(); ++i) {
    files.push_back(std::make_unique<PartialFile>(pathOf(names[i])));
    writeShard(*files.back(), tensors, shards[i], fill, options.threads, progress);
  }
  if (shards.size() > 1) { // last, since it is what a reader looks for
    files.push_back(std::make_unique<PartialFile>(pathOf(indexFileName)));
    std::string text = indexText(tensors, shards, names);
    files.back()->write(0, text.data(), text.size());
  }

  // First what makes a reader find the old files, then those.
  auto entrance = [](const std::string &name) { return name == singleFileName || name == indexFileName; };
  std::stable_partition(old.begin(), old.end(), entrance);
  for (const std::string &name : old)
    if (unlink(pathOf(name).c_str()) != 0 && errno != ENOENT)
      fail(pathOf(name), "cannot be replaced");
  for (std::unique_ptr<PartialFile> &file : files)
    file->rename();
  return names;
}

} // namespace evt::models
