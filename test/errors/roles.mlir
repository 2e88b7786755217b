// The rules of device functions with roles.
// RUN: %evt-opt %s -split-input-file -verify-diagnostics

evt.device @d(%x: memref<?xf32>, %y: memref<?xf32>) grid(%i) {
  // expected-error @below {{'evt.ring' op has 0 stages, required at least 1}}
  %r = evt.ring "tiles" stages(0) : !evt.ring<tensor<64xf32>>
}

// -----

evt.device @d(%x: memref<?xf32>, %y: memref<?xf32>) grid(%i) {
  // expected-error @below {{'evt.ring' op joins roles, of which there are none}}
  %r = evt.ring "tiles" stages(2) : !evt.ring<tensor<64xf32>>
}

// -----

evt.device @d(%x: memref<?xf32>, %y: memref<?xf32>) grid(%i) {
  %r = evt.ring "tiles" stages(2) : !evt.ring<tensor<64xf32>>
  // expected-error @below {{'evt.get' op must be in a role}}
  %t = evt.get %r : !evt.ring<tensor<64xf32>>
}

// -----

evt.device @d(%x: memref<?xf32>, %y: memref<?xf32>) grid(%i) {
  // expected-error @below {{'evt.load' op must be in a role: outside of them a device function has indices and constants only}}
  %t = evt.load %x[%i] : memref<?xf32> -> tensor<64xf32>
  evt.role "all" {
    evt.store %t, %y[%i] : tensor<64xf32> -> memref<?xf32>
  }
}

// -----

evt.device @d(%x: memref<?xf32>, %y: memref<?xf32>) grid(%i) {
  // expected-error @below {{'evt.ring' op 'tiles' is filled by one role and emptied by another, but role 'all' does both}}
  %r = evt.ring "tiles" stages(2) : !evt.ring<tensor<64xf32>>
  evt.role "all" {
    %t = evt.load %x[%i] : memref<?xf32> -> tensor<64xf32>
    evt.put %t, %r : !evt.ring<tensor<64xf32>>
    %u = evt.get %r : !evt.ring<tensor<64xf32>>
    evt.store %u, %y[%i] : tensor<64xf32> -> memref<?xf32>
  }
}

// -----

evt.device @d(%x: memref<?xf32>, %y: memref<?xf32>) grid(%i) {
  // expected-error @below {{'evt.ring' op 'tiles' is filled by one role and emptied by another, but role 'second' fills it beside 'first'}}
  %r = evt.ring "tiles" stages(2) : !evt.ring<tensor<64xf32>>
  evt.role "first" {
    %t = evt.load %x[%i] : memref<?xf32> -> tensor<64xf32>
    evt.put %t, %r : !evt.ring<tensor<64xf32>>
  }
  evt.role "second" {
    %t = evt.load %x[%i] : memref<?xf32> -> tensor<64xf32>
    evt.put %t, %r : !evt.ring<tensor<64xf32>>
  }
  evt.role "last" {
    %u = evt.get %r : !evt.ring<tensor<64xf32>>
    %v = evt.get %r : !evt.ring<tensor<64xf32>>
    evt.store %u, %y[%i] : tensor<64xf32> -> memref<?xf32>
  }
}

// -----

evt.device @d(%x: memref<?xf32>, %y: memref<?xf32>) grid(%i) {
  // expected-error @below {{'evt.ring' op 'tiles' is emptied by no role}}
  %r = evt.ring "tiles" stages(2) : !evt.ring<tensor<64xf32>>
  evt.role "loader" {
    %t = evt.load %x[%i] : memref<?xf32> -> tensor<64xf32>
    evt.put %t, %r : !evt.ring<tensor<64xf32>>
  }
}

// -----

