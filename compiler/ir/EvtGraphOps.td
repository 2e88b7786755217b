// Graph functions: calls, event tensors, protocols, repetition.
#ifndef EVT_GRAPH_OPS_TD
#define EVT_GRAPH_OPS_TD

include "EvtDialect.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Evt_Op<string mnemonic, list<Trait> traits = []> : Op<Evt_Dialect, mnemonic, traits>;

def EndOp : Evt_Op<"end", [Terminator, Pure]> {
  let summary = "ends a region of a device function, graph, repeat or protocol";
  let description = "Implicit: it is neither written nor printed.";
  let assemblyFormat = "attr-dict";
}

def GraphOp : Evt_Op<"graph", [IsolatedFromAbove, Symbol, SingleBlockImplicitTerminator<"EndOp">,
                               DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "a graph function: the program that becomes one kernel";
  let description = [{
    Arguments are tensors in memory (`memref`, dense and row-major) and `index` values. Their names are kept: they are
    the names of `evt run --in NAME=...` and of diagnostics. A tensor marked `{evt.immutable}` (a weight) is never
    written by the graph, so its loads need no event and may run ahead of every wait.

    An `index` argument is a symbol of the program; `{evt.min = 1, evt.max = 64}` bounds it.

    ```mlir
    evt.graph @steps(%u: memref<?x?xf32>, %t: index {evt.min = 0, evt.max = 1000}) {
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type, StrArrayAttr:$arg_names,
                       ArrayAttr:$arg_attrs);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    ::llvm::StringRef getArgName(unsigned i);
    bool isImmutable(unsigned i);
    ::mlir::Attribute getArgAttr(unsigned i, ::llvm::StringRef name);
  }];
}

def DeviceOp : Evt_Op<"device", [IsolatedFromAbove, Symbol, SingleBlockImplicitTerminator<"EndOp">,
                                 DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "a device function: a grid of tasks, each computing one tile";
  let description = [{
    Arguments are memories (`memref`) and `index` values (an iteration, a size); `grid(...)` names the coordinates of a
    task. The body is a tile program over static-shaped tensors: `evt.load`, `evt.store`, `evt.read`, `evt.valid` and the
    named tile operations; `linalg.fill`, `matmul`, `matmul_transpose_b`, `reduce`, `broadcast`, `transpose`; `arith`
    and `math` on tensors and scalars; `scf.for` with tensor `iter_args`; `tensor.empty`, `splat`, static
    `extract_slice`, `insert_slice`, `expand_shape`, `collapse_shape`. Anything else is refused.

    Of `math` there are `exp`, `exp2`, `log`, `log2`, `sqrt`, `rsqrt`, `tanh`, `erf`, `sin`, `cos`, `absf`, `floor`, `ceil`, `powf`
    and `fma`, on f32, with errors of at most 1.5 units in the last place (`device/common/math.h`). Of
    `arith` there are

    - on floats `addf`, `subf`, `mulf`, `divf`, `negf`, `maximumf`, `minimumf`, `maxnumf`, `minnumf`, `cmpf`;
    - on integers `addi`, `subi`, `muli`, `divsi`, `divui`, `remsi`, `remui`, `floordivsi`, `ceildivsi`, `minsi`, `maxsi`, `cmpi`,
      `andi`, `ori`, `xori`, `shli`, `shrsi`, `shrui`. A division by 0 ends a run on a CPU with an error that names the task; on a
      GPU its result is any integer;
    - `constant`, `select`, and the conversions `extf`, `truncf`, `extsi`, `extui`, `trunci`, `sitofp`, `uitofp`, `fptosi`,
      `index_cast` and `index_castui`.

    Floats compute in f32; bf16 and f16 are storage, with `arith.extf` and `arith.truncf`. `fastmath<afn>` on `math.exp`,
    `exp2` and `rsqrt`, and `fastmath<arcp>` on `arith.divf`, allow the machine's own instructions, a few units in the last
    place off: of the 11 us that SwiGLU takes behind a product on a GPU, it saves 8.

    ```mlir
    evt.device @scale(%x: memref<?xf32>, %y: memref<?xf32>) grid(%i) {
      %o = affine.apply affine_map<(d0) -> (d0 * 64)>(%i)
      %t = evt.load %x[%o] : memref<?xf32> -> tensor<64xf32>
      %s = arith.addf %t, %t : tensor<64xf32>
      evt.store %s, %y[%o] : tensor<64xf32> -> memref<?xf32>
    }
    ```

    A *foreign* device function is written by hand, in C++ or CUDA C++: `foreign("scale.h", "scale_tile")` names a source,
    relative to the program's file, and a function in it. The body then computes nothing. It declares, with `evt.reads` and
    `evt.writes`, what a task accesses, and the proofs, the inferred events and `--check` take its word for it; besides these
    it holds index arithmetic, `evt.read`, `evt.valid` and `scf.for`. Every memory among the arguments needs a declared access,
    and one must be a write. `shared(4096)` asks for that many bytes of a block's shared memory.

    ```mlir
    evt.device @scale(%x: memref<?xf32>, %y: memref<?xf32>) grid(%i) foreign("scale.h", "scale_tile") shared(256) {
      %o = affine.apply affine_map<(d0) -> (d0 * 64)>(%i)
      evt.reads %x[%o] sizes [64] : memref<?xf32>
      evt.writes %y[%o] sizes [64] : memref<?xf32>
    }
    ```

    The function is called as `scale_tile(w, x, y, i)`: the worker, the arguments (a memory is an `evt::Memory<float, 1>`, an
    index an `int64_t`), the coordinates.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type, StrArrayAttr:$arg_names,
                       StrArrayAttr:$coord_names, OptionalAttr<StrAttr>:$foreign_source,
                       OptionalAttr<StrAttr>:$foreign_function, DefaultValuedAttr<I64Attr, "0">:$shared_bytes);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    unsigned getNumArgs() { return getFunctionType().getNumInputs(); }
    unsigned getNumCoords() { return getCoordNames().size(); }
    ::mlir::BlockArgument getCoord(unsigned i) { return getBody().front().getArgument(getNumArgs() + i); }
    /// Whether the body only declares accesses, and a source written by hand computes.
    bool isForeign() { return getForeignSource().has_value(); }
  }];
}

def SymbolOp : Evt_Op<"symbol", [Pure, HasParent<"GraphOp">,
                                 DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "a named run-time size shared by dimensions of arguments";
  let description = [{
    The listed dimensions must agree when the kernel is launched; a launch where they differ, or where the value lies outside
    the declared range, is refused with a message that names the symbol. Counterexamples of the verifier are given in
    these names. Every dynamic dimension of an argument that no `evt.symbol` names is a symbol of its own, called
    `<argument>_<dimension>`; `memref.dim` of an argument also reads it.

    ```mlir
    %n = evt.symbol "n" (%x[0], %y[0]) range(1, 4096) : memref<?x64xf32>, memref<?xf32>
    ```
  }];
  let arguments = (ins StrAttr:$name, Variadic<AnyMemRef>:$tensors, DenseI64ArrayAttr:$dims, I64Attr:$min, I64Attr:$max);
  let results = (outs Index:$value);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def AllocOp : Evt_Op<"alloc", [HasParent<"GraphOp">,
                               DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "a planned buffer, alive for one launch";
  let description = [{
    The runtime places it in the workspace; its contents are undefined until written. `evt run --check`
    reports reads of elements that no task of the run writes.

    ```mlir
    %p = evt.alloc(%n) : memref<?x4xf32>
    ```
  }];
  let arguments = (ins Variadic<Index>:$sizes, StrAttr:$name);
  let results = (outs Res<AnyMemRef, "", [MemAlloc]>:$memory);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def EventOp : Evt_Op<"event", [AttrSizedOperandSegments, HasParent<"GraphOp">,
                               DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "an event tensor: counters that order tasks";
  let description = [{
    Operands are the extents. An element passes its waiters once it has received its count of notifications; one more is an
    error. The count of an element is

    - `count(4)` or `count(%v)`: the same for all elements;
    - `count((e)[n] -> (4, n - e * 4))(%n)`: the smallest of some affine expressions of the element's coordinates and
      of index values, at least 0 (here: groups of four, the last one ragged);
    - `count(%table after %guard)`: read from a 32-bit integer memory of the event's rank, written by earlier tasks; a
      constant factor may follow: `count(%table * 3 after %guard)`. `%guard` is the single-counter event that orders the
      table. An element whose count turns out 0 is complete once the guard is. A table that no task writes needs no guard, but
      the factor: `count(%table * 1)`.

    A run on a CPU ends with an error at the notification that is one too many, where the notifier knows the count. Behind a guard
    it does not know it. There a task that waits, under the static and ticket schedules, fails if it sees more than the count. What
    comes after it has looked only `evt run --check` finds; a GPU does not look, and a launch under the dynamic schedule may get stuck.

    ```mlir
    %done = evt.event(%n, %m) count(4) : !evt.event<?x?>
    %groups = evt.event(%g) count((e)[n] -> (4, n - e * 4))(%n) : !evt.event<?>
    %counted = evt.event() count(1) : !evt.event<>
    %ready = evt.event(%experts) count(%tokens_of * 3 after %counted) : !evt.event<?>, memref<?xi32>
    ```
  }];
  let arguments = (ins Variadic<Index>:$extents, Variadic<Index>:$count_operands, Optional<AnyMemRef>:$table,
                       Optional<Evt_EventType>:$guard, AffineMapAttr:$count_map,
                       DefaultValuedAttr<I64Attr, "1">:$factor, StrAttr:$name);
  let results = (outs Res<Evt_EventType, "", [MemAlloc]>:$event);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def RepeatOp : Evt_Op<"repeat", [SingleBlockImplicitTerminator<"EndOp">, RecursiveMemoryEffects,
                                 ParentOneOf<["GraphOp", "RepeatOp"]>,
                                 DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "repeats a block of calls; the iteration is a task coordinate";
  let description = [{
    Nothing is unrolled: code, proof and compile time do not grow with the number of iterations. Per-iteration weights are
    tensors with a leading dimension; the iteration is passed to device functions as an `index` argument and may be used
    in protocols. Events may cross iterations.

    ```mlir
    evt.repeat %l to %layers {
      evt.call @step(%w, %x, %l) grid(%n) wait(%done[(l, i) -> (l - 1, i)]) notify(%done[(l, i) -> (l, i)])
        : (memref<?x64xf32>, memref<?xf32>, index)
    }
    ```
  }];
  let arguments = (ins Index:$extent, StrAttr:$iteration_name);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::BlockArgument getIteration() { return getBody().front().getArgument(0); }
  }];
}

// A call has no declared effects, which means any: even one whose protocol is empty reads and writes what its device
// function does, and must not be removed as dead.
def CallOp : Evt_Op<"call", [AttrSizedOperandSegments, SingleBlockImplicitTerminator<"EndOp">,
                             ParentOneOf<["GraphOp", "RepeatOp"]>,
                             DeclareOpInterfaceMethods<SymbolUserOpInterface>,
                             DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "runs a device function on every point of a grid, with a protocol";
  let description = [{
    The protocol is a region over the task's coordinates: `evt.wait`, `evt.notify`, `evt.read` of tables and index
    arithmetic. Waits run in order before the body, notifies after it.

    ```mlir
    evt.call @total(%p, %y) grid(%i to %n) : (memref<?x4xf32>, memref<?xf32>) {
      evt.wait %done[%i]
    }
    ```

    Where the protocol consists of affine maps, a shorthand says the same; the map's dimensions are the task's coordinates,
    optionally preceded by the iterations of the enclosing repeats; `a to b` is a half-open range and `*` the whole
    dimension:

    ```mlir
    evt.call @total(%p, %y) grid(%n) wait(%done[(i) -> (i)]) : (memref<?x4xf32>, memref<?xf32>)
    evt.call @blur(%a, %b) grid(%n) wait(%done[(i) -> (i - 1 to i + 2)]) : (memref<?xf32>, memref<?xf32>)
    ```

    A grid may start with a *ragged* pair of coordinates, a group and a row tile in the group. Here group `e` has
    `ceildiv(indptr[e+1] - indptr[e], 16)` row tiles; `%b` bounds their total over all groups (more is a fault at run time);
    `%guard` is the single-counter event that orders the reading of `indptr`. Without a guard, `indptr` must be immutable.

    ```mlir
    evt.call @expert(%h, %w) grid(ragged(%indptr by 16 bound %b after %guard : memref<9xi32>), %n)
      : (memref<?x64xf32>, memref<8x64xf32>)
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$callee, Variadic<AnyType>:$args, Variadic<Index>:$grid,
                       Optional<AnyMemRef>:$ragged_table, Optional<Index>:$ragged_bound,
                       Optional<Evt_EventType>:$ragged_guard, DefaultValuedAttr<I64Attr, "0">:$ragged_by,
                       StrArrayAttr:$coord_names);
  let regions = (region SizedRegion<1>:$protocol);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    bool isRagged() { return getRaggedTable() != nullptr; }
    unsigned getNumCoords() { return getProtocol().front().getNumArguments(); }
    ::mlir::BlockArgument getCoord(unsigned i) { return getProtocol().front().getArgument(i); }
  }];
}

