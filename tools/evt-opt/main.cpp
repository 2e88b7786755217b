// evt-opt: runs any pass on any stage of a program.
#include "compiler/ir/Evt.h"
#include "compiler/roles/SplitRoles.h"
#include "compiler/transforms/Passes.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  evt::ir::registerDialects(registry);
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
  evt::registerTransformPasses();
  mlir::registerPass([] { return evt::roles::createSplitRolesPass(); });
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "evt optimizer driver\n", registry));
}
