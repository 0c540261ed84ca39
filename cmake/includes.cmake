# SPDX-License-Identifier: Apache-2.0
# includes_of(OUT FILE): sets OUT to the files that FILE includes with quotes, such as
# "kernels/plugin.h;reference/error.hpp".
function(includes_of out file)
  set(targets "")
  file(STRINGS ${file} lines REGEX "^#include \"")
  foreach(line ${lines})
    string(REGEX REPLACE "^#include \"([^\"]*)\".*" "\\1" target "${line}")
    list(APPEND targets ${target})
  endforeach()
  set(${out} ${targets} PARENT_SCOPE)
endfunction()

# Fails if no include was read (SEEN is 0): then the test has shown nothing.
function(refuse_none_read seen)
  if(seen EQUAL 0)
    message(FATAL_ERROR "no include line was read under ${ROOT}")
  endif()
endfunction()
