#include "tools/evt/SpeedOfLight.h"

#include "tools/evt/Failure.h"

#include <gmock/gmock.h>

namespace evt::tool {
namespace {

using runtime::Expression;

Ceilings machine() {
  Ceilings ceilings;
  ceilings.cpu = CpuCeilings{"A CPU", 4, 2e10, 1e11};
  ceilings.gpu.emplace();
  ceilings.gpu->name = "A GPU";
  ceilings.gpu->readBytesPerSecond = 4.4e12;
  ceilings.gpu->bulkReadBytesPerSecond = 4.7e12;
  ceilings.gpu->bf16Flops = 8e14;
  return ceilings;
}

runtime::Manifest forGpu() {
  runtime::Manifest manifest;
  manifest.cuda.emplace();
  return manifest;
}

TEST(SpeedOfLight, LimitsAreThoseOfTheTarget) {
  Limits cpu = limitsFor({}, machine(), "");
  EXPECT_EQ(cpu.bytesPerSecond, 2e10);
  EXPECT_EQ(cpu.opsPerSecond, 1e11);
  Limits gpu = limitsFor(forGpu(), machine(), "A GPU");
  EXPECT_EQ(gpu.bytesPerSecond, 4.7e12);
  EXPECT_EQ(gpu.opsPerSecond, 8e14);
}

TEST(SpeedOfLight, LimitsOfAnotherMachineAreRefused) {
  auto refusal = [](const runtime::Manifest &manifest, const Ceilings &ceilings) -> std::string {
    try {
      limitsFor(manifest, ceilings, "Another");
    } catch (const Failure &failure) {
      return failure.what();
    }
    return "";
  };
  EXPECT_EQ(refusal(forGpu(), machine()), "the ceilings are of a GPU 'A GPU', this one is 'Another': measure it with "
                                          "'evt bench ceilings'");
  EXPECT_EQ(refusal(forGpu(), {}), "the ceilings have no GPU: measure it with 'evt bench ceilings'");
  EXPECT_EQ(refusal({}, {}), "the ceilings have no CPU: measure it with 'evt bench ceilings'");
}

TEST(SpeedOfLight, TheLargerTimeIsTheBound) {
  Limits limits{"", 1e9, 1e10};
  Bound memory = boundOf(Expression::constant(1000), Expression::constant(2000), {}, limits);
  EXPECT_DOUBLE_EQ(memory.seconds, 2e-6); // 2000 bytes at 1 GB/s; 1000 operations take a tenth of a microsecond
  EXPECT_TRUE(memory.byMemory);
  Bound arithmetic = boundOf(Expression::constant(50000), Expression::constant(2000), {}, limits);
  EXPECT_DOUBLE_EQ(arithmetic.seconds, 5e-6);
  EXPECT_FALSE(arithmetic.byMemory);
  limits.opsPerSecond = 0; // nobody knows
  EXPECT_DOUBLE_EQ(boundOf(Expression::constant(50000), Expression::constant(2000), {}, limits).seconds, 2e-6);
}

TEST(SpeedOfLight, EachMomentIsDividedAmongTheCallsWorkersAreBusyWith) {
  observe::Timeline timeline;
  timeline.span = 1000;
  // One worker: call 0 from 100 to 400, waiting until 150; call 1 from 300 to 700, waiting until 450. The other worker:
  // call 1 from 0 to 200. So call 1 alone until 150, both to 200, call 0 to 400, nobody to 450, call 1 to 700, nobody
  // to 1000.
  timeline.workers = {{{0, {}, 100, 400, true, {{100, 150, 0, 0, 1}}}, {1, {}, 300, 700, true, {{300, 450, 0, 0, 1}}}},
                      {{1, {}, 0, 200, true, {}}}};
  Occupations found = occupationOf(timeline, 3);
  ASSERT_EQ(found.calls.size(), 3u);
  EXPECT_DOUBLE_EQ(found.calls[0].taken, 225e-9);
  EXPECT_DOUBLE_EQ(found.calls[1].taken, 425e-9);
  EXPECT_DOUBLE_EQ(found.calls[2].taken, 0);
  EXPECT_DOUBLE_EQ(found.nobody, 350e-9);
  EXPECT_DOUBLE_EQ(found.calls[0].waiting, 25e-9);
  EXPECT_DOUBLE_EQ(found.calls[1].waiting, 25e-9); // from 400 to 450
  EXPECT_TRUE(occupationOf({}, 0).calls.empty());
}

} // namespace
} // namespace evt::tool
