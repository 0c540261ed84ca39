// SPDX-License-Identifier: Apache-2.0
// A Python callable as a candidate. Its worker is a Python process; everything else is as for a plugin.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernels/isolation/isolated.hpp"

namespace assay {

struct PythonCallable {
  std::string shown;        // its name in messages: "soft.py:softmax"
  bool is_file = false;     // true: `place` is the path of a file; false: the name of a module
  std::string place;        // "soft.py", "package.module"
  std::string function;     // "softmax", "Layer.forward"
  std::string interpreter;  // empty: python3 from PATH
  std::string name;         // name of the variant
  Op op = Op::softmax;      // any op except normalizer
  std::vector<std::pair<Dtype, Dtype>> types = {{Dtype::f32, Dtype::f32}};  // types of logits and outputs
  bool host = false;                   // use host memory even if the callable could work on a GPU
  std::vector<std::string> arguments;  // NAME=ROLE, NAME=ROLE:TYPE or NAME=VALUE, checked
};

/// Returns its variants, one for each pair of types. They share one worker. Throws InputError with one line
/// for a wrong path or name, or EnvironmentError if this machine lacks the interpreter or a module.
std::vector<Variant> load_python(const PythonCallable& callable, const IsolationOptions& options = {});

/// Of the bytes that the workers of this file execute. Empty if no callable of it was loaded here.
std::string executed_sha256(const std::string& path);

/// Checks arguments of the forms NAME=ROLE, NAME=ROLE:TYPE and NAME=VALUE, where a value is None, True, False
/// or a number. Examples: "mask=mask_keep", "mask=mask_keep:bool", "dim=-1". Throws InputError with one line
/// for any other form, and for a name that is given twice. Only the worker knows which parameters the
/// callable has.
void check_python_arguments(const std::vector<std::string>& arguments);

/// The library that makes a Python process a worker. The binary contains it.
std::span<const char> embedded_worker();

}  // namespace assay