class Evt_EventUse<string mnemonic, list<Trait> traits> : Evt_Op<mnemonic, traits # [AttrSizedOperandSegments]> {
  let arguments = (ins Arg<Evt_EventType, "", [MemRead, MemWrite]>:$event, Variadic<Index>:$lower,
                       Variadic<Index>:$upper, DenseBoolArrayAttr:$is_range);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The exclusive upper bound of dimension `dim`, null where a single element is meant.
    ::mlir::Value getUpperOf(unsigned dim);
  }];
}

def WaitOp : Evt_EventUse<"wait", [ParentOneOf<["CallOp"]>]> {
  let summary = "waits for elements of an event tensor";
  let description = [{
    Ranges are half open and clipped to the event's shape, so a stencil needs no special case at its border.

    ```mlir
    evt.wait %done[%i]
    evt.wait %tiles[%lo to %hi, %j]
    ```
  }];
}

def NotifyOp : Evt_EventUse<"notify", []> {
  let summary = "notifies elements of an event tensor";
  let description = [{
    An element outside the event's shape is an error. A notify may stand in an `scf.for` of the protocol, over
    coordinates read from a table.

    ```mlir
    evt.notify %done[%i]
    ```
  }];
}

def ReadOp : Evt_Op<"read"> {
  let summary = "reads one integer of a table";
  let description = [{
    The value is data dependent: what is indexed with it is over-approximated by the analysis and, where that matters, listed as
    an obligation. The read is an access of the task, ordered by the waits before it. Outside the table it yields -1.

    ```mlir
    %page = evt.read %pages[%r, %b] : memref<?x?xi32>
    ```
  }];
  let arguments = (ins Arg<AnyMemRef, "", [MemRead]>:$table, Variadic<Index>:$indices);
  let results = (outs Index:$value);
  let assemblyFormat = "$table `[` $indices `]` attr-dict `:` type($table)";
  let hasVerifier = 1;
}

#endif
