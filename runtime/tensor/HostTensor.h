// A dense, row-major tensor in host memory that owns its storage: what tests, the command line and examples pass to a
// launch. Storage starts at a multiple of 64 bytes and is zero.
//
//   HostTensor x(DataType::bf16, {37, 4096});
//   x.set(0, 1.5);                      // by row-major linear index, converted to the element type
//   DLTensor view = x.dlpack();         // borrows: x must outlive it
#ifndef EVT_RUNTIME_TENSOR_HOSTTENSOR_H
#define EVT_RUNTIME_TENSOR_HOSTTENSOR_H

#include "runtime/tensor/DataType.h"

#include <memory>
#include <string>
#include <vector>

namespace evt::runtime {

// "37x4096", "scalar" for rank 0.
std::string describeShape(const std::vector<int64_t> &shape);

class HostTensor {
public:
  // Throws Error (argument) if an extent is negative or the size does not fit in memory.
  HostTensor(DataType type, std::vector<int64_t> shape);

  DataType type() const { return type_; }
  const std::vector<int64_t> &shape() const { return shape_; }
  int64_t elements() const { return elements_; }
  size_t bytes() const { return static_cast<size_t>(elements_) * bytesOf(type_); }
  void *data() { return storage_.get(); }
  const void *data() const { return storage_.get(); }

  // Elements as numbers. i64 values beyond 2^53 lose their low bits as double: getInteger and setInteger keep them.
  double get(int64_t index) const;
  void set(int64_t index, double value);
  int64_t getInteger(int64_t index) const;
  void setInteger(int64_t index, int64_t value);

  DLTensor dlpack();

private:
  struct Free {
    void operator()(void *memory) const;
  };
  DataType type_;
  std::vector<int64_t> shape_;
  int64_t elements_;
  std::unique_ptr<void, Free> storage_;
};

} // namespace evt::runtime

#endif
