// Whether roles come to an end, and whether all that they read has been read then, as the verifier says, beside roles
// that are run in many random orders.
#include "compiler/ir/Evt.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace evt {
namespace {

enum class Does { put, get, read };

struct Step {
  Does does;
  int ring = 0;
};
using Steps = std::vector<Step>;

/// What a role does in a task: something, rounds of a loop whose number is known only at run time, something else.
struct Role {
  Steps before, round, after;
  bool loops = false;

  Steps unrolled(int rounds) const {
    Steps steps = before;
    for (int i = 0; loops && i < rounds; ++i)
      steps.insert(steps.end(), round.begin(), round.end());
    steps.insert(steps.end(), after.begin(), after.end());
    return steps;
  }
};

/// Roles 0, 1, …; all but the last load, the last stores in the end.
struct Program {
  std::vector<int> stages; // of each ring
  std::vector<Role> roles;
};

class Generator {
public:
  explicit Generator(std::mt19937 &random) : random(random) {}

  /// Rings lead from a role to a later one; every role but the last fills one that leads on. With `loops`, some roles
  /// have one, and rings of their own between their rounds, of which a few lead back.
  Program program(bool loops) {
    Program made;
    const int roles = 2 + below(3);
    made.roles.resize(static_cast<size_t>(roles));
    for (int from = 0; from + 1 < roles; ++from)
      for (int more = 1 + below(2); more > 0; --more)
        join(made, from, from + 1 + below(roles - from - 1));
    if (loops) {
      for (Role &role : made.roles)
        role.loops = below(4) != 0;
      for (int more = 1 + below(3); more > 0; --more) {
        const int from = below(roles), to = below(roles);
        if (from != to && made.roles[static_cast<size_t>(from)].loops && made.roles[static_cast<size_t>(to)].loops &&
            (from < to || below(3) == 0))
          joinRounds(made, from, to);
      }
    }
    for (size_t role = 0; role + 1 < made.roles.size(); ++role) {
      Role &one = made.roles[role];
      insert(one.loops && below(3) == 0 ? one.round
             : !loops || below(2)       ? one.before
                                        : one.after,
             {Does::read}, below(3) != 0);
    }
    return made;
  }

private:
  int below(int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); }
  void insert(Steps &steps, Step step, bool first = false) {
    steps.insert(steps.begin() + (first ? 0 : below(static_cast<int>(steps.size()) + 1)), step);
  }
  int ring(Program &made) {
    made.stages.push_back(1 + below(3));
    return static_cast<int>(made.stages.size()) - 1;
  }
  /// Outside of loops.
  void join(Program &made, int from, int to) {
    const int number = ring(made);
    auto part = [&](int role) -> Steps & {
      Role &one = made.roles[static_cast<size_t>(role)];
      return below(2) ? one.before : one.after;
    };
    for (int tile = 1 + below(4); tile > 0; --tile) {
      insert(part(from), {Does::put, number});
      insert(part(to), {Does::get, number});
    }
  }
  void joinRounds(Program &made, int from, int to) {
    const int number = ring(made);
    for (int tile = 1 + below(3); tile > 0; --tile) {
      insert(made.roles[static_cast<size_t>(from)].round, {Does::put, number});
      insert(made.roles[static_cast<size_t>(to)].round, {Does::get, number});
    }
  }

  std::mt19937 &random;
};

std::string textOf(const Program &program) {
  const std::string type = "!evt.ring<tensor<8xf32>>";
  std::string text = "evt.device @d(%x: memref<?xf32>, %y: memref<?xf32>) grid(%i) {\n"
                     "%c0 = arith.constant 0 : index\n%c1 = arith.constant 1 : index\n"
                     "%t = arith.constant dense<0.0> : tensor<8xf32>\n";
  for (size_t ring = 0; ring < program.stages.size(); ++ring)
    text += "%r" + std::to_string(ring) + " = evt.ring \"r\" stages(" + std::to_string(program.stages[ring]) +
            ") : " + type + "\n";
  for (size_t role = 0; role < program.roles.size(); ++role) {
    text += "evt.role \"" + std::to_string(role) + "\" {\n";
    size_t number = 0;
    auto add = [&](const Steps &steps) {
      for (const Step &step : steps) {
        const std::string ring = "%r" + std::to_string(step.ring) + " : " + type + "\n",
                          name = "%v" + std::to_string(number++) + " = ";
        text += step.does == Does::read  ? name + "evt.load %x[%i] : memref<?xf32> -> tensor<8xf32>\n"
                : step.does == Does::put ? "evt.put %t, " + ring
                                         : name + "evt.get " + ring;
      }
    };
    add(program.roles[role].before);
    if (program.roles[role].loops) {
      text += "scf.for %k = %c0 to %i step %c1 {\n";
      add(program.roles[role].round);
      text += "}\n";
    }
    add(program.roles[role].after);
    if (role + 1 == program.roles.size())
      text += "evt.store %t, %y[%i] : tensor<8xf32> -> memref<?xf32>\n";
    text += "}\n";
  }
  return text + "}\n";
}

struct Outcome {
  bool ends = true;   // all tasks
  bool hasAll = true; // whenever the last role ends a task, it has heard of all that others read for it
  bool isRight() const { return ends && hasAll; }
};

