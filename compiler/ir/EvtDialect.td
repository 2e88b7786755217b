// The dialect and its types. Operations: EvtGraphOps.td (graphs, events, protocols), EvtTileOps.td (tile programs) and
// EvtRoleOps.td (tile programs split into roles).
#ifndef EVT_DIALECT_TD
#define EVT_DIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"

def Evt_Dialect : Dialect {
  let name = "evt";
  let cppNamespace = "::evt::ir";
  let summary = "graphs of tiled operators ordered by event tensors";
  let description = [{
    A *device function* is a grid of tasks; one task computes one tile. An *event tensor* is an array of counters. A
    *graph function* calls device functions and says, for each task, which event elements it waits for and which it
    notifies. Together they are compiled into one persistent kernel.

    ```mlir
    evt.device @partial(%x: memref<?x4096xf32>, %p: memref<?x4xf32>) grid(%i, %j) {
      %k = affine.apply affine_map<(d0) -> (d0 * 1024)>(%j)
      %t = evt.load %x[%i, %k] : memref<?x4096xf32> -> tensor<1x1024xf32>
      %zero = arith.constant dense<0.0> : tensor<1xf32>
      %s = linalg.reduce { arith.addf } ins(%t : tensor<1x1024xf32>) outs(%zero : tensor<1xf32>) dimensions = [1]
      evt.store %s, %p[%i, %j] : tensor<1xf32> -> memref<?x4xf32>
    }
    evt.device @total(%p: memref<?x4xf32>, %y: memref<?xf32>) grid(%i) {
      %c0 = arith.constant 0 : index
      %t = evt.load %p[%i, %c0] : memref<?x4xf32> -> tensor<4xf32>
      %zero = arith.constant dense<0.0> : tensor<f32>
      %s = linalg.reduce { arith.addf } ins(%t : tensor<4xf32>) outs(%zero : tensor<f32>) dimensions = [0]
      evt.store %s, %y[%i] : tensor<f32> -> memref<?xf32>
    }
    evt.graph @row_sum(%x: memref<?x4096xf32>, %y: memref<?xf32>) {
      %n = evt.symbol "n" (%x[0], %y[0]) : memref<?x4096xf32>, memref<?xf32>
      %c4 = arith.constant 4 : index
      %p = evt.alloc(%n) : memref<?x4xf32>
      %done = evt.event(%n) count(4) : !evt.event<?>
      evt.call @partial(%x, %p) grid(%n, %c4) notify(%done[(i, j) -> (i)]) : (memref<?x4096xf32>, memref<?x4xf32>)
      evt.call @total(%p, %y) grid(%n) wait(%done[(i) -> (i)]) : (memref<?x4xf32>, memref<?xf32>)
    }
    ```

    Notifications have release and waits acquire meaning: what a task read and wrote before its `notify` is complete
    for every task whose `wait` it satisfied, transitively.
  }];
  let useDefaultTypePrinterParser = 1;
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::affine::AffineDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"
  ];
}

def Evt_EventType : TypeDef<Evt_Dialect, "Event"> {
  let mnemonic = "event";
  let summary = "an event tensor: an array of dependency counters";
  let description = [{
    The type carries the rank; the extents are operands of `evt.event`, because they are usually known only at run time.
    `!evt.event<?x?>` has two dimensions, `!evt.event<>` is a single counter.
  }];
  let parameters = (ins "unsigned":$rank);
  let hasCustomAssemblyFormat = 1;
}

def Evt_RingType : TypeDef<Evt_Dialect, "Ring"> {
  let mnemonic = "ring";
  let summary = "a ring of tiles between two roles of a device function";
  let description = "First in, first out: `!evt.ring<tensor<8x256xbf16>>` hands over tiles of that type.";
  let parameters = (ins "::mlir::RankedTensorType":$tile);
  let assemblyFormat = "`<` $tile `>`";
}

#endif