evt.device @d(%x: memref<?xf32>, %y: memref<?xf32>) grid(%i) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  // expected-error @below {{'evt.ring' op 'tiles' gets 3 tiles from 'loader' in a task, but 'last' takes out 1}}
  %r = evt.ring "tiles" stages(4) : !evt.ring<tensor<64xf32>>
  evt.role "loader" {
    scf.for %k = %c0 to %c3 step %c1 {
      %t = evt.load %x[%k] : memref<?xf32> -> tensor<64xf32>
      evt.put %t, %r : !evt.ring<tensor<64xf32>>
    }
  }
  evt.role "last" {
    %u = evt.get %r : !evt.ring<tensor<64xf32>>
    evt.store %u, %y[%i] : tensor<64xf32> -> memref<?xf32>
  }
}

// -----

evt.device @d(%x: memref<?xf32>, %y: memref<?xf32>) grid(%i) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error @below {{'evt.ring' op 'tiles' is used in a loop whose length is known only at run time, and outside of such a loop, too}}
  %r = evt.ring "tiles" stages(4) : !evt.ring<tensor<64xf32>>
  evt.role "loader" {
    scf.for %k = %c0 to %i step %c1 {
      %t = evt.load %x[%k] : memref<?xf32> -> tensor<64xf32>
      evt.put %t, %r : !evt.ring<tensor<64xf32>>
    }
  }
  evt.role "last" {
    %u = evt.get %r : !evt.ring<tensor<64xf32>>
    %z = arith.constant dense<0.0> : tensor<64xf32>
    evt.store %z, %y[%i] : tensor<64xf32> -> memref<?xf32>
  }
}

// -----

evt.device @d(%x: memref<?xf32>, %y: memref<?xf32>) grid(%i) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = evt.ring "tiles" stages(4) : !evt.ring<tensor<64xf32>>
  evt.role "loader" {
    // expected-error @below {{'scf.for' op puts or gets tiles, so its step must be a positive constant}}
    scf.for %k = %c0 to %c1 step %i {
      %t = evt.load %x[%k] : memref<?xf32> -> tensor<64xf32>
      evt.put %t, %r : !evt.ring<tensor<64xf32>>
    }
  }
  evt.role "last" {
    scf.for %k = %c0 to %i step %c1 {
      %u = evt.get %r : !evt.ring<tensor<64xf32>>
    }
    %z = arith.constant dense<0.0> : tensor<64xf32>
    evt.store %z, %y[%i] : tensor<64xf32> -> memref<?xf32>
  }
}

// -----

evt.device @d(%x: memref<?xf32>, %y: memref<?xf32>) grid(%i) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %more = affine.apply affine_map<(d0) -> (d0 + 1)>(%i)
  %r = evt.ring "tiles" stages(4) : !evt.ring<tensor<64xf32>>
  evt.role "loader" {
    // expected-note @below {{another one is here}}
    scf.for %k = %c0 to %i step %c1 {
      %t = evt.load %x[%k] : memref<?xf32> -> tensor<64xf32>
      evt.put %t, %r : !evt.ring<tensor<64xf32>>
    }
  }
  evt.role "last" {
    // expected-error @below {{'scf.for' op puts or gets tiles as often as is known only at run time: all such loops of a function have the same bounds and step}}
    scf.for %k = %c0 to %more step %c1 {
      %u = evt.get %r : !evt.ring<tensor<64xf32>>
    }
    %z = arith.constant dense<0.0> : tensor<64xf32>
    evt.store %z, %y[%i] : tensor<64xf32> -> memref<?xf32>
  }
}

// -----

evt.device @d(%x: memref<?xf32>, %y: memref<?xf32>) grid(%i) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = evt.ring "tiles" stages(4) : !evt.ring<tensor<64xf32>>
  evt.role "loader" {
    scf.for %k = %c0 to %i step %c1 {
      %t = evt.load %x[%k] : memref<?xf32> -> tensor<64xf32>
      evt.put %t, %r : !evt.ring<tensor<64xf32>>
    }
    // expected-error @below {{'scf.for' op puts or gets tiles as often as is known only at run time: a role has one such loop, and in no other}}
    scf.for %k = %c0 to %i step %c1 {
      %t = evt.load %x[%k] : memref<?xf32> -> tensor<64xf32>
      evt.put %t, %r : !evt.ring<tensor<64xf32>>
    }
  }
  evt.role "last" {
    scf.for %k = %c0 to %i step %c1 {
      %u = evt.get %r : !evt.ring<tensor<64xf32>>
    }
    %z = arith.constant dense<0.0> : tensor<64xf32>
    evt.store %z, %y[%i] : tensor<64xf32> -> memref<?xf32>
  }
}

