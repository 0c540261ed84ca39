# SPDX-License-Identifier: Apache-2.0
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

install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
# Debian looks for the license under this name.
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)
install(FILES reports/data/records.schema.json DESTINATION ${CMAKE_INSTALL_DATADIR}/assay)
# The command itself writes its completion, its manual page and the schema of certificates, so they have its options and
# fields. Debian's zsh looks below /usr in another folder than elsewhere.
foreach(text "completion bash:bash-completion/completions/assay" "completion zsh:zsh/site-functions/_assay"
    "completion man:man/man1/assay.1" "schema --certificate:assay/certificate.schema.json")
  string(REPLACE ":" ";" text ${text})
  list(GET text 0 what)
  list(GET text 1 file)
  install(CODE "
    set(file \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/${file}\")
    if(\"\${CMAKE_INSTALL_PREFIX}\" MATCHES \"/usr/?$\")
      string(REPLACE /zsh/site-functions/ /zsh/vendor-completions/ file \"\${file}\")
    endif()
    message(STATUS \"Installing: \$ENV{DESTDIR}\${file}\")
    execute_process(COMMAND \"$<TARGET_FILE:assay>\" ${what} OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
    file(WRITE \"\$ENV{DESTDIR}\${file}\" \"\${text}\")
    list(APPEND CMAKE_INSTALL_MANIFEST_FILES \"\${file}\")")
endforeach()

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

if(NOT ASSAY_SANITIZE)
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

if(NOT ASSAY_SANITIZE)
  # Runs the steps of the recipes for build servers.
  add_test(NAME ci_recipes COMMAND ${PROJECT_SOURCE_DIR}/cmake/ci/try.sh $<TARGET_FILE:assay> ${PROJECT_BINARY_DIR}/ci)
  set_tests_properties(ci_recipes PROPERTIES TIMEOUT 300)
endif()

# ./run package: a Debian package of what is installed.
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)  # packing builds nothing: no tests
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME assay)
set(CPACK_PACKAGE_CONTACT "The Assay authors <assay@localhost>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
# A source file is compiled for the CPU by the first two, and for a GPU by nvcc. The last is the sandbox.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "g++, libboost-context-dev, bubblewrap")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "nvidia-cuda-toolkit, python3")
include(CPack)
