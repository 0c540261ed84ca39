# SPDX-License-Identifier: Apache-2.0
# Functions that compile one source several times (for each backend or CPU) or several sources at a time, and that embed
# files in a binary.

# assay_kernel_objects(NAME BACKEND SOURCE...): compiles kernels for the host executor. Each SOURCE is a .cpp that
# includes a .cu.
function(assay_kernel_objects name backend)
  add_library(${name} OBJECT ${ARGN})
  target_link_libraries(${name} PRIVATE assay_options assay_executor)
  target_compile_definitions(${name} PRIVATE ASSAY_BACKEND=${backend})
  target_compile_options(${name} PRIVATE -Wno-attributes)
endfunction()

# assay_cpu_objects(LIBRARY NAME SOURCE): compiles SOURCE twice into LIBRARY: NAME_generic for any x86-64, NAME_avx2 for
# AVX2 with FMA. With -fno-trapping-math the compiler may compute both sides of a choice, and so vectorises the loops
# over exps. It changes only the floating-point flags, which nothing reads, and no value.
function(assay_cpu_objects library name source)
  foreach(cpu generic avx2)
    add_library(${name}_${cpu} OBJECT ${source})
    target_link_libraries(${name}_${cpu} PRIVATE assay_options)
    target_compile_definitions(${name}_${cpu} PRIVATE ASSAY_CPU=${cpu})
    target_sources(${library} PRIVATE $<TARGET_OBJECTS:${name}_${cpu}>)
  endforeach()
  target_compile_options(${name}_avx2 PRIVATE -mavx2 -mfma -O3)
  foreach(cpu generic avx2)
    target_compile_options(${name}_${cpu} PRIVATE -fno-trapping-math -Wno-psabi)
  endforeach()
endfunction()

# assay_embed_texts(SOURCE FUNCTION FILE...): generates SOURCE, a .cpp whose FUNCTION (kernels/adapter/embedded.hpp) returns the
# files as text. When a file changes, the build generates it again.
function(assay_embed_texts source function)
  set(names ${ARGN})
  list(TRANSFORM names REPLACE "^${PROJECT_SOURCE_DIR}/" "")
  list(JOIN names "|" names)
  add_custom_command(OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR} "-DFILES=${names}" -DFUNCTION=${function} -DOUT=${source}
      -P ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
    DEPENDS ${ARGN} ${PROJECT_SOURCE_DIR}/cmake/embed.cmake VERBATIM)
endfunction()

# assay_joined(TARGET SIZE): compiles the C++ files of a target SIZE at a time, as one file each time. Most of the time
# of such a file goes into the headers of libraries, which are then read once for SIZE files.
# Two such files must not give one name to two things, also not in their anonymous namespaces.
# -DASSAY_JOIN_FILES=OFF compiles file by file. That is better for somebody who edits: only the changed file is
# compiled again. The preset dev does so, and shows a file that relies on an include of its neighbour.
option(ASSAY_JOIN_FILES "Compile several files of the slow targets at a time" ON)
function(assay_joined target size)
  if(ASSAY_JOIN_FILES)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${size})
  endif()
endfunction()
