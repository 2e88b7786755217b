// Which calls of a graph have a form of their own on a GPU: products that stream their weights, and products of large
// tiles (compiler/roles). Their device functions are split into roles, and everything that the emitter says about such
// a call it reads from these roles; all other calls are run by the compute warps from top to bottom.
#pragma once

#include "compiler/ir/Signature.h"
#include "compiler/roles/StreamedProduct.h"
#include "compiler/roles/TiledProduct.h"

#include <string>
#include <vector>

namespace evt::emit {

struct ProductForms {
  /// Of functions that are split into roles.
  explicit ProductForms(const ir::Signature &signature);

  struct Call {
    std::optional<roles::StreamedProduct> streamed;
    std::optional<roles::TiledProduct> tiled;
    std::vector<unsigned> aligned; // of tiles: arguments that are accessed by 16 bytes
    std::string whyNotStreamed, whyNotTiled;
    bool has() const { return streamed || tiled; }
  };
  std::vector<Call> calls;
  /// Graph arguments whose last two dimensions are packed as tiles of 8 x 32.
  std::vector<unsigned> packed;

private:
  void match(const ir::Signature &signature);
  void pack(const ir::Signature &signature);
};

/// Whether a call's waits or notifies go through tables.
bool readsTables(ir::CallOp call);

/// Why a call is run from top to bottom.
struct Unsplit {
  std::string whyNotStreamed, whyNotTiled; // the latter empty if that was not asked
  std::string text() const;
};

/// Splits the device functions that a graph calls into roles (compiler/roles/SplitRoles.h) where that gives their calls
/// a form; a function that other calls need as it was has a copy that is split. Tells of every other call why not. An
/// error, if a function that has roles already has no form: nothing runs roles as they are on a GPU.
mlir::LogicalResult splitProducts(ir::GraphOp graph, std::vector<Unsplit> &unsplit);

} // namespace evt::emit
