// SPDX-License-Identifier: Apache-2.0
// The declared maximum error of every function that kernels are built on: one table by function, format and
// backend. accuracy/bounds/bounds.cpp reads its k from here. `assay functions` fails if a measured maximum
// exceeds the declared one.
#pragma once

#include <span>
#include <string_view>

#include "kernels/registry.hpp"
#include "reference/formats.hpp"

namespace assay {

/// k is in NVIDIA's unit: ulp from the correctly rounded result. A function with error k is at most k + 1/2
/// ulp from the exact value; relatively, at most (2 k + 1) u.
struct DeclaredError {
  const char* name;
  Dtype dtype;
  Backend backend;        // host also stands for host_fma
  double k;               // ulp, where the exact result is normal
  double slope = 0;       // additional ulp per unit of |argument|; 2 slope u relative
  double subnormal = -1;  // error of a subnormal result, in smallest subnormals; -1: k + 1/2
  double absolute = 0;  // absolute error for arguments in [1/2, 2], where k does not hold (0: k holds there)
  double floor = 0;     // exp(-inf) of a function that clamps its argument (0: it does not)
  double relative = 0;  // an additional limit, relative (0: none)
  bool monotone = false;   // a larger argument never gives a smaller result
  const char* documented;  // the vendor's words
  const char* source;      // source of k, slope and the other figures

  double limit() const { return k + 0.5; }
  double subnormal_limit() const { return subnormal < 0 ? limit() : subnormal; }
};

std::span<const DeclaredError> declared_errors();

/// The table row of a function. Throws std::logic_error if the table has none.
const DeclaredError& declared_error(std::string_view name, Dtype dtype, Backend backend);

/// The function that a claim's exp is, by its name in the table.
const char* function_of(Exp e);

}  // namespace assay
