// SPDX-License-Identifier: Apache-2.0
// Finds the compilers of this machine and runs them.
#pragma once

#include <string>
#include <vector>

namespace assay {

/// nvcc from $CUDACXX, $CUDA_HOME/bin, $CUDA_PATH/bin, PATH or /usr/local/cuda/bin. Throws EnvironmentError
/// if there is none, or InputError if $CUDACXX does not name one.
std::string find_nvcc();

/// $CXX, or g++, c++ or clang++ from PATH, as the words of its command (such as "ccache g++"). Throws
/// InputError if there is none.
std::vector<std::string> find_host_compiler();

/// `-arch=native` if a GPU is visible, else sm_90.
std::string gpu_architecture();

/// Splits a shell-like line into words at blanks; quotes keep words together. Throws InputError if a quote is
/// not closed.
std::vector<std::string> split_words(const std::string& line);

/// Runs a program; its output and errors go to the file `log`. Returns its exit status, or 128 + the signal
/// that ended it. Throws InputError if it cannot be started.
int run_program(const std::vector<std::string>& words, const std::string& log);

/// The first line of `words --version` that names a version. Empty if the compiler cannot be run.
std::string version_of(const std::vector<std::string>& compiler, const std::string& scratch);

}  // namespace assay
