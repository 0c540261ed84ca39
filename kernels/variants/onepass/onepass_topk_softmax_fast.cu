// SPDX-License-Identifier: Apache-2.0
// onepass_topk_softmax_fast: onepass_topk_softmax with an exp of three instructions, and a product with the
// reciprocal of the sum.
// Worst case seen: 8.387e+06 ulp (f32@host), subnormal_out, V = 4099, rows = 3, k = 64, seed 1: row 2, column 614.
#include "kernels/building_blocks/onepass_topk/softmax_of_slots.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

using OnepassTopkSoftmaxFast = onepass::TopkSoftmaxLadder<onepass::Fast>;
ASSAY_REGISTER_KERNEL(OnepassTopkSoftmaxFast, "onepass_topk_softmax_fast", f16, bf16, f32);

}  // namespace
}  // namespace assay::ASSAY_BACKEND
