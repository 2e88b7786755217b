// Whether roles come to an end, and whether all that they read has been read then, as the verifier says, beside roles
// that are run in many random orders.
#include "compiler/ir/Evt.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <random>

namespace evt {
namespace {

struct Step {
  int ring;
  bool isPut;
};

/// Roles 0, 1, …: what each does with rings in a task. All but the last load, the last stores in the end.
struct Program {
  std::vector<int> stages; // of each ring
  std::vector<std::vector<Step>> roles;
  std::vector<size_t> readAt; // how many steps of a role come before its load
};

/// Rings lead from a role to a later one; every role but the last fills one that leads on.
Program randomProgram(std::mt19937 &random) {
  auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  Program program;
  const int roles = 2 + below(3);
  program.roles.resize(static_cast<size_t>(roles));
  auto insert = [&](int role, Step step) {
    auto &steps = program.roles[static_cast<size_t>(role)];
    steps.insert(steps.begin() + below(static_cast<int>(steps.size()) + 1), step);
  };
  auto join = [&](int from, int to) {
    const int ring = static_cast<int>(program.stages.size());
    program.stages.push_back(1 + below(3));
    for (int tile = 1 + below(4); tile > 0; --tile) {
      insert(from, {ring, true});
      insert(to, {ring, false});
    }
  };
  for (int from = 0; from + 1 < roles; ++from)
    for (int more = 1 + below(2); more > 0; --more)
      join(from, from + 1 + below(roles - from - 1));
  for (const auto &steps : program.roles)
    program.readAt.push_back(below(3) ? 0 : static_cast<size_t>(below(static_cast<int>(steps.size()) + 1)));
  return program;
}

std::string textOf(const Program &program) {
  const std::string type = "!evt.ring<tensor<8xf32>>";
  std::string text = "evt.device @d(%x: memref<?xf32>, %y: memref<?xf32>) grid(%i) {\n"
                     "%t = arith.constant dense<0.0> : tensor<8xf32>\n";
  for (size_t ring = 0; ring < program.stages.size(); ++ring)
    text += "%r" + std::to_string(ring) + " = evt.ring \"r\" stages(" + std::to_string(program.stages[ring]) +
            ") : " + type + "\n";
  for (size_t role = 0; role < program.roles.size(); ++role) {
    const bool isLast = role + 1 == program.roles.size();
    text += "evt.role \"" + std::to_string(role) + "\" {\n";
    size_t number = 0, place = 0;
    auto load = [&] {
      if (!isLast && place == program.readAt[role])
        text += "%read = evt.load %x[%i] : memref<?xf32> -> tensor<8xf32>\n";
    };
    for (const Step &step : program.roles[role]) {
      load();
      ++place;
      std::string ring = "%r" + std::to_string(step.ring) + " : " + type + "\n";
      text += step.isPut ? "evt.put %t, " + ring : "%g" + std::to_string(number++) + " = evt.get " + ring;
    }
    load();
    if (isLast)
      text += "evt.store %t, %y[%i] : tensor<8xf32> -> memref<?xf32>\n";
    text += "}\n";
  }
  return text + "}\n";
}

struct Outcome {
  bool ends = true;   // all tasks
  bool hasAll = true; // whenever the last role ends a task, all others have read for it
};

/// Runs tasks, at each point any role that can go on. A tile says which roles had read for the task when it was put in.
Outcome runs(const Program &program, size_t tasks, std::mt19937 &random) {
  const size_t roles = program.roles.size();
  std::vector<std::vector<std::vector<bool>>> held(program.stages.size());
  std::vector<size_t> at(roles, 0);
  std::vector<std::vector<bool>> knows(roles, std::vector<bool>(roles, false));
  Outcome outcome;
  while (true) {
    std::vector<size_t> able;
    bool left = false;
    for (size_t role = 0; role < roles; ++role) {
      const auto &steps = program.roles[role];
      if (at[role] == steps.size() * tasks)
        continue;
      left = true;
      const Step &step = steps[at[role] % steps.size()];
      const auto ring = static_cast<size_t>(step.ring);
      if (step.isPut ? held[ring].size() < static_cast<size_t>(program.stages[ring]) : !held[ring].empty())
        able.push_back(role);
    }
    outcome.ends = !left;
    if (able.empty())
      return outcome;
    const size_t role = able[random() % able.size()], place = at[role]++ % program.roles[role].size();
    const Step &step = program.roles[role][place];
    auto &tiles = held[static_cast<size_t>(step.ring)];
    if (place == 0)
      knows[role].assign(roles, false); // of this task
    if (place >= program.readAt[role])
      knows[role][role] = true;
    if (step.isPut) {
      tiles.push_back(knows[role]);
    } else {
      for (size_t other = 0; other < roles; ++other)
        knows[role][other] = knows[role][other] || tiles.front()[other];
      tiles.erase(tiles.begin());
    }
    if (role + 1 == roles && place + 1 == program.roles[role].size())
      for (size_t other = 0; other + 1 < roles; ++other)
        outcome.hasAll = outcome.hasAll && knows[role][other];
  }
}

TEST(RoleRules, WhatTheVerifierSaysEveryOrderSays) {
  mlir::DialectRegistry registry;
  ir::registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  std::string message;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) { message = diagnostic.str(); });
  std::mt19937 random(20261118);
  int accepted = 0, stuck = 0, early = 0;
  for (int round = 0; round < 600; ++round) {
    const Program program = randomProgram(random);
    message.clear();
    const bool isRight = static_cast<bool>(mlir::parseSourceString<mlir::ModuleOp>(textOf(program), &context));
    const bool endsEarly = message.find("a task could end before it") != std::string::npos;
    if (!isRight && !endsEarly) {
      ASSERT_EQ(message, "'evt.device' op has roles that wait for each other") << textOf(program);
    }
    // Several tasks in a row, in several orders: with one task's answer.
    for (size_t order = 0; order < 8; ++order) {
      const Outcome outcome = runs(program, 1 + order % 4, random);
      ASSERT_EQ(outcome.ends && outcome.hasAll, isRight) << message << "\n" << textOf(program);
      if (outcome.ends) {
        ASSERT_EQ(!outcome.hasAll, endsEarly) << message << "\n" << textOf(program);
      }
    }
    ++(isRight ? accepted : endsEarly ? early : stuck);
  }
  EXPECT_GT(accepted, 50);
  EXPECT_GT(stuck, 50);
  EXPECT_GT(early, 50);
}

} // namespace
} // namespace evt
