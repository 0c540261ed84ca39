# SPDX-License-Identifier: Apache-2.0
# The sweep of functions. On x86-64 its vector code (the judge, Eigen's packets and SLEEF) is compiled for AVX2 and
# FMA; the sweep asks the CPU before it calls that code. Its CUDA side is compiled with the flags of kernels.
file(GLOB function_sources CONFIGURE_DEPENDS functions/*.cpp)
list(FILTER function_sources EXCLUDE REGEX "_test\\.cpp$|/functions_(eigen|sleef)\\.cpp$|/function_judge_host\\.cpp$")
add_library(assay_functions STATIC ${function_sources})
target_link_libraries(assay_functions PUBLIC assay_accuracy PRIVATE assay_fmt)
add_library(assay_function_vectors OBJECT functions/function_judge_host.cpp functions/functions_eigen.cpp)
target_link_libraries(assay_function_vectors PRIVATE assay_options)
get_target_property(eigen_include Eigen3::Eigen INTERFACE_INCLUDE_DIRECTORIES)
target_include_directories(assay_function_vectors SYSTEM PRIVATE ${eigen_include})
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  target_compile_options(assay_function_vectors PRIVATE -mavx2 -mfma)
  target_sources(assay_function_vectors PRIVATE functions/functions_sleef.cpp)
  target_link_libraries(assay_functions PUBLIC ${CMAKE_DL_LIBS})
  target_compile_definitions(assay_functions PRIVATE ASSAY_WITH_SLEEF)
endif()
# These flags let comparisons and roundings become vector instructions; neither changes a value.
target_compile_options(assay_function_vectors PRIVATE -fno-math-errno -fno-trapping-math)
target_sources(assay_functions PRIVATE $<TARGET_OBJECTS:assay_function_vectors>)

if(ASSAY_WITH_CUDA)
  # Oracle code: FMA only where the source has one. The functions themselves are compiled with the flags of kernels.
  target_compile_definitions(assay_functions PRIVATE ASSAY_WITH_CUDA)
  target_compile_options(assay_functions PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:-fmad=false -Xcompiler=-Wall,-Wextra>)
  target_sources(assay_functions PRIVATE functions/sweeps_device.cu)
  add_library(assay_device_functions OBJECT functions/functions_device.cu)
  target_link_libraries(assay_device_functions PRIVATE assay_options)
  target_compile_options(assay_device_functions PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra>)
  target_sources(assay_functions PRIVATE $<TARGET_OBJECTS:assay_device_functions>)
endif()
