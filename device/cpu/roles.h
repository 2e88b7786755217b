// The roles of a worker on the CPU: threads beside the worker's own, joined by the rings of device/common/rings.h.
//
// The worker's own thread comes to tasks in the schedule's order. A task of a function with roles it hands over to the
// other roles at once, and runs the last role of it later, when a few more tasks have been handed over: so the others
// are ahead of it, over task boundaries. Its own thread alone passes the events that a task waits for (the roles that
// read what other tasks write wait until it has), stores, notifies and tells the observer; whatever is true of a worker
// without roles is true of it.
//
// Nothing can be stuck that would not be without roles: the worker ends its tasks in the order in which it comes to
// them, and blocks for a task only when all smaller ones of its own have ended; other roles wait for rings, and for a
// task's events once all smaller tasks' have passed; that rings do not make roles wait for each other is proved
// (compiler/ir/RoleRules.cpp).
#pragma once

#include "device/common/rings.h"
#include "device/cpu/worker.h"

#include <memory>
#include <thread>

namespace evt {

/// When waiting for other roles is of no use any more.
struct Ending {
  const std::uint32_t *abort;
  std::atomic<bool> is_over{false};
  bool operator()() const {
    return is_over.load(std::memory_order_acquire) || __atomic_load_n(abort, __ATOMIC_RELAXED) != EVT_ABORT_NONE;
  }
};

/// A barrier as a GPU has it: a phase is over when all have arrived.
class Phase {
public:
  void init(int count) { missing = arrivals = count; }
  bool has_passed(std::uint32_t parity) const { return (number.load(std::memory_order_acquire) & 1) != parity; }
  void arrive() {
    if (missing.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      missing.store(arrivals, std::memory_order_relaxed);
      number.fetch_add(1, std::memory_order_release);
    }
  }

private:
  std::atomic<std::uint32_t> number{0};
  std::atomic<int> missing{0};
  int arrivals = 0;
};

/// The barriers of the rings (device/common/rings.h), for threads.
struct HostSync {
  struct Barrier {
    Phase *phase;
    const Ending *ending;
  };
  struct Barriers {
    Phase *first;
    const Ending *ending;
    Barrier operator[](int i) const { return {first + i, ending}; }
  };
  static void wait(Barrier barrier, std::uint32_t parity) {
    for (int spin = 0; !barrier.phase->has_passed(parity) && !(*barrier.ending)(); ++spin)
      if (spin < 200)
        pause();
      else
        sched_yield();
  }
  static void arrive(Barrier barrier) { barrier.phase->arrive(); }
  static void arrive_once(Barrier barrier) { barrier.phase->arrive(); }
};

/// A ring of tiles from one role to another.
template <class T, int Elements, int Slots> class Ring {
public:
  explicit Ring(const Ending &ending)
      : filling{{full, &ending}, {empty, &ending}, {}}, emptying{{full, &ending}, {empty, &ending}, {}} {
    for (int i = 0; i < Slots; ++i) {
      full[i].init(1);
      empty[i].init(1);
    }
  }
  void put(const T *tile) {
    filling.begin_put();
    if ((*filling.full.ending)()) // others give up as well, and no place is anybody's
      return;
    std::memcpy(tiles[filling.at.slot], tile, sizeof tiles[0]);
    filling.end_put(Slots);
  }
  void get(T *tile) {
    emptying.begin_take();
    if ((*emptying.full.ending)())
      return;
    std::memcpy(tile, tiles[emptying.at.slot], sizeof tiles[0]);
    emptying.end_take();
    emptying.at.advance(Slots);
  }

private:
  Phase full[Slots], empty[Slots];
  ResultRing<HostSync> filling, emptying; // each is one role's
  alignas(64) T tiles[Slots][Elements];
};

/// A task that was handed over.
struct RoleTask {
  static constexpr int max_coords = 16;
  std::uint32_t call;
  std::int64_t coord[max_coords];
};

/// The threads of a worker's roles but the last, and what they and the worker have in common. `Kernel` is emitted:
/// `helpers`, how many such roles a function has at most; `Rings`, of all functions; and `run(role, w, P, rings, task,
/// begun)`, where begun() waits until the task's events have passed.
template <class Kernel, class Program> class Roles {
  Ending ending; // first: rings know where it is

public:
  /// Tasks that the worker is behind the first of its roles, at most.
  static constexpr int ahead = 4;

  Roles(const evt_launch *launch, const Program &program)
      : ending{launch->abort}, rings(ending), quiet(*launch), program(program), entering(view()), leaving(view()) {
    quiet.hooks = nullptr; // the worker itself tells of what other roles read
    quiet.status = statuses;
    quiet.done = nullptr;
    for (int i = 0; i < slots; ++i) {
      full[i].init(1);
      begun[i].init(1);
      empty[i].init(Kernel::helpers + 1);
    }
    for (int role = 0; role < Kernel::helpers; ++role)
      threads[role] = std::thread([this, role] { serve(role); });
  }
  ~Roles() {
    ending.is_over.store(true, std::memory_order_release);
    for (std::thread &thread : threads)
      thread.join();
  }
  Roles(const Roles &) = delete;
  Roles &operator=(const Roles &) = delete;

  /// The worker: a task for all roles.
  void hand_over(const RoleTask &task) {
    entering.enter(entering.empty, slots);
    if (ending())
      return;
    tasks[entering.at.slot] = task;
    entering.hand_over();
    entering.step();
    ++pending_;
  }
  int pending() const { return pending_; } // handed over, and the last role has not ended
  RoleTask oldest() const { return tasks[leaving.at.slot]; }
  /// The events of the oldest task have passed.
  void say_begun() const { leaving.say_begun(); }
  /// The last role of the oldest task has ended.
  void leave() {
    leaving.leave();
    leaving.advance();
    --pending_;
  }

  typename Kernel::Rings rings;

private:
  static constexpr int slots = 8;
  static_assert(ahead < slots);
  using Tasks = TaskRing<HostSync, slots>;
  Tasks view() {
    return {{full, &ending}, {empty, &ending}, {begun, &ending}, {nullptr, &ending}, {nullptr, &ending}, {}, false};
  }

  void serve(int role) {
    Worker w(&quiet, (std::uint32_t)role, nullptr);
    Tasks ring = view();
    while (true) {
      ring.await();
      if (ending())
        return;
      w.decodes(tasks[ring.at.slot].call);
      Kernel::run(role, w, program, rings, tasks[ring.at.slot], [&] { ring.await_begun(); });
      ring.leave();
      ring.advance();
    }
  }

  evt_launch quiet;
  const Program &program;
  Phase full[slots], empty[slots], begun[slots];
  RoleTask tasks[slots];
  Tasks entering, leaving; // the worker's two places in the ring
  int pending_ = 0;
  evt_status statuses[Kernel::helpers] = {};
  std::thread threads[Kernel::helpers];
};

} // namespace evt
