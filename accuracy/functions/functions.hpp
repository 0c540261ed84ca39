// SPDX-License-Identifier: Apache-2.0
// The functions under test: those that kernels are built on, by name, format and backend. Each one only fills
// an array. The sweep (function_sweep.hpp) chooses arguments and judges results in the same way for all.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "accuracy/bounds/function_table.hpp"
#include "accuracy/functions/function_element.hpp"

namespace assay::functions {

/// out[i] = f(a[i]) or f(a[i], b[i]) for i < n, in the function's format, in its backend's memory. `stream`
/// is a CUDA stream. `b` is null if the function takes only one argument.
using Evaluate = void (*)(const void* a, const void* b, void* out, std::int64_t n, void* stream);

struct Function {
  const char* name = "";
  Dtype dtype = Dtype::f32;
  Backend backend = Backend::host;
  Truth truth = Truth::exp;
  Space space = Space::all;
  Evaluate evaluate = nullptr;
  bool flush = false;        // a subnormal argument counts as zero
  bool division = false;     // approximate: documented for 2^-126 <= |b| <= 2^126 only
  std::string missing = {};  // why this build or this machine cannot run it; empty if it can

  /// "expf/f32@cuda".
  std::string id() const { return std::string(name) + "/" + assay::name(dtype) + "@" + assay::name(backend); }
  const DeclaredError& declared() const { return declared_error(name, dtype, backend); }
};

/// Every function of this build, in table order: cuda first. Those that cannot run say why.
const std::vector<Function>& functions();

// The parts, by translation unit.
std::vector<Function> libm_functions();    // glibc, and the host executor's versions of CUDA functions
std::vector<Function> packet_functions();  // Eigen's and SLEEF's exp
std::vector<Function> device_functions();  // CUDA; empty in a build without

}  // namespace assay::functions
