// The rules of device functions that are split into roles; RoleOp says what they are for.
#include "Evt.h"
#include "Signature.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace evt::ir {

LogicalResult RingOp::verify() {
  if ((int64_t)getStages() < 1)
    return emitOpError("has ") << (int64_t)getStages() << " stages, required at least 1";
  if (!getRing().getType().getTile().hasStaticShape())
    return emitOpError("holds tiles of static shape, found ") << getRing().getType().getTile();
  return success();
}

namespace {

/// What a role does with rings in one task is followed step by step, so it must come to an end.
constexpr size_t mostSteps = 1 << 20;

/// A put or a get.
struct Step {
  Operation *op;
  RingOp ring;
  bool isPut() const { return isa<PutOp>(op); }
};

/// A memory access, and how many steps of its role come before it.
struct Place {
  Operation *op = nullptr;
  size_t steps = 0;
};

struct Role {
  RoleOp op;
  std::vector<Step> steps; // of one task, in order
  Place lastRead, firstWrite;
  scf::ForOp loop;                     // that uses rings, and whose length is known only at run time
  size_t loopBegins = 0, loopEnds = 0; // where its steps are among the others
};

RingOp ringOf(Operation *op) {
  if (auto put = dyn_cast<PutOp>(op))
    return put.getRing().getDefiningOp<RingOp>();
  if (auto get = dyn_cast<GetOp>(op))
    return get.getRing().getDefiningOp<RingOp>();
  return {};
}

bool usesRings(Operation *op) {
  return op->walk([](Operation *inner) { return ringOf(inner) ? WalkResult::interrupt() : WalkResult::advance(); })
      .wasInterrupted();
}

bool readsMemory(Operation *op) {
  auto effects = dyn_cast<MemoryEffectOpInterface>(op);
  return effects && effects.hasEffect<MemoryEffects::Read>();
}

class Rules {
public:
  explicit Rules(DeviceOp device) : device(device) {}

  LogicalResult check() {
    for (Operation &op : device.getBody().front())
      if (auto role = dyn_cast<RoleOp>(op))
        roles.emplace_back().op = role;
      else if (auto ring = dyn_cast<RingOp>(op))
        rings.push_back(ring);
    WalkResult outside = device.getBody().walk([&](Operation *op) -> WalkResult {
      if (!ringOf(op) || op->getParentOfType<RoleOp>())
        return WalkResult::advance();
      op->emitOpError("must be in a role");
      return WalkResult::interrupt();
    });
    if (outside.wasInterrupted())
      return failure();
    if (roles.empty())
      return rings.empty() ? success() : rings.front().emitOpError("joins roles, of which there are none");
    if (failed(checkOutside()))
      return failure();
    for (Role &role : roles) {
      if (role.op.getBody().getNumArguments() != 0)
        return role.op.emitOpError("takes no arguments, found ") << role.op.getBody().getNumArguments();
      if (failed(findLoop(role)))
        return failure();
    }
    if (failed(checkLoops()))
      return failure();
    // Loops whose length is known only at run time are followed with no round and with one; checkLoops says why that
    // is enough.
    bool hasLoops = llvm::any_of(roles, [](Role &role) { return bool(role.loop); });
    for (bool isEntered : {false, true}) {
      if (!hasLoops && isEntered)
        continue;
      if (failed(followRoles(isEntered)) || failed(checkEndOfTask()))
        return failure();
    }
    return success(succeeded(checkAheadRoles()) && succeeded(checkProgress()));
  }

private:
  /// Only what every role can compute for itself stands outside of them.
  LogicalResult checkOutside() {
    for (Operation &op : device.getBody().front()) {
      if (isa<RoleOp, RingOp, EndOp>(op) || op.hasTrait<OpTrait::ConstantLike>())
        continue;
      if (!isMemoryEffectFree(&op) || !llvm::all_of(op.getResultTypes(), [](Type t) { return t.isIndex(); }))
        return op.emitOpError("must be in a role: outside of them a device function has indices and constants only");
    }
    return success();
  }

