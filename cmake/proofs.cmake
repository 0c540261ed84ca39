# SPDX-License-Identifier: Apache-2.0
# Runs the machine-checked proofs of reference/oracle/NAME.hpp: NAME.sollya (certified error of the
# polynomial) and NAME.gappa (rounding errors). Checks that all three files have the same polynomial and the
# same bound.
# Run as a test: cmake -DNAME=fast_exp -DROOT=<source> -DGAPPA= -DSOLLYA= -P proofs.cmake
set(base ${ROOT}/reference/oracle/${NAME})

# Coefficients by rising degree: "c0 = ...;" in the .gappa file, literals of Q in the .sollya file. The code
# has Horner's scheme, which starts at the highest degree.
set(hex "0x[0-9a-f.]+p[-+]?[0-9]+")
# coefficients(OUT BEFORE TEXT): sets OUT to the numbers in TEXT that follow the pattern BEFORE.
function(coefficients out before text)
  string(REGEX MATCHALL "${before}-?${hex}" lines "${text}")
  set(found "")
  foreach(line ${lines})
    string(REGEX MATCH "-?${hex}" c "${line}")
    list(APPEND found ${c})
  endforeach()
  set(${out} ${found} PARENT_SCOPE)
endfunction()

file(READ ${base}.gappa gappa)
coefficients(proved "\nc[0-9]+ = " "${gappa}")
list(LENGTH proved count)
if(count LESS 5)
  message(FATAL_ERROR "${NAME}.gappa: ${count} coefficients, cannot be right")
endif()

file(READ ${base}.sollya sollya)
string(REGEX MATCH "\nQ = [^;]*;" polynomial "${sollya}")
string(REGEX MATCHALL "-?${hex}" approximated "${polynomial}")

file(READ ${base}.hpp code)
coefficients(coded "(double q = |q = fma\\(q, [a-z_]+, )" "${code}")
list(REVERSE coded)
if(NOT proved STREQUAL approximated)
  message(FATAL_ERROR "${NAME}.gappa and ${NAME}.sollya have different coefficients:\n  ${proved}\n  ${approximated}")
endif()
if(NOT proved STREQUAL coded)
  message(FATAL_ERROR "${NAME}.gappa and ${NAME}.hpp have different coefficients:\n  ${proved}\n  ${coded}")
endif()

# The bound: the last "<= HEX" in the .gappa file must be the k...Error of the header.
string(REGEX MATCHALL "<= ${hex}" goals "${gappa}")
list(POP_BACK goals goal)
string(REPLACE "<= " "" goal "${goal}")
if(NOT code MATCHES "Error = ${goal};")
  message(FATAL_ERROR "${NAME}.hpp does not declare the bound that ${NAME}.gappa proves, ${goal}")
endif()

execute_process(COMMAND ${SOLLYA} ${base}.sollya RESULT_VARIABLE status OUTPUT_VARIABLE text ERROR_VARIABLE text)
if(NOT status EQUAL 0 OR NOT text MATCHES "\nproved: " OR text MATCHES "REFUSED")
  message(FATAL_ERROR "${NAME}.sollya: ${status} ${text}")
endif()
execute_process(COMMAND ${GAPPA} ${base}.gappa RESULT_VARIABLE status OUTPUT_VARIABLE text ERROR_VARIABLE text)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${NAME}.gappa: ${status} ${text}")
endif()
message(STATUS "${NAME}: ${count} coefficients, relative error ${goal} proved")
