// Events found from what tasks read and write. What is found is proved, too.
// RUN: %evt-opt %s --evt-infer-events --mlir-print-op-on-diagnostic=false 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: %evt-opt %s --evt-infer-events --evt-verify --mlir-print-op-on-diagnostic=false --mlir-disable-threading -o /dev/null 2>&1 | FileCheck %s --check-prefix=PROOF

evt.device @partial(%x: memref<?x37xf32>, %p: memref<?x4xf32>) grid(%i, %j) {
  %k = affine.apply affine_map<(d0) -> (d0 * 10)>(%j)
  %t = evt.load %x[%i, %k] : memref<?x37xf32> -> tensor<10xf32>
  %zero = arith.constant dense<0.0> : tensor<f32>
  %s = linalg.reduce { arith.addf } ins(%t : tensor<10xf32>) outs(%zero : tensor<f32>) dimensions = [0]
  evt.store %s, %p[%i, %j] : tensor<f32> -> memref<?x4xf32>
}
evt.device @total(%p: memref<?x4xf32>, %y: memref<?xf32>) grid(%i) {
  %c0 = arith.constant 0 : index
  %t = evt.load %p[%i, %c0] : memref<?x4xf32> -> tensor<4xf32>
  %zero = arith.constant dense<0.0> : tensor<f32>
  %s = linalg.reduce { arith.addf } ins(%t : tensor<4xf32>) outs(%zero : tensor<f32>) dimensions = [0]
  evt.store %s, %y[%i] : tensor<f32> -> memref<?xf32>
}
// Four notifications complete a row.
// CHECK-LABEL: evt.graph @row_sum
// CHECK: %partial_done = evt.event(%n) count(4) {name = "partial_done"} : !evt.event<?>
// CHECK-NEXT: evt.call @partial(%x, %p) grid(%i to %n, %j to %c4)
// CHECK-NEXT: evt.notify %partial_done[%i]
// CHECK-NEXT: }
// CHECK-NEXT: evt.call @total(%p, %y) grid(%i to %n)
// CHECK-NEXT: evt.wait %partial_done[%i]
// CHECK-NEXT: }
// PROOF: remark: 'row_sum' is proved{{$}}
evt.graph @row_sum(%x: memref<?x37xf32> {evt.immutable}, %y: memref<?xf32>) {
  %n = evt.symbol "n" (%x[0], %y[0]) : memref<?x37xf32>, memref<?xf32>
  %c4 = arith.constant 4 : index
  %p = evt.alloc(%n) : memref<?x4xf32>
  evt.call @partial(%x, %p) grid(%n, %c4) : (memref<?x37xf32>, memref<?x4xf32>)
  evt.call @total(%p, %y) grid(%n) : (memref<?x4xf32>, memref<?xf32>)
}

