// One task, then n independent ones, then one that waits for all.
evt.device @one() grid() {
}
evt.device @empty() grid(%i) {
}
evt.graph @wide(%n: index {evt.max = 16777216}) {
  %start = evt.event() count(1) : !evt.event<>
  %done = evt.event() count(%n) : !evt.event<>
  evt.call @one() grid() notify(%start[() -> ()]) : ()
  evt.call @empty() grid(%n) wait(%start[(i) -> ()]) notify(%done[(i) -> ()]) : ()
  evt.call @one() grid() wait(%done[() -> ()]) : ()
}
