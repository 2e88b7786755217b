#include "runtime/cuda/CudaDevice.h"

#include "device/cuda/abi.h"
#include "runtime/Error.h"

#include <algorithm>

namespace evt::runtime::cuda {
namespace {

Address addressOf(const void *memory) { return reinterpret_cast<Address>(memory); }
Stream streamOf(void *stream) { return static_cast<Stream>(stream); }
Event eventOf(void *event) { return static_cast<Event>(event); }

[[noreturn]] void refuse(const RowsToPack &rows, const std::string &what) {
  throw Error(EVT_ERROR_ARGUMENT, "rows of argument '" + rows.argument.name + "' " + what);
}

uint32_t packedType(const RowsToPack &rows, DLDataType type) {
  if (accepts(DataType::bf16, type))
    return EVT_PACK_BF16;
  if (accepts(DataType::f16, type))
    return EVT_PACK_F16;
  if (accepts(DataType::f32, type))
    return EVT_PACK_F32;
  refuse(rows, "have type " + describe(type) + ", required bf16, f16 or f32");
}

constexpr int64_t mostElements = int64_t(1) << 30; // of a launch: its pieces are numbered with 32 bits

} // namespace

void CudaDevice::refuseAllocation(uint64_t bytes, const char *function, Result result) const {
  throw Error(EVT_ERROR_MEMORY, "cannot allocate " + std::to_string(bytes) + " bytes " +
                                    (std::string(function) == "cuMemAlloc" ? "on" : "of the host for") +
                                    " cuda:" + std::to_string(gpu_.number()) + " (" + gpu_.name() +
                                    "): " + driver_.describe(function, result));
}

void *CudaDevice::allocate(uint64_t bytes) {
  Gpu::Scope scope(gpu_);
  Address address = 0;
  if (Result result = driver_.MemAlloc.raw(&address, std::max<size_t>(bytes, 16)); result != Result::success)
    refuseAllocation(bytes, "cuMemAlloc", result);
  return reinterpret_cast<void *>(address);
}

void *CudaDevice::allocateHost(uint64_t bytes) {
  Gpu::Scope scope(gpu_);
  void *memory = nullptr;
  if (Result result = driver_.MemHostAlloc.raw(&memory, std::max<size_t>(bytes, 16), 0u); result != Result::success)
    refuseAllocation(bytes, "cuMemHostAlloc", result);
  return memory;
}

void CudaDevice::free(void *memory) {
  Gpu::Scope scope(gpu_);
  if (memory)
    driver_.MemFree(addressOf(memory));
}

void CudaDevice::freeHost(void *memory) {
  Gpu::Scope scope(gpu_);
  if (memory)
    driver_.MemFreeHost(memory);
}

void CudaDevice::copy(void *to, const void *from, uint64_t bytes, evt_copy kind, void *stream) {
  Gpu::Scope scope(gpu_);
  if (!bytes)
    return;
  switch (kind) {
  case EVT_COPY_TO_DEVICE:
    return driver_.MemcpyHtoDAsync(addressOf(to), from, static_cast<size_t>(bytes), streamOf(stream));
  case EVT_COPY_TO_HOST:
    return driver_.MemcpyDtoHAsync(to, addressOf(from), static_cast<size_t>(bytes), streamOf(stream));
  case EVT_COPY_ON_DEVICE:
    return driver_.MemcpyDtoDAsync(addressOf(to), addressOf(from), static_cast<size_t>(bytes), streamOf(stream));
  }
  throw Error(EVT_ERROR_ARGUMENT, "kind of a copy is " + std::to_string(static_cast<int>(kind)) + ", required 0..2");
}

void CudaDevice::fill(void *to, uint8_t value, uint64_t bytes, void *stream) {
  Gpu::Scope scope(gpu_);
  if (bytes)
    driver_.MemsetD8Async(addressOf(to), value, static_cast<size_t>(bytes), streamOf(stream));
}

evt_memory_use CudaDevice::used() {
  Gpu::Scope scope(gpu_);
  size_t free = 0, total = 0;
  driver_.MemGetInfo(&free, &total);
  evt_memory_use use{};
  use.free = free;
  use.total = total;
  session_.addUse(use);
  return use;
}

void *CudaDevice::createStream() {
  Gpu::Scope scope(gpu_);
  Stream stream = nullptr;
  driver_.StreamCreate(&stream, streamNonBlocking);
  return stream;
}

// What its launches share is given back with it: another stream may get its address.
void CudaDevice::destroyStream(void *stream) {
  Gpu::Scope scope(gpu_);
  if (!stream)
    return;
  session_.forget(streamOf(stream));
  driver_.StreamDestroy(streamOf(stream));
}

void CudaDevice::synchronize(void *stream) {
  Gpu::Scope scope(gpu_);
  driver_.StreamSynchronize(streamOf(stream));
}

void *CudaDevice::createEvent() {
  Gpu::Scope scope(gpu_);
  Event event = nullptr;
  driver_.EventCreate(&event, 0u);
  return event;
}

void CudaDevice::destroyEvent(void *event) {
  Gpu::Scope scope(gpu_);
  if (event)
    driver_.EventDestroy(eventOf(event));
}

void CudaDevice::record(void *event, void *stream) {
  Gpu::Scope scope(gpu_);
  driver_.EventRecord(eventOf(event), streamOf(stream));
}

void CudaDevice::wait(void *event) {
  Gpu::Scope scope(gpu_);
  driver_.EventSynchronize(eventOf(event));
}

void CudaDevice::streamWait(void *stream, void *event) {
  Gpu::Scope scope(gpu_);
  driver_.StreamWaitEvent(streamOf(stream), eventOf(event), 0u);
}

double CudaDevice::elapsed(void *begin, void *end) {
  Gpu::Scope scope(gpu_);
  float milliseconds = 0;
  driver_.EventElapsedTime(&milliseconds, eventOf(begin), eventOf(end));
  return milliseconds / 1e3;
}

void CudaDevice::pack(const RowsToPack &rows, void *stream) {
  const Argument &argument = rows.argument;
  if (argument.kind != Argument::Kind::tensor)
    refuse(rows, "are given, required a tensor: it is an index");
  const TileShape tile = argument.packed.value_or(TileShape{1, rows.columns});
  const int64_t bytes = static_cast<int64_t>(bytesOf(argument.type));
  if (rows.rows < 0 || rows.firstRow < 0 || rows.columns < 1 || rows.columns > mostElements || rows.rows % tile.rows ||
      rows.firstRow % tile.rows || rows.columns % tile.columns)
    refuse(rows, "are " + std::to_string(rows.rows) + " x " + std::to_string(rows.columns) + " from row " +
                     std::to_string(rows.firstRow) + ", required multiples of " + std::to_string(tile.rows) + " x " +
                     std::to_string(tile.columns));
  evt_cuda_pack launch{};
  launch.from_type = packedType(rows, rows.fromType);
  launch.to_type = packedType(rows, toDLPack(argument.type));
  launch.columns = static_cast<uint32_t>(rows.columns);
  launch.tile_rows = static_cast<uint32_t>(tile.rows);
  launch.tile_columns = static_cast<uint32_t>(tile.columns);
  const int64_t fromBytes = rows.fromType.bits / 8;
  const Address from = addressOf(rows.from),
                to = addressOf(rows.to) + static_cast<Address>(rows.firstRow * rows.columns * bytes);
  if (from % 16 || (rows.columns % 8 == 0 && to % 16))
    refuse(rows, "begin " + std::to_string(std::max(from % 16, to % 16)) +
                     " bytes after a multiple of 16, required a multiple");
  Gpu::Scope scope(gpu_);
  const int64_t most = std::max<int64_t>(mostElements / rows.columns / tile.rows, 1) * tile.rows;
  for (int64_t row = 0; row < rows.rows; row += most) {
    launch.rows = static_cast<uint32_t>(std::min(most, rows.rows - row));
    launch.from = reinterpret_cast<const void *>(from + static_cast<Address>(row * rows.columns * fromBytes));
    launch.to = reinterpret_cast<void *>(to + static_cast<Address>(row * rows.columns * bytes));
    session_.image().pack(launch, streamOf(stream));
  }
}

} // namespace evt::runtime::cuda