// -----

evt.device @d(%x: memref<?xf32>, %y: memref<?xf32>) grid(%i) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = evt.ring "tiles" stages(4) : !evt.ring<tensor<64xf32>>
  evt.role "loader" {
    scf.for %k = %c0 to %c1 step %c1 {
    // expected-error @below {{'scf.for' op puts or gets tiles as often as is known only at run time: a role has one such loop, and in no other}}
    scf.for %j = %c0 to %i step %c1 {
      %t = evt.load %x[%j] : memref<?xf32> -> tensor<64xf32>
      evt.put %t, %r : !evt.ring<tensor<64xf32>>
    }
    }
  }
  evt.role "last" {
    scf.for %k = %c0 to %i step %c1 {
      %u = evt.get %r : !evt.ring<tensor<64xf32>>
    }
    %z = arith.constant dense<0.0> : tensor<64xf32>
    evt.store %z, %y[%i] : tensor<64xf32> -> memref<?xf32>
  }
}

// -----

evt.device @d(%x: memref<?xf32>, %y: memref<?xf32>) grid(%i) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error @below {{'evt.ring' op 'tiles' gets 2 tiles from 'loader' in a round, but 'last' takes out 1}}
  %r = evt.ring "tiles" stages(4) : !evt.ring<tensor<64xf32>>
  evt.role "loader" {
    scf.for %k = %c0 to %i step %c1 {
      %t = evt.load %x[%k] : memref<?xf32> -> tensor<64xf32>
      evt.put %t, %r : !evt.ring<tensor<64xf32>>
      %t2 = evt.load %x[%k] : memref<?xf32> -> tensor<64xf32>
      evt.put %t2, %r : !evt.ring<tensor<64xf32>>
    }
  }
  evt.role "last" {
    scf.for %k = %c0 to %i step %c1 {
      %u = evt.get %r : !evt.ring<tensor<64xf32>>
    }
    %z = arith.constant dense<0.0> : tensor<64xf32>
    evt.store %z, %y[%i] : tensor<64xf32> -> memref<?xf32>
  }
}

// -----

// With one round it would come to its end: who fills `tiles` is ahead by one. With five it would not.
// expected-error @below {{'evt.device' op has roles that wait for each other before all have come to their loops}}
evt.device @d(%x: memref<?xf32>, %y: memref<?xf32>) grid(%i) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = arith.constant dense<0.0> : tensor<64xf32>
  %r = evt.ring "tiles" stages(1) : !evt.ring<tensor<64xf32>>
  %done = evt.ring "done" stages(1) : !evt.ring<tensor<64xf32>>
  evt.role "loader" {
    scf.for %k = %c0 to %i step %c1 {
      evt.put %t, %r : !evt.ring<tensor<64xf32>>
    }
    evt.put %t, %done : !evt.ring<tensor<64xf32>>
  }
  evt.role "last" {
    // expected-note @below {{role 'last' waits for a tile of 'done' here, at its step 1 of 2}}
    %u = evt.get %done : !evt.ring<tensor<64xf32>>
    scf.for %k = %c0 to %i step %c1 {
      %v = evt.get %r : !evt.ring<tensor<64xf32>>
    }
    evt.store %u, %y[%i] : tensor<64xf32> -> memref<?xf32>
  }
}

// -----

