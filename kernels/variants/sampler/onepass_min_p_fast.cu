// SPDX-License-Identifier: Apache-2.0
// onepass_min_p_fast: onepass_min_p with an exp of three instructions, and a product with the reciprocal of
// the sum.
// Worst case seen: 22.23 ulp (f32@host), gpt_logits, V = 4099, rows = 3, threshold = 0.000001, seed 1: row 2, column 752.
#include "kernels/building_blocks/onepass_topk/min_p.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

using OnepassMinPFast = onepass::MinPLadder<onepass::Fast>;
ASSAY_REGISTER_KERNEL(OnepassMinPFast, "onepass_min_p_fast", f16, bf16, f32);

}  // namespace
}  // namespace assay::ASSAY_BACKEND
