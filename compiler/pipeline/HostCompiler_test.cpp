// What the assembler says about kernels, as CUDA 13.0 says it.
#include "compiler/pipeline/HostCompiler.h"

#include <gtest/gtest.h>

namespace evt::pipeline {
namespace {

constexpr const char *said = R"(ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'evt_kernel_static' for 'sm_90a'
ptxas info    : Function properties for evt_kernel_static
    112 bytes stack frame, 292 bytes spill stores, 512 bytes spill loads
ptxas info    : Used 128 registers, used 2 barriers, 112 bytes cumulative stack size, 10112 bytes smem
ptxas info    : Function properties for _ZN3evt6detail4failEv
    0 bytes stack frame, 8 bytes spill stores, 8 bytes spill loads
ptxas info    : Compiling entry function 'evt_kernel_pack' for 'sm_90a'
ptxas info    : Function properties for evt_kernel_pack
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 31 registers, used 0 barriers
)";

TEST(Resources, AreThoseOfKernels) {
  auto kernels = readResources(said);
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].kernel, "evt_kernel_static");
  EXPECT_EQ(kernels[0].registers, 128);
  EXPECT_EQ(kernels[0].spilledBytes, 292); // not those of a function that it calls
  EXPECT_EQ(kernels[0].barriers, 2);
  EXPECT_EQ(kernels[0].sharedBytes, 10112);
  EXPECT_FALSE(kernels[0].ignoresRoles);
  EXPECT_EQ(kernels[1].kernel, "evt_kernel_pack");
  EXPECT_EQ(kernels[1].registers, 31);
  EXPECT_EQ(kernels[1].sharedBytes, 0);
}

TEST(Resources, TellIfRolesDoNotTradeRegisters) {
  auto kernels =
      readResources(std::string("ptxas info    : (C7507) Potential Performance Loss: 'setmaxnreg' ignored to "
                                "maintain minimum register requirements.\n") +
                    said);
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_TRUE(kernels[0].ignoresRoles);
}

TEST(Resources, TellIfProductsWaitForEachOther) {
  auto kernels = readResources(
      said + std::string("ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are "
                         "serialized due to ill formed pipeline stage in the function 'evt_kernel_static'\n"));
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_TRUE(kernels[0].multipliesOneByOne);
  EXPECT_FALSE(kernels[1].multipliesOneByOne);
}

TEST(Resources, OfNothingAreNone) { EXPECT_TRUE(readResources("nvcc fatal   : no input files\n").empty()); }

} // namespace
} // namespace evt::pipeline
