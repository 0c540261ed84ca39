# SPDX-License-Identifier: Apache-2.0
# Installs this build into its own folder. Then configures, builds and tests the example project against it,
# as a user would:
# cmake -DBUILD= -DEXAMPLE= -DWORK= -DGENERATOR= -DMAKE_PROGRAM= [-DNVCC= -DCXX=
# -DARCHITECTURES=] -P outside_project.cmake
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${WORK})
file(COPY ${EXAMPLE} DESTINATION ${WORK})
get_filename_component(name ${EXAMPLE} NAME)

function(step what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE text ERROR_VARIABLE text)
  message("${what}: ${status}\n${text}")
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "outside_project: ${what} failed")
  endif()
endfunction()

step(install ${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
foreach(file bin/assay share/doc/assay/LICENSE share/doc/assay/copyright share/assay/records.schema.json
  share/bash-completion/completions/assay share/zsh/site-functions/_assay share/man/man1/assay.1)
  if(NOT EXISTS ${WORK}/prefix/${file})
    message(FATAL_ERROR "outside_project: ${file} is not installed")
  endif()
endforeach()
foreach(file share/bash-completion/completions/assay share/zsh/site-functions/_assay share/man/man1/assay.1)
  file(READ ${WORK}/prefix/${file} text)
  if(NOT text MATCHES "accept-limits|accept\\\\-limits")
    message(FATAL_ERROR "outside_project: ${file} does not know the options of assay check")
  endif()
endforeach()
# The installed command takes the installed tensors, and not those of the source tree: a damaged one is named.
set(tensor ${WORK}/prefix/share/assay/data/gpt_logits_f32_24x32000.npy)
file(RENAME ${tensor} ${tensor}.away)
file(WRITE ${tensor} "damaged")
execute_process(COMMAND ${CMAKE_COMMAND} -E env --unset=ASSAY_DATA ${WORK}/prefix/bin/assay inputs --family gpt_logits
  --V 33 --rows 1 --out ${WORK}/inputs RESULT_VARIABLE status OUTPUT_VARIABLE text ERROR_VARIABLE text)
if(NOT status EQUAL 2 OR NOT text MATCHES "prefix/share/assay/data/gpt_logits_f32")
  message(FATAL_ERROR "outside_project: an installed command reads other tensors than the installed ones: ${text}")
endif()
file(RENAME ${tensor}.away ${tensor})
# Nothing of this build may help: no variable that names its folders, and no cache of kernels.
set(ENV{ASSAY_DATA} "")
set(ENV{ASSAY_WORKER} "")
set(ENV{XDG_CACHE_HOME} ${WORK}/cache)
# CMake's default generator is make, which may be missing. The generator of this build is there.
set(generator -G ${GENERATOR} -DCMAKE_MAKE_PROGRAM=${MAKE_PROGRAM})
step(configure ${CMAKE_COMMAND} ${generator} -S ${WORK}/${name} -B ${WORK}/build -DCMAKE_PREFIX_PATH=${WORK}/prefix -DASSAY_FUZZ_TIME=2s)
step(build ${CMAKE_COMMAND} --build ${WORK}/build)
step(test ${CMAKE_CTEST_COMMAND} --test-dir ${WORK}/build --output-on-failure --no-tests=error -L my_softmax -j 2)

# The same with CUDA among the languages: nvcc compiles it. It runs if there is a usable GPU, and is skipped
# otherwise.
if(NVCC)
  file(READ ${WORK}/${name}/CMakeLists.txt text)
  string(REPLACE "LANGUAGES CXX)" "LANGUAGES CXX CUDA)" with_cuda "${text}")
  if(with_cuda STREQUAL text)
    message(FATAL_ERROR "outside_project: the example no longer says LANGUAGES CXX")
  endif()
  file(WRITE ${WORK}/${name}/CMakeLists.txt "${with_cuda}")
  step("configure with CUDA" ${CMAKE_COMMAND} ${generator} -S ${WORK}/${name} -B ${WORK}/build_cuda
    -DCMAKE_PREFIX_PATH=${WORK}/prefix -DASSAY_FUZZ_TIME=2s -DCMAKE_CUDA_COMPILER=${NVCC} -DCMAKE_CUDA_HOST_COMPILER=${CXX}
    -DCMAKE_CUDA_ARCHITECTURES=${ARCHITECTURES})
  step("build with CUDA" ${CMAKE_COMMAND} --build ${WORK}/build_cuda)
  step("test with CUDA" ${CMAKE_CTEST_COMMAND} --test-dir ${WORK}/build_cuda --output-on-failure --no-tests=error -L my_softmax)
endif()
file(REMOVE_RECURSE ${WORK})
