# SPDX-License-Identifier: Apache-2.0
# With ASSAY_STATIC (the preset ci): the target `bundle`, one folder that runs on a machine with no toolchain and no
# packages. Its program is linked from the objects that ctest tests, with every library in it.
if(NOT ASSAY_STATIC)
  return()
endif()

# Optimised for size: command line, pages and tests become half as large, and their speed does not matter; nor
# does that of what compiles files and starts workers (assay_kernels). Kernels, oracle and judge keep their
# speed. Functions that nothing calls are removed.
foreach(target assay_reports assay_properties assay_kernels assay_test_objects)
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Os>)
endforeach()
target_compile_options(assay_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-ffunction-sections -fdata-sections>)

# The tests contain the command too, so a bundle has one program under two names. Two programs were a third
# larger.
add_executable(assay_bundle EXCLUDE_FROM_ALL reports/cli/bundle_main.cpp)
target_link_libraries(assay_bundle PRIVATE assay_test_objects)
# An exception from a plugin belongs to the plugin's own C++ library, and nothing here can catch it.
target_link_options(assay_bundle PRIVATE -static-libstdc++ -static-libgcc -Wl,--gc-sections)
# Relocations in their packed form take 0.1 MB and not 1.8. They need glibc 2.36, which the program does anyway.
include(CheckCXXSourceRuns)
set(CMAKE_REQUIRED_LINK_OPTIONS -Wl,-z,pack-relative-relocs)
check_cxx_source_runs("int main() {}" ASSAY_PACKS_RELOCATIONS)
unset(CMAKE_REQUIRED_LINK_OPTIONS)
if(ASSAY_PACKS_RELOCATIONS)
  target_link_options(assay_bundle PRIVATE -Wl,-z,pack-relative-relocs)
endif()
add_custom_target(bundle
  COMMAND ${CMAKE_COMMAND}
    -DFOLDER=${PROJECT_BINARY_DIR}/assay-bundle
    -DPROGRAM=$<TARGET_FILE:assay_bundle>
    -DCUDA=${ASSAY_WITH_CUDA}
    -DNVCC=${ASSAY_NVCC}
    "-DWHY_NO_CUDA=${ASSAY_CUDA_REASON}"
    -DDATA=${PROJECT_SOURCE_DIR}/reference/data
    -DLICENSE=${PROJECT_SOURCE_DIR}/LICENSE
    -DSTRIP=${CMAKE_STRIP}
    -DREADELF=${CMAKE_READELF}
    -P ${PROJECT_SOURCE_DIR}/cmake/make_bundle.cmake
  DEPENDS assay_bundle
  COMMENT "Gathering the bundle" VERBATIM)
