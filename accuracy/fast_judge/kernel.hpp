// The first look of the fast judge at one row, as each CPU compiles it (see kernel.cpp), and the
// parts shared by host and device.
#pragma once

#include <cstdint>

#include "accuracy/fast_judge/fast_element.hpp"
#include "accuracy/fast_judge/fast_judge.hpp"

namespace assay::fast {

/// The claim's constants for rows of V, each rounded towards a smaller bound.
ClaimConstants claim_constants(const Terms& terms);

/// What the first look says of a row.
struct RowLook {
  std::int64_t open = 0;  // elements not passed; V where the row is not judged
  double sum = 0;         // of the outputs
  Statistics statistics;
};

struct JudgeKernel {
  /// Logits and outputs decoded to float. `e` is scratch of V doubles.
  RowLook (*row)(const ClaimConstants& c, const float* x, const float* g, std::int64_t V, double* e);
};
namespace generic {
extern const JudgeKernel judge_kernel;
}
namespace avx2 {
extern const JudgeKernel judge_kernel;
}

/// Whether a row sum differs from 1 by no more than its bound certainly allows; `w` and `common` as in
/// RowConstants.
ASSAY_HOST_DEVICE bool row_sum_passes(const ClaimConstants& c, const RowConstants& r, double sum) {
  const double error = sum < 1 ? 1 - sum : sum - 1;
  return error <= (r.tree + c.divided) * (1 - 0x1p-20) + r.w - 0x1p-49;
}

}  // namespace assay::fast
