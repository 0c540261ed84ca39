// SPDX-License-Identifier: Apache-2.0
#include "accuracy/functions/quotient_sweep.hpp"

#include "kernels/device.hpp"

namespace assay {

QuotientSweep sweep_quotients([[maybe_unused]] std::int64_t stride) {
  QuotientSweep q;
  q.status = "not_run";
  q.reason = unavailable_reason(Backend::cuda);
#if defined(ASSAY_WITH_CUDA)
  if (q.reason.empty()) {
    q = sweep_quotients_on_device(stride);
    q.status = q.wrong == 0 && q.divisors > 0 ? "pass" : "fail";
  }
#endif
  return q;
}

}  // namespace assay