// expected-error @below {{'evt.device' op has roles that wait for each other in a round of their loops}}
evt.device @d(%x: memref<?xf32>, %y: memref<?xf32>) grid(%i) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = arith.constant dense<0.0> : tensor<64xf32>
  %a = evt.ring "a" stages(1) : !evt.ring<tensor<64xf32>>
  %b = evt.ring "b" stages(1) : !evt.ring<tensor<64xf32>>
  evt.role "loader" {
    scf.for %k = %c0 to %i step %c1 {
      // expected-note @below {{role 'loader' waits for a tile of 'b' here, at its step 1 of 2}}
      %v = evt.get %b : !evt.ring<tensor<64xf32>>
      evt.put %t, %a : !evt.ring<tensor<64xf32>>
    }
  }
  evt.role "last" {
    scf.for %k = %c0 to %i step %c1 {
      // expected-note @below {{role 'last' waits for a tile of 'a' here, at its step 1 of 2}}
      %v = evt.get %a : !evt.ring<tensor<64xf32>>
      evt.put %t, %b : !evt.ring<tensor<64xf32>>
    }
    evt.store %t, %y[%i] : tensor<64xf32> -> memref<?xf32>
  }
}

// -----

// Without a round, nothing tells the last role that `first` has been read.
evt.device @d(%x: memref<?xf32>, %y: memref<?xf32>) grid(%i) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = evt.ring "tiles" stages(4) : !evt.ring<tensor<64xf32>>
  evt.role "loader" {
    // expected-error @below {{'evt.load' op is in role 'loader', which hands nothing over behind it that reaches the last role, 'last': a task could end before it}}
    %first = evt.load %x[%c0] : memref<?xf32> -> tensor<64xf32>
    scf.for %k = %c0 to %i step %c1 {
      evt.put %first, %r : !evt.ring<tensor<64xf32>>
    }
  }
  evt.role "last" {
    scf.for %k = %c0 to %i step %c1 {
      %u = evt.get %r : !evt.ring<tensor<64xf32>>
    }
    %z = arith.constant dense<0.0> : tensor<64xf32>
    evt.store %z, %y[%i] : tensor<64xf32> -> memref<?xf32>
  }
}

// -----

evt.device @d(%x: memref<?xf32>, %y: memref<?xf32>) grid(%i) {
  %r = evt.ring "tiles" stages(2) : !evt.ring<tensor<64xf32>>
  evt.role "loader" {
    %t = evt.load %x[%i] : memref<?xf32> -> tensor<64xf32>
    // expected-error @below {{'evt.store' op is in role 'loader', but only the last one, 'last', may write}}
    evt.store %t, %y[%i] : tensor<64xf32> -> memref<?xf32>
    evt.put %t, %r : !evt.ring<tensor<64xf32>>
  }
  evt.role "last" {
    %u = evt.get %r : !evt.ring<tensor<64xf32>>
    evt.store %u, %y[%i] : tensor<64xf32> -> memref<?xf32>
  }
}

// -----

evt.device @d(%x: memref<?xf32>, %y: memref<?xf32>) grid(%i) {
  evt.role "idle" {
    // expected-error @below {{'evt.load' op is in role 'idle', which hands nothing over behind it that reaches the last role, 'last': a task could end before it}}
    %t = evt.load %x[%i] : memref<?xf32> -> tensor<64xf32>
  }
  evt.role "last" {
    %u = arith.constant dense<0.0> : tensor<64xf32>
    evt.store %u, %y[%i] : tensor<64xf32> -> memref<?xf32>
  }
}

// -----

evt.device @d(%x: memref<?xf32>, %y: memref<?xf32>) grid(%i) {
  %r = evt.ring "tiles" stages(2) : !evt.ring<tensor<64xf32>>
  evt.role "loader" {
    %t = evt.load %x[%i] : memref<?xf32> -> tensor<64xf32>
    evt.put %t, %r : !evt.ring<tensor<64xf32>>
    // expected-error @below {{'evt.load' op is in role 'loader', which hands nothing over behind it that reaches the last role, 'last': a task could end before it}}
    %late = evt.load %x[%i] : memref<?xf32> -> tensor<64xf32>
  }
  evt.role "last" {
    %u = evt.get %r : !evt.ring<tensor<64xf32>>
    evt.store %u, %y[%i] : tensor<64xf32> -> memref<?xf32>
  }
}

// -----

