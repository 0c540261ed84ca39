// SPDX-License-Identifier: Apache-2.0
// The first look of the fast judge at one row, compiled for each CPU family (see kernel.cpp), and the parts
// that host and device share.
#pragma once

#include <cstdint>

#include "accuracy/fast_judge/fast_element.hpp"
#include "accuracy/fast_judge/fast_judge.hpp"

namespace assay::fast {

/// The claim's constants for row length V, each rounded towards a smaller bound.
ClaimConstants claim_constants(const Terms& terms);

/// The result of the first look at a row.
struct RowLook {
  std::int64_t open = 0;  // elements that did not pass; V if the row is not judged
  double sum = 0;         // of the outputs
  Statistics statistics;
};

struct JudgeKernel {
  /// Logits and outputs are decoded to float. `e` is scratch memory for V doubles.
  RowLook (*row)(const ClaimConstants& c, const float* x, const float* g, std::int64_t V, double* e);
};
namespace generic {
extern const JudgeKernel judge_kernel;
}
namespace avx2 {
extern const JudgeKernel judge_kernel;
}

/// True if a row sum differs from 1 by no more than its bound certainly allows; `r` as in RowConstants.
ASSAY_HOST_DEVICE bool row_sum_passes(const ClaimConstants& c, const RowConstants& r, double sum) {
  const double error = sum < 1 ? 1 - sum : sum - 1;
  return error <= (r.tree + c.divided) * (1 - 0x1p-20) + r.w - 0x1p-49;
}

}  // namespace assay::fast
