# MLIR, linked statically.
#
# The CMake targets that Debian's MLIR exports pull in libLLVM.so (about 120 MB); naming the archives instead, in one
# link group, gives tools of about 10 MB (stripped) that need nothing of LLVM at run time. The link line is
#
#   c++ … our objects and archives … -Wl,--start-group libMLIRIR.a libMLIRParser.a … libLLVMSupport.a -Wl,--end-group
#
# The group lets the archives refer to each other in any order; an archive that nothing refers to costs nothing, so the
# list below is generous. An undefined symbol of mlir:: at link time means that its archive is missing from the list:
#
#   for a in $(llvm-config-19 --libdir)/libMLIR*.a; do nm -C --defined-only $a 2>/dev/null | grep -q SYMBOL && echo $a; done
#
# Provides: mlir_tablegen() and add_public_tablegen_target() of MLIR, the target `evt_mlir` (headers and archives), and
# evt_mlir_library(), evt_mlir_executable(), evt_mlir_test(). Debian builds LLVM with RTTI and without assertions; no
# header in use lays out a class differently under NDEBUG, so our own assertions stay on.

# Where Debian puts it is tried when MLIR_DIR is not given.
find_package(MLIR 19.1 CONFIG HINTS /usr/lib/llvm-19/lib/cmake/mlir)
if(NOT MLIR_FOUND)
  message(FATAL_ERROR "MLIR 19 not found: install libmlir-19-dev, mlir-19-tools and llvm-19-dev, name its CMake folder in "
                      "MLIR_DIR, or build without the compiler (-DEVT_BUILD_COMPILER=OFF)")
endif()
# LLVM's tablegen() writes its dependency files for the old meaning of this policy; under the new one ninja generates
# everything again at each build.
cmake_policy(SET CMP0116 OLD)
list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
include(TableGen)
include(AddLLVM)
include(AddMLIR)

set(EVT_MLIR_ARCHIVES
    # the tools' drivers
    MLIROptLib MLIRLspServerLib MLIRLspServerSupportLib MLIRDebug MLIRObservers MLIRPluginsLib MLIRIRDL
    # passes
    MLIRTransforms MLIRTransformUtils MLIRPass MLIRRewrite MLIRRewritePDL MLIRPDLToPDLInterp MLIRPDLDialect
    MLIRPDLInterpDialect MLIRAnalysis MLIRPresburger
    # dialects of the tile language
    MLIRLinalgDialect MLIRLinalgUtils MLIRTensorDialect MLIRTensorUtils MLIRSCFDialect MLIRSCFUtils MLIRAffineDialect
    MLIRAffineAnalysis MLIRAffineUtils MLIRMemRefDialect MLIRMemRefUtils MLIRMathDialect MLIRArithDialect
    MLIRArithUtils MLIRFuncDialect MLIRControlFlowDialect
    # what those stand on
    MLIRDialect MLIRDialectUtils MLIRSparseTensorDialect MLIRBufferizationDialect MLIRComplexDialect
    MLIRVectorDialect MLIRVectorUtils MLIRMaskableOpInterface MLIRMaskingOpInterface MLIRVectorInterfaces MLIRUBDialect
    MLIRIndexDialect MLIRTilingInterface MLIRSubsetOpInterface MLIRValueBoundsOpInterface MLIRViewLikeInterface
    MLIRArithValueBoundsOpInterfaceImpl MLIRDestinationStyleOpInterface MLIRParallelCombiningOpInterface
    MLIRRuntimeVerifiableOpInterface MLIRMemorySlotInterfaces MLIRCopyOpInterface MLIRDerivedAttributeOpInterface
    MLIRLoopLikeInterface MLIRInferIntRangeCommon MLIRInferIntRangeInterface MLIRInferTypeOpInterface
    MLIRShapedOpInterfaces MLIRSideEffectInterfaces MLIRFunctionInterfaces MLIRCallInterfaces MLIRCastInterfaces
    MLIRControlFlowInterfaces MLIRDataLayoutInterfaces
    # the core
    MLIRParser MLIRAsmParser MLIRBytecodeReader MLIRBytecodeWriter MLIRBytecodeOpInterface MLIRIR MLIRSupport
    LLVMSupport LLVMDemangle)

