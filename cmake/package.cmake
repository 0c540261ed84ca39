# The installed package, also available from the build tree. find_package(assay) provides assay::assay (the
# command), assay::plugin (the headers) and assay_add_variant. The command itself contains the files that a
# kernel is compiled with.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/assay)
install(TARGETS assay RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES kernels/plugin.h kernels/adapter/adapter.h kernels/adapter/arguments.h kernels/adapter/parts.h
  kernels/adapter/variant.h
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/assay)
file(GLOB tensors reference/data/*.npy)
install(FILES ${tensors} DESTINATION ${CMAKE_INSTALL_DATADIR}/assay/data)

configure_package_config_file(cmake/assayConfig.cmake.in ${PROJECT_BINARY_DIR}/assayConfig.cmake
  INSTALL_DESTINATION ${package} PATH_VARS CMAKE_INSTALL_BINDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/assayConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/assayConfig.cmake ${PROJECT_BINARY_DIR}/assayConfigVersion.cmake
  cmake/assayVariant.cmake DESTINATION ${package})

# The build tree as a package: -Dassay_DIR=<build>/package
set(in_tree ${PROJECT_BINARY_DIR}/package)
foreach(header plugin.h adapter/adapter.h adapter/arguments.h adapter/parts.h adapter/variant.h)
  get_filename_component(name ${header} NAME)
  configure_file(kernels/${header} ${in_tree}/include/assay/${name} COPYONLY)
endforeach()
configure_file(cmake/assayVariant.cmake ${in_tree}/assayVariant.cmake COPYONLY)
configure_file(${PROJECT_BINARY_DIR}/assayConfigVersion.cmake ${in_tree}/assayConfigVersion.cmake COPYONLY)
file(GENERATE OUTPUT ${in_tree}/assayConfig.cmake CONTENT
"set(assay_VERSION ${PROJECT_VERSION})
set(assay_EXECUTABLE \"$<TARGET_FILE:assay>\")
set(assay_INCLUDE_DIR \"${in_tree}/include\")
include(\"${in_tree}/assayVariant.cmake\")
")

if(NOT ASSAY_SANITIZE AND NOT ASSAY_STATIC)
  # A machine that `run` set up has Ninja and no make. So make always fails here, even if it is installed.
  set(no_make ${PROJECT_BINARY_DIR}/no_make)
  foreach(name make gmake smake)
    file(WRITE ${no_make}/${name} "#!/bin/sh\necho '${name}: a bare Debian has none; name a generator' >&2\nexit 1\n")
    file(CHMOD ${no_make}/${name} PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
  endforeach()
  set(outside_cuda "")
  if(ASSAY_WITH_CUDA)
    set(outside_cuda -DNVCC=${CMAKE_CUDA_COMPILER} -DCXX=${CMAKE_CXX_COMPILER} -DARCHITECTURES=${CMAKE_CUDA_ARCHITECTURES})
  endif()
  add_test(NAME outside_project COMMAND ${CMAKE_COMMAND} -DBUILD=${PROJECT_BINARY_DIR}
    -DEXAMPLE=${PROJECT_SOURCE_DIR}/kernels/adapter/example -DWORK=${PROJECT_BINARY_DIR}/outside
    -DGENERATOR=${CMAKE_GENERATOR} -DMAKE_PROGRAM=${CMAKE_MAKE_PROGRAM}
    ${outside_cuda} -DCMAKE_CTEST_COMMAND=${CMAKE_CTEST_COMMAND}
    -P ${PROJECT_SOURCE_DIR}/kernels/adapter/outside_project.cmake)
  set_tests_properties(outside_project PROPERTIES TIMEOUT 600
    ENVIRONMENT_MODIFICATION "PATH=path_list_prepend:${no_make}")
  # Runs the commands of TUTORIAL.md with the package of the build tree.
  add_test(NAME tutorial COMMAND ${PROJECT_SOURCE_DIR}/kernels/adapter/run_tutorial.sh
    ${PROJECT_SOURCE_DIR}/kernels/adapter/TUTORIAL.md ${PROJECT_BINARY_DIR}/tutorial)
  set_tests_properties(tutorial PROPERTIES LABELS long TIMEOUT 900
    ENVIRONMENT_MODIFICATION "PATH=path_list_prepend:$<TARGET_FILE_DIR:assay>;PATH=path_list_prepend:${no_make};assay_DIR=set:${PROJECT_BINARY_DIR}/package")
endif()
