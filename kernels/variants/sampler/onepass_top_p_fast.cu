// SPDX-License-Identifier: Apache-2.0
// onepass_top_p_fast: onepass_top_p with an exp of three instructions, and a product with the reciprocal of
// the sum.
// Worst case seen: 76.29 ulp (f32@host), normal_10, V = 4099, rows = 3, threshold = 1, seed 1: row 1, column 1276.
#include "kernels/building_blocks/onepass_topk/top_p.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

using OnepassTopPFast = onepass::TopPLadder<onepass::Fast>;
ASSAY_REGISTER_KERNEL(OnepassTopPFast, "onepass_top_p_fast", f16, bf16, f32);

}  // namespace
}  // namespace assay::ASSAY_BACKEND