set(archives)
foreach(archive IN LISTS EVT_MLIR_ARCHIVES)
  set(path "${MLIR_INSTALL_PREFIX}/lib/lib${archive}.a")
  if(NOT EXISTS "${path}")
    message(FATAL_ERROR "static library ${path} not found: libmlir-19-dev and llvm-19-dev have it")
  endif()
  list(APPEND archives "${path}")
endforeach()
list(JOIN archives "," archives)

add_library(evt_mlir INTERFACE)
target_include_directories(evt_mlir SYSTEM INTERFACE "${MLIR_INCLUDE_DIRS}")
target_link_libraries(evt_mlir INTERFACE "$<LINK_GROUP:RESCAN,evt_mlir_repairs,${archives}>" z zstd Threads::Threads
                                         ${CMAKE_DL_LIBS})

# What files of the compiler include again and again.
set(EVT_MLIR_HEADERS
    <mlir/Dialect/Affine/IR/AffineOps.h> <mlir/Dialect/Arith/IR/Arith.h> <mlir/Dialect/Linalg/IR/Linalg.h>
    <mlir/Dialect/Math/IR/Math.h> <mlir/Dialect/MemRef/IR/MemRef.h> <mlir/Dialect/SCF/IR/SCF.h>
    <mlir/Dialect/Tensor/IR/Tensor.h> <mlir/IR/BuiltinOps.h> <mlir/IR/Matchers.h> <mlir/Pass/Pass.h> <map> <string> <vector>)

# evt_mlir_library(NAME SOURCES a.cpp… [DEPENDS tablegen-targets…] [LINK libraries…])
# A static library whose files include MLIR. DEPENDS names what must be generated before its files are compiled; both
# DEPENDS and LINK are inherited by whoever links the library. MLIR's headers are most of what is compiled in any such
# file, so the first library has them precompiled, and the others use that; those with flags of their own
# (OWN_FLAGS) cannot.
function(evt_mlir_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "OWN_FLAGS" "" "SOURCES;DEPENDS;LINK")
  add_library(${name} STATIC ${arg_SOURCES})
  target_link_libraries(${name} PUBLIC evt_options ${arg_LINK} evt_mlir)
  if(EVT_PRECOMPILED_HEADERS AND NOT arg_OWN_FLAGS)
    get_property(first GLOBAL PROPERTY EVT_FIRST_MLIR_LIBRARY)
    if(first)
      target_precompile_headers(${name} REUSE_FROM ${first})
    else()
      set_property(GLOBAL PROPERTY EVT_FIRST_MLIR_LIBRARY ${name})
      target_precompile_headers(${name} PRIVATE ${EVT_MLIR_HEADERS})
    endif()
  endif()
  if(arg_DEPENDS)
    add_dependencies(${name} ${arg_DEPENDS})
  endif()
endfunction()

# evt_mlir_executable(NAME SOURCES a.cpp… [LINK libraries…]): a tool, placed in bin/.
function(evt_mlir_executable name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPENDS;LINK")
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE evt_options ${arg_LINK} evt_mlir)
  if(arg_DEPENDS)
    add_dependencies(${name} ${arg_DEPENDS})
  endif()
endfunction()

# evt_mlir_test(NAME SOURCES a_test.cpp… [LINK libraries…]): a GoogleTest binary; each of its tests is a ctest.
function(evt_mlir_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPENDS;LINK")
  evt_test(${name} SOURCES ${arg_SOURCES} DEPENDS ${arg_DEPENDS} LINK ${arg_LINK} evt_mlir)
endfunction()