// Two products; a tile of the second reads a row of tiles of the first, in chunks. The dimensions have no names in the
// program, so they are read where they are needed.
evt.device @product(%x: memref<?x?xf32>, %y: memref<?x?xf32>, %z: memref<?x?xf32>) grid(%i, %j) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %chunk = arith.constant 24 : index
  %row = affine.apply affine_map<(d0) -> (d0 * 16)>(%i)
  %col = affine.apply affine_map<(d0) -> (d0 * 24)>(%j)
  %depth = memref.dim %x, %c1 : memref<?x?xf32>
  %zero = arith.constant dense<0.0> : tensor<16x24xf32>
  %sum = scf.for %k = %c0 to %depth step %chunk iter_args(%acc = %zero) -> (tensor<16x24xf32>) {
    %a = evt.load %x[%row, %k] : memref<?x?xf32> -> tensor<16x24xf32>
    %b = evt.load %y[%k, %col] : memref<?x?xf32> -> tensor<24x24xf32>
    %next = linalg.matmul ins(%a, %b : tensor<16x24xf32>, tensor<24x24xf32>) outs(%acc : tensor<16x24xf32>)
        -> tensor<16x24xf32>
    scf.yield %next : tensor<16x24xf32>
  }
  evt.store %sum, %z[%row, %col] : tensor<16x24xf32> -> memref<?x?xf32>
}
// One counter for each row of tiles: all its chunks are needed.
// CHECK-LABEL: evt.graph @chained_products
// CHECK: %[[ROWS:.*]] = arith.ceildivsi %{{.*}}, %c16 : index
// CHECK: %[[CHUNKS:.*]] = arith.ceildivsi %{{.*}}, %c24 : index
// CHECK: %product_done = evt.event(%[[ROWS]]) count(%[[CHUNKS]]) {name = "product_done"} : !evt.event<?>
// CHECK-NEXT: evt.call @product(%a, %b, %t) grid(%i to %[[ROWS]], %j to %[[CHUNKS]])
// CHECK-NEXT: evt.notify %product_done[%i]
// CHECK-NEXT: }
// CHECK-NEXT: evt.call @product(%t, %c, %d)
// CHECK-NEXT: evt.wait %product_done[%i]
// CHECK-NEXT: }
// PROOF: remark: 'chained_products' is proved{{$}}
evt.graph @chained_products(%a: memref<?x?xf32> {evt.immutable}, %b: memref<?x?xf32> {evt.immutable},
                            %c: memref<?x?xf32> {evt.immutable}, %d: memref<?x?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c24 = arith.constant 24 : index
  %m = memref.dim %a, %c0 : memref<?x?xf32>
  %n = memref.dim %b, %c1 : memref<?x?xf32>
  %p = memref.dim %c, %c1 : memref<?x?xf32>
  %rows = arith.ceildivsi %m, %c16 : index
  %chunks = arith.ceildivsi %n, %c24 : index
  %cols = arith.ceildivsi %p, %c24 : index
  %t = evt.alloc(%m, %n) : memref<?x?xf32>
  evt.call @product(%a, %b, %t) grid(%rows, %chunks) : (memref<?x?xf32>, memref<?x?xf32>, memref<?x?xf32>)
  evt.call @product(%t, %c, %d) grid(%rows, %cols) : (memref<?x?xf32>, memref<?x?xf32>, memref<?x?xf32>)
}

// Steps of a three-point stencil, each in a plane of its own, for any number of steps.
evt.device @step(%u: memref<?x?xf32>) grid(%t, %i) {
  %next = affine.apply affine_map<(d0) -> (d0 + 1)>(%t)
  %left = affine.apply affine_map<(d0) -> (d0 * 8 - 1)>(%i)
  %own = affine.apply affine_map<(d0) -> (d0 * 8)>(%i)
  %a = evt.load %u[%t, %left] : memref<?x?xf32> -> tensor<10xf32>
  %b = tensor.extract_slice %a[1] [8] [1] : tensor<10xf32> to tensor<8xf32>
  evt.store %b, %u[%next, %own] : tensor<8xf32> -> memref<?x?xf32>
}
// CHECK-LABEL: evt.graph @stencil
// CHECK: %step_done = evt.event(%steps, %[[TILES:.*]]) count(1) {name = "step_done"} : !evt.event<?x?>
// CHECK-NEXT: evt.call @step(%u) grid(%t to %steps, %i to %[[TILES]])
// CHECK-DAG: %[[BEFORE:.*]] = affine.apply #[[MINUS1:.*]](%t)
// CHECK-DAG: %[[LO:.*]] = affine.apply #[[MINUS1]](%i)
// CHECK-DAG: %[[HI:.*]] = affine.apply #{{.*}}(%i)
// CHECK: evt.wait %step_done[%[[BEFORE]], %[[LO]] to %[[HI]]]
// CHECK-NEXT: evt.notify %step_done[%t, %i]
// CHECK-NEXT: }
// PROOF: remark: 'stencil' is proved{{$}}
evt.graph @stencil(%u: memref<?x?xf32>, %steps: index) {
  %n = evt.symbol "n" (%u[1]) : memref<?x?xf32>
  %tiles = affine.apply affine_map<()[s0] -> (s0 ceildiv 8)>()[%n]
  evt.call @step(%u) grid(%steps, %tiles) : (memref<?x?xf32>)
}

