# One test binary; every gtest case is a ctest case. Tests live beside what they test: *_test.cpp.
include(GoogleTest)
file(GLOB_RECURSE test_sources CONFIGURE_DEPENDS
  reference/*_test.cpp kernels/*_test.cpp accuracy/*_test.cpp properties/*_test.cpp reports/*_test.cpp)
add_executable(assay_tests ${test_sources})
target_link_libraries(assay_tests PRIVATE assay_reports assay_mutants assay_properties rapidcheck GTest::gtest_main)
target_compile_definitions(assay_tests PRIVATE ASSAY_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
add_dependencies(assay_tests assay)

# Found when ctest starts, not while building: a sanitized binary takes seconds to list its tests, and under
# TSan may only start the way ctest was started (see ./run).
set(discovery DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 120 PROPERTIES TIMEOUT 600)
if(ASSAY_SANITIZE)
  # `ctest -L sanitizer` runs everything, `ctest -L sanitizer-small` what ./run test has time for. TSan runs
  # fibers some fifty times slower, so its small set stays at what can race.
  set(small "SanitizerSmall.*:Executor*.*")
  if(NOT ASSAY_SANITIZE STREQUAL "thread")
    string(APPEND small ":Npy*.*:Half*.*:Checker*.*:Record*.*")
  endif()
  gtest_discover_tests(assay_tests TEST_FILTER "${small}" TEST_LIST small_tests ${discovery} LABELS sanitizer-small)
  gtest_discover_tests(assay_tests TEST_FILTER "-${small}" TEST_LIST other_tests ${discovery} LABELS sanitizer-full)
else()
  gtest_discover_tests(assay_tests ${discovery})
endif()
add_test(NAME layers COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR} -P ${PROJECT_SOURCE_DIR}/cmake/layers.cmake)
foreach(proof fast_exp fast_log)
  add_test(NAME proof_${proof} COMMAND ${CMAKE_COMMAND} -DNAME=${proof} -DROOT=${PROJECT_SOURCE_DIR}
    -DGAPPA=${ASSAY_GAPPA} -DSOLLYA=${ASSAY_SOLLYA} -P ${PROJECT_SOURCE_DIR}/cmake/proofs.cmake)
endforeach()
