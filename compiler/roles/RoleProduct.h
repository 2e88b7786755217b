// The product of a device function that is split into roles: which tiles it multiplies, who loads them, and where its
// sums go.
//
// Of a function such as
//
//   evt.role "loader"   { scf.for %k … { evt.put (evt.load %w[…]), %weights } }
//   evt.role "rows"     { scf.for %k … { evt.put (evt.load %x[…]), %rows } }
//   evt.role "compute"  {
//     %acc… = scf.for %k … iter_args(zero…) {
//       matmul_transpose_b ins(extf(evt.get %rows), extf(evt.get %weights)) outs(%acc)
//     }
//     evt.put %acc, %sums
//   }
//   evt.role "epilogue" { %sum = evt.get %sums … }
//
// it says: rows are what "rows" loads, weights what "loader" does, the sum is %sum. Roles are known by what they do,
// not by their names: the role that multiplies may load tiles itself, or be the last one. Several products share their
// rows, and each has weights and a sum.
#pragma once

#include "compiler/roles/Operands.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <optional>
#include <string>
#include <vector>

namespace evt::roles {

struct RoleProduct {
  /// A tile that is loaded in every round: by which loop, and whether that is ahead of the task's events.
  struct Operand {
    ir::LoadOp load;
    mlir::scf::ForOp loop;
    bool isAhead = false;

    mlir::OperandRange offsets() const { return ir::LoadOp(load).getOffsets(); }
    /// Of the device function; none if the memory is no argument of it.
    std::optional<unsigned> argument() const;
    mlir::RankedTensorType tile() const;
    mlir::MemRefType memory() const;
  };

  mlir::scf::ForOp loop;         // of the role that multiplies
  Operand rows;                  // 16-bit tiles
  std::vector<Operand> weights;  // the same type; one for each accumulator, in order
  std::vector<mlir::Value> sums; // as the last role has them
  bool isBfloat16 = true;
};

/// The loop along K of the role that multiplies; none, and in `why` the reason, if there is not one.
mlir::scf::ForOp productLoop(ir::DeviceOp device, std::string &why);

/// What the loop multiplies, or nothing and, in `why`, what is not of this form.
std::optional<RoleProduct> readProduct(ir::DeviceOp device, mlir::scf::ForOp loop, std::string &why);

} // namespace evt::roles