// Layers that hand a buffer back and forth.
evt.device @forth(%w: memref<?x?xf32>, %a: memref<?xf32>, %b: memref<?xf32>, %l: index) grid(%i) {
  %s = evt.load %w[%l, %i] : memref<?x?xf32> -> tensor<1xf32>
  %t = evt.load %a[%i] : memref<?xf32> -> tensor<1xf32>
  %v = arith.mulf %s, %t : tensor<1xf32>
  evt.store %v, %b[%i] : tensor<1xf32> -> memref<?xf32>
}
evt.device @back(%b: memref<?xf32>, %a: memref<?xf32>) grid(%i) {
  %c0 = arith.constant 0 : index
  %t = evt.load %b[%i] : memref<?xf32> -> tensor<1xf32>
  evt.store %t, %a[%i] : tensor<1xf32> -> memref<?xf32>
}
// CHECK-LABEL: evt.graph @layers
// CHECK-DAG: %forth_done = evt.event(%layers, %n) count(1) {name = "forth_done"} : !evt.event<?x?>
// CHECK-DAG: %back_done = evt.event(%layers, %n) count(1) {name = "back_done"} : !evt.event<?x?>
// CHECK: evt.repeat %l to %layers {
// CHECK-NEXT: evt.call @forth
// CHECK-NEXT: %[[BEFORE:.*]] = affine.apply #{{.*}}(%l)
// CHECK-NEXT: evt.wait %back_done[%[[BEFORE]], %i]
// CHECK-NEXT: evt.notify %forth_done[%l, %i]
// CHECK-NEXT: }
// CHECK-NEXT: evt.call @back
// CHECK-NEXT: evt.wait %forth_done[%l, %i]
// CHECK-NEXT: evt.notify %back_done[%l, %i]
// CHECK-NEXT: }
// PROOF: remark: 'layers' is proved{{$}}
evt.graph @layers(%w: memref<?x?xf32> {evt.immutable}, %a: memref<?xf32>) {
  %layers = evt.symbol "layers" (%w[0]) : memref<?x?xf32>
  %n = evt.symbol "n" (%w[1], %a[0]) : memref<?x?xf32>, memref<?xf32>
  %b = evt.alloc(%n) : memref<?xf32>
  evt.repeat %l to %layers {
    evt.call @forth(%w, %a, %b, %l) grid(%n) : (memref<?x?xf32>, memref<?xf32>, memref<?xf32>, index)
    evt.call @back(%b, %a) grid(%n) : (memref<?xf32>, memref<?xf32>)
  }
}

// Groups of five rows, the last one smaller: the count depends on the element.
evt.device @one(%x: memref<?xf32>) grid(%i) {
  %v = arith.constant dense<1.0> : tensor<1xf32>
  evt.store %v, %x[%i] : tensor<1xf32> -> memref<?xf32>
}
evt.device @five(%x: memref<?xf32>, %y: memref<?xf32>) grid(%i) {
  %row = affine.apply affine_map<(d0) -> (d0 * 5)>(%i)
  %t = evt.load %x[%row] : memref<?xf32> -> tensor<5xf32>
  %zero = arith.constant dense<0.0> : tensor<f32>
  %s = linalg.reduce { arith.addf } ins(%t : tensor<5xf32>) outs(%zero : tensor<f32>) dimensions = [0]
  evt.store %s, %y[%i] : tensor<f32> -> memref<?xf32>
}
// CHECK-LABEL: evt.graph @groups
// CHECK: %[[GROUPS:.*]] = affine.apply
// CHECK-NEXT: %one_done = evt.event(%[[GROUPS]]) count((d0)[s0] -> (5, d0 * -5 + s0))(%n) {name = "one_done"} : !evt.event<?>
// CHECK: %[[GROUP:.*]] = affine.apply #{{.*}}(%i)
// CHECK-NEXT: evt.notify %one_done[%[[GROUP]]]
// CHECK: evt.wait %one_done[%i]
// PROOF: remark: 'groups' is proved{{$}}
evt.graph @groups(%x: memref<?xf32>, %y: memref<?xf32>) {
  %n = evt.symbol "n" (%x[0]) : memref<?xf32>
  %groups = affine.apply affine_map<()[s0] -> (s0 ceildiv 5)>()[%n]
  evt.call @one(%x) grid(%n) : (memref<?xf32>)
  evt.call @five(%x, %y) grid(%groups) : (memref<?xf32>, memref<?xf32>)
}

