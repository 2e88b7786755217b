// Tile programs split into roles: who loads, who computes and who ends a task, joined by rings.
#ifndef EVT_ROLE_OPS_TD
#define EVT_ROLE_OPS_TD

include "EvtGraphOps.td"

def RoleOp : Evt_Op<"role", [HasParent<"DeviceOp">, SingleBlockImplicitTerminator<"EndOp">]> {
  let summary = "a part of a device function that runs beside its other parts";
  let description = [{
    A device function may be split into roles. Each role runs the tasks of a worker one after the other, in the order in which the
    worker has them, and the roles of a worker run side by side, each at its own pace: while one still computes a task, another
    already loads for the next ones. They share nothing but rings, memory, and what the function computes outside of its roles:
    indices and constants. What it means is what it would mean if the roles of a task ran side by side and no
    two tasks of a worker did.

    ```mlir
    evt.device @product(%x: memref<?x512xbf16>, %w: memref<1024x512xbf16>, %y: memref<?x1024xf32>) grid(%i, %j) {
      %c0 = arith.constant 0 : index
      %c256 = arith.constant 256 : index
      %c512 = arith.constant 512 : index
      %row = affine.apply affine_map<(d0) -> (d0 * 8)>(%i)
      %column = affine.apply affine_map<(d0) -> (d0 * 8)>(%j)
      %weights = evt.ring "weights" stages(4) ahead : !evt.ring<tensor<8x256xbf16>>
      %sums = evt.ring "sums" stages(2) : !evt.ring<tensor<8x8xf32>>
      evt.role "loader" {
        scf.for %k = %c0 to %c512 step %c256 {
          %b = evt.load %w[%column, %k] : memref<1024x512xbf16> -> tensor<8x256xbf16>
          evt.put %b, %weights : !evt.ring<tensor<8x256xbf16>>
        }
      }
      evt.role "compute" {
        %zero = arith.constant dense<0.0> : tensor<8x8xf32>
        %acc = scf.for %k = %c0 to %c512 step %c256 iter_args(%in = %zero) -> (tensor<8x8xf32>) {
          %a16 = evt.load %x[%row, %k] : memref<?x512xbf16> -> tensor<8x256xbf16>
          %b16 = evt.get %weights : !evt.ring<tensor<8x256xbf16>>
          %a = arith.extf %a16 : tensor<8x256xbf16> to tensor<8x256xf32>
          %b = arith.extf %b16 : tensor<8x256xbf16> to tensor<8x256xf32>
          %out = linalg.matmul_transpose_b ins(%a, %b : tensor<8x256xf32>, tensor<8x256xf32>)
              outs(%in : tensor<8x8xf32>) -> tensor<8x8xf32>
          scf.yield %out : tensor<8x8xf32>
        }
        evt.put %acc, %sums : !evt.ring<tensor<8x8xf32>>
      }
      evt.role "epilogue" {
        %sum = evt.get %sums : !evt.ring<tensor<8x8xf32>>
        evt.store %sum, %y[%row, %column] : tensor<8x8xf32> -> memref<?x1024xf32>
      }
    }
    ```

    The last role stores, and when it has ended the task notifies. So that this means what it says, and so that no two roles wait for
    each other, a device function with roles is refused unless

    - each ring is filled by one role and emptied by another, and a task takes out as many tiles as it puts in: a ring is between tasks
      what it was before the first;
    - loops around puts and gets have constant bounds. A role may also have one loop, in no other, whose length is known only at run
      time: all such loops have the same bounds, rings are used in them or outside of them, and each round takes out as many tiles as
      it puts in;
    - the roles come to the end of a task with rings of the sizes they have. Roles that only wait for rings come equally far whoever
      runs first, so that one order of running them decides it; and since a task leaves rings empty, what holds for one task holds for
      any number of them, also where a role is ahead;
    - only the last role writes, behind the last tile that it takes out, and every other role hands something over behind its last
      load that reaches the last role. So all reads of other roles come before all writes, and all of a task is over when it
      notifies. Roles before the last read memory by `evt.load` and `evt.read` alone, at places that hang on no tile;
    - a role that fills a ring with `ahead` loads, and does nothing else: it does not wait for the task's events. What it
      loads must be immutable wherever the function is called.

    `--evt-split-roles` splits device functions with products. `evt compile --roles` compiles what it made for the CPU, and
    `evt compile --target cuda` what it made of those functions that have a form on a GPU.
  }];
  let arguments = (ins StrAttr:$name);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$name $body attr-dict";
}

def RingOp : Evt_Op<"ring", [HasParent<"DeviceOp">]> {
  let summary = "a ring of stages, between two roles of a device function";
  let description = [{
    Holds `stages` tiles at most: who puts one more waits until the oldest has been taken out. A ring with `ahead` holds tiles that no
    task writes, which are loaded before the task's events, and tasks ahead.

    ```mlir
    evt.device @copy(%x: memref<?xf32>, %y: memref<?xf32>) grid(%i) {
      %tiles = evt.ring "tiles" stages(2) : !evt.ring<tensor<64xf32>>
      evt.role "loader" {
        %t = evt.load %x[%i] : memref<?xf32> -> tensor<64xf32>
        evt.put %t, %tiles : !evt.ring<tensor<64xf32>>
      }
      evt.role "epilogue" {
        %t = evt.get %tiles : !evt.ring<tensor<64xf32>>
        evt.store %t, %y[%i] : tensor<64xf32> -> memref<?xf32>
      }
    }
    ```
  }];
  let arguments = (ins StrAttr:$name, I64Attr:$stages, UnitAttr:$ahead);
  let results = (outs Evt_RingType:$ring);
  let assemblyFormat = "$name `stages` `(` $stages `)` (`ahead` $ahead^)? attr-dict `:` type($ring)";
  let hasVerifier = 1;
}

def PutOp : Evt_Op<"put", [TypesMatchWith<"the tile has the ring's type", "ring", "tile",
                                          "::llvm::cast<RingType>($_self).getTile()">]> {
  let summary = "puts a tile into a ring, when there is room";
  let description = "See [`evt.role`](#evtrole-evtirroleop).";
  let arguments = (ins AnyStaticShapeTensor:$tile, Evt_RingType:$ring);
  let assemblyFormat = "$tile `,` $ring attr-dict `:` type($ring)";
}

def GetOp : Evt_Op<"get", [TypesMatchWith<"the tile has the ring's type", "ring", "tile",
                                          "::llvm::cast<RingType>($_self).getTile()">]> {
  let summary = "takes the oldest tile out of a ring, when there is one";
  let description = "See [`evt.role`](#evtrole-evtirroleop).";
  let arguments = (ins Evt_RingType:$ring);
  let results = (outs AnyStaticShapeTensor:$tile);
  let assemblyFormat = "$ring attr-dict `:` type($ring)";
}

#endif
