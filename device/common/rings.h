// The rings that join the roles of a worker: tasks from control to everybody, stages from loaders to compute, sums from
// compute to an epilogue. Which role waits for which barrier, in which round, is here, once, over a target's barriers;
// so the same lines run on a GPU and under a race detector (rings_test.cpp).
//
// `Sync` is a target's: Barriers (an array, `[i]` gives a Barrier); wait(barrier, parity) blocks until the phase of
// that parity is over; arrive(barrier) counts one arrival; arrive_once(barrier) counts one for a group of threads that
// calls it together (a warp). A barrier counts as many arrivals a phase as it was made for.
//
// A role's place in a ring is a Cursor of its own. Filling waits for `empty` with the other parity: a barrier nobody
// has arrived at yet counts as "the phase before is over", so that the first round does not wait.
#pragma once

#include "device/common/qualifiers.h"

#include <cstdint>

namespace evt {

/// A place in a ring: the slot, and the parity of the round.
struct Cursor {
  int slot = 0;
  std::uint32_t round = 0;
  EVT_INLINE void advance(int slots) {
    if (++slot == slots) {
      slot = 0;
      round ^= 1;
    }
  }
  EVT_INLINE void skip(int places, int slots) {
    slot += places;
    if (slot >= slots) {
      slot -= slots;
      round ^= 1;
    }
  }
  /// Any number of places.
  EVT_INLINE void skip_all(int places, int slots) {
    round ^= places / slots & 1;
    skip(places % slots, slots);
  }
};

//===-- stages: loaders to compute --------------------------------------------------------------------------------===//

/// Whether a ring of stages is safe. A barrier tells two neighbouring rounds apart and no more: a loader that is about
/// to ask whether stage n - in_flight has arrived must do so before that stage's slot is filled once more, or it waits
/// for ever. How far can the other two run ahead of it meanwhile? Stage n + in_flight needs n.
///   If in_flight is a multiple of the loaders, a loader waits for its own stages only, and nothing but the ring's size
///   holds the others back; then a slot must always belong to the same loader.
///   Otherwise one of the others stops at n + in_flight, and the last one, which needs that, at n + 2 in_flight.
EVT_SHARED constexpr bool rounds_stay_apart(int slots, int in_flight, int loaders) {
  if (in_flight < 1 || in_flight > slots || loaders != 3)
    return false;
  return in_flight % loaders == 0 ? slots % loaders == 0 : slots >= loaders * in_flight;
}

/// Stages are filled by copies that end on their own. Several loaders take turns, so that each has its next copy ready
/// when the stage it waits for arrives; what is in flight is bounded apart from what is buffered. Every consumer sees
/// every stage. `full` counts one arrival (and the bytes of the copy), `empty` one for each consumer.
template <class Sync> struct StageRing {
  typename Sync::Barriers full, empty;
  int slots, in_flight;
  Cursor at,
      oldest; // the next stage, and the next to give back (consumer) or the oldest that may be in flight (loader)
  int before; // loader: stages to send before one must have arrived

  EVT_INLINE void start_loader(int loader) {
    at.skip(loader, slots);
    before = in_flight - loader;
    if (before <= 0)
      oldest.skip(-before, slots);
  }
  /// Loader: waits until its next stage is free and few enough are in flight; `announce(barrier)` says meanwhile what
  /// will arrive there. Returns the stage's slot, which the loader then fills. Calmly, no loader has more than one in
  /// flight: its own stage before this one must have arrived. It is for its own only that it can wait so: others may
  /// fill the slot of theirs once more before it looks.
  template <int Loaders, class Announce> EVT_INLINE int begin_send(Announce announce, bool calmly = false) {
    const int slot = at.slot;
    Sync::wait(empty[slot], at.round ^ 1);
    announce(full[slot]);
    const int own = slot - Loaders;
    if (calmly && before <= 0 && in_flight > Loaders)
      Sync::wait(full[own < 0 ? own + slots : own], own < 0 ? at.round ^ 1 : at.round);
    at.skip(Loaders, slots);
    if (before > 0) {
      before -= Loaders;
      if (before <= 0)
        oldest.skip(-before, slots);
      return slot;
    }
    const typename Sync::Barrier earlier = full[oldest.slot];
    const std::uint32_t round = oldest.round;
    oldest.skip(Loaders, slots);
    Sync::wait(earlier, round);
    return slot;
  }
  /// The same, and `copy(slot, barrier)` fills it.
  template <int Loaders, class Announce, class Copy>
  EVT_INLINE void send(Announce announce, Copy copy, bool calmly = false) {
    const int slot = begin_send<Loaders>(announce, calmly);
    copy(slot, full[slot]);
  }

  /// Consumer: the slot of the next stage, once it is there.
  EVT_INLINE int receive() {
    Sync::wait(full[at.slot], at.round);
    const int slot = at.slot;
    at.advance(slots);
    return slot;
  }
  /// Gives the oldest stage back. What was read from it must have been used: a load that is only issued may still be on
  /// its way when the copy engine overwrites the stage.
  EVT_INLINE void release() {
    Sync::arrive_once(empty[oldest.slot]);
    oldest.advance(slots);
  }
};

//===-- results: compute to one of the epilogues ------------------------------------------------------------------===//

/// Every producer writes its part of every result; one consumer takes a result. `full` counts each producer, `empty`
/// one. Both sides step over the results that are not theirs with `at.advance`.
template <class Sync> struct ResultRing {
  typename Sync::Barriers full, empty;
  Cursor at;

  EVT_INLINE void begin_put() { Sync::wait(empty[at.slot], at.round ^ 1); }
  EVT_INLINE void end_put(int slots) {
    Sync::arrive_once(full[at.slot]);
    at.advance(slots);
  }
  /// Producer: waits until every result has been taken. Where results are is its own then, until it puts the next.
  EVT_INLINE void await_taken(int slots) const {
    Cursor each = at;
    for (int i = 0; i < slots; ++i, each.advance(slots))
      Sync::wait(empty[each.slot], each.round ^ 1);
  }
  EVT_INLINE void begin_take() { Sync::wait(full[at.slot], at.round); }
  EVT_INLINE void end_take() { Sync::arrive_once(empty[at.slot]); }
};

//===-- tasks: control to every role ------------------------------------------------------------------------------===//

/// All roles walk the same tasks, each at its own pace. `full` counts control's arrival, `empty` one of each role's
/// thread (or warp), `begun` the thread that passed the task's waits, `fed` each loader, `done` the thread that leads
/// compute, where another role tells of what it has done.
template <class Sync, int Slots> struct TaskRing {
  typename Sync::Barriers full, empty, begun, fed, done;
  Cursor at;
  bool has_wrapped = false;

  /// Control: waits until there is room, and until the role that `progress` tells of is at most `ahead` tasks behind:
  /// what is handed over early cannot be taken by another worker.
  EVT_INLINE void enter(typename Sync::Barriers progress, int ahead) {
    Sync::wait(empty[at.slot], at.round ^ 1);
    const int before = at.slot - ahead;
    if (before >= 0)
      Sync::wait(progress[before], at.round);
    else if (has_wrapped)
      Sync::wait(progress[before + Slots], at.round ^ 1);
  }
  EVT_INLINE void hand_over() const { Sync::arrive(full[at.slot]); }
  /// The next task; true when the ring has wrapped, which is now and then.
  EVT_INLINE bool step() {
    advance();
    if (at.slot != 0)
      return false;
    has_wrapped = true;
    return true;
  }

  /// Every other role, in this order: await, (what it does), leave by each of its threads (or warps), advance.
  EVT_INLINE void await() const { Sync::wait(full[at.slot], at.round); }
  EVT_INLINE void leave() const { Sync::arrive(empty[at.slot]); }
  EVT_INLINE void advance() { at.advance(Slots); }
  EVT_INLINE void say_begun() const { Sync::arrive(begun[at.slot]); }
  EVT_INLINE void await_begun() const { Sync::wait(begun[at.slot], at.round); }
  EVT_INLINE void say_fed() const { Sync::arrive(fed[at.slot]); }
  EVT_INLINE void say_done() const { Sync::arrive(done[at.slot]); }
  EVT_INLINE void await_done() const { Sync::wait(done[at.slot], at.round); }
};

} // namespace evt
