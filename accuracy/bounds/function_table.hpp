// The declared maximum of every function that kernels build on, by function, format and backend: one table.
// accuracy/bounds/bounds.cpp reads its k from here, and `assay functions` fails where a measured maximum exceeds it.
#pragma once

#include <span>
#include <string_view>

#include "kernels/registry.hpp"
#include "reference/formats.hpp"

namespace assay {

/// The unit of k is NVIDIA's: ulp from the correctly rounded result. An error of k is at most k + 1/2 ulp
/// from the exact value, and at most (2 k + 1) u relative.
struct DeclaredError {
  const char* name;
  Dtype dtype;
  Backend backend;        // host also stands for host_fma
  double k;               // ulp, where the exact result is normal
  double slope = 0;       // further ulp per unit of |argument|; 2 slope u relative
  double subnormal = -1;  // smallest subnormals, where the exact result is subnormal; -1: k + 1/2
  double absolute = 0;  // absolute error for arguments in [1/2, 2], where k does not hold (0: k holds there)
  double floor = 0;     // exp(-inf), where a function clamps its argument (0: it does not)
  double relative = 0;  // a further limit, relative (0: none)
  bool monotone = false;   // results keep the order of arguments
  const char* documented;  // the vendor's words
  const char* source;      // of k, slope and the other figures

  double limit() const { return k + 0.5; }
  double subnormal_limit() const { return subnormal < 0 ? limit() : subnormal; }
};

std::span<const DeclaredError> declared_errors();

/// The row of a function; throws std::logic_error where the table has none.
const DeclaredError& declared_error(std::string_view name, Dtype dtype, Backend backend);

}  // namespace assay
