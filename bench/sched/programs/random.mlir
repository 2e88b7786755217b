// A DAG given as data: task i notifies the tasks succ[first[i] .. first[i + 1]] and waits for its own indegree.
evt.device @empty() grid(%i) {
}
evt.graph @random(%first: memref<?xi32> {evt.immutable}, %succ: memref<?xi32> {evt.immutable},
                  %indegree: memref<?xi32> {evt.immutable}) {
  %n = evt.symbol "n" (%indegree[0]) : memref<?xi32>
  %c1 = arith.constant 1 : index
  %ready = evt.event(%n) count(%indegree * 1) : !evt.event<?>, memref<?xi32>
  evt.call @empty() grid(%i to %n) : () {
    evt.wait %ready[%i]
    %next = arith.addi %i, %c1 : index
    %lo = evt.read %first[%i] : memref<?xi32>
    %hi = evt.read %first[%next] : memref<?xi32>
    scf.for %s = %lo to %hi step %c1 {
      %t = evt.read %succ[%s] : memref<?xi32>
      evt.notify %ready[%t]
    }
  }
}