  static bool isOfRunTimeLength(scf::ForOp loop) {
    return !constantOf(loop.getLowerBound()) || !constantOf(loop.getUpperBound());
  }

  /// Finds the loop of a role that uses rings and whose length is known only at run time, if it has one.
  static LogicalResult findLoop(Role &role) {
    WalkResult walked = role.op.walk([&](scf::ForOp loop) -> WalkResult {
      if (!usesRings(loop))
        return WalkResult::advance();
      if (constantOf(loop.getStep()).value_or(0) < 1) {
        loop.emitOpError("puts or gets tiles, so its step must be a positive constant");
        return WalkResult::interrupt();
      }
      if (!isOfRunTimeLength(loop))
        return WalkResult::advance();
      if (role.loop || loop->getParentOp() != role.op) {
        loop.emitOpError("puts or gets tiles as often as is known only at run time: a role has one such loop, and in "
                         "no other");
        return WalkResult::interrupt();
      }
      role.loop = loop;
      return WalkResult::advance();
    });
    return failure(walked.wasInterrupted());
  }

  /// Loops whose length is known only at run time have as many rounds in all roles, and rings that are used in them are
  /// used nowhere else. With as many puts as gets of each ring in a round (checkEnds), a round leaves those rings
  /// empty, as it found them. So one round stands for any number of them: what the last role knows behind the last
  /// round it knows from that round and from what follows it; and where roles come to the end of one round, all of them
  /// having begun it (checkProgress), they come to the end of the next.
  LogicalResult checkLoops() {
    scf::ForOp first;
    for (Role &role : roles) {
      if (!role.loop)
        continue;
      if (!first)
        first = role.loop;
      if (!isSameIndex(first.getLowerBound(), role.loop.getLowerBound()) ||
          !isSameIndex(first.getUpperBound(), role.loop.getUpperBound()) ||
          !isSameIndex(first.getStep(), role.loop.getStep())) {
        InFlightDiagnostic error = role.loop.emitOpError(
            "puts or gets tiles as often as is known only at run time: all such loops of a function have the same "
            "bounds and step");
        error.attachNote(first.getLoc()) << "another one is here";
        return error;
      }
    }
    for (RingOp ring : rings) {
      bool inside = false, outside = false;
      for (Operation *user : ring->getUsers()) {
        auto role = user->getParentOfType<RoleOp>();
        auto known = llvm::find_if(roles, [&](Role &r) { return r.op == role; });
        (known->loop && known->loop->isProperAncestor(user) ? inside : outside) = true;
      }
      if (inside && outside)
        return ring.emitOpError("'") << ring.getName()
                                     << "' is used in a loop whose length is known only at run time, and outside of "
                                        "such a loop, too";
    }
    return success();
  }

  /// Notes what all roles do in a task, with one round of loops whose length is known only at run time, or none.
  LogicalResult followRoles(bool isEntered) {
    for (Role &role : roles) {
      role.steps.clear();
      role.lastRead = role.firstWrite = {};
      rounds = 0;
      follow(role.op.getBody().front(), role, isEntered);
      if (rounds > mostSteps)
        return role.op.emitOpError("puts and gets more than ") << mostSteps << " tiles in a task";
    }
    for (RingOp ring : rings)
      if (failed(checkEnds(ring)))
        return failure();
    return success();
  }

