# SPDX-License-Identifier: Apache-2.0
# Tests that rooms.cmake and layers.cmake refuse what they must: plants one fault at a time in a small tree.
# Run as a test: cmake -DROOT=<source> -DWORK=<scratch> -P rooms_can_fail.cmake
cmake_minimum_required(VERSION 3.25)

# plant(FILE TARGET...): writes a file that includes the targets.
function(plant file)
  set(text "")
  foreach(target ${ARGN})
    string(APPEND text "#include \"${target}\"\n")
  endforeach()
  file(WRITE ${WORK}/${file} "${text}")
endfunction()

# A tree with nothing wrong in it.
function(plant_right)
  file(REMOVE_RECURSE ${WORK})
  plant(reference/formats.hpp)
  plant(reference/oracle/oracle.hpp reference/formats.hpp)
  plant(kernels/registry.hpp reference/formats.hpp)
  plant(kernels/host/cuda_core.hpp kernels/registry.hpp)
  plant(accuracy/bounds/bounds.cpp kernels/registry.hpp reference/oracle/oracle.hpp)
  plant(accuracy/verdict/verdict.cpp accuracy/bounds/bounds.hpp)
  plant(fuzz/trial.cpp accuracy/verdict/verdict.hpp)
  plant(reports/page/page.cpp accuracy/verdict/verdict.hpp)
endfunction()

# expect(SCRIPT WORDS): the script must fail on the planted tree with these words. Without words it must pass.
function(expect script words)
  execute_process(COMMAND ${CMAKE_COMMAND} -DROOT=${WORK} -P ${ROOT}/cmake/${script}.cmake
    RESULT_VARIABLE status OUTPUT_VARIABLE out ERROR_VARIABLE text)
  # CMake wraps long messages.
  string(REGEX REPLACE "[ \n]+" " " text "${out} ${text}")
  if(words STREQUAL "")
    if(NOT status EQUAL 0)
      message(FATAL_ERROR "${script} refuses a tree with nothing wrong in it: ${text}")
    endif()
    return()
  endif()
  string(FIND "${text}" "${words}" at)
  if(status EQUAL 0 OR at EQUAL -1)
    message(FATAL_ERROR "${script} does not say '${words}': ${status} ${text}")
  endif()
endfunction()

plant_right()
expect(rooms "")
expect(layers "")

plant(accuracy/bounds/bounds.hpp accuracy/verdict/verdict.hpp)
expect(rooms "accuracy/bounds/bounds.hpp includes accuracy/verdict/verdict.hpp")
plant_right()
plant(reference/inputs/inputs.hpp reference/oracle/oracle.hpp)
plant(reference/oracle/row.hpp reference/files/npy.hpp)
plant(reference/files/npy.hpp reference/inputs/inputs.hpp)
expect(rooms "reference/files/npy.hpp includes reference/inputs/inputs.hpp")
expect(layers "")

plant_right()
plant(reference/formats.cpp kernels/registry.hpp)
expect(layers "reference/formats.cpp includes kernels/registry.hpp")
plant_right()
plant(accuracy/case/case.cpp reports/page/page.hpp)
expect(layers "accuracy/case/case.cpp includes reports/page/page.hpp")
plant_right()
plant(kernels/registry.cpp reference/oracle/oracle.hpp)
expect(layers "includes the oracle")
plant_right()
plant(accuracy/case/case.cpp kernels/variants/safe/safe_block.cu)
expect(layers "includes a particular kernel")

plant_right()
foreach(n RANGE 1 30)
  plant(fuzz/file_${n}.cpp)
endforeach()
expect(rooms "fuzz has 31 files")
file(REMOVE ${WORK}/fuzz/file_30.cpp)
expect(rooms "")
plant(kernels/adapter/fixtures/faults/tail.cu)
expect(rooms "kernels/adapter/fixtures/faults is 4 folders deep")

plant_right()
string(REPEAT "// ; a line [\n" 400 longest)
file(WRITE ${WORK}/fuzz/long.cpp "${longest}")
file(WRITE ${WORK}/reports/published/long.py "${longest}# One more.\n")
expect(rooms "")
file(APPEND ${WORK}/fuzz/long.cpp "\n")
expect(rooms "fuzz/long.cpp has 401 lines: more than 400")

# A missing tree must not pass.
file(REMOVE_RECURSE ${WORK})
expect(rooms "no include line was read")
expect(layers "no include line was read")
message(STATUS "every planted fault is refused")
