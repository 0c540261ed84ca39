# SPDX-License-Identifier: Apache-2.0
# assay_add_variant(NAME SOURCES FILE [MORE...] [ENTRY "DECLARATION"] [KIND OP] [DTYPES f16 bf16 f32]
#                   [ARGS name=value ...] [DECLARE "WORDS"] [REQUIRE "REGION"] [FLAGS ...] [HOST] [THOROUGH] [LABELS ...] [FUZZ_TIME 10s])
#
# Makes the shared object NAME from a kernel's own sources, and its tests NAME.conformance, NAME.accuracy,
# NAME.properties and NAME.fuzz. The tests have the labels assay, NAME, gpu or cpu, and LABELS.
#
#   SOURCES   the unchanged file with the kernel, and files to be compiled with it (CUDA only)
#   ENTRY     declaration of its launcher; T stands for each of DTYPES. Without it, the file has ASSAY_VARIANT
#   KIND      an operation of `assay list --ops`, if the entry does not determine it
#   ARGS      values of parameters whose names do not tell their role: N=rows block=256
#   DECLARE   what the author promises: "exp=fast; height=V/256+13"
#   REQUIRE   which inputs the kernel must take: "V=1..131072; rows=1..65536" (accuracy/conformance/contract/CONTRACT.md)
#   FLAGS     compiler flags; with HOST only -D, -U and -I
#   HOST      for the host executor, without GPU and CUDA toolkit. Implied if the project has not enabled CUDA
#   THOROUGH  the whole check instead of the quick one
#
# A gpu test is skipped if no GPU is available.

