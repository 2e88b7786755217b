#include "models/serve/WeightLoader.h"

#include "models/config/Rope.h"
#include "models/weights/Chunks.h"
#include "models/weights/StepWeights.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>

namespace evt::models {
namespace {

constexpr size_t usualPieceBytes = size_t(4) << 20;
constexpr unsigned mostThreads = 8; // enough to fill the bus from the system's cache of files

using Clock = std::chrono::steady_clock;

DLDataType dlpackType(ElementType type) {
  return type == ElementType::bf16 ? bf16Type : type == ElementType::f16 ? f16Type : f32Type;
}

size_t bytesOf(DLDataType type) { return type.bits / 8u; }

/// The number of an argument of the program.
uint32_t numberOf(const Program &program, const std::string &name) {
  const std::vector<const evt_argument_info *> arguments = program.arguments();
  for (uint32_t i = 0; i < arguments.size(); ++i)
    if (arguments[i]->name == name)
      return i;
  throw std::invalid_argument("program has no argument '" + name + "', which the model's step takes");
}

StepArray arrayOf(const Program &program, std::vector<int64_t> shape, DLDataType type) {
  size_t bytes = bytesOf(type);
  for (int64_t extent : shape)
    bytes *= static_cast<size_t>(extent);
  return {DeviceMemory(program, bytes), std::move(shape), type};
}

/// Whole rows of a tensor of the checkpoint, and their place.
struct Piece {
  const Checkpoint::Tensor *tensor;
  const StepArray *array;
  uint32_t argument;
  bool isCopied;         // as it is: it needs neither another type nor another order
  uint64_t begin, bytes; // in the tensor
  int64_t firstRow, rows, columns;
};

class GpuLoader {
public:
  GpuLoader(const Program &program, const Checkpoint &checkpoint, const LoadOptions &options, LoadReport &report)
      : program_(program), checkpoint_(checkpoint), options_(options), report_(report) {}

  /// A matrix for each layer, in pieces.
  void add(const StepArgument &argument, const StepArray &array) {
    const uint32_t number = numberOf(program_, argument.name);
    const evt_argument_info &info = *program_.arguments()[number];
    const int64_t columns = argument.shape.back(), tileRows = std::max<int64_t>(info.packed_rows, 1);
    const int64_t layers = argument.layered ? argument.shape[0] : 1;
    const int64_t rowsOfLayer = argument.shape[argument.shape.size() - 2];
    for (int64_t layer = 0; layer < layers; ++layer)
      for (const StepPart &part : argument.parts) {
        const Checkpoint::Tensor &tensor = *checkpoint_.find(part.tensorOf(layer));
        const auto rowBytes = static_cast<uint64_t>(columns) * bytesOf(dlpackType(tensor.type));
        const int64_t most =
            std::max<int64_t>(static_cast<int64_t>(usualPieceBytes / rowBytes) / tileRows, 1) * tileRows;
        for (int64_t row = 0; row < part.shape[0]; row += most) {
          const int64_t rows = std::min(most, part.shape[0] - row);
          const bool isCopied = tensor.type == ElementType::bf16 && !info.packed_rows;
          pieces_.push_back({&tensor, &array, number, isCopied, static_cast<uint64_t>(row) * rowBytes,
                             static_cast<uint64_t>(rows) * rowBytes, layer * rowsOfLayer + part.row + row, rows,
                             columns});
          pieceBytes_ = std::max(pieceBytes_, pieces_.back().bytes);
          total_ += pieces_.back().bytes;
        }
      }
  }

  void run() {
    if (pieces_.empty())
      return;
    // As they lie in the files, so that a disk reads on; an argument's layers are far from each other.
    std::stable_sort(pieces_.begin(), pieces_.end(), [](const Piece &a, const Piece &b) {
      return std::pair(a.tensor->file, a.tensor->offset + a.begin) <
             std::pair(b.tensor->file, b.tensor->offset + b.begin);
    });
    unsigned threads = options_.threads ? options_.threads : std::min(mostThreads, std::thread::hardware_concurrency());
    threads = static_cast<unsigned>(std::clamp<size_t>(threads, 1, pieces_.size()));
    forEachChunk(threads, 1, threads, [&](uint64_t, uint64_t) { work(); });
    for (double *seconds : {&report_.roomSeconds, &report_.readSeconds, &report_.waitSeconds})
      *seconds /= threads;
    report_.bytes += total_;
  }

private:
  /// Room for a piece on its way.
  struct Place {
    HostMemory host;
    DeviceMemory device;
    Event packing, done;
    bool isUsed = false, isPacked = false;
  };

