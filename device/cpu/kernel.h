// Everything an emitted kernel for the CPU includes.
#pragma once

#include "device/common/math.h"
#include "device/common/scalar.h"
#include "device/common/types.h"
#include "device/cpu/dynamic.h"
#include "device/cpu/memory.h"
#include "device/cpu/protocol.h"
#include "device/cpu/tile/attend_tokens.h"
#include "device/cpu/tile/matmul.h"
#include "device/cpu/tile/named.h"
#include "device/cpu/tile/reduce.h"
#include "device/cpu/tile/rotate.h"
#include "device/cpu/tile/sample.h"

/// A function the runtime finds by name; everything else stays inside the kernel.
#define EVT_ENTRY extern "C" __attribute__((visibility("default")))