// Boxes of five by three, cut off at both edges: the count would be a product of two expressions of the element, which
// no program can write, so one of the two coordinates is waited for as a range.
evt.device @cell(%x: memref<?x?xf32>) grid(%i, %j) {
  %v = arith.constant dense<1.0> : tensor<1x1xf32>
  evt.store %v, %x[%i, %j] : tensor<1x1xf32> -> memref<?x?xf32>
}
evt.device @box(%x: memref<?x?xf32>) grid(%i, %j) {
  %row = affine.apply affine_map<(d0) -> (d0 * 5)>(%i)
  %col = affine.apply affine_map<(d0) -> (d0 * 3)>(%j)
  %t = evt.load %x[%row, %col] : memref<?x?xf32> -> tensor<5x3xf32>
}
// CHECK-LABEL: evt.graph @boxes
// CHECK: %[[ROWS:.*]] = arith.ceildivsi %n, %c5 : index
// CHECK: %cell_done = evt.event(%[[ROWS]], %m) count((d0, d1)[s0] -> (5, d0 * -5 + s0))(%n) {name = "cell_done"} : !evt.event<?x?>
// CHECK: evt.notify %cell_done[%{{.*}}, %j]
// CHECK: %[[LO:.*]] = affine.apply #{{.*}}(%j)
// CHECK: %[[HI:.*]] = affine.apply #{{.*}}(%j)
// CHECK: evt.wait %cell_done[%i, %[[LO]] to %[[HI]]]
// PROOF: remark: 'boxes' is proved{{$}}
evt.graph @boxes(%x: memref<?x?xf32>) {
  %n = evt.symbol "n" (%x[0]) : memref<?x?xf32>
  %m = evt.symbol "m" (%x[1]) : memref<?x?xf32>
  %c3 = arith.constant 3 : index
  %c5 = arith.constant 5 : index
  %rows = arith.ceildivsi %n, %c5 : index
  %cols = arith.ceildivsi %m, %c3 : index
  evt.call @cell(%x) grid(%n, %m) : (memref<?x?xf32>)
  evt.call @box(%x) grid(%rows, %cols) : (memref<?x?xf32>)
}

// A row through a table could be any row: everybody is waited for, and the compiler says so. The number of tasks is a
// product of symbols.
evt.device @plane(%x: memref<?x?xf32>) grid(%i, %j) {
  %v = arith.constant dense<1.0> : tensor<1x1xf32>
  evt.store %v, %x[%i, %j] : tensor<1x1xf32> -> memref<?x?xf32>
}
evt.device @gather(%x: memref<?x?xf32>, %rows: memref<?xi32>, %y: memref<?xf32>) grid(%i) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = memref.dim %x, %c1 : memref<?x?xf32>
  scf.for %k = %c0 to %m step %c1 {
    %t = evt.load %x[%rows[%i], %k] : memref<?x?xf32>, memref<?xi32> -> tensor<1x1xf32>
  }
}
// CHECK-LABEL: evt.graph @gathers
// CHECK: %[[ALL:.*]] = arith.muli %n, %m : index
// CHECK-NEXT: %plane_done = evt.event() count(%[[ALL]]) {name = "plane_done"} : !evt.event<>
// CHECK: evt.notify %plane_done[]
// CHECK: evt.wait %plane_done[]
// REMARK: remark: waits for more of 'plane_done' than it needs: which elements of x are touched is read from memory, so every task that could touch them is waited for
// PROOF: remark: 'gathers' is proved{{$}}
evt.graph @gathers(%x: memref<?x?xf32>, %rows: memref<?xi32> {evt.immutable}, %y: memref<?xf32>) {
  %n = evt.symbol "n" (%x[0]) : memref<?x?xf32>
  %m = evt.symbol "m" (%x[1]) : memref<?x?xf32>
  evt.call @plane(%x) grid(%n, %m) : (memref<?x?xf32>)
  evt.call @gather(%x, %rows, %y) grid(%n) : (memref<?x?xf32>, memref<?xi32>, memref<?xf32>)
}

