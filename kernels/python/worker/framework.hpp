// SPDX-License-Identifier: Apache-2.0
// Gives the supervisor's buffers to each framework as tensors, without a copy, and writes results back to
// them. All of it is native code. What it needs of a framework is looked up once and must be native, too: a
// module can not put Python code of its own in the way of a tensor. JAX and CuPy are partly written in
// Python; README.md says what that means.
#pragma once

#include <memory>
#include <string>

#include "kernels/python/worker/view.hpp"

namespace assay::python {

class Framework {
 public:
  virtual ~Framework() = default;
  /// "numpy 2.1.0".
  const std::string& version() const { return version_; }
  /// Throws a Failure of the kind "lacks" if it has no such type.
  virtual void check_dtype(const std::string&) {}
  virtual Ref wrap(const View& view) = 0;
  /// Makes the stream the current one for a call of this thread. Null if the framework can not, or need not.
  /// What it returns goes to `leave`.
  virtual Ref enter(void*, int) { return {}; }
  virtual void leave(const Ref&, int) {}
  /// Copies what the callable returned to the output. Throws a Failure that says what it returned instead.
  virtual void put(Object* result, const View& out, void* stream) = 0;
  /// Why launches that return their results can not be timed, or empty.
  virtual const char* untimed() const { return ""; }
  /// True if it works on the stream of the call, so that nobody waits for that stream first.
  virtual bool on_stream() const { return false; }
  /// True if it can use a GPU of this machine.
  virtual bool has_gpu() const { return false; }

 protected:
  std::string version_;
};

/// `kind`: numpy, torch, cupy, jax or dlpack. Throws a Failure of the kind "lacks" if it is not installed.
std::unique_ptr<Framework> framework_of(const std::string& kind);

/// "Python imports NAME, which PYTHON does not have: PYTHON -m pip install PACKAGE".
Failure missing(const std::string& name, const std::string& who);

// For the frameworks.

/// Imports the module and sets `version` to its name and version.
Ref import_framework(const std::string& name, std::string& version);
/// "returned float64 of shape [3, 33]".
Failure returned(Object* result, const std::string& instead);
std::unique_ptr<Framework> make_torch();
std::unique_ptr<Framework> make_cupy();

}  // namespace assay::python
