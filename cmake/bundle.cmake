# The `bundle` target: one folder that runs on a machine with no toolchain and no packages.
if(NOT ASSAY_STATIC)
  return()
endif()

foreach(target assay assay_tests)
  target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc)
endforeach()
# What a plugin throws belongs to its own C++ library, and nothing here can catch it.
target_compile_definitions(assay_tests PRIVATE ASSAY_STATIC)
# For size: command line, pages and tests are half as large, and nothing there is waited for. Kernels, oracle and
# judge keep their speed.
foreach(target assay_reports assay_properties assay_tests)
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Os>)
endforeach()
add_custom_target(bundle
  COMMAND ${CMAKE_COMMAND}
    -DFOLDER=${PROJECT_BINARY_DIR}/assay-bundle
    "-DBINARIES=$<TARGET_FILE:assay>|$<TARGET_FILE:assay_tests>"
    -DDATA=${PROJECT_SOURCE_DIR}/reference/data
    -DSTRIP=${CMAKE_STRIP}
    -P ${PROJECT_SOURCE_DIR}/cmake/make_bundle.cmake
  DEPENDS assay assay_tests
  COMMENT "Gathering the bundle" VERBATIM)