  /// Notes what a role does in a task, in order.
  void follow(Block &block, Role &role, bool isEntered) {
    for (Operation &op : block) {
      if (RingOp ring = ringOf(&op)) {
        if (++rounds <= mostSteps)
          role.steps.push_back({&op, ring});
        continue;
      }
      auto loop = dyn_cast<scf::ForOp>(op);
      if (!loop || !usesRings(loop)) {
        op.walk([&](Operation *inner) {
          if (readsMemory(inner))
            role.lastRead = {inner, role.steps.size()};
          if (!role.firstWrite.op && !memoriesWritten(inner).empty())
            role.firstWrite = {inner, role.steps.size()};
        });
        continue;
      }
      if (loop == role.loop) {
        role.loopBegins = role.steps.size();
        if (isEntered)
          follow(*loop.getBody(), role, isEntered);
        role.loopEnds = role.steps.size();
        continue;
      }
      const int64_t upper = *constantOf(loop.getUpperBound()), by = *constantOf(loop.getStep());
      for (int64_t i = *constantOf(loop.getLowerBound()); i < upper && ++rounds <= mostSteps;) {
        follow(*loop.getBody(), role, isEntered);
        if (upper - i <= by)
          break;
        i += by;
      }
    }
  }

  static bool isInLoop(RingOp ring, Role &role) {
    return role.loop &&
           llvm::any_of(ring->getUsers(), [&](Operation *user) { return role.loop->isProperAncestor(user); });
  }

  /// One role fills a ring, another empties it, and a task leaves it as it was; so does a round of a loop whose length
  /// is known only at run time.
  LogicalResult checkEnds(RingOp ring) {
    Role *from = nullptr, *to = nullptr;
    size_t puts = 0, gets = 0;
    for (Role &role : roles) {
      // A put in a loop that never runs is one, too.
      bool fills = false, empties = false;
      role.op.walk([&](Operation *op) {
        if (ringOf(op) == ring)
          (isa<PutOp>(op) ? fills : empties) = true;
      });
      if ((fills && from) || (empties && to) || (fills && empties))
        return ring.emitOpError("'") << ring.getName() << "' is filled by one role and emptied by another, but role '"
                                     << role.op.getName() << "' "
                                     << (fills && empties ? "does both"
                                         : fills          ? ("fills it beside '" + from->op.getName() + "'").str()
                                                          : ("empties it beside '" + to->op.getName() + "'").str());
      from = fills ? &role : from;
      to = empties ? &role : to;
      for (const Step &step : role.steps)
        if (step.ring == ring)
          ++(step.isPut() ? puts : gets);
    }
    if (!from || !to)
      return ring.emitOpError("'") << ring.getName() << "' is " << (from ? "emptied" : "filled") << " by no role";
    if (puts != gets)
      return ring.emitOpError("'") << ring.getName() << "' gets " << puts << " tiles from '" << from->op.getName()
                                   << "' in a " << (isInLoop(ring, *from) ? "round" : "task") << ", but '"
                                   << to->op.getName() << "' takes out " << gets;
    ends[ring] = {from, to};
    return success();
  }

  /// All reads and writes of a task are over when its last role is.
  LogicalResult checkEndOfTask() {
    Role &last = roles.back();
    for (Role &role : roles) {
      if (&role == &last)
        continue;
      WalkResult writes = role.op.walk([&](Operation *op) -> WalkResult {
        if (memoriesWritten(op).empty())
          return WalkResult::advance();
        op->emitOpError("is in role '") << role.op.getName() << "', but only the last one, '" << last.op.getName()
                                        << "', may write";
        return WalkResult::interrupt();
      });
      if (writes.wasInterrupted() || failed(checkReads(role)))
        return failure();
      if (role.lastRead.op && !isKnownToLast(role))
        return role.lastRead.op->emitOpError("is in role '")
               << role.op.getName() << "', which hands nothing over behind it that reaches the last role, '"
               << last.op.getName() << "': a task could end before it";
    }
    // So all that others read has been read when the last role has its last tile.
    for (size_t i = last.steps.size(); last.firstWrite.op && i-- > last.firstWrite.steps;)
      if (!last.steps[i].isPut())
        return last.firstWrite.op->emitOpError("comes before the last tile that role '")
               << last.op.getName() << "' takes out: another role could still read what it writes";
    return success();
  }

