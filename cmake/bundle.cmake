# SPDX-License-Identifier: Apache-2.0
# The `bundle` target: one folder that runs on a machine with no toolchain and no packages.
# Relocations in their packed form take 0.1 MB and not 1.8. They need glibc 2.36, which the program does anyway.
include(CheckCXXSourceRuns)
set(CMAKE_REQUIRED_LINK_OPTIONS -Wl,-z,pack-relative-relocs)
check_cxx_source_runs("int main() {}" ASSAY_PACKS_RELOCATIONS)
unset(CMAKE_REQUIRED_LINK_OPTIONS)
if(ASSAY_PACKS_RELOCATIONS AND NOT ASSAY_SANITIZE)
  foreach(target assay assay_tests)
    target_link_options(${target} PRIVATE -Wl,-z,pack-relative-relocs)
  endforeach()
endif()
set(weighed "")
# nvcc before 13.0 does not compress device code for size, so such a build says nothing about a bundle.
if(NOT ASSAY_SANITIZE AND CMAKE_BUILD_TYPE STREQUAL "Release"
   AND NOT (ASSAY_WITH_CUDA AND ASSAY_NVCC_VERSION VERSION_LESS 13.0))
  set(weighed -DPROGRAM=$<TARGET_FILE:assay_tests> -DCUDA=${ASSAY_WITH_CUDA} -DSTRIP=${CMAKE_STRIP})
endif()
add_test(NAME bundle_promise COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR} ${weighed}
  -P ${PROJECT_SOURCE_DIR}/cmake/bundle_promise.cmake)
if(NOT ASSAY_STATIC)
  return()
endif()

foreach(target assay assay_tests)
  target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc)
endforeach()
# The tests contain the command too, so a bundle has one program under two names. Two programs were a third
# larger.
target_sources(assay_tests PRIVATE reports/cli/bundle_main.cpp)
# An exception from a plugin belongs to the plugin's own C++ library, and nothing here can catch it.
target_compile_definitions(assay_tests PRIVATE ASSAY_STATIC)
# Optimised for size: command line, pages and tests become half as large, and their speed does not matter; nor
# does that of what compiles files and starts workers (assay_kernels). Kernels, oracle and judge keep their
# speed. Functions that nothing calls are removed.
foreach(target assay_reports assay_properties assay_kernels assay_tests)
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Os>)
endforeach()
target_compile_options(assay_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-ffunction-sections -fdata-sections>)
target_link_options(assay_tests PRIVATE -Wl,--gc-sections)
add_custom_target(bundle
  COMMAND ${CMAKE_COMMAND}
    -DFOLDER=${PROJECT_BINARY_DIR}/assay-bundle
    -DPROGRAM=$<TARGET_FILE:assay_tests>
    -DCUDA=${ASSAY_WITH_CUDA}
    -DDATA=${PROJECT_SOURCE_DIR}/reference/data
    -DLICENSE=${PROJECT_SOURCE_DIR}/LICENSE
    -DSTRIP=${CMAKE_STRIP}
    -P ${PROJECT_SOURCE_DIR}/cmake/make_bundle.cmake
  DEPENDS assay_tests
  COMMENT "Gathering the bundle" VERBATIM)
# Making a bundle fails if the bundle breaks its promise, so making it is the test.
add_test(NAME bundle COMMAND ${CMAKE_COMMAND} --build ${PROJECT_BINARY_DIR} --target bundle)
set_tests_properties(bundle PROPERTIES TIMEOUT 3600)
