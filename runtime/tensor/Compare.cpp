#include "runtime/tensor/Compare.h"

#include "runtime/Error.h"

#include <cmath>
#include <cstring>

namespace evt::runtime {
namespace {

// Integers are subtracted as integers: two i64 values that differ may be the same double.
double difference(const HostTensor &found, const HostTensor &expected, int64_t index) {
  if (isFloat(found.type())) {
    double a = found.get(index), b = expected.get(index);
    return a == b ? 0.0 : std::fabs(a - b);
  }
  __int128 wide = static_cast<__int128>(found.getInteger(index)) - expected.getInteger(index);
  return std::fabs(static_cast<double>(wide));
}

} // namespace

Comparison compare(const HostTensor &found, const HostTensor &expected) {
  if (found.type() != expected.type())
    throw Error(EVT_ERROR_ARGUMENT, "cannot compare: found type " + std::string(name(found.type())) + ", required " +
                                        std::string(name(expected.type())));
  if (found.shape() != expected.shape())
    throw Error(EVT_ERROR_ARGUMENT, "cannot compare: found shape " + describeShape(found.shape()) + ", required " +
                                        describeShape(expected.shape()));
  Comparison result;
  double errorSquares = 0, referenceSquares = 0;
  size_t width = bytesOf(found.type());
  const char *foundBytes = static_cast<const char *>(found.data());
  const char *expectedBytes = static_cast<const char *>(expected.data());
  for (int64_t i = 0; i < found.elements(); ++i) {
    result.different += std::memcmp(foundBytes + i * width, expectedBytes + i * width, width) != 0;
    bool nanFound = std::isnan(found.get(i)), nanExpected = std::isnan(expected.get(i));
    result.foundNaN += nanFound;
    result.expectedNaN += nanExpected;
    result.mismatchedNaN += nanFound != nanExpected;
    if (nanFound || nanExpected)
      continue;
    double error = difference(found, expected, i);
    if (error > result.maxAbsolute) {
      result.maxAbsolute = error;
      result.maxIndex = i;
    }
    errorSquares += error * error;
    if (std::isfinite(expected.get(i)))
      referenceSquares += expected.get(i) * expected.get(i);
  }
  result.relativeError = std::sqrt(errorSquares);
  if (referenceSquares > 0)
    result.relativeError /= std::sqrt(referenceSquares);
  return result;
}

} // namespace evt::runtime