  /// Whether the last role takes out a tile that was put in, by a role or by one that had such a tile from it, behind
  /// all that the role reads.
  bool isKnownToLast(Role &reader) {
    // The n-th tile put into a ring is the n-th taken out of it: where its get is among the steps of its role.
    llvm::DenseMap<Operation *, std::vector<size_t>> gets;
    for (Role &role : roles)
      for (auto [i, step] : llvm::enumerate(role.steps))
        if (!step.isPut())
          gets[step.ring].push_back(i);
    llvm::DenseMap<Role *, size_t> known; // from which step on a role knows that all was read
    known[&reader] = reader.lastRead.steps;
    for (bool changed = true; changed;) {
      changed = false;
      for (Role &role : roles) {
        auto from = known.find(&role);
        if (from == known.end())
          continue;
        const size_t since = from->second;
        llvm::DenseMap<Operation *, size_t> puts;
        for (auto [i, step] : llvm::enumerate(role.steps)) {
          if (!step.isPut())
            continue;
          const size_t number = puts[step.ring]++;
          if (i < since)
            continue;
          Role *to = ends[step.ring].second;
          const size_t at = gets[step.ring][number] + 1;
          auto [slot, isNew] = known.try_emplace(to, at);
          changed |= isNew || at < slot->second;
          slot->second = std::min(slot->second, at);
        }
      }
    }
    return known.contains(&roles.back());
  }

  /// What a role before the last reads is told to observers by the last one, which has indices and no tiles of it.
  static LogicalResult checkReads(Role &role) {
    WalkResult walked = role.op.walk([&](Operation *op) -> WalkResult {
      auto isTile = [](Type t) { return isa<RankedTensorType>(t); };
      bool reads = readsMemory(op) && !isa<LoadOp, ReadOp>(op);
      bool looks = op->getNumRegions() == 0 && op->getNumResults() > 0 && llvm::any_of(op->getOperandTypes(), isTile) &&
                   llvm::none_of(op->getResultTypes(), isTile);
      bool carries = isa<scf::ForOp>(op) && !llvm::all_of(op->getResultTypes(), isTile);
      if (!reads && !looks && !carries)
        return WalkResult::advance();
      op->emitOpError("is in role '") << role.op.getName() << "': roles before the last "
                                      << (reads   ? "read memory by evt.load and evt.read alone"
                                          : looks ? "take no indices or numbers out of tiles"
                                                  : "carry nothing but tiles through loops");
      return WalkResult::interrupt();
    });
    return failure(walked.wasInterrupted());
  }

  /// Who fills a ring that is ahead waits for nothing but room.
  LogicalResult checkAheadRoles() {
    for (Role &role : roles) {
      RingOp ahead = aheadRing(role.op);
      if (!ahead)
        continue;
      WalkResult walked = role.op.getBody().walk([&](Operation *op) -> WalkResult {
        RingOp ring = ringOf(op);
        bool isIndex = isMemoryEffectFree(op) && llvm::all_of(op->getResultTypes(), [](Type t) { return t.isIndex(); });
        if (isa<EndOp, scf::YieldOp, scf::ForOp>(op) || isIndex || (isa<LoadOp>(op)) ||
            (ring && isa<PutOp>(op) && ring.getAhead()))
          return WalkResult::advance();
        op->emitOpError("is in role '") << role.op.getName() << "', which fills '" << ahead.getName()
                                        << "' ahead of the task's events: it may load and put into such rings only";
        return WalkResult::interrupt();
      });
      if (walked.wasInterrupted())
        return failure();
    }
    return success();
  }