// The load of the last round is behind the last put.
evt.device @d(%x: memref<?xf32>, %y: memref<?xf32>) grid(%i) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant dense<0.0> : tensor<64xf32>
  %r = evt.ring "tiles" stages(2) : !evt.ring<tensor<64xf32>>
  evt.role "loader" {
    scf.for %k = %c0 to %c4 step %c1 {
      evt.put %zero, %r : !evt.ring<tensor<64xf32>>
      // expected-error @below {{'evt.load' op is in role 'loader', which hands nothing over behind it that reaches the last role, 'last': a task could end before it}}
      %t = evt.load %x[%k] : memref<?xf32> -> tensor<64xf32>
    }
  }
  evt.role "last" {
    scf.for %k = %c0 to %c4 step %c1 {
      %u = evt.get %r : !evt.ring<tensor<64xf32>>
    }
    evt.store %zero, %y[%i] : tensor<64xf32> -> memref<?xf32>
  }
}

// -----

// Whoever takes the tile out has handed over before, and tells nobody.
evt.device @d(%x: memref<?xf32>, %y: memref<?xf32>) grid(%i) {
  %zero = arith.constant dense<0.0> : tensor<64xf32>
  %r = evt.ring "r" stages(2) : !evt.ring<tensor<64xf32>>
  %s = evt.ring "s" stages(2) : !evt.ring<tensor<64xf32>>
  evt.role "loader" {
    // expected-error @below {{'evt.load' op is in role 'loader', which hands nothing over behind it that reaches the last role, 'last': a task could end before it}}
    %t = evt.load %x[%i] : memref<?xf32> -> tensor<64xf32>
    evt.put %t, %r : !evt.ring<tensor<64xf32>>
  }
  evt.role "between" {
    evt.put %zero, %s : !evt.ring<tensor<64xf32>>
    %t = evt.get %r : !evt.ring<tensor<64xf32>>
  }
  evt.role "last" {
    %u = evt.get %s : !evt.ring<tensor<64xf32>>
    evt.store %u, %y[%i] : tensor<64xf32> -> memref<?xf32>
  }
}

// -----

// A loop that never runs hands nothing over.
evt.device @d(%x: memref<?xf32>, %y: memref<?xf32>) grid(%i) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<64xf32>
  %r = evt.ring "tiles" stages(2) : !evt.ring<tensor<64xf32>>
  evt.role "loader" {
    // expected-error @below {{'evt.load' op is in role 'loader', which hands nothing over behind it that reaches the last role, 'last': a task could end before it}}
    %t = evt.load %x[%i] : memref<?xf32> -> tensor<64xf32>
    scf.for %k = %c0 to %c0 step %c1 {
      evt.put %t, %r : !evt.ring<tensor<64xf32>>
    }
  }
  evt.role "last" {
    scf.for %k = %c0 to %c0 step %c1 {
      %u = evt.get %r : !evt.ring<tensor<64xf32>>
    }
    evt.store %zero, %y[%i] : tensor<64xf32> -> memref<?xf32>
  }
}

// -----

evt.device @d(%x: memref<?xf32>, %y: memref<?xf32>) grid(%i) {
  %zero = arith.constant dense<0.0> : tensor<64xf32>
  %r = evt.ring "tiles" stages(2) : !evt.ring<tensor<64xf32>>
  evt.role "loader" {
    %t = evt.load %y[%i] : memref<?xf32> -> tensor<64xf32>
    evt.put %t, %r : !evt.ring<tensor<64xf32>>
  }
  evt.role "last" {
    // expected-error @below {{'evt.store' op comes before the last tile that role 'last' takes out: another role could still read what it writes}}
    evt.store %zero, %y[%i] : tensor<64xf32> -> memref<?xf32>
    %u = evt.get %r : !evt.ring<tensor<64xf32>>
  }
}

// -----

