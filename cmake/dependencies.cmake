# SPDX-License-Identifier: Apache-2.0
# Uses ccache as launcher only if it works: with a cache folder that it cannot write, it fails every
# compilation.
if(ASSAY_CCACHE AND NOT EXISTS ${ASSAY_CCACHE})
  unset(ASSAY_CCACHE CACHE)
endif()
find_program(ASSAY_CCACHE ccache)
if(ASSAY_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  file(WRITE ${CMAKE_BINARY_DIR}/ccache_trial.cpp "int trial;\n")
  execute_process(
    COMMAND ${ASSAY_CCACHE} ${CMAKE_CXX_COMPILER} -c ccache_trial.cpp -o ccache_trial.o
    WORKING_DIRECTORY ${CMAKE_BINARY_DIR} RESULT_VARIABLE ccache_status OUTPUT_QUIET ERROR_QUIET)
  if(ccache_status EQUAL 0)
    # A file that uses a precompiled header is found in the cache only with these allowances; no source here
    # reads the time.
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros,$ENV{CCACHE_SLOPPINESS} ${ASSAY_CCACHE})
    set(CMAKE_CUDA_COMPILER_LAUNCHER ${ASSAY_CCACHE})
  endif()
endif()

# Libraries from system packages (./run lists Debian 12's names). With ASSAY_STATIC, static archives.

set(ASSAY_MISSING "")
macro(assay_need what package)
  if(NOT ${what})
    list(APPEND ASSAY_MISSING ${package})
  endif()
endmacro()

find_package(Threads REQUIRED)
find_package(fmt 9 QUIET)
find_package(CLI11 2.1 QUIET)
find_package(nlohmann_json 3.11 QUIET)
find_package(Eigen3 3.4 QUIET NO_MODULE)
find_package(GTest 1.12 QUIET)
find_package(rapidcheck QUIET)
# What an earlier configuration found is of the other kind.
if(NOT "${ASSAY_STATIC}" STREQUAL "${ASSAY_FOUND_STATIC}")
  foreach(found ASSAY_MPFR_LIBRARY ASSAY_GMP_LIBRARY ZLIB_LIBRARY_RELEASE ZLIB_LIBRARY_DEBUG)
    unset(${found} CACHE)
  endforeach()
endif()
set(ASSAY_FOUND_STATIC "${ASSAY_STATIC}" CACHE INTERNAL "The kind of libraries that were looked for")
if(ASSAY_STATIC)
  set(Boost_USE_STATIC_LIBS ON)
  set(ZLIB_USE_STATIC_LIBS ON)
  set(mpfr_name libmpfr.a)
  set(gmp_name libgmp.a)
else()
  set(mpfr_name mpfr)
  set(gmp_name gmp)
endif()
find_package(Boost 1.74 QUIET COMPONENTS context)
find_package(ZLIB QUIET)
find_library(ASSAY_MPFR_LIBRARY NAMES ${mpfr_name})
find_library(ASSAY_GMP_LIBRARY NAMES ${gmp_name})
find_path(ASSAY_MPFR_INCLUDE NAMES mpfr.h)
find_program(ASSAY_GAPPA gappa)    # the tests check the proofs of the fast tier with it
find_program(ASSAY_SOLLYA sollya)

assay_need(fmt_FOUND libfmt-dev)
assay_need(CLI11_FOUND libcli11-dev)
assay_need(nlohmann_json_FOUND nlohmann-json3-dev)
assay_need(Eigen3_FOUND libeigen3-dev)
assay_need(rapidcheck_FOUND librapidcheck-dev)
assay_need(Boost_FOUND libboost-context-dev)
assay_need(ZLIB_FOUND zlib1g-dev)
assay_need(ASSAY_MPFR_LIBRARY libmpfr-dev)
assay_need(ASSAY_MPFR_INCLUDE libmpfr-dev)
assay_need(ASSAY_GMP_LIBRARY libgmp-dev)
if(ASSAY_ALL_HOST_BUILDS)
  # Without this option there are no tests.
  assay_need(GTest_FOUND libgtest-dev)
  assay_need(ASSAY_GAPPA gappa)
  assay_need(ASSAY_SOLLYA sollya)
endif()
if(ASSAY_MISSING)
  list(REMOVE_DUPLICATES ASSAY_MISSING)
  list(JOIN ASSAY_MISSING " " packages)
  message(FATAL_ERROR "assay needs: ${packages}. On Debian: apt-get install ${packages}, or use ./run")
endif()

# Uses fmt's compiled library. With the header-only form every file compiles the formatting of every type
# again (2.5 s of 5, and 7 of 10 under the sanitizers). Debian has no static archive of it.
add_library(assay_fmt INTERFACE)
if(ASSAY_STATIC)
  target_link_libraries(assay_fmt INTERFACE fmt::fmt-header-only)
else()
  target_link_libraries(assay_fmt INTERFACE fmt::fmt)
endif()

add_library(assay_mpfr INTERFACE)
target_include_directories(assay_mpfr SYSTEM INTERFACE ${ASSAY_MPFR_INCLUDE})
target_link_libraries(assay_mpfr INTERFACE ${ASSAY_MPFR_LIBRARY} ${ASSAY_GMP_LIBRARY})