  /// Runs one task of all roles, each as far as the rings let it. Where there are loops whose length is known only at
  /// run time: up to them, then one round, then the rest.
  LogicalResult checkProgress() {
    llvm::DenseMap<RingOp, int64_t> held;
    std::vector<size_t> at(roles.size(), 0);
    auto run = [&](llvm::function_ref<size_t(Role &)> end, const char *where) -> LogicalResult {
      for (bool moved = true; moved;) {
        moved = false;
        for (auto [r, role] : llvm::enumerate(roles))
          for (; at[r] < end(role); ++at[r], moved = true) {
            Step &step = role.steps[at[r]];
            int64_t &tiles = held[step.ring];
            if (step.isPut() ? tiles == (int64_t)step.ring.getStages() : tiles == 0)
              break;
            tiles += step.isPut() ? 1 : -1;
          }
      }
      // Roles without such a loop may wait for what comes behind the others'.
      auto isStuck = [&](size_t r) { return at[r] < end(roles[r]) && (roles[r].loop || *where == 0); };
      if (llvm::none_of(llvm::seq<size_t>(0, roles.size()), isStuck))
        return success();
      InFlightDiagnostic stuck = device.emitOpError("has roles that wait for each other") << where;
      for (auto [r, role] : llvm::enumerate(roles))
        if (isStuck(r)) {
          Step &step = role.steps[at[r]];
          stuck.attachNote(step.op->getLoc())
              << "role '" << role.op.getName() << "' waits for " << (step.isPut() ? "room in" : "a tile of") << " '"
              << step.ring.getName() << "' here, at its step " << at[r] + 1 << " of " << role.steps.size();
        }
      return stuck;
    };
    if (llvm::any_of(roles, [](Role &role) { return bool(role.loop); }) &&
        (failed(run([](Role &role) { return role.loop ? role.loopBegins : role.steps.size(); },
                    " before all have come to their loops")) ||
         failed(run([&](Role &role) { return role.loop ? role.loopEnds : at[&role - roles.data()]; },
                    " in a round of their loops"))))
      return failure();
    return run([](Role &role) { return role.steps.size(); }, "");
  }

  DeviceOp device;
  std::vector<Role> roles;
  SmallVector<RingOp> rings;
  llvm::MapVector<Operation *, std::pair<Role *, Role *>> ends; // who fills a ring, who empties it
  size_t rounds = 0;                                            // steps and iterations that were followed
};

} // namespace

bool hasRoles(DeviceOp device) { return !device.getBody().front().getOps<RoleOp>().empty(); }

Block &lastBlock(DeviceOp device) {
  Block *last = &device.getBody().front();
  for (RoleOp role : device.getBody().front().getOps<RoleOp>())
    last = &role.getBody().front();
  return *last;
}

RingOp aheadRing(RoleOp role) {
  RingOp ahead;
  role.walk([&](PutOp put) {
    if (!ahead && ringOf(put).getAhead())
      ahead = ringOf(put);
  });
  return ahead;
}

LogicalResult verifyRoles(DeviceOp device) { return Rules(device).check(); }

LogicalResult verifyAhead(CallOp call, DeviceOp device) {
  auto graph = call->getParentOfType<GraphOp>();
  for (RoleOp role : device.getBody().front().getOps<RoleOp>()) {
    if (!aheadRing(role))
      continue;
    WalkResult walked = role.walk([&](LoadOp load) -> WalkResult {
      for (Value memory : {Value(load.getMemory()), Value(load.getTable())}) {
        if (!memory)
          continue;
        auto own = dyn_cast<BlockArgument>(memory);
        if (!own || own.getOwner() != &device.getBody().front()) {
          load.emitOpError("is ahead of the task's events: its memory must be an argument of the device function");
          return WalkResult::interrupt();
        }
        unsigned argument = own.getArgNumber();
        auto passed = dyn_cast<BlockArgument>(call.getArgs()[argument]);
        if (passed && passed.getOwner() == &graph.getBody().front() && graph.isImmutable(passed.getArgNumber()))
          continue;
        call.emitOpError("passes a memory that is not immutable as '")
                .append(cast<StringAttr>(device.getArgNames()[argument]).getValue(), "' of '", call.getCallee(),
                        "', whose role '", role.getName(), "' loads it ahead of the task's events")
                .attachNote(load.getLoc())
            << "it is loaded here";
        return WalkResult::interrupt();
      }
      return WalkResult::advance();
    });
    if (walked.wasInterrupted())
      return failure();
  }
  return success();
}

} // namespace evt::ir
