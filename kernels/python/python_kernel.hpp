// A Python callable as a candidate: the worker is a Python process, everything else is as for a plugin.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kernels/isolation/isolated.hpp"

namespace assay {

struct PythonCallable {
  std::string shown;        // what messages call it: "soft.py:softmax"
  bool is_file = false;     // `place` is a file's path, else a module's name
  std::string place;        // "soft.py", "package.module"
  std::string function;     // "softmax", "Layer.forward"
  std::string interpreter;  // empty: python3 on PATH
  std::string name;         // of the variant
  Op op = Op::softmax;      // not normalizer
  std::vector<std::pair<Dtype, Dtype>> types = {{Dtype::f32, Dtype::f32}};  // of logits and outputs
  bool host = false;  // host memory, also where the callable could work on a GPU
  std::vector<std::string>
      arguments;  // NAME=ROLE, NAME=ROLE:TYPE or NAME=VALUE, checked (python_arguments.hpp)
};

/// Its variants, one for each pair of types, sharing one worker. Throws InputError with one line for a wrong
/// path or name, EnvironmentError for an interpreter or a module that this machine lacks.
std::vector<Variant> load_python(const PythonCallable& callable, const IsolationOptions& options = {});

}  // namespace assay
