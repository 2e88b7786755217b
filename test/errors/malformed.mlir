// Texts on which MLIR 19's parser would crash or use memory it has freed: each gets an error at the place.
// RUN: %evt-opt %s -split-input-file -verify-diagnostics

// The operations of linalg: lists of dimensions.
evt.device @d(%x: memref<?xf32>) grid(%i) {
  %a = tensor.empty() : tensor<5x3xf32>
  %z = tensor.empty() : tensor<5xf32>
  // expected-error @below {{expected '['}}
  %v = linalg.reduce { arith.addf } ins(%a : tensor<5x3xf32>) outs(%z : tensor<5xf32>) dimensions = 1]
}

// -----

evt.device @d(%x: memref<?xf32>) grid(%i) {
  %a = tensor.empty() : tensor<5x3xf32>
  %z = tensor.empty() : tensor<5xf32>
  // expected-error @below {{expected ']'}}
  %v = linalg.reduce { arith.addf } ins(%a : tensor<5x3xf32>) outs(%z : tensor<5xf32>) dimensions = [1
}

// -----

evt.device @d(%x: memref<?xf32>) grid(%i) {
  %a = tensor.empty() : tensor<5x3xf32>
  %z = tensor.empty() : tensor<5xf32>
  // expected-error @below {{custom op 'linalg.reduce' expected integer value}}
  %v = linalg.reduce { arith.addf } ins(%a : tensor<5x3xf32>) outs(%z : tensor<5xf32>) dimensions = [one]
}

// -----

evt.device @d(%x: memref<?xf32>) grid(%i) {
  %a = tensor.empty() : tensor<5x3xf32>
  %z = tensor.empty() : tensor<5xf32>
  // expected-error @below {{custom op 'linalg.reduce' integer value too large}}
  %v = linalg.reduce { arith.addf } ins(%a : tensor<5x3xf32>) outs(%z : tensor<5xf32>) dimensions = [18446744073709551616]
}

// -----

evt.device @d(%x: memref<?xf32>) grid(%i) {
  %a = tensor.empty() : tensor<5x3xf32>
  %z = tensor.empty() : tensor<5xf32>
  // expected-error @below {{custom op 'linalg.reduce' expected 'dimensions'}}
  %v = linalg.reduce { arith.addf } ins(%a : tensor<5x3xf32>) outs(%z : tensor<5xf32>) permutation = [1]
}

// -----

evt.device @d(%x: memref<?xf32>) grid(%i) {
  %a = tensor.empty() : tensor<5x3xf32>
  %z = tensor.empty() : tensor<5xf32>
  // expected-error @below {{custom op 'linalg.reduce' attribute 'dimensions' cannot be given among the others}}
  %v = linalg.reduce { arith.addf } ins(%a : tensor<5x3xf32>) outs(%z : tensor<5xf32>) dimensions = [1] {dimensions = array<i64: 0>}
}

// -----

evt.device @d(%x: memref<?xf32>) grid(%i) {
  %a = tensor.empty() : tensor<5x3xf32>
  %z = tensor.empty() : tensor<5xf32>
  // expected-error @below {{expected '['}}
  %v = linalg.broadcast ins(%z : tensor<5xf32>) outs(%a : tensor<5x3xf32>) dimensions = array<i64: 1>
}

// -----

evt.device @d(%x: memref<?xf32>) grid(%i) {
  %a = tensor.empty() : tensor<5x3xf32>
  %z = tensor.empty() : tensor<5xf32>
  // expected-error @below {{custom op 'linalg.transpose' expected integer value}}
  %v = linalg.transpose ins(%a : tensor<5x3xf32>) outs(%a : tensor<5x3xf32>) permutation = [1, ]
}

// -----

// Operands.
evt.device @d(%x: memref<?xf32>) grid(%i) {
  %a = tensor.empty() : tensor<5x3xf32>
  %z = tensor.empty() : tensor<5xf32>
  // expected-error @below {{custom op 'linalg.reduce' expected 'ins'}}
  %v = linalg.reduce { arith.addf } dimensions = [1]
}

// -----

evt.device @d(%x: memref<?xf32>) grid(%i) {
  %a = tensor.empty() : tensor<5x3xf32>
  %z = tensor.empty() : tensor<5xf32>
  // expected-error @below {{custom op 'linalg.reduce' takes at least 1 in 'ins', found 0}}
  %v = linalg.reduce { arith.addf } ins( : f32) outs(%z : tensor<5xf32>) dimensions = [1]
}

// -----

evt.device @d(%x: memref<?xf32>) grid(%i) {
  %a = tensor.empty() : tensor<5x3xf32>
  %z = tensor.empty() : tensor<5xf32>
  // expected-error @below {{custom op 'linalg.reduce' takes 1 in 'outs', found 2}}
  %v = linalg.reduce { arith.addf } ins(%a : tensor<5x3xf32>) outs(%z, %z : tensor<5xf32>, tensor<5xf32>) dimensions = [1]
}

// -----

evt.device @d(%x: memref<?xf32>) grid(%i) {
  %c = arith.constant 1.0 : f32
  // expected-error @below {{custom op 'linalg.reduce' takes in 'ins' a tensor of signless integers, indices or floats, found 'f32'}}
  %v = linalg.reduce { arith.addf } ins(%c : f32) outs(%c : f32) dimensions = [0]
}

// -----

evt.device @d(%x: memref<?xf32>) grid(%i) {
  %c = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<5xcomplex<i1>>
  // expected-error @below {{custom op 'linalg.fill' takes in 'outs' a signless integer, an index, a float or a tensor of them, found 'tensor<5xcomplex<i1>>'}}
  %v = linalg.fill ins(%c : f32) outs(%e : tensor<5xcomplex<i1>>) -> tensor<5xcomplex<i1>>
}

// -----

evt.device @d(%x: memref<?xf32>) grid(%i) {
  %e = tensor.empty() : tensor<5x5xindex>
  // expected-error @below {{custom op 'linalg.matmul' takes in 'ins' a tensor of signless integers or floats, found 'tensor<5x5xindex>'}}
  %v = linalg.matmul ins(%e, %e : tensor<5x5xindex>, tensor<5x5xindex>) outs(%e : tensor<5x5xindex>) -> tensor<5x5xindex>
}

// -----

evt.device @d(%x: memref<?xf32>) grid(%i) {
  %e = tensor.empty() : tensor<5x5xf32>
  // expected-error @below {{custom op 'linalg.matmul_transpose_b' takes 2 in 'ins', found 1}}
  %v = linalg.matmul_transpose_b ins(%e : tensor<5x5xf32>) outs(%e : tensor<5x5xf32>) -> tensor<5x5xf32>
}

// -----

// What a reduction combines with.
evt.device @d(%x: memref<?xf32>) grid(%i) {
  %a = tensor.empty() : tensor<5x3xf32>
  %z = tensor.empty() : tensor<5xf32>
  // expected-error @below {{custom op 'linalg.reduce' combines with an operation of arith, found 'scf.for'}}
  %v = linalg.reduce { scf.for } ins(%a : tensor<5x3xf32>) outs(%z : tensor<5xf32>) dimensions = [1]
}

// -----

evt.device @d(%x: memref<?xf32>) grid(%i) {
  %a = tensor.empty() : tensor<5x3xf32>
  %z = tensor.empty() : tensor<5xf32>
  // expected-error @below {{custom op 'linalg.reduce' combines with an operation of arith, found 'arith.plus'}}
  %v = linalg.reduce { arith.plus } ins(%a : tensor<5x3xf32>) outs(%z : tensor<5xf32>) dimensions = [1]
}

// -----

// Outside the tile language.
evt.device @d(%x: memref<?xf32>) grid(%i) {
  %a = tensor.empty() : tensor<5x3xf32>
  %z = tensor.empty() : tensor<5xf32>
  // expected-error @below {{custom op 'linalg.generic' is not part of the tile language; see 'evt.device' for what is}}
  linalg.generic {indexing_maps = [1], iterator_types = [2]} ins(%a : tensor<5x3xf32>) {}
}

// -----

evt.device @d(%x: memref<?xf32>) grid(%i) {
  %a = tensor.empty() : tensor<5x3xf32>
  %z = tensor.empty() : tensor<5xf32>
  // expected-error @below {{custom op 'linalg.map' is not part of the tile language; see 'evt.device' for what is}}
  %v = linalg.map { math.absf } outs(%a : tensor<5x3xf32>)
}

// -----

// A name of another function is no name here, even if the other one comes to grief.
evt.device @first(%x: memref<?xf32>) grid(%i) {
  %m = arith.addi %n, %i : index
}
evt.device @second(%x: memref<?xf32>) grid(%i) {
  %n = arith.constant 4 : index
  // expected-error @below {{custom op 'evt.nothing' is unknown}}
  evt.nothing
}

// -----

evt.device @first(%x: memref<?xf32>) grid(%i) {
  // expected-error @below {{use of undeclared SSA value name}}
  %m = arith.addi %n, %i : index
}
evt.device @second(%x: memref<?xf32>) grid(%i) {
  %n = arith.constant 4 : index
}

// -----

// Used above a definition in a loop whose text breaks off.
evt.device @d(%x: memref<?xf32>) grid(%i) {
  %m = arith.addi %n, %i : index
  scf.for %k = %i to %i step %i {
    %n = arith.constant 4 : index
    // expected-error @below {{custom op 'evt.nothing' is unknown}}
    evt.nothing
  }
}

// -----

evt.graph @g(%x: memref<4xf32>) {
  %c4 = arith.constant 4 : index
  evt.call @d(%x) grid(%c4) wait(%done[(i) -> (i)]) : (memref<4xf32>)
  evt.repeat %l to %c4 {
    %done = evt.event(%c4) count(1) : !evt.event<?>
    // expected-error @below {{custom op 'evt.nothing' is unknown}}
    evt.nothing
  }
}

// -----

// Bounds that are defined inside what they bound.
evt.device @d(%x: memref<?xf32>) grid(%i) {
  // expected-error @below {{operand #1 is defined only inside the operation that uses it}}
  scf.for %k = %i to %n step %i {
    %n = arith.constant 4 : index
  }
}

// -----

evt.graph @g(%x: memref<4xf32>) {
  // expected-error @below {{use of undeclared SSA value name}}
  evt.repeat %l to %n {
    %n = arith.constant 4 : index
  }
}

// -----

evt.graph @g(%x: memref<4xf32>) {
  // expected-error @below {{use of undeclared SSA value name}}
  evt.call @d(%x) grid(%i to %n) : (memref<4xf32>) {
    %n = arith.constant 4 : index
  }
}

// -----

// The least integer divided by -1 has no 64-bit value: the divisions pass, the line after them does not.
evt.device @d(%x: memref<?xf32>) grid(%i) {
  %k = affine.apply affine_map<(d0) -> ((d0 * (-9223372036854775807 - 1)) floordiv -1)>(%i)
  %l = affine.apply affine_map<(d0) -> ((d0 * (-9223372036854775807 - 1)) ceildiv -1)>(%i)
  // expected-error @below {{custom op 'evt.nothing' is unknown}}
  evt.nothing
}

// -----

// Nesting without end.
// expected-error @below {{257 brackets are open here, at most 256 may be}}
#deep = affine_map<(d0) -> ((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((d0))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))>

// -----

// expected-error @below {{1025 operators in one expression, at most 1024 may be}}
#long = affine_map<(d0) -> (-----------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------d0)>

// -----

// Room for four billion results.
evt.device @d(%x: memref<?xf32>) grid(%i) {
  // expected-error @below {{result number 4294967294, at most 4095 may be}}
  %m = arith.addi %i#4294967294, %i : index
}
