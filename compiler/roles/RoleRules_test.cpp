// Whether roles come to an end, as the verifier says, beside roles that are run in many random orders.
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

/// Roles 0, 1, …: what each does with rings in a task. The last stores.
struct Program {
  std::vector<int> stages; // of each ring
  std::vector<std::vector<Step>> roles;
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
  return program;
}

std::string textOf(const Program &program) {
  const std::string type = "!evt.ring<tensor<8xf32>>";
  std::string text = "evt.device @d(%x: memref<?xf32>, %y: memref<?xf32>) grid(%i) {\n";
  for (size_t ring = 0; ring < program.stages.size(); ++ring)
    text += "%r" + std::to_string(ring) + " = evt.ring \"r\" stages(" + std::to_string(program.stages[ring]) +
            ") : " + type + "\n";
  for (size_t role = 0; role < program.roles.size(); ++role) {
    text += "evt.role \"" + std::to_string(role) + "\" {\n%t = evt.load %x[%i] : memref<?xf32> -> tensor<8xf32>\n";
    int number = 0;
    for (const Step &step : program.roles[role]) {
      std::string ring = "%r" + std::to_string(step.ring) + " : " + type + "\n";
      text += step.isPut ? "evt.put %t, " + ring : "%g" + std::to_string(number++) + " = evt.get " + ring;
    }
    if (role + 1 == program.roles.size())
      text += "evt.store %t, %y[%i] : tensor<8xf32> -> memref<?xf32>\n";
    text += "}\n";
  }
  return text + "}\n";
}

/// Runs `tasks` tasks, at each point any role that can go on; true if all come to the end.
bool runs(const Program &program, int tasks, std::mt19937 &random) {
  std::vector<int> held(program.stages.size(), 0);
  std::vector<size_t> at(program.roles.size(), 0);
  while (true) {
    std::vector<size_t> able;
    bool left = false;
    for (size_t role = 0; role < program.roles.size(); ++role) {
      const auto &steps = program.roles[role];
      if (at[role] == steps.size() * static_cast<size_t>(tasks))
        continue;
      left = true;
      const Step &step = steps[at[role] % steps.size()];
      const auto ring = static_cast<size_t>(step.ring);
      if (step.isPut ? held[ring] < program.stages[ring] : held[ring] > 0)
        able.push_back(role);
    }
    if (!left)
      return true;
    if (able.empty())
      return false;
    const size_t role = able[random() % able.size()];
    const Step &step = program.roles[role][at[role]++ % program.roles[role].size()];
    held[static_cast<size_t>(step.ring)] += step.isPut ? 1 : -1;
  }
}

TEST(RoleRules, WhetherRolesComeToAnEndIsWhatEveryOrderSays) {
  mlir::DialectRegistry registry;
  ir::registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  std::string message;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) { message = diagnostic.str(); });
  std::mt19937 random(20261118);
  int accepted = 0, refused = 0;
  for (int round = 0; round < 400; ++round) {
    const Program program = randomProgram(random);
    message.clear();
    const bool isRight = static_cast<bool>(mlir::parseSourceString<mlir::ModuleOp>(textOf(program), &context));
    if (!isRight) {
      ASSERT_EQ(message, "'evt.device' op has roles that wait for each other") << textOf(program);
    }
    // Several tasks in a row, in several orders: with one task's answer.
    for (int order = 0; order < 8; ++order)
      ASSERT_EQ(runs(program, 1 + order % 4, random), isRight) << textOf(program);
    ++(isRight ? accepted : refused);
  }
  EXPECT_GT(accepted, 50);
  EXPECT_GT(refused, 50);
}

} // namespace
} // namespace evt