evt.device @d(%x: memref<?xf32>, %y: memref<?xf32>) grid(%i) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %most = arith.constant 1000000000000000 : index
  %zero = arith.constant dense<0.0> : tensor<64xf32>
  %r = evt.ring "tiles" stages(2) : !evt.ring<tensor<64xf32>>
  // expected-error @below {{'evt.role' op puts and gets more than 1048576 tiles in a task}}
  evt.role "loader" {
    scf.for %l = %c0 to %most step %c1 {
      scf.for %k = %c0 to %c0 step %c1 {
        evt.put %zero, %r : !evt.ring<tensor<64xf32>>
      }
    }
  }
  evt.role "last" {
    scf.for %k = %c0 to %c0 step %c1 {
      %u = evt.get %r : !evt.ring<tensor<64xf32>>
    }
    evt.store %zero, %y[%i] : tensor<64xf32> -> memref<?xf32>
  }
}

// -----

evt.device @d(%x: memref<?xf32>, %y: memref<?xf32>) grid(%i) {
  %r = evt.ring "tiles" stages(2) ahead : !evt.ring<tensor<64xf32>>
  evt.role "loader" {
    %t = evt.load %x[%i] : memref<?xf32> -> tensor<64xf32>
    // expected-error @below {{'arith.addf' op is in role 'loader', which fills 'tiles' ahead of the task's events: it may load and put into such rings only}}
    %s = arith.addf %t, %t : tensor<64xf32>
    evt.put %s, %r : !evt.ring<tensor<64xf32>>
  }
  evt.role "last" {
    %u = evt.get %r : !evt.ring<tensor<64xf32>>
    evt.store %u, %y[%i] : tensor<64xf32> -> memref<?xf32>
  }
}

// -----

evt.device @d(%x: memref<?xf32>, %y: memref<?xf32>) grid(%i) {
  %c0 = arith.constant 0 : index
  %r = evt.ring "tiles" stages(2) : !evt.ring<tensor<64xf32>>
  evt.role "loader" {
    %where = arith.constant dense<[3, 5]> : tensor<2xi32>
    // expected-error @below {{'tensor.extract' op is in role 'loader': roles before the last take no indices or numbers out of tiles}}
    %at = tensor.extract %where[%c0] : tensor<2xi32>
    %from = arith.index_cast %at : i32 to index
    %t = evt.load %x[%from] : memref<?xf32> -> tensor<64xf32>
    evt.put %t, %r : !evt.ring<tensor<64xf32>>
  }
  evt.role "last" {
    %u = evt.get %r : !evt.ring<tensor<64xf32>>
    evt.store %u, %y[%i] : tensor<64xf32> -> memref<?xf32>
  }
}

// -----

evt.device @d(%x: memref<?xf32>, %y: memref<?xf32>) grid(%i) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %r = evt.ring "tiles" stages(2) : !evt.ring<tensor<64xf32>>
  evt.role "loader" {
    // expected-error @below {{'scf.for' op is in role 'loader': roles before the last carry nothing but tiles through loops}}
    %sum = scf.for %k = %c0 to %c4 step %c1 iter_args(%at = %c0) -> (index) {
      %next = arith.addi %at, %k : index
      scf.yield %next : index
    }
    %t = evt.load %x[%sum] : memref<?xf32> -> tensor<64xf32>
    evt.put %t, %r : !evt.ring<tensor<64xf32>>
  }
  evt.role "last" {
    %u = evt.get %r : !evt.ring<tensor<64xf32>>
    evt.store %u, %y[%i] : tensor<64xf32> -> memref<?xf32>
  }
}

// -----

evt.device @d(%k: memref<?x2x?x64xbf16>, %pages: memref<?x?xi32>, %y: memref<?x64xf32>) grid(%i) {
  %c0 = arith.constant 0 : index
  %q = arith.constant dense<1.0> : tensor<4x64xbf16>
  %s = arith.constant dense<1.0> : tensor<4xf32>
  %r = evt.ring "sums" stages(2) : !evt.ring<tensor<4x64xf32>>
  evt.role "compute" {
    // expected-error @below {{'evt.attend' op is in role 'compute': roles before the last read memory by evt.load and evt.read alone}}
    %m, %l, %a = evt.attend %q scaled %s over %k, %k[%i, %i, %pages[%i]] from %i to %i pages of 16
      : tensor<4x64xbf16>, memref<?x2x?x64xbf16>, memref<?x?xi32> -> tensor<4x64xf32>
    evt.put %a, %r : !evt.ring<tensor<4x64xf32>>
  }
  evt.role "last" {
    %u = evt.get %r : !evt.ring<tensor<4x64xf32>>
    evt.store %u, %y[%c0, %c0] : tensor<4x64xf32> -> memref<?x64xf32>
  }
}

