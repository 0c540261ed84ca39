// Compilers on this machine, and a way to run them.
#pragma once

#include <string>
#include <vector>

namespace assay {

/// nvcc from $CUDACXX, $CUDA_HOME/bin, $CUDA_PATH/bin, PATH, /usr/local/cuda/bin. Throws EnvironmentError
/// if there is none, InputError where $CUDACXX names none.
std::string find_nvcc();

/// $CXX, or g++, c++ or clang++ from PATH, with what words of its own it has ("ccache g++"). Throws
/// InputError if there is none.
std::vector<std::string> find_host_compiler();

/// `-arch=native` where a GPU is to be seen, else sm_90.
std::string gpu_architecture();

/// Words of a shell-like line: blanks part them, quotes keep them together. Throws InputError for an open
/// quote.
std::vector<std::string> split_words(const std::string& line);

/// Runs a program, its output and errors in the file `log`. The exit status, or 128 + the signal that ended
/// it. Throws InputError if it cannot be started.
int run_program(const std::vector<std::string>& words, const std::string& log);

/// First line of `words --version` that names a version; empty if it cannot be asked.
std::string version_of(const std::vector<std::string>& compiler, const std::string& scratch);

}  // namespace assay
