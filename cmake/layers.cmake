# SPDX-License-Identifier: Apache-2.0
# Checks that includes follow these arrows only:
# reference <- kernels <- accuracy <- {properties, fuzz} <- reports. kernels must not know the oracle,
# accuracy must not know a particular kernel.
# Run as a test: cmake -DROOT=<source> -P layers.cmake
include(${CMAKE_CURRENT_LIST_DIR}/includes.cmake)
set(allowed_reference "reference")
set(allowed_kernels "reference|kernels")
set(allowed_accuracy "reference|kernels|accuracy")
set(allowed_properties "reference|kernels|accuracy|properties")
set(allowed_fuzz "reference|kernels|accuracy|fuzz")
set(allowed_reports "reference|kernels|accuracy|properties|fuzz|reports")

set(bad "")
set(seen 0)
foreach(folder reference kernels accuracy properties fuzz reports)
  file(GLOB_RECURSE sources ${ROOT}/${folder}/*.hpp ${ROOT}/${folder}/*.cpp ${ROOT}/${folder}/*.cu ${ROOT}/${folder}/*.cuh)
  # Examples of users' kernels may include anything.
  list(FILTER sources EXCLUDE REGEX "/adapter/(fixtures|faults|right|examples?)/|/reports/cheats/kernels/")
  foreach(source ${sources})
    includes_of(targets ${source})
    foreach(target ${targets})
      math(EXPR seen "${seen} + 1")
      if(NOT target MATCHES "^(${allowed_${folder}})/")
        list(APPEND bad "${source} includes ${target}")
      elseif(folder STREQUAL kernels AND target MATCHES "^reference/oracle/")
        list(APPEND bad "${source} includes the oracle: ${target}")
      elseif(folder STREQUAL accuracy AND target MATCHES "^kernels/variants/")
        list(APPEND bad "${source} includes a particular kernel: ${target}")
      endif()
    endforeach()
  endforeach()
endforeach()
refuse_none_read(${seen})
if(bad)
  list(JOIN bad "\n  " text)
  message(FATAL_ERROR "includes against the arrows:\n  ${text}")
endif()
message(STATUS "${seen} includes follow the arrows")
