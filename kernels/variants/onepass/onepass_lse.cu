// SPDX-License-Identifier: Apache-2.0
// onepass_lse: m + log(d) of every row by the ladder of onepass, every logit read once. exp is accurate.
// Worst case seen: 1.652e+07 ulp (f32@host), subnormal_out, V = 1023, rows = 3, seed 1: row 0, column 0.
#include "kernels/building_blocks/onepass/rungs.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

using OnepassLse = onepass::Ladder<onepass::LseAccurate>;
ASSAY_REGISTER_KERNEL(OnepassLse, "onepass_lse", f16, bf16, f32);

}  // namespace
}  // namespace assay::ASSAY_BACKEND