  void work() {
    Clock::time_point begin = Clock::now();
    auto lap = [&] {
      const Clock::time_point now = Clock::now();
      return std::chrono::duration<double>(now - std::exchange(begin, now)).count();
    };
    Stream stream(program_);
    Place places[2];
    for (Place &place : places)
      place = {HostMemory(program_, pieceBytes_), DeviceMemory(program_, pieceBytes_), Event(program_),
               Event(program_)};
    double packing = 0, reading = 0, waiting = 0;
    const double room = lap();
    try {
      for (unsigned turn = 0; !failed_; ++turn) {
        const uint64_t taken = next_.fetch_add(1);
        if (taken >= pieces_.size())
          break;
        Place &place = places[turn % 2];
        await(place, packing);
        waiting += lap();
        checkpoint_.read(*pieces_[taken].tensor, pieces_[taken].begin, {place.host.data(), pieces_[taken].bytes});
        reading += lap();
        send(pieces_[taken], place, stream);
        tell(pieces_[taken].bytes);
      }
      for (Place &place : places)
        await(place, packing);
      waiting += lap();
    } catch (...) {
      failed_ = true;
      evt_stream_synchronize(program_.get(), stream.get()); // nothing is copied from memory that is given back
      throw;
    }
    std::lock_guard lock(mutex_);
    report_.roomSeconds += room;
    report_.readSeconds += reading;
    report_.waitSeconds += waiting;
    report_.packSeconds += packing;
  }

  static void await(Place &place, double &packing) {
    if (!place.isUsed)
      return;
    place.done.wait();
    if (place.isPacked)
      packing += place.packing.secondsTo(place.done);
    place.isUsed = false;
  }

  void send(const Piece &piece, Place &place, Stream &stream) {
    const auto offset = static_cast<size_t>(piece.firstRow * piece.columns) * bytesOf(piece.array->type);
    stream.copy(piece.isCopied ? piece.array->memory.data() + offset : place.device.data(), place.host.data(),
                piece.bytes, EVT_COPY_TO_DEVICE);
    if (!piece.isCopied) {
      place.packing.record(stream.get());
      detail::check(evt_program_pack(program_.get(), piece.argument, piece.array->memory.data(), place.device.data(),
                                     dlpackType(piece.tensor->type), piece.firstRow, piece.rows, piece.columns,
                                     stream.get()));
    }
    place.done.record(stream.get());
    place.isUsed = true;
    place.isPacked = !piece.isCopied;
  }

  void tell(uint64_t bytes) {
    if (!options_.progress)
      return;
    std::lock_guard lock(mutex_);
    options_.progress(read_ += bytes, total_);
  }

  const Program &program_;
  const Checkpoint &checkpoint_;
  const LoadOptions &options_;
  LoadReport &report_;
  std::vector<Piece> pieces_;
  uint64_t pieceBytes_ = 0, total_ = 0, read_ = 0;
  std::atomic<uint64_t> next_ = 0;
  std::atomic<bool> failed_ = false;
  std::mutex mutex_;
};

} // namespace

DLTensor StepArray::tensor(DLDevice device) const {
  return {memory.get(), device, static_cast<int32_t>(shape.size()), type, const_cast<int64_t *>(shape.data()),
          nullptr,      0};
}

std::map<std::string, std::vector<int64_t>> stepShapes(const ModelConfig &model) {
  std::map<std::string, std::vector<int64_t>> shapes;
  for (const StepArgument &argument : stepArguments(model))
    if (argument.name != "final_norm")
      shapes[argument.name] = argument.shape;
  ++shapes["attn_norm"][0]; // the last norm
  shapes["frequencies"] = {model.headDim / 2};
  return shapes;
}

std::map<std::string, StepArray> loadWeights(const Program &program, const ModelConfig &model,
                                             const Checkpoint &checkpoint, const LoadOptions &options,
                                             LoadReport &report) {
  const auto begin = std::chrono::steady_clock::now();
  const bool isOnHost = evt_program_device(program.get()).device_type == kDLCPU;
  std::map<std::string, StepArray> arrays;
  GpuLoader loader(program, checkpoint, options, report);
  Stream stream(program);
  auto addValues = [&](const std::string &name, std::vector<int64_t> shape, const std::vector<float> &values) {
    StepArray &array = arrays[name] = arrayOf(program, std::move(shape), f32Type);
    stream.copy(array.memory.data(), values.data(), values.size() * sizeof(float), EVT_COPY_TO_DEVICE);
    stream.synchronize();
  };

  const std::vector<StepArgument> table = stepArguments(model);
  std::vector<float> attentionNorms; // the last norm is one more row: the layer before writes what each of them reads
  for (const StepArgument &argument : table) {
    if (argument.name.find("norm") == std::string::npos) {
      StepArray &array = arrays[argument.name] = arrayOf(program, argument.shape, bf16Type);
      if (isOnHost) {
        const std::span bytes(array.memory.data(), array.memory.bytes());
        assemble(checkpoint, argument, ElementType::bf16, bytes, options.threads);
        report.bytes += bytes.size();
      } else {
        loader.add(argument, array);
      }
      continue;
    }
    std::vector<float> values(argument.elements());
    assemble(checkpoint, argument, ElementType::f32, std::as_writable_bytes(std::span(values)), 1);
    if (argument.name == "attn_norm") {
      attentionNorms = values;
    } else if (argument.name == "final_norm") {
      attentionNorms.insert(attentionNorms.end(), values.begin(), values.end());
      addValues("attn_norm", {model.layers + 1, model.hidden}, attentionNorms);
    } else {
      addValues(argument.name, argument.shape, values);
    }
  }
  std::vector<float> frequencies;
  for (double f : ropeFrequencies(model))
    frequencies.push_back(static_cast<float>(f));
  addValues("frequencies", {static_cast<int64_t>(frequencies.size())}, frequencies);
  loader.run();
  for (const auto &[name, array] : arrays)
    report.arrays += array.memory.bytes();
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return arrays;
}

} // namespace evt::models
