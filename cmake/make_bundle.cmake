# SPDX-License-Identifier: Apache-2.0
# Assembles the bundle and checks its promises: size, libraries, that it starts.
# Run by the target `bundle`: cmake -DFOLDER= -DPROGRAM= -DCUDA= -DDATA= -DLICENSE= -DSTRIP= -P make_bundle.cmake
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/bundle_limit.cmake)
set(limit ${bundle_limit_host})
if(CUDA)
  set(limit ${bundle_limit_cuda})
endif()

# A folder that breaks a promise is removed, so that nobody takes it for a good one.
file(REMOVE_RECURSE ${FOLDER} ${FOLDER}.new)
macro(refuse text)
  file(REMOVE_RECURSE ${FOLDER}.new)
  message(FATAL_ERROR "bundle: ${text}")
endmacro()

file(GLOB tensors ${DATA}/*.npy)
if(NOT tensors)
  refuse("no .npy file in ${DATA}")
endif()
file(COPY ${tensors} DESTINATION ${FOLDER}.new/data)
# One program with two names: `assay` is the command, `assay_tests` runs its tests.
set(program ${FOLDER}.new/assay)
configure_file(${PROGRAM} ${program} COPYONLY)
file(CREATE_LINK assay ${FOLDER}.new/assay_tests SYMBOLIC)
execute_process(COMMAND ${STRIP} ${program} COMMAND_ERROR_IS_FATAL ANY)

# The other machine must provide glibc's own libraries and nothing else.
execute_process(COMMAND ldd ${program} OUTPUT_VARIABLE libraries COMMAND_ERROR_IS_FATAL ANY)
string(REGEX REPLACE "\n+$" "" libraries "${libraries}")
string(REPLACE "\n" ";" libraries "${libraries}")
foreach(library ${libraries})
  string(STRIP "${library}" library)
  if(NOT library MATCHES "^(linux-vdso|lib(c|m|pthread|dl|rt)|(/[^ ]*/)?ld-linux[^ ]*)\\.so")
    refuse("assay needs ${library}")
  endif()
endforeach()

set(glibc 2.0)
file(STRINGS ${program} versions REGEX "^GLIBC_2\\.[0-9]+$")
foreach(version ${versions})
  string(REPLACE "GLIBC_" "" version ${version})
  if(version VERSION_GREATER glibc)
    set(glibc ${version})
  endif()
endforeach()

# Under each name the program must behave accordingly.
foreach(words "assay;--help;Subcommands:" "assay_tests;--gtest_list_tests;Formats.")
  list(GET words 0 name)
  list(GET words 1 argument)
  list(GET words 2 says)
  execute_process(COMMAND ${FOLDER}.new/${name} ${argument} RESULT_VARIABLE status OUTPUT_VARIABLE text ERROR_VARIABLE text)
  string(FIND "${text}" "${says}" at)
  if(NOT status EQUAL 0 OR at EQUAL -1)
    refuse("${name} ${argument}: ${status} ${text}")
  endif()
endforeach()

file(COPY ${LICENSE} DESTINATION ${FOLDER}.new)

set(bytes 0)
file(GLOB_RECURSE files ${FOLDER}.new/*)
foreach(file ${files})
  if(NOT IS_SYMLINK ${file})
    file(SIZE ${file} size)
    math(EXPR bytes "${bytes} + ${size}")
  endif()
endforeach()
if(bytes GREATER ${limit}000000)
  file(SIZE ${program} size)
  refuse("${bytes} bytes, ${size} of them the program; ${limit} MB at most")
endif()
file(RENAME ${FOLDER}.new ${FOLDER})
math(EXPR tenths "${bytes} / 100000")
string(REGEX REPLACE "(.)$" ".\\1" megabytes ${tenths})
message(STATUS "${FOLDER}: ${megabytes} MB, needs glibc ${glibc} or newer and nothing else")

# The same as one file. It unpacks into a folder of the bundle's name.
get_filename_component(name ${FOLDER} NAME)
get_filename_component(above ${FOLDER} DIRECTORY)
execute_process(COMMAND ${CMAKE_COMMAND} -E tar cJf ${name}.tar.xz ${name} WORKING_DIRECTORY ${above}
  COMMAND_ERROR_IS_FATAL ANY)
file(SIZE ${FOLDER}.tar.xz bytes)
math(EXPR tenths "${bytes} / 100000")
string(REGEX REPLACE "(.)$" ".\\1" megabytes ${tenths})
message(STATUS "${FOLDER}.tar.xz: ${megabytes} MB")
