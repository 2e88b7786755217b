// NumPy's .npy files, versions 1 and 2, little-endian and in C order.
//
//   f32 '<f4'   f16 '<f2'   i32 '<i4'   i64 '<i8'   i1 '|b1'   bf16 '<V2'
//
// NumPy has no bf16: such arrays are written as raw two-byte voids, which is also what NumPy writes for the bfloat16
// of ml_dtypes, and '<V2' and '|V2' are read back as bf16. In Python: np.load(f).view(np.uint16).
#ifndef EVT_RUNTIME_TENSOR_NPY_H
#define EVT_RUNTIME_TENSOR_NPY_H

#include "runtime/tensor/HostTensor.h"

#include <iosfwd>
#include <string>

namespace evt::runtime {

// All throw Error: file if it cannot be opened, read or written; argument if its content is not of the forms above.
HostTensor readNpy(const std::string &path);
void writeNpy(const std::string &path, const HostTensor &tensor);
// What goes wrong is the stream's to say.
void writeNpy(std::ostream &out, const HostTensor &tensor);

} // namespace evt::runtime

#endif