/// Runs tasks, at each point any role that can go on. A tile says which roles had read for the task when it was put in.
Outcome runs(const Program &program, size_t tasks, int rounds, std::mt19937 &random) {
  const size_t roles = program.roles.size();
  std::vector<Steps> all;
  for (const Role &role : program.roles)
    all.push_back(role.unrolled(rounds));
  std::vector<std::vector<std::vector<bool>>> held(program.stages.size());
  std::vector<size_t> at(roles, 0), left(roles, 0); // steps that were taken; reads that the task still has
  std::vector<std::vector<bool>> knows(roles, std::vector<bool>(roles, false));
  Outcome outcome;
  while (true) {
    std::vector<size_t> able;
    bool isLeft = false;
    for (size_t role = 0; role < roles; ++role) {
      if (at[role] == all[role].size() * tasks)
        continue;
      isLeft = true;
      const Step &step = all[role][at[role] % all[role].size()];
      const auto &tiles = held[static_cast<size_t>(step.ring)];
      const auto room = static_cast<size_t>(program.stages[static_cast<size_t>(step.ring)]);
      if (step.does == Does::read || (step.does == Does::put ? tiles.size() < room : !tiles.empty()))
        able.push_back(role);
    }
    outcome.ends = !isLeft;
    if (able.empty())
      return outcome;
    const size_t role = able[random() % able.size()], place = at[role]++ % all[role].size();
    const Step &step = all[role][place];
    auto &tiles = held[static_cast<size_t>(step.ring)];
    if (place == 0) {
      const auto reads =
          std::count_if(all[role].begin(), all[role].end(), [](const Step &s) { return s.does == Does::read; });
      left[role] = static_cast<size_t>(reads);
      knows[role].assign(roles, false); // of this task
      knows[role][role] = reads == 0;
    }
    if (step.does == Does::read) {
      knows[role][role] = --left[role] == 0;
    } else if (step.does == Does::put) {
      tiles.push_back(knows[role]);
    } else {
      for (size_t other = 0; other < roles; ++other)
        knows[role][other] = knows[role][other] || tiles.front()[other];
      tiles.erase(tiles.begin());
    }
    if (role + 1 == roles && place + 1 == all[role].size())
      for (size_t other = 0; other + 1 < roles; ++other) {
        const bool reads =
            std::any_of(all[other].begin(), all[other].end(), [](const Step &s) { return s.does == Does::read; });
        outcome.hasAll = outcome.hasAll && (!reads || knows[role][other]);
      }
  }
}

class RoleRules : public testing::Test {
protected:
  RoleRules() : context(registry(), mlir::MLIRContext::Threading::DISABLED) { context.loadAllAvailableDialects(); }

  /// What the verifier says of the program; nothing if it is right.
  std::string verdict(const Program &program) {
    std::string message;
    mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) { message = diagnostic.str(); });
    return mlir::parseSourceString<mlir::ModuleOp>(textOf(program), &context) ? "" : message;
  }
  static bool has(const std::string &text, const char *part) { return text.find(part) != std::string::npos; }

  std::mt19937 random{20261118};

private:
  static mlir::DialectRegistry registry() {
    mlir::DialectRegistry all;
    ir::registerDialects(all);
    return all;
  }
  mlir::MLIRContext context;
};

constexpr const char *stuckMessage = "'evt.device' op has roles that wait for each other";
constexpr const char *earlyMessage = "a task could end before it";

TEST_F(RoleRules, WhatTheVerifierSaysEveryOrderSays) {
  int accepted = 0, stuck = 0, early = 0;
  for (int round = 0; round < 800; ++round) {
    const Program program = Generator(random).program(false);
    const std::string message = verdict(program);
    const bool endsEarly = has(message, earlyMessage);
    if (!message.empty() && !endsEarly) {
      ASSERT_EQ(message, stuckMessage) << textOf(program);
    }
    // Several tasks in a row, in several orders: with one task's answer.
    for (size_t order = 0; order < 8; ++order) {
      const Outcome outcome = runs(program, 1 + order % 4, 0, random);
      ASSERT_EQ(outcome.isRight(), message.empty()) << message << "\n" << textOf(program);
      if (outcome.ends) {
        ASSERT_EQ(!outcome.hasAll, endsEarly) << message << "\n" << textOf(program);
      }
    }
    ++(message.empty() ? accepted : endsEarly ? early : stuck);
  }
  EXPECT_GT(accepted, 50);
  EXPECT_GT(stuck, 50);
  EXPECT_GT(early, 50);
}

TEST_F(RoleRules, OneRoundStandsForAnyNumber) {
  int accepted = 0, before = 0, stuck = 0, early = 0;
  for (int number = 0; number < 3000; ++number) {
    const Program program = Generator(random).program(true);
    const std::string message = verdict(program);
    auto isRight = [&](int rounds, size_t tasks) { return runs(program, tasks, rounds, random).isRight(); };
    if (message.empty()) {
      // Right with any number of rounds, for any number of tasks, in any order.
      for (int rounds : {0, 1, 2, 3, 7})
        for (size_t tasks = 1; tasks <= 3; ++tasks)
          ASSERT_TRUE(isRight(rounds, tasks)) << rounds << " rounds, " << tasks << " tasks\n" << textOf(program);
      accepted +=
          std::any_of(program.roles.begin(), program.roles.end(), [](const Role &r) { return !r.round.empty(); });
    } else if (has(message, earlyMessage)) {
      ASSERT_FALSE(isRight(0, 1) && isRight(1, 1)) << message << "\n" << textOf(program);
      ++early;
    } else if (has(message, "before all have come to their loops")) {
      ++before; // it may be right with few rounds
    } else {
      ASSERT_TRUE(has(message, stuckMessage)) << message << "\n" << textOf(program);
      ASSERT_FALSE(isRight(1, 1)) << message << "\n" << textOf(program);
      ++stuck;
    }
  }
  EXPECT_GT(accepted, 100);
  EXPECT_GT(before, 50);
  EXPECT_GT(stuck, 50);
  EXPECT_GT(early, 50);
}

} // namespace
} // namespace evt
