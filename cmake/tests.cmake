# SPDX-License-Identifier: Apache-2.0
# One test binary; every gtest case is a ctest case. Tests live beside what they test: *_test.cpp.
include(GoogleTest)
file(GLOB_RECURSE test_sources CONFIGURE_DEPENDS
  reference/*_test.cpp kernels/*_test.cpp accuracy/*_test.cpp properties/*_test.cpp fuzz/*_test.cpp reports/*_test.cpp)
# Tests as text (kernels/adapter/case_file_test.hpp) travel in the program: a bundle has no sources.
file(GLOB_RECURSE case_files CONFIGURE_DEPENDS kernels/*.entries reports/*.calls)
assay_embed_texts(${PROJECT_BINARY_DIR}/generated/case_texts.cpp case_texts ${case_files})
add_library(assay_test_objects OBJECT ${test_sources} ${PROJECT_BINARY_DIR}/generated/case_texts.cpp)
# These include kernel headers, which contain nvcc's #pragma unroll.
set_source_files_properties(kernels/building_blocks/row_walk_test.cpp
  kernels/building_blocks/onepass/anywhere_test.cpp
  kernels/building_blocks/onepass_topk/ladder_test.cpp kernels/building_blocks/onepass_topk/cluster_test.cpp PROPERTIES
  COMPILE_OPTIONS -Wno-unknown-pragmas)
target_link_libraries(assay_test_objects PUBLIC assay_reports assay_mutants assay_properties rapidcheck ZLIB::ZLIB GTest::gtest)
# The tested code has its usual options. The tests themselves use -O1, because the optimiser took a third of
# their compile time.
target_compile_options(assay_test_objects PRIVATE -O1)
# What most tests include, compiled once: it took a fifth of their compile time (611 and 500 s, all objects).
target_precompile_headers(assay_test_objects PRIVATE <gtest/gtest.h> <filesystem> <fstream> <map> <nlohmann/json.hpp>
  ${PROJECT_SOURCE_DIR}/kernels/registry.hpp ${PROJECT_SOURCE_DIR}/reference/inputs/inputs.hpp)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # As for -Wrestrict (CMakeLists.txt), GCC 12 misjudges std::string + "text"; a precompiled <string> shows it.
  target_compile_options(assay_test_objects PRIVATE -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
endif()
# One test in this file needs the vectorizer: it checks what that does with roundings.
set_source_files_properties(reference/formats_test.cpp PROPERTIES COMPILE_OPTIONS -O3 SKIP_PRECOMPILE_HEADERS ON)
target_compile_definitions(assay_test_objects PRIVATE ASSAY_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
  ASSAY_COMMAND="$<TARGET_FILE:assay>")
assay_joined(assay_test_objects 12)
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/no_source.cpp CONTENT "")  # CMake wants one
add_executable(assay_tests ${PROJECT_BINARY_DIR}/generated/no_source.cpp)
target_link_libraries(assay_tests PRIVATE assay_test_objects GTest::gtest_main)
add_dependencies(assay_tests assay assay_python_trial)
add_subdirectory(kernels/isolation/fixtures)

# Tests are listed when ctest starts, not during the build. A sanitized binary takes seconds to list its
# tests, and under TSan it may start only the way that ctest was started (see ./run).
set(discovery DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 120 PROPERTIES TIMEOUT 1800)
if(ASSAY_SANITIZE)
  # `ctest -L sanitizer-small` is the part for which ./run test --all has time. It is a separate binary and takes a
  # third of the build. `ctest -L sanitizer` runs everything. TSan runs fibers some fifty times slower, so its
  # small set contains only what can race.
  set(small reports/runs/sanitizer_test.cpp kernels/host/executor_test.cpp kernels/host/executor_fault_test.cpp
    kernels/host/executor_memory_test.cpp kernels/host/executor_warp_test.cpp kernels/host/executor_cluster_test.cpp)
  if(NOT ASSAY_SANITIZE STREQUAL "thread")
    list(APPEND small reference/files/npy_test.cpp reference/files/tensor_file_test.cpp kernels/host/half_test.cpp accuracy/verdict/checker_test.cpp
      accuracy/record_test.cpp reference/oracle/fast_row_test.cpp accuracy/fast_judge/fast_judge_test.cpp)
  endif()
  # The report's driver without its pages and commands.
  foreach(part runs/plan runs/report data/environment data/summary data/tally data/digest
      data/key_conformance data/conformance_text data/html)
    list(APPEND small reports/${part}.cpp)
  endforeach()
  add_executable(assay_sanitizer_tests ${small})
  target_include_directories(assay_sanitizer_tests PRIVATE ${PROJECT_BINARY_DIR}/generated)
  target_link_libraries(assay_sanitizer_tests PRIVATE
    assay_conformance assay_mutants rapidcheck ZLIB::ZLIB GTest::gtest_main nlohmann_json::nlohmann_json assay_fmt)
  target_compile_definitions(assay_sanitizer_tests PRIVATE ASSAY_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  gtest_discover_tests(assay_sanitizer_tests ${discovery} LABELS sanitizer-small)
  gtest_discover_tests(assay_tests TEST_FILTER "-Bigmem.*" ${discovery} LABELS sanitizer-full)
else()
  include(cmake/long_tests.cmake)
  # These take all memory of a GPU, or look how long something takes on it: on a machine with a GPU no other
  # test may run beside them.
  set(alone "DeviceIsolation.*:PythonDevice.*")
  gtest_discover_tests(assay_tests TEST_FILTER "-Bigmem.*:InCoq.*:${alone}:${ASSAY_LONG_TESTS}" ${discovery})
  gtest_discover_tests(assay_tests TEST_FILTER "${alone}" ${discovery} RUN_SERIAL TRUE)
  gtest_discover_tests(assay_tests TEST_FILTER "${ASSAY_LONG_TESTS}" ${discovery} LABELS long)
  add_test(NAME long_tests_exist COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:assay_tests> "-DPATTERNS=${ASSAY_LONG_TESTS}"
    -P ${PROJECT_SOURCE_DIR}/cmake/long_tests.cmake)
  # These need gigabytes and minutes: `ctest -L bigmem`. ./run test leaves them out.
  gtest_discover_tests(assay_tests TEST_FILTER "Bigmem.*" ${discovery} LABELS bigmem TIMEOUT 3600)
endif()
add_test(NAME layers COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR} -P ${PROJECT_SOURCE_DIR}/cmake/layers.cmake)
add_test(NAME rooms COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR} -P ${PROJECT_SOURCE_DIR}/cmake/rooms.cmake)
add_test(NAME spdx COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR} -P ${PROJECT_SOURCE_DIR}/cmake/spdx.cmake)
add_test(NAME without_cuda COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR} -P ${PROJECT_SOURCE_DIR}/cmake/without_cuda.cmake)
add_test(NAME format COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR} -DBUILD=${PROJECT_BINARY_DIR}
  -P ${PROJECT_SOURCE_DIR}/cmake/format.cmake)
set_tests_properties(format PROPERTIES SKIP_REGULAR_EXPRESSION "skipped: ")
add_test(NAME rooms_can_fail COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR} -DWORK=${PROJECT_BINARY_DIR}/rooms
  -P ${PROJECT_SOURCE_DIR}/cmake/rooms_can_fail.cmake)
find_program(ASSAY_PYTHON python3)
if(ASSAY_PYTHON)
  add_test(NAME peers_timing COMMAND ${ASSAY_PYTHON} ${PROJECT_SOURCE_DIR}/reports/sweep/peer/peer_bench_test.py)
endif()
foreach(proof fast_exp fast_log)
  add_test(NAME proof_${proof} COMMAND ${CMAKE_COMMAND} -DNAME=${proof} -DROOT=${PROJECT_SOURCE_DIR}
    -DGAPPA=${ASSAY_GAPPA} -DSOLLYA=${ASSAY_SOLLYA} -P ${PROJECT_SOURCE_DIR}/cmake/proofs.cmake)
endforeach()
# Coq compiles the proofs of the bounds in the build folder; then it compares the C++ with them, and certifies two rows.
# The tests are skipped, with a message, if Coq, Flocq or coq-interval is not installed.
add_test(NAME proof.coq COMMAND ${PROJECT_SOURCE_DIR}/accuracy/proof/check ${PROJECT_BINARY_DIR}/proof)
set_tests_properties(proof.coq PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 1800 LABELS long FIXTURES_SETUP proofs)
foreach(part Bounds Verdicts)
  string(TOLOWER ${part} name)
  add_test(NAME proof.${name} COMMAND assay_tests --gtest_filter=InCoq.${part})
  set_tests_properties(proof.${name} PROPERTIES TIMEOUT 3600 LABELS long FIXTURES_REQUIRED proofs
    ENVIRONMENT ASSAY_PROOFS=${PROJECT_BINARY_DIR}/proof SKIP_REGULAR_EXPRESSION "nothing was compared")
endforeach()
