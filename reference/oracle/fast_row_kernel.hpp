// SPDX-License-Identifier: Apache-2.0
// The loops of fast_row.cpp. fast_row_kernel.cpp is compiled twice: for any x86-64, and for AVX2 with FMA.
// The results are the same bit for bit; only the speed differs.
#pragma once

#include <cstddef>

#include "reference/oracle/fast_row.hpp"

namespace assay::fast {

struct RowKernel {
  RowSums (*exps)(const double* x, std::size_t n, double m, std::size_t skip, double* e);
  void (*probabilities)(const double* e, std::size_t n, double s, double* lo, double* hi);
};

namespace generic {
extern const RowKernel kernel;
}
namespace avx2 {
extern const RowKernel kernel;
}

/// The fastest version that this CPU can run.
const RowKernel& row_kernel();

}  // namespace assay::fast