// The table of a ragged grid, written by the kernel: the event becomes the grid's guard.
evt.device @plan(%t: memref<5xi32>) grid(%one) {
  %c0 = arith.constant 0 : index
  %v = arith.constant dense<1> : tensor<5xi32>
  evt.store %v, %t[%c0] : tensor<5xi32> -> memref<5xi32>
}
evt.device @rows(%y: memref<?xf32>) grid(%e, %r) {
}
// CHECK-LABEL: evt.graph @ragged
// CHECK: %plan_done = evt.event() count(1) {name = "plan_done"} : !evt.event<>
// CHECK: evt.notify %plan_done[]
// CHECK: evt.call @rows(%y) grid(ragged(%indptr by 3 bound %n after %plan_done : memref<5xi32>)) : (memref<?xf32>)
// PROOF: remark: 'ragged' is proved
evt.graph @ragged(%y: memref<?xf32>) {
  %n = evt.symbol "n" (%y[0]) : memref<?xf32>
  %c1 = arith.constant 1 : index
  %indptr = evt.alloc() : memref<5xi32>
  evt.call @plan(%indptr) grid(%c1) : (memref<5xi32>)
  evt.call @rows(%y) grid(ragged(%indptr by 3 bound %n : memref<5xi32>)) : (memref<?xf32>)
}

// Which tasks have looked at an element is a cross with an arm on the diagonal: no affine bounds say it, so a change
// waits for all of them. Their number is three times a product of sizes.
evt.device @look(%x: memref<?x?xf32>) grid(%i, %j, %k) {
  %above = affine.apply affine_map<(d0) -> (d0 - 1)>(%i)
  %a = evt.load %x[%i, %above] : memref<?x?xf32> -> tensor<2x2xf32>
  %b = evt.load %x[%above, %j] : memref<?x?xf32> -> tensor<2x2xf32>
  %c = evt.load %x[%i, %i] : memref<?x?xf32> -> tensor<1x2xf32>
}
evt.device @change(%x: memref<?x?xf32>) grid(%i, %j) {
  %v = arith.constant dense<1.0> : tensor<1x1xf32>
  evt.store %v, %x[%i, %j] : tensor<1x1xf32> -> memref<?x?xf32>
}
// CHECK-LABEL: evt.graph @crossings
// CHECK: %[[TASKS:.*]] = arith.muli %n, %n : index
// CHECK-NEXT: %look_done = evt.event() count(()[s0] -> (s0 * 3))(%[[TASKS]]) {name = "look_done"} : !evt.event<>
// CHECK-NEXT: evt.call @look
// CHECK-NEXT: evt.notify %look_done[]
// CHECK: evt.call @change
// CHECK-NEXT: evt.wait %look_done[]
// REMARK: remark: waits for more of 'look_done' than it needs: the tasks of look that change needs are in no box with affine bounds, so all that come earlier are waited for
// PROOF: remark: 'crossings' is proved{{$}}
evt.graph @crossings(%x: memref<?x?xf32>) {
  %n = evt.symbol "n" (%x[0], %x[1]) : memref<?x?xf32>, memref<?x?xf32>
  %c3 = arith.constant 3 : index
  evt.call @look(%x) grid(%n, %n, %c3) : (memref<?x?xf32>)
  evt.call @change(%x) grid(%n, %n) : (memref<?x?xf32>)
}