// -----

// Two tiles of x, then one of z; the other role wants z first, and x has room for one. With two stages it is right.
// expected-error @below {{'evt.device' op has roles that wait for each other}}
evt.device @d(%x: memref<?xf32>, %z: memref<?xf32>, %y: memref<?xf32>) grid(%i) {
  %rx = evt.ring "x" stages(1) : !evt.ring<tensor<64xf32>>
  %rz = evt.ring "z" stages(1) : !evt.ring<tensor<64xf32>>
  evt.role "loader" {
    %a = evt.load %x[%i] : memref<?xf32> -> tensor<64xf32>
    evt.put %a, %rx : !evt.ring<tensor<64xf32>>
    // expected-note @below {{role 'loader' waits for room in 'x' here, at its step 2 of 3}}
    evt.put %a, %rx : !evt.ring<tensor<64xf32>>
    %b = evt.load %z[%i] : memref<?xf32> -> tensor<64xf32>
    evt.put %b, %rz : !evt.ring<tensor<64xf32>>
  }
  evt.role "last" {
    // expected-note @below {{role 'last' waits for a tile of 'z' here, at its step 1 of 3}}
    %b = evt.get %rz : !evt.ring<tensor<64xf32>>
    %a = evt.get %rx : !evt.ring<tensor<64xf32>>
    %c = evt.get %rx : !evt.ring<tensor<64xf32>>
    evt.store %a, %y[%i] : tensor<64xf32> -> memref<?xf32>
  }
}

// -----

evt.device @d(%x: memref<?xf32>, %z: memref<?xf32>, %y: memref<?xf32>) grid(%i) {
  %rx = evt.ring "x" stages(2) : !evt.ring<tensor<64xf32>>
  %rz = evt.ring "z" stages(1) : !evt.ring<tensor<64xf32>>
  evt.role "loader" {
    %a = evt.load %x[%i] : memref<?xf32> -> tensor<64xf32>
    evt.put %a, %rx : !evt.ring<tensor<64xf32>>
    evt.put %a, %rx : !evt.ring<tensor<64xf32>>
    %b = evt.load %z[%i] : memref<?xf32> -> tensor<64xf32>
    evt.put %b, %rz : !evt.ring<tensor<64xf32>>
  }
  evt.role "last" {
    %b = evt.get %rz : !evt.ring<tensor<64xf32>>
    %a = evt.get %rx : !evt.ring<tensor<64xf32>>
    %c = evt.get %rx : !evt.ring<tensor<64xf32>>
    evt.store %a, %y[%i] : tensor<64xf32> -> memref<?xf32>
  }
}

// -----

evt.device @d(%x: memref<?xf32>, %y: memref<?xf32>) grid(%i) {
  %r = evt.ring "tiles" stages(2) ahead : !evt.ring<tensor<64xf32>>
  evt.role "loader" {
    // expected-note @below {{it is loaded here}}
    %t = evt.load %x[%i] : memref<?xf32> -> tensor<64xf32>
    evt.put %t, %r : !evt.ring<tensor<64xf32>>
  }
  evt.role "last" {
    %u = evt.get %r : !evt.ring<tensor<64xf32>>
    evt.store %u, %y[%i] : tensor<64xf32> -> memref<?xf32>
  }
}
evt.graph @g(%x: memref<?xf32>, %y: memref<?xf32>) {
  %n = evt.symbol "n" (%x[0], %y[0]) : memref<?xf32>, memref<?xf32>
  // expected-error @below {{'evt.call' op passes a memory that is not immutable as 'x' of 'd', whose role 'loader' loads it ahead of the task's events}}
  evt.call @d(%x, %y) grid(%n) : (memref<?xf32>, memref<?xf32>)
}
