// n tasks, each after the one before.
evt.device @empty() grid(%i) {
}
evt.graph @chain(%n: index {evt.max = 16777216}) {
  %done = evt.event(%n) count(1) : !evt.event<?>
  evt.call @empty() grid(%n) wait(%done[(i) -> (i - 1)]) notify(%done[(i) -> (i)]) : ()
}
