// How far a result is from its reference, in numbers that mean something for any size and type.
#ifndef EVT_RUNTIME_TENSOR_COMPARE_H
#define EVT_RUNTIME_TENSOR_COMPARE_H

#include "runtime/tensor/HostTensor.h"

namespace evt::runtime {

struct Comparison {
  // ‖found − expected‖ / ‖expected‖ (Frobenius norms, in double); ‖found‖ if expected is all zero. Elements that are
  // not a number on either side are left out of it and counted below; equal infinities differ by 0.
  double relativeError = 0;
  double maxAbsolute = 0; // largest |found − expected|
  int64_t maxIndex = -1;  // its row-major index; -1 if nothing differs
  int64_t foundNaN = 0;
  int64_t expectedNaN = 0;
  int64_t mismatchedNaN = 0; // elements that are NaN on one side only
  int64_t different = 0;     // elements whose stored bits differ
};

// Throws Error (argument) if types or shapes differ.
Comparison compare(const HostTensor &found, const HostTensor &expected);

} // namespace evt::runtime

#endif
