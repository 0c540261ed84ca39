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