// Grids that may be empty. Nobody notifies where %few is 0, so the count is 0, too: where the event has no coordinate that
// says so, the size is a factor of the count. Of what has the coordinate, the grid's own size is the extent.
evt.device @part(%x: memref<?x4xf32>, %p: memref<?x4xf32>) grid(%i, %j) {
  %t = evt.load %x[%i, %j] : memref<?x4xf32> -> tensor<1x1xf32>
  evt.store %t, %p[%i, %j] : tensor<1x1xf32> -> memref<?x4xf32>
}
evt.device @whole(%p: memref<?x4xf32>, %y: memref<?x4xf32>) grid(%i) {
  %c0 = arith.constant 0 : index
  %t = evt.load %p[%i, %c0] : memref<?x4xf32> -> tensor<1x4xf32>
  evt.store %t, %y[%i, %c0] : tensor<1x4xf32> -> memref<?x4xf32>
}
evt.device @tile(%x: memref<?x4xf32>, %p: memref<?x4xf32>) grid(%i, %j) {
  %row = affine.apply affine_map<(d0) -> (d0 * 8)>(%i)
  %t = evt.load %x[%row, %j] : memref<?x4xf32> -> tensor<8x1xf32>
  evt.store %t, %p[%row, %j] : tensor<8x1xf32> -> memref<?x4xf32>
}
evt.device @tiles(%p: memref<?x4xf32>, %y: memref<?x4xf32>) grid(%i) {
  %c0 = arith.constant 0 : index
  %row = affine.apply affine_map<(d0) -> (d0 * 8)>(%i)
  %t = evt.load %p[%row, %c0] : memref<?x4xf32> -> tensor<8x4xf32>
  evt.store %t, %y[%row, %c0] : tensor<8x4xf32> -> memref<?x4xf32>
}
// CHECK-LABEL: evt.graph @either
// CHECK: %[[FEW:.*]] = affine.max
// CHECK: %[[MANY:.*]] = affine.max
// CHECK: %part_done = evt.event() count(()[s0] -> (s0 * 4))(%[[FEW]])
// CHECK-NEXT: evt.call @part
// CHECK: %tile_done = evt.event(%[[MANY]]) count(4)
// CHECK-NEXT: evt.call @tile
// PROOF: remark: 'either' is proved{{$}}
evt.graph @either(%x: memref<?x4xf32> {evt.immutable}, %y: memref<?x4xf32>) {
  %n = evt.symbol "n" (%x[0], %y[0]) range(1, 64) : memref<?x4xf32>, memref<?x4xf32>
  %few_or_less = affine.min affine_map<()[s0] -> (1, 2 - s0)>()[%n]
  %few = affine.max affine_map<()[s0] -> (s0, 0)>()[%few_or_less]
  %many_or_less = affine.min affine_map<()[s0] -> (s0 ceildiv 8, s0 - 1)>()[%n]
  %many = affine.max affine_map<()[s0] -> (s0, 0)>()[%many_or_less]
  %c4 = arith.constant 4 : index
  %p = evt.alloc(%n) : memref<?x4xf32>
  %q = evt.alloc(%n) : memref<?x4xf32>
  evt.call @part(%x, %p) grid(%few, %c4) : (memref<?x4xf32>, memref<?x4xf32>)
  evt.call @whole(%p, %y) grid(%few) : (memref<?x4xf32>, memref<?x4xf32>)
  evt.call @tile(%x, %q) grid(%many, %c4) : (memref<?x4xf32>, memref<?x4xf32>)
  evt.call @tiles(%q, %y) grid(%many) : (memref<?x4xf32>, memref<?x4xf32>)
}

