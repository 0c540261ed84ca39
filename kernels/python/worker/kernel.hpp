// SPDX-License-Identifier: Apache-2.0
// Calls the callable with one call's tensors. Between the request and the copy of the results no Python code
// runs but the callable's own.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/python/worker/framework.hpp"
#include "kernels/python/worker/target.hpp"

namespace assay::python {

class Kernel {
 public:
  Kernel(std::unique_ptr<Target> target, Description description, std::unique_ptr<Framework> framework);

  /// Throws a Failure. Needs the interpreter's lock.
  void run(const assay_call& call);
  /// Between begin_timed and end_timed no result is copied to its output: the copy is not the kernel's work.
  /// end_timed copies the last one.
  void begin_timed();
  void end_timed();

 private:
  struct Launch;
  struct Result {
    Ref value;
    View out;
  };
  void launch(Launch& launch);
  Ref given(const CallableArgument& argument, Launch& launch);
  Ref operand(const CallableArgument& argument, const assay_call& call);

  const std::unique_ptr<Target> target_;
  const Description description_;
  const std::unique_ptr<Framework> framework_;
  const bool flat_, selects_;
  bool timing_ = false;
  std::vector<Result> late_;
  void* late_stream_ = nullptr;
};

}  // namespace assay::python
