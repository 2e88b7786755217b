// Functions of MLIR that are replaced as the tools are linked. `-Wl,--wrap=F` (CMakeLists.txt) sends every call of F
// from MLIR's archives to the function declared EVT_WRAP(F), which reaches MLIR's own as the one declared EVT_REAL(F).
// F is a mangled name, so another version of MLIR may call it otherwise; test/errors/malformed.mlir shows that each is
// in place.
#pragma once

#define EVT_REAL(function) asm("__real_" function)
#define EVT_WRAP(function) asm("__wrap_" function)
