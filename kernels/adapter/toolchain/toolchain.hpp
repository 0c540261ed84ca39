// SPDX-License-Identifier: Apache-2.0
// Finds the compilers of this machine and runs them.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace assay {

/// The path of the program with this name, or empty if there is none. A name with a slash is a path.
std::string program_in_path(const std::string& name);

/// nvcc from $CUDACXX, $CUDA_HOME/bin, $CUDA_PATH/bin, PATH or /usr/local/cuda/bin. Throws EnvironmentError
/// if there is none, or InputError if $CUDACXX does not name one.
std::string find_nvcc();

/// $CXX, or g++, c++ or clang++ from PATH, as the words of its command (such as "ccache g++"). Throws
/// InputError if there is none.
std::vector<std::string> find_host_compiler();

/// The words for nvcc that name the architectures of the GPUs of this machine, such as -arch=sm_90; sm_90
/// without a GPU. -arch=native would mean another one on another machine, and compilers see no GPU in the
/// sandbox. `scratch`: a file for what is asked.
std::vector<std::string> gpu_architecture(const std::string& nvcc, const std::string& scratch);

/// Splits a shell-like line into words at blanks; quotes keep words together. Throws InputError if a quote is
/// not closed.
std::vector<std::string> split_words(const std::string& line);

/// Runs a program that reads `input`; its output and errors go to the file `log`. Returns its exit status, or
/// 128 + the signal that ended it. Throws InputError if it cannot be started.
int run_program(const std::vector<std::string>& words, const std::string& log,
                const std::string& input = "/dev/null");

// Tells whoever watches what is being compiled: a compiler is silent for seconds.

/// Receives "compiling softmax.cu" when a compiler starts, and an empty text when it has ended.
using Announce = std::function<void(const std::string& what)>;

/// Sets who is told; an empty function: nobody. What an earlier call compiled is not announced.
void announce_compilation(Announce to);

/// Says one line on standard error, after "assay: ".
void note_of_compilation(const std::string& line);

/// Announces a compilation, or several one after the other, and their end when it is destroyed.
class Announced {
 public:
  explicit Announced(const std::string& what) { next(what); }
  ~Announced();
  /// The next compiler starts. Whoever watches is not told that the one before has ended.
  void next(const std::string& what);
  Announced(const Announced&) = delete;
  Announced& operator=(const Announced&) = delete;
};

}  // namespace assay
