# What every library, tool and test of the project shares.

# Flags, include root and language level. Includes are written from the repository's root: "runtime/Artifact.h".
# Generated headers mirror the source tree below the build directory, so the same spelling finds them.
add_library(evt_options INTERFACE)
target_compile_features(evt_options INTERFACE cxx_std_20)
target_include_directories(evt_options INTERFACE "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}"
                                                 "${PROJECT_BINARY_DIR}")
target_compile_options(evt_options INTERFACE -Wall -Wextra -Wno-unused-parameter)

# evt_library(NAME SOURCES a.cpp… [DEPENDS targets…] [LINK libraries…]): a static library that knows nothing of MLIR.
function(evt_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPENDS;LINK")
  add_library(${name} STATIC ${arg_SOURCES})
  target_link_libraries(${name} PUBLIC evt_options ${arg_LINK})
  if(arg_DEPENDS)
    add_dependencies(${name} ${arg_DEPENDS})
  endif()
endfunction()

# evt_test(NAME SOURCES a_test.cpp… [LINK libraries…]): a GoogleTest binary; each of its tests is a ctest. Tests are
# listed when ctest runs rather than when the binary is linked, so that a build never runs what it builds.
function(evt_test name)
  if(NOT EVT_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPENDS;LINK")
  add_executable(${name} ${arg_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/test-bin")
  target_link_libraries(${name} PRIVATE evt_options ${arg_LINK} GTest::gtest GTest::gmock GTest::gtest_main)
  if(arg_DEPENDS)
    add_dependencies(${name} ${arg_DEPENDS})
  endif()
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST TEST_PREFIX "${name}.")
endfunction()
