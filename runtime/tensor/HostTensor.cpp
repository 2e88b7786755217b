#include "runtime/tensor/HostTensor.h"

#include "runtime/Error.h"

#include <cassert>
#include <cstdlib>
#include <cstring>

namespace evt::runtime {
namespace {

constexpr size_t alignment = 64;

int64_t countElements(DataType type, const std::vector<int64_t> &shape) {
  int64_t count = 1;
  int64_t bytes = 0;
  for (int64_t extent : shape) {
    if (extent < 0)
      throw Error(EVT_ERROR_ARGUMENT, "tensor extent is " + std::to_string(extent) + ", required at least 0");
    if (__builtin_mul_overflow(count, extent, &count))
      throw Error(EVT_ERROR_MEMORY, "tensor of shape " + describeShape(shape) + " has more than 2^63 elements");
  }
  if (__builtin_mul_overflow(count, static_cast<int64_t>(bytesOf(type)), &bytes))
    throw Error(EVT_ERROR_MEMORY, "tensor of shape " + describeShape(shape) + " has more than 2^63 bytes");
  return count;
}

template <typename T> T load(const void *base, int64_t index) {
  T value;
  std::memcpy(&value, static_cast<const T *>(base) + index, sizeof value);
  return value;
}
template <typename T> void store(void *base, int64_t index, T value) {
  std::memcpy(static_cast<T *>(base) + index, &value, sizeof value);
}

} // namespace

std::string describeShape(const std::vector<int64_t> &shape) {
  std::string text;
  for (int64_t extent : shape)
    text += (text.empty() ? "" : "x") + std::to_string(extent);
  return text.empty() ? "scalar" : text;
}

void HostTensor::Free::operator()(void *memory) const { std::free(memory); }

HostTensor::HostTensor(DataType type, std::vector<int64_t> shape)
    : type_(type), shape_(std::move(shape)), elements_(countElements(type_, shape_)) {
  size_t size = (bytes() / alignment + 1) * alignment;
  storage_.reset(std::aligned_alloc(alignment, size));
  if (!storage_)
    throw Error(EVT_ERROR_MEMORY,
                "cannot allocate " + std::to_string(size) + " bytes for a tensor of shape " + describeShape(shape_));
  std::memset(storage_.get(), 0, size);
}

double HostTensor::get(int64_t index) const {
  assert(index >= 0 && index < elements_);
  switch (type_) {
  case DataType::f32:
    return load<float>(data(), index);
  case DataType::bf16:
    return fromBf16(load<uint16_t>(data(), index));
  case DataType::f16:
    return fromF16(load<uint16_t>(data(), index));
  default:
    return static_cast<double>(getInteger(index));
  }
}

int64_t HostTensor::getInteger(int64_t index) const {
  assert(index >= 0 && index < elements_);
  switch (type_) {
  case DataType::i32:
    return load<int32_t>(data(), index);
  case DataType::i64:
    return load<int64_t>(data(), index);
  case DataType::i1:
    return load<uint8_t>(data(), index);
  default:
    return static_cast<int64_t>(get(index));
  }
}

void HostTensor::set(int64_t index, double value) {
  assert(index >= 0 && index < elements_);
  switch (type_) {
  case DataType::f32:
    return store(data(), index, static_cast<float>(value));
  case DataType::bf16:
    return store(data(), index, toBf16(static_cast<float>(value)));
  case DataType::f16:
    return store(data(), index, toF16(static_cast<float>(value)));
  default:
    return setInteger(index, static_cast<int64_t>(value));
  }
}

void HostTensor::setInteger(int64_t index, int64_t value) {
  assert(index >= 0 && index < elements_);
  switch (type_) {
  case DataType::i32:
    return store(data(), index, static_cast<int32_t>(value));
  case DataType::i64:
    return store(data(), index, value);
  case DataType::i1:
    return store<uint8_t>(data(), index, value != 0);
  default:
    return set(index, static_cast<double>(value));
  }
}

DLTensor HostTensor::dlpack() {
  DLTensor view{};
  view.data = data();
  view.device = {kDLCPU, 0};
  view.ndim = static_cast<int>(shape_.size());
  view.dtype = toDLPack(type_);
  view.shape = shape_.data();
  return view;
}

} // namespace evt::runtime
