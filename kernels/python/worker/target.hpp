// SPDX-License-Identifier: Apache-2.0
// The callable that the command line names: imported, found, and held for all launches.
#pragma once

#include <string>
#include <vector>

#include "kernels/adapter/entry/callable_roles.hpp"
#include "kernels/python/worker/api.hpp"
#include "kernels/python/worker/words.hpp"

namespace assay::python {

class Target {
 public:
  /// Imports the module and finds the callable. Throws a Failure.
  explicit Target(const Words& words);

  Object* function() const { return function_.get(); }
  Object* module() const { return module_.get(); }
  /// Empty, or how what an importer would get under the name now differs from what was named.
  std::string changed() const;

 private:
  Ref find() const;

  std::string module_name_, shown_;
  std::vector<std::string> parts_;  // of "Layer.forward"
  Ref module_, function_, code_;
};

/// What reader.py says of the callable. It is the project's only Python code that runs after the import, so
/// it runs in a process of its own, and the processes that launch get its answer as text. Throws a Failure.
std::string read_signature(const Target& target);

/// What a callable takes.
struct Description {
  std::string tensors, device;
  Op op = Op::softmax;
  bool writes = false;
  std::vector<CallableArgument> arguments;
  std::vector<Ref> constants;  // of each argument that is one
};
/// Throws a Failure.
Description describe(const std::string& answer, const Words& words);

}  // namespace assay::python