if(NOT TARGET assay::assay)
  add_executable(assay::assay IMPORTED)
  set_target_properties(assay::assay PROPERTIES IMPORTED_LOCATION "${assay_EXECUTABLE}")
  add_library(assay::plugin INTERFACE IMPORTED)
  set_target_properties(assay::plugin PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${assay_INCLUDE_DIR}")
endif()

function(assay_add_variant name)
  cmake_parse_arguments(PARSE_ARGV 1 v "HOST;THOROUGH" "ENTRY;KIND;DECLARE;REQUIRE;FUZZ_TIME" "SOURCES;DTYPES;ARGS;FLAGS;LABELS")
  if(v_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "assay_add_variant(${name}): not known: ${v_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT v_SOURCES)
    message(FATAL_ERROR "assay_add_variant(${name}): SOURCES names no file")
  endif()
  if(NOT name MATCHES "^[A-Za-z0-9_-]+$")
    message(FATAL_ERROR "assay_add_variant(${name}): a name is letters, digits, '_' and '-'")
  endif()
  # Those of `assay list --ops`; a test compares (reports/cli/list_test.cpp).
  set(kinds softmax log_softmax lse normalizer topk softmax_topk softmax_backward topk_softmax min_p top_p log_softmax_topk)
  if(v_KIND AND NOT v_KIND IN_LIST kinds)
    message(FATAL_ERROR "assay_add_variant(${name}): KIND ${v_KIND} is none of ${kinds}")
  endif()
  foreach(dtype ${v_DTYPES})
    if(NOT dtype MATCHES "^(f16|bf16|f32)$")
      message(FATAL_ERROR "assay_add_variant(${name}): DTYPES ${dtype} is none of f16, bf16, f32")
    endif()
  endforeach()
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  set(host ${v_HOST})
  if(NOT "CUDA" IN_LIST languages)
    set(host ON)
  endif()

  set(sources "")
  foreach(source ${v_SOURCES})
    get_filename_component(source ${source} ABSOLUTE)
    if(NOT EXISTS ${source})
      message(FATAL_ERROR "assay_add_variant(${name}): ${source}: no such file")
    endif()
    list(APPEND sources ${source})
  endforeach()
  list(POP_FRONT sources kernel)
  if(host AND sources)
    message(FATAL_ERROR "assay_add_variant(${name}): with HOST one file is compiled: include ${sources} from ${kernel}")
  endif()

  # The words that name the file.
  set(words ${kernel} --name ${name})
  if(v_ENTRY)
    string(REPLACE ";" "" entry "${v_ENTRY}")
    list(APPEND words --entry ${entry})
  endif()
  foreach(argument ${v_ARGS})
    list(APPEND words --arg ${argument})
  endforeach()
  # For an entry without T, DTYPES only states its type; the command checks the statement.
  if(v_DTYPES AND v_ENTRY)
    list(JOIN v_DTYPES "," types)
    list(APPEND words --types ${types})
  endif()
  if(v_KIND)
    list(APPEND words --op ${v_KIND})
  endif()
  if(v_DECLARE)
    # A list in CMake. Blanks separate the words of a declaration as well.
    string(REPLACE ";" " " declare "${v_DECLARE}")
    list(APPEND words --declare ${declare})
  endif()

  if(host)
    set(library ${CMAKE_CURRENT_BINARY_DIR}/lib${name}.so)
    set(flags "")
    if(v_FLAGS)
      list(JOIN v_FLAGS " " flags)
      list(APPEND words "--nvcc-flags=${flags}")
    endif()
    # The command finds the files that the kernel includes. Its cache makes a repeated run cheap.
    get_filename_component(folder ${kernel} DIRECTORY)
    file(GLOB beside CONFIGURE_DEPENDS ${folder}/*.cuh ${folder}/*.h ${folder}/*.hpp)
    add_custom_command(OUTPUT ${library}
      COMMAND ${CMAKE_COMMAND} -E env CXX=${CMAKE_CXX_COMPILER} $<TARGET_FILE:assay::assay> adapter ${words} --host
        --build-dir ${CMAKE_CURRENT_BINARY_DIR}/assay --out ${library}
      DEPENDS ${kernel} ${beside} assay::assay COMMENT "Compiling ${name} for the host executor" VERBATIM)
    add_custom_target(${name} ALL DEPENDS ${library})
    set(requirements "")
    set(where cpu)
  else()
    set(adapter ${CMAKE_CURRENT_BINARY_DIR}/assay/${name}_adapter.cu)
    file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/assay)  # Makefiles create no folder for outputs
    add_custom_command(OUTPUT ${adapter}
      COMMAND $<TARGET_FILE:assay::assay> adapter ${words} --source ${adapter}
      DEPENDS ${kernel} assay::assay COMMENT "Writing the adapter of ${name}" VERBATIM)
    add_library(${name} MODULE ${adapter} ${sources})
    set_source_files_properties(${adapter} PROPERTIES OBJECT_DEPENDS ${kernel})
    target_link_libraries(${name} PRIVATE assay::plugin)
    target_compile_features(${name} PRIVATE cuda_std_17)
    target_compile_options(${name} PRIVATE ${v_FLAGS})
    set_target_properties(${name} PROPERTIES CUDA_VISIBILITY_PRESET hidden)
    set(library $<TARGET_FILE:${name}>)
    set(requirements --require cuda)
    set(where gpu)
  endif()

  foreach(inputs ${v_REQUIRE})  # its words are a list to CMake
    list(APPEND requirements --require ${inputs})
  endforeach()
  set(quick --quick)
  if(v_THOROUGH)
    set(quick "")
  endif()
  if(NOT v_FUZZ_TIME)
    set(v_FUZZ_TIME 10s)
    if(ASSAY_FUZZ_TIME)
      set(v_FUZZ_TIME ${ASSAY_FUZZ_TIME})
    endif()
  endif()
  set(out ${CMAKE_CURRENT_BINARY_DIR}/assay/${name})
  add_test(NAME ${name}.conformance
    COMMAND assay::assay check ${library} ${quick} --only shapes rows layout repeat calls streams ${requirements} --out ${out}.conformance)
  add_test(NAME ${name}.accuracy
    COMMAND assay::assay check ${library} ${quick} --only families ${requirements} --out ${out}.accuracy)
  add_test(NAME ${name}.properties
    COMMAND assay::assay check ${library} ${quick} --only batch properties schedules ${requirements} --out ${out}.properties)
  add_test(NAME ${name}.fuzz
    COMMAND assay::assay fuzz ${library} --time ${v_FUZZ_TIME} --out ${out}.fuzz)
  foreach(test conformance accuracy properties fuzz)
    set_tests_properties(${name}.${test} PROPERTIES
      LABELS "assay;${name};${where};${v_LABELS}" SKIP_RETURN_CODE 3 TIMEOUT 900)
  endforeach()
endfunction()
