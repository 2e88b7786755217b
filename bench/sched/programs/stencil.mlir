// `steps` rows of `width` tasks; a task waits for its three neighbours in the row before.
evt.device @empty() grid(%t, %i) {
}
evt.graph @stencil(%steps: index {evt.max = 1048576}, %width: index {evt.max = 1048576}) {
  %done = evt.event(%steps, %width) count(1) : !evt.event<?x?>
  evt.call @empty() grid(%steps, %width) wait(%done[(t, i) -> (t - 1, i - 1 to i + 2)])
    notify(%done[(t, i) -> (t, i)]) : ()
}