// A size that may be below 0: the count is the smaller of two.
// CHECK-LABEL: evt.graph @below
// CHECK: %[[LESS:.*]] = affine.min
// CHECK: %part_done = evt.event() count(()[s0] -> (4, s0 * 4))(%[[LESS]])
// PROOF: remark: 'below' is proved{{$}}
evt.graph @below(%x: memref<?x4xf32> {evt.immutable}, %y: memref<?x4xf32>) {
  %n = evt.symbol "n" (%x[0], %y[0]) range(1, 64) : memref<?x4xf32>, memref<?x4xf32>
  %less = affine.min affine_map<()[s0] -> (1, 9 - s0)>()[%n]
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %p = evt.alloc(%n) : memref<?x4xf32>
  evt.call @part(%x, %p) grid(%less, %c4) : (memref<?x4xf32>, memref<?x4xf32>)
  evt.call @whole(%p, %y) grid(%c1) : (memref<?x4xf32>, memref<?x4xf32>)
}

// A count that depends on the element, and one that is a product of sizes.
evt.device @pieces(%x: memref<?xf32>) grid(%k, %i) {
  %v = arith.constant dense<1.0> : tensor<1xf32>
  evt.store %v, %x[%i] : tensor<1xf32> -> memref<?xf32>
}
evt.device @all(%x: memref<?xf32>, %rows: memref<?xi32>) grid(%i) {
  %t = evt.load %x[%rows[%i]] : memref<?xf32>, memref<?xi32> -> tensor<1xf32>
}
// CHECK-LABEL: evt.graph @more
// CHECK: %[[FEW:.*]] = affine.max
// CHECK: %pieces_done = evt.event(%{{.*}}) count((d0)[s0, s1] -> (5, d0 * -5 + s0, s1 * 5))(%n, %[[FEW]])
// CHECK: %[[TASKS:.*]] = arith.muli %n, %[[FEW]] : index
// CHECK: %pieces_2_done = evt.event() count(%[[TASKS]])
// PROOF: remark: 'more' is proved{{$}}
evt.graph @more(%x: memref<?xf32>, %y: memref<?xf32>, %z: memref<?xf32>, %rows: memref<?xi32> {evt.immutable}) {
  %n = evt.symbol "n" (%x[0], %z[0], %rows[0]) : memref<?xf32>, memref<?xf32>, memref<?xi32>
  %layers = evt.symbol "layers" (%y[0]) range(0, 64) : memref<?xf32>
  %few_or_less = affine.min affine_map<()[s0] -> (1, 9 - s0)>()[%layers]
  %few = affine.max affine_map<()[s0] -> (s0, 0)>()[%few_or_less]
  %groups = affine.apply affine_map<()[s0] -> (s0 ceildiv 5)>()[%n]
  evt.call @pieces(%x) grid(%few, %n) : (memref<?xf32>)
  evt.call @five(%x, %y) grid(%groups) : (memref<?xf32>, memref<?xf32>)
  evt.call @pieces(%z) grid(%few, %n) : (memref<?xf32>)
  evt.call @all(%z, %rows) grid(%n) : (memref<?xf32>, memref<?xi32>)
}

// A graph with events keeps them.
// CHECK-LABEL: evt.graph @has_events
// CHECK: evt.event() count(%n) {name = "mine"}
// CHECK-NOT: = evt.event(
// REMARK: remark: 'has_events' has events already and is left as it is
evt.graph @has_events(%x: memref<?xf32>, %y: memref<?xf32>) {
  %n = evt.symbol "n" (%x[0], %y[0]) : memref<?xf32>, memref<?xf32>
  %mine = evt.event() count(%n) : !evt.event<>
  evt.call @one(%x) grid(%n) notify(%mine[(i) -> ()]) : (memref<?xf32>)
  evt.call @five(%x, %y) grid(%n) wait(%mine[(i) -> ()]) : (memref<?xf32>, memref<?xf32>)
}
