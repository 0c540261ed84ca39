// SPDX-License-Identifier: Apache-2.0
// onepass_log_softmax: log-softmax as (x - m) - log(d) by the ladder of onepass: every logit read once, every
// output written once. exp is accurate.
// Worst case seen: 1.675e+07 ulp (f32@host), subnormal_out, V = 1023, rows = 3, seed 1: row 2, column 415.
#include "kernels/building_blocks/onepass/rungs.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

using OnepassLogSoftmax = onepass::Ladder<onepass::LogSoftmax>;
ASSAY_REGISTER_KERNEL(OnepassLogSoftmax, "onepass_log_softmax", f16, bf16, f32);

}  // namespace
}  // namespace assay::ASSAY_BACKEND
